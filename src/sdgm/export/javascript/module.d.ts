/** The label of a class. */
export type Label = string | number | boolean;

/** A number; the level of a category; null, undefined or NaN where it is missing. */
export type Value = number | string | null | undefined;

/** Values in the order of `inputs`, or by their names. */
export type Row = readonly Value[] | Float32Array | Float64Array | Readonly<Record<string, Value>>;

/** A column of the table that the model was trained on. */
export interface Input {
  readonly name: string;
  readonly kind: "number" | "category";
  /** Of a number: what stands in for a missing value; null where one is refused. */
  readonly fill?: number | null;
  /** Of a category: any other string counts as unknown. */
  readonly levels?: readonly string[];
}

export declare const classes: readonly Label[];
export declare const inputs: readonly Input[];

/** Probabilities in the order of `classes`; throws where a value is none that the input takes. */
export declare function predictProba(row: Row): number[];

/** The most probable class; throws as `predictProba` does. */
export declare function predict(row: Row): Label;

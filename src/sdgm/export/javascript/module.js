
export const classes = Object.freeze(model.classes);
export const inputs = Object.freeze(model.inputs.map((input) => Object.freeze({ ...input })));

// What the model reads of an input: a number, NaN where it is missing; a category as its level's index.
function read(input, value) {
  const missing = value === null || value === undefined || Number.isNaN(value);
  const name = JSON.stringify(input.name);
  if (input.kind === "category") {
    if (missing) return input.levels.length;
    if (typeof value !== "string") throw new TypeError(`${name} must be one of its levels, a string; got ${typeof value}.`);
    return input.levels.indexOf(value);
  }
  if (missing && input.fill !== null) return NaN;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new TypeError(`${name} must be a finite number; got ${missing ? "a missing value" : typeof value === "number" ? value : typeof value}.`);
}

export function predictProba(row) {
  if (typeof row !== "object" || row === null) throw new TypeError(`a row must be an array or an object; got ${row}.`);
  const isList = Array.isArray(row) || ArrayBuffer.isView(row);
  if (isList && row.length !== inputs.length) {
    throw new RangeError(`a row must have ${inputs.length} values; got ${row.length}.`);
  }
  const own = (name) => (Object.hasOwn(row, name) ? row[name] : undefined);
  return probabilities(model, inputs.map((input, i) => read(input, isList ? row[i] : own(input.name))));
}

export function predict(row) {
  const P = predictProba(row);
  return classes[P.indexOf(Math.max(...P))];
}

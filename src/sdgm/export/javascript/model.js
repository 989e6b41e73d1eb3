// The same formula as sdgm.export.model.ExportModel, number by number.

// Features of a row: numbers, NaN where missing; categories as index of their level.
function encoded(inputs, values) {
  const x = [];
  inputs.forEach((input, i) => {
    if (input.kind === "number") {
      const missing = Number.isNaN(values[i]);
      if (missing && input.fill === null) throw new RangeError("missing");
      x.push(missing ? input.fill : values[i]);
      if (input.indicator) x.push(missing ? 1 : 0);
    } else {
      const n = input.levels.length + (input.missing ? 1 : 0);
      for (let k = 0; k < n; k++) x.push(values[i] === k ? 1 : 0);
    }
  });
  return x;
}

function standardized(model, x) {
  return x.map((value, i) => {
    const z = (value - model.center[i]) * model.inverse_scale[i];
    return Math.min(Math.max(z, -model.reach), model.reach);
  });
}

// Columns of the model: products of inputs or their squared norm, or kernels.
function columns(model, z) {
  if (model.terms) {
    let norm = 0;
    for (const value of z) norm += value * value;
    return model.terms.map((term) => (term.squared_norm ? norm : term.features.reduce((product, i) => product * z[i], 1)));
  }
  const { name, gamma, coef0, degree } = model.kernel;
  return model.vectors.map((v) => {
    let sum = 0;
    if (name === "rbf") {
      for (let i = 0; i < v.length; i++) sum += (z[i] - v[i]) * (z[i] - v[i]);
      return Math.exp(-gamma * sum);
    }
    for (let i = 0; i < v.length; i++) sum += z[i] * v[i];
    return name === "linear" ? sum : power(gamma * sum + coef0, degree);
  });
}

// of whole exponents, as repeated products
function power(base, exponent) {
  let result = 1;
  for (let i = 0; i < exponent; i++) result *= base;
  return result;
}

function logSumExp(values) {
  const largest = Math.max(...values);
  let sum = 0;
  for (const value of values) sum += Math.exp(value - largest);
  return largest + Math.log(sum);
}

// Class probabilities of the values of a row.
function probabilities(model, values) {
  const phi = columns(model, standardized(model, encoded(model.inputs, values)));
  const scores = model.coef.map((w, k) => {
    let score = 0;
    for (let h = 0; h < w.length; h++) if (w[h] !== 0) score += w[h] * phi[h];
    return score + model.offset[k];
  });
  const largest = Math.max(...scores);
  const shifted = scores.map((score) => score - largest);
  const total = logSumExp(shifted);
  const P = [];
  for (let c = 0; c < model.n_classes; c++) {
    const own = shifted.filter((_, k) => model.component_class[k] === c);
    P.push(Math.exp(Math.min(logSumExp(own) - total, 0)));
  }
  return P;
}

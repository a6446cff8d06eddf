// Inverse links: from the margins of all outputs to the responses.

const INVERSE_LINKS = {
  identity: (margins) => margins,
  sigmoid: (margins) => margins.map((m) => 1 / (1 + Math.exp(-m))),
  multiclass_ova: (margins) => margins.map((m) => 1 / (1 + Math.exp(-m))),
  exponential: (margins) => margins.map(Math.exp),
  signed_square: (margins) => margins.map((m) => m * Math.abs(m)),
  logarithm_one_plus_exp: (margins) => margins.map((m) => Math.max(m, 0) + Math.log1p(Math.exp(-Math.abs(m)))),
  softmax: (margins) => {
    let largest = -Infinity;
    for (const m of margins) largest = Math.max(largest, m);
    return toShares(margins.map((m) => Math.exp(m - largest)));
  },
  hinge: (margins) => margins.map((m) => (m > 0 ? 1 : 0)),
  probability: (margins) => {
    const p = margins.map(clipToUnit);
    return p.length === 1 ? p : toShares(p);
  },
  clip: (margins) => margins.map(clipToUnit),
  scaled_sigmoid: (margins) => toShares(margins.map((m) => 1 / (1 + Math.exp(-m)))),
  mean_variance: ([mean, logDeviation]) => Float64Array.of(mean, Math.exp(2 * logDeviation)),
  sorted: (margins) => Float64Array.from(margins).sort(),
};

/** Clip a number to the range from 0 to 1. */
function clipToUnit(value) {
  return Math.min(Math.max(value, 0), 1);
}

/** Divide numbers by their sum; equal shares where it is 0. */
function toShares(values) {
  let total = 0;
  for (const v of values) total += v;
  return values.map((v) => (total > 0 ? v / total : 1 / values.length));
}

/**
 * Return the function that a payload describes as the inverse link.
 * @param {{name: string, factor?: number}} link
 * @returns {function(Float64Array): Float64Array} from the margins of all outputs to the responses
 */
function inverseLink(link) {
  if (link.name === "isolation") {
    const n = link.pathLength;
    return (margins) => margins.map((m) => (n ? -(2 ** (-m / n)) : -0.5));
  }
  if (link.name === "targets") {
    const parts = link.parts.map(inverseLink);
    return (margins) => {
      let start = 0;
      const out = [];
      parts.forEach((part, i) => {
        out.push(...part(margins.slice(start, start + link.sizes[i])));
        start += link.sizes[i];
      });
      return Float64Array.from(out);
    };
  }
  const inverse = INVERSE_LINKS[link.name];
  return link.factor === 1 ? inverse : (margins) => inverse(margins.map((m) => link.factor * m));
}

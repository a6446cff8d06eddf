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
  if (link.name === "combined") return combinedLink(link);
  const inverse = INVERSE_LINKS[link.name];
  return link.factor === 1 ? inverse : (margins) => inverse(margins.map((m) => link.factor * m));
}

/** Return the function from the margins of all members to the prediction of the model that combines them. */
function combinedLink(link) {
  const members = link.members.map((member) => ({ ...member, inverse: inverseLink(member.link) }));
  if (link.kind === "calibrated") {
    return (margins) => withoutFirst(meanOfMembers(members.map((member) => calibratedShares(member, link.n_classes, margins))));
  }
  if (link.kind === "averaged") {
    return (margins) => {
      const parts = members.map((member) => (link.classifies ? sharesOfMember : outputOfMember)(member, margins));
      const sum = parts[0].map((_, i) => parts.reduce((total, part, m) => total + link.weights[m] * part[i], 0));
      return link.classifies ? withoutFirst(sum) : sum;
    };
  }
  const last = INVERSE_LINKS[link.link];
  return (margins) => {
    const columns = members.flatMap((member) => Array.from(columnsForLastModel(member, margins)));
    return last(
      Float64Array.from(link.coef, (row, o) => row.reduce((sum, c, i) => sum + c * columns[i], link.intercept[o])),
    );
  };
}

/** Return the margins that belong to a member. */
function marginsOfMember(member, margins) {
  return margins.slice(member.first, member.first + member.size);
}

/** Return the output of a member: probabilities (of the second of two classes), or predictions. */
function outputOfMember(member, margins) {
  return member.inverse(marginsOfMember(member, margins));
}

/** Return the probabilities of all classes of a member. */
function sharesOfMember(member, margins) {
  const p = outputOfMember(member, margins);
  return member.binary ? Float64Array.of(1 - p[0], p[0]) : p;
}

/** Return the decision function of a member. */
function decisionOfMember(member, margins) {
  const own = marginsOfMember(member, margins);
  return member.binary ? own.map((m) => m - member.evenMargin) : own;
}

/** Return the probability of the second of two classes, or those of all of more classes. */
function withoutFirst(p) {
  return p.length === 2 ? p.slice(1) : p;
}

/** Return the means of several arrays, number by number. */
function meanOfMembers(parts) {
  return parts[0].map((_, i) => parts.reduce((total, part) => total + part[i], 0) / parts.length);
}

/** Return what the last model of a stack gets from a member. */
function columnsForLastModel(member, margins) {
  if (member.method === "predict_proba") return withoutFirst(sharesOfMember(member, margins));
  if (member.method === "decision_function") return decisionOfMember(member, margins);
  return outputOfMember(member, margins);
}

/** Return the calibrated probabilities of all classes of a member. */
function calibratedShares(member, nClasses, margins) {
  const decides = member.method === "decision_function";
  const scores = decides ? decisionOfMember(member, margins) : withoutFirst(sharesOfMember(member, margins));
  if (member.calibrators[0].kind === "temperature") {
    const pair = (s) => (decides ? [-s[0], s[0]] : [1 - s[0], s[0]]);
    const values = Float64Array.from(scores.length === 1 ? pair(scores) : scores);
    const logits = decides ? values : values.map((p) => Math.log(p + 1e-12));
    return INVERSE_LINKS.softmax(logits.map((v) => member.calibrators[0].beta * v));
  }
  const p = new Float64Array(nClasses);
  member.classes.slice(0, scores.length).forEach((position, i) => {
    p[position + (nClasses === 2 ? 1 : 0)] = calibrateScore(member.calibrators[i], scores[i]);
  });
  if (nClasses === 2) {
    p[0] = 1 - p[1];
    return p;
  }
  return toShares(p);
}

/** Return a calibrated probability. */
function calibrateScore(calibrator, score) {
  if (calibrator.kind === "sigmoid") return 1 / (1 + Math.exp(calibrator.a * score + calibrator.b));
  const { x, y } = calibrator;
  if (score <= x[0]) return y[0];
  for (let i = 1; i < x.length; i++) {
    if (score < x[i]) return y[i - 1] + ((y[i] - y[i - 1]) / (x[i] - x[i - 1])) * (score - x[i - 1]);
  }
  return y[y.length - 1];
}

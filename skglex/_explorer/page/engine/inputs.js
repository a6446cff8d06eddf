// From the values of features to the cells of the grid.

/**
 * Return the cell of a value, as the model bins it.
 * @param {object} feature one of `facts.features`
 * @param {number|string|null} value a number, or the label of a category; null stands for a missing value
 * @returns {number} the cell
 */
function cellOfValue(feature, value) {
  if (isMissing(feature, value)) {
    if (feature.missing === null) throw new Error(`${feature.name} has no missing values in this model`);
    return feature.missing;
  }
  if (feature.kind === "number") return cellOfNumber(feature, Number(value));
  const cell = feature.cellOfLabel.get(String(value));
  if (cell !== undefined) return cell;
  if (feature.unseen === null || feature.unseen === undefined) {
    throw new Error(`The model does not know the value "${value}" of ${feature.name}`);
  }
  return feature.unseen;
}

/** Return whether the model takes a value as missing. */
function isMissing(feature, value) {
  if (value === null || value === undefined || value === "") return true;
  if (feature.kind !== "number") return false;
  const x = Number(value);
  if (Number.isNaN(x)) return true;
  if (feature.zeroIsMissing && Math.abs(x) <= Math.fround(1e-35)) return true;
  if (feature.missingValue === null) return false;
  return feature.asFloat32 ? Math.fround(x) === Math.fround(feature.missingValue) : x === feature.missingValue;
}

/** Return how many edges are at most x: the cell of a number. */
function cellOfNumber(feature, x) {
  const edges = feature.edges;
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edges[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Prepare the facts of the features for look-ups.
 * @param {object[]} features `facts.features`
 */
function prepareFeatures(features) {
  for (const feature of features) {
    if (feature.kind === "number") feature.edges = feature.edges.map(Number);
    if (feature.kind === "number") feature.labels = numberLabels(feature);
    // Labels can repeat, and the first cell with a label is meant.
    feature.cellOfLabel = new Map();
    feature.labels.forEach((label, cell) => {
      if (!feature.cellOfLabel.has(label)) feature.cellOfLabel.set(label, cell);
    });
  }
}

/** Write a number with four digits, or with all digits before the point. */
function shortNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e4 && size < 1e9 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
  return text.replace("-", "−");
}

/** Name the interval of numbers between two edges, with whole numbers where the feature has only these. */
function intervalLabel(low, high, whole) {
  if (low === -Infinity && high === Infinity) return "all";
  if (whole) {
    const first = Math.ceil(low);
    const last = Math.ceil(high) - 1;
    if (low === -Infinity) return `≤ ${shortNumber(last)}`;
    if (high === Infinity) return `≥ ${shortNumber(first)}`;
    return first === last ? shortNumber(first) : `${shortNumber(first)} to ${shortNumber(last)}`;
  }
  if (low === -Infinity) return `< ${shortNumber(high)}`;
  if (high === Infinity) return `≥ ${shortNumber(low)}`;
  return `${shortNumber(low)} to ${shortNumber(high)}`;
}

/** Return the labels of the cells of a feature of numbers. */
function numberLabels(feature) {
  const ends = [-Infinity, ...feature.edges, Infinity];
  const labels = [];
  for (let i = 0; i + 1 < ends.length; i++) labels.push(intervalLabel(ends[i], ends[i + 1], feature.step === 1));
  if (feature.missing !== null) labels.push(feature.missingLabel);
  for (let i = labels.length; i < feature.nCells; i++) labels.push("another value");
  return labels;
}

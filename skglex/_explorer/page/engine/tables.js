// Tables of components: each leaf adds boxes to a difference array, and one cumulative sum per axis makes the table.

// A table has at most so many cells.
const MOST_TABLE_CELLS = 4e6;

/**
 * Merge the cells of a feature that no leaf of a component tells apart.
 * @param {Leaves} leaves
 * @param {object} feature its facts
 * @param {number} player
 * @param {Set<number>} truths the conditions of the component's leaves on the feature
 * @returns {{binOf: Uint16Array, first: number[], runs: Map<number, number[][]>}} the table's bin of each cell, the first
 *   cell of each bin, and for each condition the ranges of bins that meet it
 */
function mergeCells(leaves, feature, player, truths) {
  const n = feature.nCells;
  const starts = new Uint8Array(n);
  starts[0] = 1;
  // A missing value is not beside the numbers, and the cells after it are beside nothing.
  if (feature.missing !== null) for (let cell = feature.missing; cell < n; cell++) starts[cell] = 1;
  if (feature.kind !== "number") starts.fill(1);
  const changes = new Map();
  for (const t of truths) {
    const at = [];
    let before = 0;
    for (let cell = 0; cell < n; cell++) {
      const now = leaves.truthAt(t, cell);
      if (now !== before) {
        starts[cell] = 1;
        at.push(cell);
      }
      before = now;
    }
    if (before) at.push(n);
    changes.set(t, at);
  }
  const binOf = new Uint16Array(n);
  const first = [];
  for (let cell = 0; cell < n; cell++) {
    if (starts[cell]) first.push(cell);
    binOf[cell] = first.length - 1;
  }
  const runs = new Map();
  for (const [t, at] of changes) {
    const ranges = [];
    for (let i = 0; i < at.length; i += 2) ranges.push([binOf[at[i]], at[i + 1] === n ? first.length : binOf[at[i + 1]]]);
    runs.set(t, ranges);
  }
  return { binOf, first, runs };
}

/** Describe one axis of a table for pictures. */
function axisOfTable(feature, player, merged) {
  const n = merged.first.length;
  const share = new Array(n).fill(0);
  merged.binOf.forEach((b, cell) => (share[b] += feature.background[cell] || 0));
  const missing = feature.missing === null ? null : merged.binOf[feature.missing];
  const starts = merged.first;
  let edges = [];
  let labels = starts.map((cell) => feature.labels[cell]);
  if (feature.kind === "number") {
    const inner = starts.filter((cell) => cell < feature.edges.length + 1);
    edges = inner.slice(1).map((cell) => feature.edges[cell - 1]);
    const ends = [-Infinity, ...edges, Infinity];
    labels = labels.map((label, b) => (b < inner.length ? intervalLabel(ends[b], ends[b + 1], feature.step === 1) : label));
  }
  return { feature: player, edges, starts, labels, share, missing, binOf: merged.binOf };
}

/**
 * Compute the table of a component.
 * @param {Leaves} leaves
 * @param {object[]} features the facts of all features
 * @param {number[]} players increasing
 * @param {number} output
 * @returns {{features: number[], shape: number[], values: Float64Array, axes: object[]}} values in row-major order
 */
function tableOfComponent(leaves, features, players, output) {
  const order = players.length;
  const found = leaves.leavesWith(players);
  const truths = players.map(() => new Set());
  found.leaves.forEach((l, n) => {
    found.positions[n].forEach((i, p) => truths[p].add(leaves.entryTruth[leaves.leafPtr[l] + i]));
  });
  const merged = players.map((player, p) => mergeCells(leaves, features[player], player, truths[p]));
  const shape = merged.map((axis) => axis.first.length);
  const size = shape.reduce((product, n) => product * n, 1);
  if (size > MOST_TABLE_CELLS) {
    throw new NotInPage(`The table has ${size.toLocaleString("en")} cells, more than this page computes`);
  }
  // One more place along each axis takes the ends of boxes that reach to the last bin.
  const stride = new Array(order).fill(1);
  for (let p = order - 2; p >= 0; p--) stride[p] = stride[p + 1] * (shape[p + 1] + 1);
  const steps = new Float64Array(stride[0] * (shape[0] + 1));
  const parts = subsetsOf(order);
  found.leaves.forEach((l, n) => {
    const value = leaves.valueAt(l, output);
    if (value === 0) return;
    const at = found.positions[n];
    for (const part of parts) {
      const sign = (order - part.length) % 2 ? -1 : 1;
      const add = sign * value * leaves.weightWithout(l, part.map((p) => at[p]));
      const ranges = players.map((_, p) =>
        part.includes(p) ? merged[p].runs.get(leaves.entryTruth[leaves.leafPtr[l] + at[p]]) : [[0, shape[p]]],
      );
      addCorners(steps, stride, ranges, 0, 0, add);
    }
  });
  for (let p = 0; p < order; p++) sumAlong(steps, stride[p], shape[p] + 1);
  const values = withoutEnds(steps, shape, stride, size);
  return { features: players, shape, values, axes: players.map((player, p) => axisOfTable(features[player], player, merged[p])) };
}

/** Add a value to the corners of all boxes that are products of one range per axis. */
function addCorners(steps, stride, ranges, p, at, add) {
  if (p === ranges.length) {
    steps[at] += add;
    return;
  }
  for (const [low, high] of ranges[p]) {
    addCorners(steps, stride, ranges, p + 1, at + low * stride[p], add);
    addCorners(steps, stride, ranges, p + 1, at + high * stride[p], -add);
  }
}

/** Sum an array along the axis with a stride and a length, in place. */
function sumAlong(values, stride, length) {
  const block = stride * length;
  for (let start = 0; start < values.length; start += block) {
    for (let i = start + stride; i < start + block; i++) values[i] += values[i - stride];
  }
}

/** Return the cells of a table without the last place along each axis. */
function withoutEnds(steps, shape, stride, size) {
  const values = new Float64Array(size);
  const index = new Array(shape.length).fill(0);
  for (let i = 0; i < size; i++) {
    let at = 0;
    for (let p = 0; p < shape.length; p++) at += index[p] * stride[p];
    values[i] = steps[at];
    for (let p = shape.length - 1; p >= 0 && ++index[p] === shape[p]; p--) index[p] = 0;
  }
  return values;
}

// Components of a row: main effects and pairs of all features at once, and single components up to order 3.

/**
 * Compute the main effects and pairs of a row, from the leaves.
 * @param {Leaves} leaves
 * @param {Int32Array} cells
 * @param {number} output
 * @returns {{intercept: number, main: Float64Array, pairs: Float64Array}} pairs[i * nFeatures + j] for i < j
 */
function componentsOfRow(leaves, cells, output) {
  const { nFeatures, leafPtr, entryPlayer, entryTruth, entryRatio, pathDependent } = leaves;
  const met = leaves.meet(cells);
  const main = new Float64Array(nFeatures);
  const pairs = new Float64Array(nFeatures * nFeatures);
  const weight = leaves.weight;
  let intercept = leaves.base[output];
  for (let l = 0; l < leaves.nLeaves; l++) {
    const value = leaves.valueAt(l, output);
    if (value === 0) continue;
    const start = leafPtr[l];
    const k = leafPtr[l + 1] - start;
    if (pathDependent) {
      // The weights are products of ratios, so a component is a product of differences and ratios.
      for (let i = -1; i < k; i++) {
        const di = i < 0 ? 1 : met[entryTruth[start + i]] - entryRatio[start + i];
        if (di === 0) continue;
        for (let j = -1; j < Math.max(i, 0); j++) {
          let product = value * di * (j < 0 ? 1 : met[entryTruth[start + j]] - entryRatio[start + j]);
          for (let m = 0; m < k; m++) if (m !== i && m !== j) product *= entryRatio[start + m];
          if (i < 0) intercept += product;
          else if (j < 0) main[entryPlayer[start + i]] += product;
          else pairs[entryPlayer[start + j] * nFeatures + entryPlayer[start + i]] += product;
        }
      }
      continue;
    }
    const scaled = value * leaves.weightScale;
    const at = leaves.weightPtr[l];
    const none = weight[at];
    intercept += scaled * none;
    for (let i = 0; i < k; i++) {
      const withI = met[entryTruth[start + i]] ? weight[at + 1 + i] : 0;
      main[entryPlayer[start + i]] += scaled * (withI - none);
      const rank = at + 1 + k + (i * (i - 1)) / 2;
      const row = entryPlayer[start + i];
      for (let j = 0; j < i; j++) {
        const metJ = met[entryTruth[start + j]];
        const withJ = metJ ? weight[at + 1 + j] : 0;
        const both = metJ && met[entryTruth[start + i]] ? weight[rank + j] : 0;
        pairs[entryPlayer[start + j] * nFeatures + row] += scaled * (both - withI - withJ + none);
      }
    }
  }
  return { intercept, main, pairs };
}

/** Return all subsets of the numbers below n, as arrays. */
function subsetsOf(n) {
  return Array.from({ length: 1 << n }, (_, mask) => Array.from({ length: n }, (_, i) => i).filter((i) => mask & (1 << i)));
}

/**
 * Compute one component of a row.
 * @param {Leaves} leaves
 * @param {number[]} players increasing
 * @param {Int32Array} cells
 * @param {number} output
 * @returns {number}
 */
function componentOfRow(leaves, players, cells, output) {
  const found = leaves.leavesWith(players);
  const parts = subsetsOf(players.length);
  let total = 0;
  found.leaves.forEach((l, n) => {
    const value = leaves.valueAt(l, output);
    if (value === 0) return;
    const at = found.positions[n];
    const met = at.map((i, p) => leaves.truthAt(leaves.entryTruth[leaves.leafPtr[l] + i], cells[players[p]]));
    for (const part of parts) {
      if (!part.every((p) => met[p])) continue;
      const sign = (players.length - part.length) % 2 ? -1 : 1;
      total += sign * value * leaves.weightWithout(l, part.map((p) => at[p]));
    }
  });
  return total;
}

// SHAP values of the margin.

/** Return the points and weights of Gauss-Legendre quadrature between 0 and 1, exact up to the degree 2n - 1. */
function gaussLegendre(n) {
  const points = new Float64Array(n);
  const weights = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (n + 0.5));
    let slope = 1;
    for (let round = 0; round < 100; round++) {
      let p = 1;
      let before = 0;
      for (let k = 0; k < n; k++) [p, before] = [((2 * k + 1) * x * p - k * before) / (k + 1), p];
      slope = (n * (x * p - before)) / (x * x - 1);
      const step = p / slope;
      x -= step;
      if (Math.abs(step) < 1e-16) break;
    }
    points[i] = (1 - x) / 2;
    weights[i] = 1 / ((1 - x * x) * slope * slope);
  }
  return { points, weights };
}

/**
 * Compute SHAP values with path-dependent weights. In each leaf they are integrals of a polynomial: the player i changes
 * the product over all others of ratio + t (met - ratio) by met - ratio.
 */
function pathDependentShap(leaves, cells, output) {
  const { leafPtr, entryPlayer, entryTruth, entryRatio } = leaves;
  const met = leaves.meet(cells);
  const values = new Float64Array(leaves.nFeatures);
  const rules = [];
  let base = leaves.base[output];
  for (let l = 0; l < leaves.nLeaves; l++) {
    const value = leaves.valueAt(l, output);
    const start = leafPtr[l];
    const stop = leafPtr[l + 1];
    const k = stop - start;
    let all = value;
    for (let e = start; e < stop; e++) all *= entryRatio[e];
    base += all;
    if (value === 0 || k === 0) continue;
    const n = Math.max(1, Math.ceil(k / 2));
    const rule = rules[n] || (rules[n] = gaussLegendre(n));
    for (let q = 0; q < n; q++) {
      const t = rule.points[q];
      let product = value * rule.weights[q];
      let zeros = 0;
      let zeroAt = -1;
      for (let e = start; e < stop; e++) {
        const factor = entryRatio[e] + t * (met[entryTruth[e]] - entryRatio[e]);
        if (factor === 0) {
          zeros++;
          zeroAt = e;
        } else product *= factor;
      }
      // A factor that is 0 belongs to a player that changes nothing, and leaves nothing to all others.
      if (zeros > 0) continue;
      for (let e = start; e < stop; e++) {
        const change = met[entryTruth[e]] - entryRatio[e];
        if (change !== 0) values[entryPlayer[e]] += (product * change) / (entryRatio[e] + t * change);
      }
    }
  }
  return { base, values };
}

/** Return the number of bits that are set. */
function countBits(v) {
  v -= (v >>> 1) & 0x55555555;
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return (((v + (v >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

/** Return (a - 1)! b! / (a + b)! for a, b up to n, at the position a * (n + 1) + b; 0 for a = 0. */
function coalitionShares(n) {
  const out = new Float64Array((n + 1) * (n + 1));
  for (let a = 1; a <= n; a++) {
    let share = 1 / a;
    for (let b = 0; b <= n; b++) {
      out[a * (n + 1) + b] = share;
      share *= (b + 1) / (a + b + 1);
    }
  }
  return out;
}

const COALITION_SHARES = coalitionShares(MOST_MASK_BITS);

/**
 * Compute SHAP values against background rows. A row and a background row reach a leaf in the coalitions that contain
 * all players that only the row meets, and none that only the background row meets.
 */
function empiricalShap(background, cells, output) {
  const { leaves } = background;
  background.findPatterns();
  const { pattern, patternPtr, patternShare } = background;
  const { leafPtr, entryPlayer } = leaves;
  const masks = masksOfRow(leaves, cells);
  const values = new Float64Array(leaves.nFeatures);
  const ofLeaf = new Float64Array(MOST_MASK_BITS);
  const stride = MOST_MASK_BITS + 1;
  for (let l = 0; l < leaves.nLeaves; l++) {
    const value = leaves.valueAt(l, output);
    const start = leafPtr[l];
    const k = leafPtr[l + 1] - start;
    if (value === 0 || k === 0) continue;
    const row = masks[l];
    const violated = ~row & ((1 << k) - 1);
    ofLeaf.fill(0, 0, k);
    let any = false;
    for (let q = patternPtr[l]; q < patternPtr[l + 1]; q++) {
      const other = pattern[q];
      if (violated & ~other) continue;
      let inside = row & ~other;
      let outside = violated;
      if ((inside | outside) === 0) continue;
      any = true;
      const a = countBits(inside);
      const b = countBits(outside);
      const up = patternShare[q] * COALITION_SHARES[a * stride + b];
      const down = patternShare[q] * COALITION_SHARES[b * stride + a];
      for (; inside; inside &= inside - 1) ofLeaf[31 - Math.clz32(inside & -inside)] += up;
      for (; outside; outside &= outside - 1) ofLeaf[31 - Math.clz32(outside & -outside)] -= down;
    }
    if (any) for (let i = 0; i < k; i++) values[entryPlayer[start + i]] += value * ofLeaf[i];
  }
  return { base: background.meanMargins()[output], values };
}

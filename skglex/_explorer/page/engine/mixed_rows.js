// The response scale: means over the background rows of the response of rows mixed with them.
//
// The value of a set of features is the mean response over the background rows with these features taken from the row.
// A row and a background row reach a leaf in the mixes that take all players that only the row meets from the row, and
// all players that only the background row meets from the background row.

// SHAP values of the response need all coalitions of the features; so many coalitions of so many features at most.
const MOST_RESPONSE_PLAYERS = 14;

/** Visit the leaves that mixes of a row with background row r reach. */
function visitMixedLeaves(leaves, rowMasks, otherMasks, visit) {
  const { leafPtr, nLeaves } = leaves;
  for (let l = 0; l < nLeaves; l++) {
    const k = leafPtr[l + 1] - leafPtr[l];
    const row = rowMasks[l];
    const other = otherMasks[l];
    const full = (1 << k) - 1;
    if ((row | other) === full) visit(l, row & ~other, other & ~row);
  }
}

/** Return the players of a leaf at the bits of a mask, in `out`, and their number. */
function playersIn(leaves, l, mask, out) {
  let n = 0;
  for (; mask; mask &= mask - 1) out[n++] = leaves.entryPlayer[leaves.leafPtr[l] + 31 - Math.clz32(mask & -mask)];
  return n;
}

/**
 * Compute the mean responses of all sets of up to two features.
 * @returns {{none: Float64Array, one: Float64Array[], two: Float64Array[]}} responses; two[i * nFeatures + j] for i < j
 */
function smallMixes(background, link, cells) {
  const { leaves } = background;
  const d = leaves.nFeatures;
  const nOutputs = leaves.nOutputs;
  const rowMasks = masksOfRow(leaves, cells);
  const masks = background.rowMasks();
  const none = new Float64Array(nOutputs);
  const one = new Float64Array(d * nOutputs);
  const two = new Float64Array(d * d * nOutputs);
  const inside = new Int32Array(MOST_MASK_BITS);
  const outside = new Int32Array(MOST_MASK_BITS);
  const margins = new Float64Array(nOutputs);
  const sums = { none: null, one: new Array(d), two: new Array(d * d) };
  const addResponse = (kind, at, share) => {
    const responses = link(margins);
    if (!sums[kind] && kind === "none") sums.none = new Float64Array(responses.length);
    if (kind !== "none" && !sums[kind][at]) sums[kind][at] = new Float64Array(responses.length);
    const sum = kind === "none" ? sums.none : sums[kind][at];
    for (let o = 0; o < sum.length; o++) sum[o] += share * responses[o];
  };
  for (let r = 0; r < background.n; r++) {
    none.set(leaves.base);
    one.fill(0);
    two.fill(0);
    visitMixedLeaves(leaves, rowMasks, masks[r], (l, insideMask, outsideMask) => {
      const nInside = countBits(insideMask);
      if (nInside > 2) return;
      playersIn(leaves, l, insideMask, inside);
      const nOutside = playersIn(leaves, l, outsideMask, outside);
      for (let w = 0; w < leaves.width; w++) {
        const o = leaves.output[l] + w;
        const value = leaves.value[l * leaves.width + w];
        // Products of "taken" for the players inside and of "not taken" for those outside, up to the second degree.
        if (nInside === 0) {
          none[o] += value;
          for (let i = 0; i < nOutside; i++) {
            one[outside[i] * nOutputs + o] -= value;
            for (let j = 0; j < i; j++) two[(outside[j] * d + outside[i]) * nOutputs + o] += value;
          }
        } else if (nInside === 1) {
          const a = inside[0];
          one[a * nOutputs + o] += value;
          for (let i = 0; i < nOutside; i++) {
            const b = outside[i];
            two[(Math.min(a, b) * d + Math.max(a, b)) * nOutputs + o] -= value;
          }
        } else two[(inside[0] * d + inside[1]) * nOutputs + o] += value;
      }
    });
    const share = background.share[r];
    margins.set(none);
    addResponse("none", 0, share);
    for (let i = 0; i < d; i++) {
      for (let o = 0; o < nOutputs; o++) margins[o] = none[o] + one[i * nOutputs + o];
      addResponse("one", i, share);
      for (let j = i + 1; j < d; j++) {
        for (let o = 0; o < nOutputs; o++) {
          margins[o] = none[o] + one[i * nOutputs + o] + one[j * nOutputs + o] + two[(i * d + j) * nOutputs + o];
        }
        addResponse("two", i * d + j, share);
      }
    }
  }
  return sums;
}

/**
 * Compute main effects and pairs of the response at a row.
 * @returns {{intercept: number, main: Float64Array, pairs: Float64Array}}
 */
function responseComponentsOfRow(background, link, cells, output) {
  const d = background.leaves.nFeatures;
  const mixes = smallMixes(background, link, cells);
  const intercept = mixes.none[output];
  const main = Float64Array.from(mixes.one, (mean) => mean[output] - intercept);
  const pairs = new Float64Array(d * d);
  for (let i = 0; i < d; i++) {
    for (let j = i + 1; j < d; j++) pairs[i * d + j] = mixes.two[i * d + j][output] - intercept - main[i] - main[j];
  }
  return { intercept, main, pairs };
}

/** Compute SHAP values of the response at a row, from the mean responses of all coalitions. */
function responseShap(background, link, cells, output) {
  const { leaves } = background;
  const d = leaves.nFeatures;
  if (d > MOST_RESPONSE_PLAYERS) {
    throw new NotInPage(
      `SHAP values of the response need all 2^${d} sets of the ${d} features; this page computes them for up to ` +
        `${MOST_RESPONSE_PLAYERS} features. Components on the response scale, and SHAP values of the margin, are here`,
    );
  }
  const size = 1 << d;
  const nOutputs = leaves.nOutputs;
  const rowMasks = masksOfRow(leaves, cells);
  const masks = background.rowMasks();
  const margins = new Float64Array(nOutputs);
  const sums = new Float64Array(size);
  const steps = Array.from({ length: nOutputs }, () => new Float64Array(size));
  for (let r = 0; r < background.n; r++) {
    for (let o = 0; o < nOutputs; o++) steps[o].fill(0)[0] = leaves.base[o];
    visitMixedLeaves(leaves, rowMasks, masks[r], (l, insideMask, outsideMask) => {
      let must = 0;
      let mustNot = 0;
      const start = leaves.leafPtr[l];
      for (let m = insideMask; m; m &= m - 1) must |= 1 << leaves.entryPlayer[start + 31 - Math.clz32(m & -m)];
      for (let m = outsideMask; m; m &= m - 1) mustNot |= 1 << leaves.entryPlayer[start + 31 - Math.clz32(m & -m)];
      for (let w = 0; w < leaves.width; w++) {
        const step = steps[leaves.output[l] + w];
        const value = leaves.value[l * leaves.width + w];
        for (let part = mustNot; ; part = (part - 1) & mustNot) {
          step[must | part] += countBits(part) % 2 ? -value : value;
          if (part === 0) break;
        }
      }
    });
    for (const step of steps) {
      for (let bit = 1; bit < size; bit <<= 1) {
        for (let m = 0; m < size; m++) if (m & bit) step[m] += step[m ^ bit];
      }
    }
    for (let m = 0; m < size; m++) {
      for (let o = 0; o < nOutputs; o++) margins[o] = steps[o][m];
      sums[m] += background.share[r] * link(margins)[output];
    }
  }
  return { base: sums[0], values: shapleyOfCoalitions(sums, d) };
}

/** Return the Shapley values of a game from the values of all coalitions. */
function shapleyOfCoalitions(game, d) {
  const values = new Float64Array(d);
  const weight = new Float64Array(d);
  for (let s = 0, w = 1 / d; s < d; w *= (s + 1) / (d - 1 - s), s++) weight[s] = w;
  for (let m = 0; m < game.length; m++) {
    const size = countBits(m);
    for (let i = 0; i < d; i++) {
      if (m & (1 << i)) values[i] += weight[size - 1] * game[m];
      else values[i] -= weight[size] * game[m];
    }
  }
  return values;
}

/**
 * Compute the mean response over the background rows at all cells of one or two features.
 * @param {number[][]} axes the cells along each axis
 * @returns {{shape: number[], values: Float64Array, axes: object[]}}
 */
function responseOnGrid(background, link, features, players, output, axes) {
  const { leaves } = background;
  const shape = axes.map((cells) => cells.length);
  const size = shape.reduce((product, n) => product * n, 1);
  const nOutputs = leaves.nOutputs;
  const masks = background.rowMasks();
  const stride = players.length === 2 ? [shape[1] + 1, 1] : [1];
  const steps = Array.from({ length: nOutputs }, () => new Float64Array(stride[0] * (shape[0] + 1)));
  const truths = players.map((player) => rangesAtCells(leaves, player, axes[players.indexOf(player)]));
  const free = new Int32Array(leaves.nLeaves);
  for (let l = 0; l < leaves.nLeaves; l++) {
    for (let e = leaves.leafPtr[l]; e < leaves.leafPtr[l + 1]; e++) {
      if (players.includes(leaves.entryPlayer[e])) free[l] |= 1 << (e - leaves.leafPtr[l]);
    }
  }
  const values = new Float64Array(size);
  const margins = new Float64Array(nOutputs);
  for (let r = 0; r < background.n; r++) {
    for (const step of steps) step.fill(0);
    for (let l = 0; l < leaves.nLeaves; l++) {
      const start = leaves.leafPtr[l];
      const k = leaves.leafPtr[l + 1] - start;
      if ((masks[r][l] | free[l]) !== (1 << k) - 1) continue;
      const ranges = shape.map((n) => [[0, n]]);
      for (let e = start; free[l] && e < start + k; e++) {
        const p = players.indexOf(leaves.entryPlayer[e]);
        if (p >= 0) ranges[p] = truths[p](leaves.entryTruth[e]);
      }
      for (let w = 0; w < leaves.width; w++) {
        addCorners(steps[leaves.output[l] + w], stride, ranges, 0, 0, leaves.value[l * leaves.width + w]);
      }
    }
    for (const step of steps) for (let p = 0; p < players.length; p++) sumAlong(step, stride[p], shape[p] + 1);
    for (let i = 0; i < size; i++) {
      const at = players.length === 2 ? Math.floor(i / shape[1]) * stride[0] + (i % shape[1]) : i;
      for (let o = 0; o < nOutputs; o++) margins[o] = leaves.base[o] + steps[o][at];
      values[i] += background.share[r] * link(margins)[output];
    }
  }
  return { features: players, shape, values, axes: players.map((player, p) => axisOfCells(features[player], player, axes[p])) };
}

/** Return the cells along the axes of a grid on the response scale. */
function axesOfGrid(features, players) {
  return players.map((player) => spreadCells(features[player], players.length === 1 ? 400 : 40));
}

/** Compute the table of a main effect or a pair of the response: mean responses minus those of fewer features. */
function responseTable(background, link, features, players, output) {
  const axes = axesOfGrid(features, players);
  const grid = responseOnGrid(background, link, features, players, output, axes);
  let base = 0;
  background.rows.forEach((row, r) => (base += background.share[r] * link(background.leaves.margins(row))[output]));
  if (players.length === 1) {
    grid.values = grid.values.map((value) => value - base);
    return grid;
  }
  const [first, second] = players.map((player, p) =>
    responseOnGrid(background, link, features, [player], output, [axes[p]]).values,
  );
  const n = grid.shape[1];
  grid.values = grid.values.map((value, i) => value - first[Math.floor(i / n)] - second[i % n] + base);
  return grid;
}

/** Return all cells of a feature, or some spread over the background if there are too many. */
function spreadCells(feature, most) {
  const n = feature.nCells;
  if (n <= most || feature.kind !== "number") return Array.from({ length: n }, (_, cell) => cell);
  const chosen = new Set([0]);
  let share = 0;
  for (let cell = 0; cell < n; cell++) {
    const before = Math.floor(share * most);
    share += feature.background[cell] || 0;
    if (Math.floor(share * most) > before) chosen.add(cell);
  }
  if (feature.missing !== null) for (let cell = feature.missing; cell < n; cell++) chosen.add(cell);
  return [...chosen].sort((a, b) => a - b);
}

/** Return a function from a condition to the ranges of chosen cells that meet it. */
function rangesAtCells(leaves, player, cells) {
  const known = new Map();
  return (t) => {
    if (!known.has(t)) {
      const ranges = [];
      let from = -1;
      cells.forEach((cell, i) => {
        const met = leaves.truthAt(t, cell);
        if (met && from < 0) from = i;
        if (!met && from >= 0) {
          ranges.push([from, i]);
          from = -1;
        }
      });
      if (from >= 0) ranges.push([from, cells.length]);
      known.set(t, ranges);
    }
    return known.get(t);
  };
}

/** Describe an axis of chosen cells; each stands for the cells up to the next. */
function axisOfCells(feature, player, cells) {
  const binOf = new Uint16Array(feature.nCells);
  for (let i = 0; i < cells.length; i++) {
    const end = i + 1 < cells.length ? cells[i + 1] : feature.nCells;
    for (let cell = cells[i]; cell < end; cell++) binOf[cell] = i;
  }
  return axisOfTable(feature, player, { first: cells, binOf });
}

// The leaves of the model: which conditions a row meets, and what the leaves add to its margin.

/** Report that a number needs background rows, which the page does not hold. */
class NeedsRows extends Error {
  constructor(what) {
    super(`${what} needs background rows, which this page does not hold. Write the report with background_rows=200`);
    this.name = "NeedsRows";
  }
}

/** Report that a number is too expensive to compute in the page, or not defined for the model. */
class NotInPage extends Error {
  constructor(message) {
    super(message);
    this.name = "NotInPage";
  }
}

/** Return where parts of the given sizes start; the last entry is the total. */
function runningSum(sizes) {
  const starts = new Int32Array(sizes.length + 1);
  for (let i = 0; i < sizes.length; i++) starts[i + 1] = starts[i] + sizes[i];
  return starts;
}

/**
 * The leaves of a model, each with the players (features) on its path.
 *
 * Entry e of `entryPlayer` is a player of the leaf that has the entries `leafPtr[l]` up to `leafPtr[l + 1]`, in
 * increasing order. A row meets the entry where its cell of the player meets the condition `entryTruth[e]`, which leaves
 * share.
 */
class Leaves {
  /**
   * @param {Object<string, TypedArray>} arrays those of the payload
   * @param {object} facts
   */
  constructor(arrays, facts) {
    this.nFeatures = facts.features.length;
    this.base = Float64Array.from(arrays.base);
    this.nOutputs = this.base.length;
    this.nLeaves = arrays.leafSize.length;
    this.value = arrays.leafValue;
    this.output = arrays.leafOutput;
    this.width = this.nLeaves ? this.value.length / this.nLeaves : 1;
    this.nCells = facts.features.map((feature) => feature.nCells);
    this.offsetOf = runningSum(this.nCells);
    this.readConditions(arrays);
    this.readPlayers(arrays);
    this.readWeights(arrays, facts);
    this.met = new Uint8Array(this.truthPlayer.length);
  }

  /** Read the conditions, and find the feature of each. */
  readConditions(arrays) {
    const playerOfColumn = new Int32Array(arrays.columnBins.length);
    const rowOfColumn = new Int32Array(arrays.columnBins.length);
    this.cellBins = [];
    for (let f = 0; f < this.nFeatures; f++) {
      arrays[`columns${f}`].forEach((column, row) => {
        playerOfColumn[column] = f;
        rowOfColumn[column] = row;
      });
      this.cellBins.push(arrays[`cellBins${f}`]);
    }
    const column = arrays.conditionColumn;
    this.low = Int32Array.from(arrays.conditionLow);
    this.high = Int32Array.from(arrays.conditionHigh);
    // The bin of missing values where these meet the condition, else -1, which is no bin.
    this.missing = Int32Array.from(column, (c, i) => (arrays.conditionMissing[i] ? arrays.columnBins[c] - 1 : -1));
    this.mask = Int32Array.from(arrays.conditionMask, (start) => start - 1);
    this.masks = arrays.masks;
    this.nConditions = column.length;
    this.truthPlayer = Array.from(column, (c) => playerOfColumn[c]);
    this.binsFrom = Int32Array.from(column, (c) => rowOfColumn[c] * this.nCells[playerOfColumn[c]]);
    // From here on: conditions that hold where all of several hold.
    this.joint = [];
  }

  /** Return 1 if a cell of the condition's feature meets condition t, else 0. */
  truthAt(t, cell) {
    if (t >= this.nConditions) return this.joint[t - this.nConditions].every((c) => this.truthAt(c, cell)) ? 1 : 0;
    const b = this.cellBins[this.truthPlayer[t]][this.binsFrom[t] + cell];
    if (this.mask[t] >= 0) return this.masks[this.mask[t] + b];
    return (b >= this.low[t] && b < this.high[t]) || b === this.missing[t] ? 1 : 0;
  }

  /** Join the conditions of each leaf that belong to one player; leaves share what they join. */
  readPlayers(arrays) {
    const { leafSize, leafCondition } = arrays;
    const shared = new Map();
    const sizes = new Int32Array(this.nLeaves);
    const players = [];
    const truths = [];
    const firstRatio = arrays.pathRatio ? [] : null;
    let start = 0;
    for (let l = 0; l < this.nLeaves; l++) {
      const byPlayer = new Map();
      for (let i = start; i < start + leafSize[l]; i++) {
        const player = this.truthPlayer[leafCondition[i]];
        if (byPlayer.has(player)) byPlayer.get(player).push(i);
        else byPlayer.set(player, [i]);
      }
      start += leafSize[l];
      const found = [...byPlayer.keys()].sort((a, b) => a - b);
      sizes[l] = found.length;
      for (const player of found) {
        const at = byPlayer.get(player);
        players.push(player);
        truths.push(at.length === 1 ? leafCondition[at[0]] : this.joined(at.map((i) => leafCondition[i]), player, shared));
        if (firstRatio) firstRatio.push(at.reduce((product, i) => product * arrays.pathRatio[i], 1));
      }
    }
    this.leafPtr = runningSum(sizes);
    this.entryPlayer = Int32Array.from(players);
    this.entryTruth = Int32Array.from(truths);
    this.entryRatio = firstRatio ? Float64Array.from(firstRatio) : null;
    this.truthPlayer = Int32Array.from(this.truthPlayer);
  }

  /** Return the condition that holds where all of several conditions on one player hold. */
  joined(conditions, player, shared) {
    const key = conditions.join(",");
    if (!shared.has(key)) {
      shared.set(key, this.truthPlayer.length);
      this.joint.push(conditions);
      this.truthPlayer.push(player);
    }
    return shared.get(key);
  }

  /** Read the weights E(P without V) of the sets V of few players of each leaf, by size and rank. */
  readWeights(arrays, facts) {
    this.maxOrder = facts.maxOrder;
    this.pathDependent = facts.weighting === "path_dependent";
    this.weight = arrays.weight || null;
    this.weightScale = arrays.weightTotal ? 1 / arrays.weightTotal[0] : 1;
    if (!this.weight) return;
    const sizes = new Int32Array(this.nLeaves);
    for (let l = 0; l < this.nLeaves; l++) {
      const k = this.leafPtr[l + 1] - this.leafPtr[l];
      sizes[l] = 1 + k + (k * (k - 1)) / 2 + (this.maxOrder > 2 ? (k * (k - 1) * (k - 2)) / 6 : 0);
    }
    this.weightPtr = runningSum(sizes);
  }

  /** Return whether each condition holds for a row. The array is the same for every call. */
  meet(cells) {
    const { met, truthPlayer } = this;
    for (let t = 0; t < met.length; t++) met[t] = this.truthAt(t, cells[truthPlayer[t]]);
    return met;
  }

  /** Return the margins of a row, one per output. */
  margins(cells) {
    const met = this.meet(cells);
    const { leafPtr, entryTruth, value, output, width } = this;
    const out = this.base.slice();
    for (let l = 0; l < this.nLeaves; l++) {
      let e = leafPtr[l];
      const stop = leafPtr[l + 1];
      while (e < stop && met[entryTruth[e]]) e++;
      if (e === stop) for (let w = 0; w < width; w++) out[output[l] + w] += value[l * width + w];
    }
    return out;
  }

  /** Return the value that leaf l adds to an output. */
  valueAt(l, output) {
    const w = output - this.output[l];
    return w >= 0 && w < this.width ? this.value[l * this.width + w] : 0;
  }

  /**
   * Return E(P without V) of a leaf: the weight of its conditions on all players but those at some positions.
   * @param {number} l leaf
   * @param {number[]} fixed positions of the players V among those of the leaf, increasing; at most `maxOrder`
   */
  weightWithout(l, fixed) {
    const start = this.leafPtr[l];
    const k = this.leafPtr[l + 1] - start;
    if (this.pathDependent) {
      let product = 1;
      for (let i = 0, at = 0; i < k; i++) {
        if (at < fixed.length && fixed[at] === i) at++;
        else product *= this.entryRatio[start + i];
      }
      return product;
    }
    const [a, b, c] = fixed;
    let rank = 0;
    if (fixed.length === 1) rank = 1 + a;
    else if (fixed.length === 2) rank = 1 + k + (b * (b - 1)) / 2 + a;
    else if (fixed.length === 3) {
      rank = 1 + k + (k * (k - 1)) / 2 + (c * (c - 1) * (c - 2)) / 6 + (b * (b - 1)) / 2 + a;
    }
    return this.weight[this.weightPtr[l] + rank] * this.weightScale;
  }

  /** Return the leaves whose paths have all of some players, and the positions of the players there. */
  leavesWith(players) {
    const leaves = [];
    const positions = [];
    for (let l = 0; l < this.nLeaves; l++) {
      const at = [];
      for (let e = this.leafPtr[l]; e < this.leafPtr[l + 1] && at.length < players.length; e++) {
        if (this.entryPlayer[e] === players[at.length]) at.push(e - this.leafPtr[l]);
      }
      if (at.length === players.length) {
        leaves.push(l);
        positions.push(at);
      }
    }
    return { leaves, positions };
  }
}

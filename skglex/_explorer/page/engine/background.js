// Background rows: which players of each leaf they meet, as bit masks.

// A leaf with more players has no bit mask.
const MOST_MASK_BITS = 30;

/**
 * The background rows of a page. Pattern q of leaf l is a set of players that some background rows meet and all others
 * violate: `pattern[q]` for q from `patternPtr[l]` up to `patternPtr[l + 1]`, with the share of these rows.
 */
class BackgroundRows {
  /**
   * @param {Leaves} leaves
   * @param {TypedArray} cells of shape (nFeatures, nRows)
   * @param {TypedArray} weight
   */
  constructor(leaves, cells, weight) {
    this.leaves = leaves;
    this.n = weight.length;
    let total = 0;
    for (const w of weight) total += w;
    this.share = Float64Array.from(weight, (w) => w / total);
    this.rows = Array.from({ length: this.n }, (_, r) =>
      Int32Array.from({ length: leaves.nFeatures }, (_, f) => cells[f * this.n + r]),
    );
    this.masks = null;
    this.means = null;
  }

  /** Raise unless all leaves have few enough players. */
  requireMasks() {
    const { leafPtr, nLeaves } = this.leaves;
    for (let l = 0; l < nLeaves; l++) {
      if (leafPtr[l + 1] - leafPtr[l] > MOST_MASK_BITS) {
        throw new NotInPage(`A path of this model has more than ${MOST_MASK_BITS} features, too many for this page. Python has these numbers`);
      }
    }
  }

  /** Return the masks of the players that each row meets: one array of all leaves per background row. */
  rowMasks() {
    if (!this.masks) {
      this.requireMasks();
      this.masks = this.rows.map((row) => masksOfRow(this.leaves, row));
    }
    return this.masks;
  }

  /** Find the distinct patterns of each leaf, and the share of the rows with each. */
  findPatterns() {
    if (this.pattern) return;
    const masks = this.rowMasks();
    const { nLeaves, leafPtr } = this.leaves;
    const pattern = [];
    const share = [];
    this.patternPtr = new Int32Array(nLeaves + 1);
    const seen = new Map();
    for (let l = 0; l < nLeaves; l++) {
      seen.clear();
      if (leafPtr[l + 1] > leafPtr[l]) {
        for (let r = 0; r < this.n; r++) {
          const m = masks[r][l];
          const at = seen.get(m);
          if (at === undefined) {
            seen.set(m, pattern.length);
            pattern.push(m);
            share.push(this.share[r]);
          } else share[at] += this.share[r];
        }
      }
      this.patternPtr[l + 1] = pattern.length;
    }
    this.pattern = Int32Array.from(pattern);
    this.patternShare = Float64Array.from(share);
  }

  /** Return the mean margins over the rows. */
  meanMargins() {
    if (!this.means) {
      this.means = new Float64Array(this.leaves.nOutputs);
      this.rows.forEach((row, r) => this.leaves.margins(row).forEach((m, o) => (this.means[o] += this.share[r] * m)));
    }
    return this.means;
  }
}

/** Return for every leaf the bit mask of the players whose conditions a row meets. */
function masksOfRow(leaves, cells) {
  const met = leaves.meet(cells);
  const { leafPtr, entryTruth, nLeaves } = leaves;
  const masks = new Int32Array(nLeaves);
  for (let l = 0; l < nLeaves; l++) {
    const start = leafPtr[l];
    let mask = 0;
    for (let e = leafPtr[l + 1] - 1; e >= start; e--) mask = (mask << 1) | met[entryTruth[e]];
    masks[l] = mask;
  }
  return masks;
}

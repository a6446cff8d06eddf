// Predictions without the effects of some features.

/** The model without some features, which are averaged out with the weights of the model's explanation. */
class Removal {
  /**
   * @param {Leaves} leaves
   * @param {BackgroundRows|null} background
   * @param {number[]} features
   */
  constructor(leaves, background, features) {
    this.leaves = leaves;
    this.background = background;
    this.removed = new Uint8Array(leaves.nFeatures);
    this.weights = null;
    this.values = null;
    // The results for the rows of the page, by scale.
    this.ofRows = {};
    for (const f of features) this.removed[f] = 1;
  }

  /** Return the weight of each leaf's conditions on the removed features. */
  leafWeights() {
    if (this.weights) return this.weights;
    const { leaves, background, removed } = this;
    const { leafPtr, entryPlayer, entryRatio, nLeaves, pathDependent } = leaves;
    const weights = new Float64Array(nLeaves).fill(1);
    if (!pathDependent && !background) throw new NeedsRows("Removing features");
    if (!pathDependent) background.findPatterns();
    for (let l = 0; l < nLeaves; l++) {
      let mask = 0;
      for (let e = leafPtr[l]; e < leafPtr[l + 1]; e++) {
        if (!removed[entryPlayer[e]]) continue;
        if (pathDependent) weights[l] *= entryRatio[e];
        mask |= 1 << (e - leafPtr[l]);
      }
      if (pathDependent || mask === 0) continue;
      weights[l] = 0;
      for (let q = background.patternPtr[l]; q < background.patternPtr[l + 1]; q++) {
        if ((background.pattern[q] & mask) === mask) weights[l] += background.patternShare[q];
      }
    }
    this.weights = weights;
    return weights;
  }

  /** Return the margins of a row without the removed features. */
  margins(cells) {
    const { leaves, removed } = this;
    const weights = this.leafWeights();
    const met = leaves.meet(cells);
    const { leafPtr, entryPlayer, entryTruth, value, output, width } = leaves;
    const out = leaves.base.slice();
    for (let l = 0; l < leaves.nLeaves; l++) {
      let e = leafPtr[l];
      const stop = leafPtr[l + 1];
      while (e < stop && (met[entryTruth[e]] || removed[entryPlayer[e]])) e++;
      if (e === stop) for (let w = 0; w < width; w++) out[output[l] + w] += weights[l] * value[l * width + w];
    }
    return out;
  }

  /** Find the distinct values of the removed features in the background, and which of them meet each leaf. */
  findValues() {
    if (this.values) return;
    const { leaves, background, removed } = this;
    if (!background) throw new NeedsRows("Removal on the response scale");
    const byKey = new Map();
    background.rows.forEach((row, r) => {
      const key = row.filter((_, f) => removed[f]).join(",");
      const known = byKey.get(key);
      if (known) known.share += background.share[r];
      else byKey.set(key, { row, share: background.share[r] });
    });
    this.values = [...byKey.values()];
    // The leaves without conditions on removed features come with an empty list, which stands for all values.
    this.valuesOfLeaf = Array.from({ length: leaves.nLeaves }, () => null);
    const { leafPtr, entryPlayer, entryTruth } = leaves;
    const known = new Map();
    for (let l = 0; l < leaves.nLeaves; l++) {
      const truths = [];
      for (let e = leafPtr[l]; e < leafPtr[l + 1]; e++) if (removed[entryPlayer[e]]) truths.push(entryTruth[e]);
      if (!truths.length) continue;
      const key = truths.join(",");
      if (!known.has(key)) {
        const met = [];
        this.values.forEach(({ row }, v) => {
          if (truths.every((t) => leaves.truthAt(t, row[leaves.truthPlayer[t]]))) met.push(v);
        });
        known.set(key, Int32Array.from(met));
      }
      this.valuesOfLeaf[l] = known.get(key);
    }
  }

  /** Return the mean responses of a row over the values of the removed features. */
  responses(cells, link) {
    this.findValues();
    const { leaves, removed, values, valuesOfLeaf } = this;
    const met = leaves.meet(cells);
    const { leafPtr, entryPlayer, entryTruth, value, output, width, nOutputs } = leaves;
    const common = leaves.base.slice();
    const own = new Float64Array(values.length * nOutputs);
    for (let l = 0; l < leaves.nLeaves; l++) {
      let e = leafPtr[l];
      const stop = leafPtr[l + 1];
      while (e < stop && (met[entryTruth[e]] || removed[entryPlayer[e]])) e++;
      if (e < stop) continue;
      const which = valuesOfLeaf[l];
      for (let w = 0; w < width; w++) {
        const o = output[l] + w;
        const add = value[l * width + w];
        if (which === null) common[o] += add;
        else for (let i = 0; i < which.length; i++) own[which[i] * nOutputs + o] += add;
      }
    }
    let out = null;
    const margins = new Float64Array(nOutputs);
    values.forEach(({ share }, v) => {
      for (let o = 0; o < nOutputs; o++) margins[o] = common[o] + own[v * nOutputs + o];
      const responses = link(margins);
      if (!out) out = new Float64Array(responses.length);
      for (let o = 0; o < out.length; o++) out[o] += share * responses[o];
    });
    return out;
  }
}

// The model of a page: what the views ask.

/**
 * Open the model of a payload.
 * @param {object} payload the JSON of the page
 * @returns {Promise<Model>}
 */
async function openModel(payload) {
  const model = new Model(payload.facts, await unpackArrays(payload.arrays));
  model.other = payload.other ? await openModel(payload.other) : null;
  return model;
}

/** A model, its explanation and its rows. `bins` are the cells of a row: one integer per feature. */
class Model {
  constructor(facts, arrays) {
    this.facts = facts;
    prepareFeatures(facts.features);
    this.leaves = new Leaves(arrays, facts);
    // A model that combines others has a response only, which takes the place of the margin.
    this.combined = facts.combined !== null;
    this.link = null;
    if (facts.response || this.combined) this.link = inverseLink(this.combined ? facts.combined : facts.response.link);
    this.background = null;
    if (arrays.backgroundWeight) {
      this.background = new BackgroundRows(this.leaves, arrays.backgroundCells, arrays.backgroundWeight);
    }
    this.rows = arrays.rowCells ? new PageRows(arrays, facts) : null;
    this.removal = null;
    this.allMargins = null;
    this.pairsOfModel = null;
    this.other = null;
  }

  /**
   * Return the cells of values, one number, label or null (missing) per feature.
   * @param {Array<number|string|null>} values
   * @param {Int32Array} [from] the cells of a row, which features that cannot be edited keep
   * @returns {Int32Array}
   */
  bin(values, from) {
    return Int32Array.from(this.facts.features, (feature, f) => {
      if (feature.editable) return cellOfValue(feature, values[f]);
      return from ? from[f] : 0;
    });
  }

  /** Return a copy of a row with another value of one feature. */
  change(bins, feature, value) {
    const out = bins.slice();
    out[feature] = cellOfValue(this.facts.features[feature], value);
    return out;
  }

  /** Return the margin of a row. */
  margin(bins, output = 0) {
    return this.margins(bins)[output];
  }

  /** Return the margins of a row, one per output. */
  margins(bins) {
    const margins = this.leaves.margins(bins);
    return this.combined ? this.link(margins) : margins;
  }

  /** Return the response of margins of all outputs; the margin itself where the model has no other response. */
  respond(margins, output = 0) {
    return this.link && !this.combined ? this.link(margins)[output] : margins[output];
  }

  /** Return the response of a row. */
  response(bins, output = 0) {
    return this.respond(this.margins(bins), output);
  }

  /**
   * Return the margins at every cell of one feature, the others as in a row.
   * @returns {Float64Array}
   */
  marginsAlong(bins, feature, output = 0) {
    return this.along(bins, feature, (margins) => margins[output]);
  }

  /** Return the responses at every cell of one feature, the others as in a row. */
  responsesAlong(bins, feature, output = 0) {
    return this.along(bins, feature, (margins) => this.respond(margins, output));
  }

  along(bins, feature, read) {
    const { leaves } = this;
    const n = this.facts.features[feature].nCells;
    const met = leaves.meet(bins);
    const ranges = rangesAtCells(leaves, feature, Array.from({ length: n }, (_, cell) => cell));
    const steps = Array.from({ length: leaves.nOutputs }, () => new Float64Array(n + 1));
    for (let l = 0; l < leaves.nLeaves; l++) {
      let free = -1;
      let reached = true;
      for (let e = leaves.leafPtr[l]; reached && e < leaves.leafPtr[l + 1]; e++) {
        if (leaves.entryPlayer[e] === feature) free = leaves.entryTruth[e];
        else reached = met[leaves.entryTruth[e]] === 1;
      }
      if (!reached) continue;
      for (let w = 0; w < leaves.width; w++) {
        const step = steps[leaves.output[l] + w];
        addCorners(step, [1], [free < 0 ? [[0, n]] : ranges(free)], 0, 0, leaves.value[l * leaves.width + w]);
      }
    }
    for (const step of steps) sumAlong(step, 1, n + 1);
    const marginsAt = (cell) => Float64Array.from(steps, (step, o) => leaves.base[o] + step[cell]);
    return Float64Array.from({ length: n }, (_, cell) =>
      read(this.combined ? this.link(marginsAt(cell)) : marginsAt(cell)),
    );
  }

  /**
   * Return the main effects and pairs of a row, and what is left to its margin or response.
   * @param {string} [scale] "margin" or "response"
   * @returns {{intercept: number, terms: {features: number[], value: number}[], remainder: number}}
   */
  components(bins, output = 0, scale = "margin") {
    const onResponse = this.onResponse(scale, "Components on the response scale");
    if (!onResponse) this.requireComponents();
    const parts = onResponse
      ? responseComponentsOfRow(this.background, this.link, bins, output)
      : componentsOfRow(this.leaves, bins, output);
    const d = this.leaves.nFeatures;
    const terms = [];
    let rest = (onResponse ? this.response(bins, output) : this.margin(bins, output)) - parts.intercept;
    for (let i = 0; i < d; i++) {
      terms.push({ features: [i], value: parts.main[i] });
      rest -= parts.main[i];
    }
    const pairs = onResponse ? allPairs(d) : this.pairs();
    for (const [i, j] of pairs) {
      terms.push({ features: [i, j], value: parts.pairs[i * d + j] });
      rest -= parts.pairs[i * d + j];
    }
    return { intercept: parts.intercept, terms, remainder: rest };
  }

  /** Return the pairs of features that are together on the path of some leaf. */
  pairs() {
    if (!this.pairsOfModel) {
      const d = this.leaves.nFeatures;
      const together = new Uint8Array(d * d);
      const { leafPtr, entryPlayer } = this.leaves;
      for (let l = 0; l < this.leaves.nLeaves; l++) {
        for (let a = leafPtr[l]; a < leafPtr[l + 1]; a++) {
          for (let b = a + 1; b < leafPtr[l + 1]; b++) together[entryPlayer[a] * d + entryPlayer[b]] = 1;
        }
      }
      this.pairsOfModel = allPairs(d).filter(([i, j]) => together[i * d + j]);
    }
    return this.pairsOfModel;
  }

  /** Return the value of one component of up to three features at a row. */
  component(features, bins, output = 0) {
    const players = this.checkedPlayers(features);
    if (this.onResponse("margin", "Components")) {
      const { main, pairs } = responseComponentsOfRow(this.background, this.link, bins, output);
      return players.length === 1 ? main[players[0]] : pairs[players[0] * this.leaves.nFeatures + players[1]];
    }
    return componentOfRow(this.leaves, players, bins, output);
  }

  /** Return the table of a component of up to three features. */
  table(features, output = 0) {
    const players = this.checkedPlayers(features);
    if (this.onResponse("margin", "Components")) {
      return responseTable(this.background, this.link, this.facts.features, players, output);
    }
    return tableOfComponent(this.leaves, this.facts.features, players, output);
  }

  checkedPlayers(features) {
    this.requireComponents();
    const players = [...features].sort((a, b) => a - b);
    if (players.length > this.leaves.maxOrder) {
      throw new NotInPage(`This page holds the weights of components of up to ${this.leaves.maxOrder} features`);
    }
    return players;
  }

  requireComponents() {
    if (!this.leaves.maxOrder) throw new NotInPage("This model has no components; see the notes of the report");
  }

  /**
   * Return the SHAP values of a row, one per feature; with the base they add up to its margin or response.
   * @param {string} [scale] "margin" or "response"
   * @returns {{base: number, values: Float64Array}}
   */
  shapValues(bins, output = 0, scale = "margin") {
    if (this.onResponse(scale, "SHAP values of the response")) {
      return responseShap(this.background, this.link, bins, output);
    }
    this.requireComponents();
    if (this.leaves.pathDependent) return pathDependentShap(this.leaves, bins, output);
    if (!this.background) throw new NeedsRows("A SHAP value with empirical weights");
    return empiricalShap(this.background, bins, output);
  }

  /** Return whether the response is explained, not the margin; raise if the page cannot. */
  onResponse(scale, what) {
    if (!this.combined && (scale !== "response" || !this.link)) return false;
    if (this.leaves.pathDependent) {
      throw new NotInPage(`${what} average over background rows, which path-dependent weights do not`);
    }
    if (!this.background) throw new NeedsRows(what);
    return true;
  }

  /** Return the mean response at the cells of one or two features, in the form of `table`. */
  responseCurve(features, output = 0) {
    const players = [].concat(features).sort((a, b) => a - b);
    if (!this.background) throw new NeedsRows("A curve of the response");
    const link = this.link || ((margins) => margins);
    const { features: known } = this.facts;
    return responseOnGrid(this.background, link, known, players, output, axesOfGrid(known, players));
  }

  /** Return a prediction without some features: a share `strength` of their effects is removed. */
  removed(bins, features, strength = 1, output = 0, scale = "margin") {
    const removal = this.removalOf(features);
    if (this.onResponse(scale, "Removal on the response scale")) {
      const before = this.response(bins, output);
      return before - strength * (before - removal.responses(bins, this.link)[output]);
    }
    const before = this.margin(bins, output);
    return before - strength * (before - removal.margins(bins)[output]);
  }

  /** Return the same for all rows of the page; a new strength or output costs nothing. */
  removedAll(features, strength = 1, output = 0, scale = "margin") {
    const removal = this.removalOf(features);
    const onResponse = this.onResponse(scale, "Removal on the response scale");
    const key = onResponse ? "response" : "margin";
    if (!removal.ofRows[key]) {
      removal.ofRows[key] = Array.from({ length: this.rows.n }, (_, i) => {
        const bins = this.rows.binsOf(i);
        return onResponse ? removal.responses(bins, this.link) : removal.margins(bins);
      });
    }
    const full = onResponse ? this.responsesOfRows(output) : this.marginsOfRows(output);
    return full.map((before, i) => before - strength * (before - removal.ofRows[key][i][output]));
  }

  removalOf(features) {
    const key = [...features].sort((a, b) => a - b).join(",");
    if (this.removal === null || this.removal.key !== key) {
      this.removal = new Removal(this.leaves, this.background, features);
      this.removal.key = key;
    }
    return this.removal;
  }

  /** Return the margins of all rows of the page; they are computed once. */
  marginsOfRows(output = 0) {
    if (!this.allMargins) {
      this.allMargins = Array.from({ length: this.rows.n }, (_, i) => this.margins(this.rows.binsOf(i)));
    }
    return Float64Array.from(this.allMargins, (margins) => margins[output]);
  }

  /** Return the responses of all rows of the page. */
  responsesOfRows(output = 0) {
    this.marginsOfRows();
    return Float64Array.from(this.allMargins, (margins) => this.respond(margins, output));
  }
}

/** Return all pairs i < j of numbers below d. */
function allPairs(d) {
  const pairs = [];
  for (let i = 0; i < d; i++) for (let j = i + 1; j < d; j++) pairs.push([i, j]);
  return pairs;
}

/** The rows of the page. */
class PageRows {
  constructor(arrays, facts) {
    this.facts = facts;
    this.n = arrays.rowPosition.length;
    this.position = arrays.rowPosition;
    this.y = arrays.rowTarget || null;
    this.groups = arrays.rowGroup || null;
    this.bins = facts.features.map((_, f) => Int32Array.from(arrays.rowCells.subarray(f * this.n, (f + 1) * this.n)));
    this.numbers = facts.features.map((_, f) => arrays[`rowNumbers${f}`] || null);
  }

  /** Return the cells of row i. */
  binsOf(i) {
    return Int32Array.from(this.bins, (cells) => cells[i]);
  }

  /** Return the values of row i as `Model.bin` takes them: numbers, labels, and null for missing values. */
  raw(i) {
    return this.facts.features.map((feature, f) => {
      const cell = this.bins[f][i];
      if (this.numbers[f]) return cell === feature.missing ? null : this.numbers[f][i];
      return cell === feature.missing ? null : feature.labels[cell];
    });
  }

  /** Return the position of row i in the data, counted from 0. */
  id(i) {
    return this.position[i];
  }
}

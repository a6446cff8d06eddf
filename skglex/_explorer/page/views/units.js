/* What the numbers of the page are: their names, how they are written, and the choices that all views share. */

/**
 * Return how numbers of one scale and output are written.
 * @param {object} facts - Facts of the model.
 * @param {string} scale - "margin" or "response".
 * @param {number} output
 * @param {number} spread - Size of usual differences, which fixes the digits.
 */
function unitOf(facts, scale, output, spread) {
  const described = scale === "response" && facts.response ? facts.response : facts.margin;
  const isProbability = described.kind === "probability";
  const write = (value, size = spread) => (isProbability ? formatShare(value, size < 0.02 ? 2 : 1) : fixed(value, decimalsFor(size)));
  const writeDifference = (value, size = spread) => {
    const factor = isProbability ? 100 : 1;
    const text = fixed(value * factor, isProbability ? Math.max(1, decimalsFor(size * factor, 2)) : decimalsFor(size));
    return signed(text, value);
  };
  const tickWriterOfUnit = (marks) => {
    const inner = tickWriter(isProbability ? marks.map((mark) => mark * 100) : marks);
    return (value) => (isProbability ? `${inner(value * 100)}%` : inner(value));
  };
  const name = nameOfScale(facts, described.names?.[output] ?? described.name);
  return {
    name,
    differenceName: isProbability ? "percentage points" : name,
    isProbability,
    write,
    writeDifference,
    tickWriter: tickWriterOfUnit,
  };
}

/** Name the class whose probability is meant, "probability of refused", where its label says more than the target's name. */
function nameOfScale(facts, name) {
  const [label] = facts.outputs;
  const isPlain = facts.task !== "classification" || facts.outputs.length > 1 || !facts.target || label === facts.target;
  if (isPlain || !Number.isNaN(Number(label)) || /^(true|false)$/i.test(label)) return name;
  return name.endsWith(` of ${facts.target}`) ? `${name.slice(0, -facts.target.length)}${facts.target} = ${label}` : name;
}

/** Holds the model, the state, and what all views compute alike. */
class Page {
  constructor(model, state) {
    this.model = model;
    this.facts = model.facts;
    this.state = state;
    this.kept = new Map();
  }

  /** Return the chosen output. */
  output() {
    const output = Number(this.state.get("output"));
    return output >= 0 && output < this.facts.outputs.length ? output : 0;
  }

  /** Return the chosen scale; models whose response is their margin, or has no formula, have only the margin. */
  scale() {
    return this.facts.response && !this.facts.oneScale && this.state.get("scale") === "response" ? "response" : "margin";
  }

  /** Return how numbers of a scale are written, by default of the chosen one. */
  unit(scale = this.scale()) {
    return unitOf(this.facts, scale, this.output(), this.spread(scale));
  }

  /** Compute something once per key, and keep it. */
  keep(key, compute) {
    if (!this.kept.has(key)) {
      if (this.kept.size > 60) this.kept.delete(this.kept.keys().next().value);
      this.kept.set(key, compute());
    }
    return this.kept.get(key);
  }

  /** Return the table of a component, or of the mean response. */
  table(features, scale = "margin") {
    const output = this.output();
    return this.keep(`table ${features} ${scale} ${output}`, () => (scale === "response"
      ? this.model.responseCurve(features.length === 1 ? features[0] : features, output)
      : this.model.table(features, output)));
  }

  /** Return the predictions of all rows of the page. */
  predictions(scale = this.scale(), output = this.output()) {
    return scale === "response" ? this.model.responsesOfRows(output) : this.model.marginsOfRows(output);
  }

  /** Return the prediction of cells. */
  predict(bins, scale = this.scale(), output = this.output()) {
    return scale === "response" ? this.model.response(bins, output) : this.model.margin(bins, output);
  }

  /** Return the size of usual differences of a scale. */
  spread(scale) {
    const described = scale === "response" ? this.facts.response : this.facts.margin;
    if (described?.kind === "probability") return 0.1;
    return this.keep(`spread ${scale} ${this.output()}`, () => {
      const ends = this.range(scale);
      return Math.max((ends[1] - ends[0]) / 10, 1e-12);
    });
  }

  /** Return the smallest and the largest prediction of the rows; without rows, those of single changes of a typical row. */
  range(scale = this.scale()) {
    const output = this.output();
    return this.keep(`range ${scale} ${output}`, () => {
      const described = scale === "response" ? this.facts.response : this.facts.margin;
      if (described?.kind === "probability") return [0, 1];
      const known = this.model.rows ? this.predictions(scale) : this.singleChanges(scale);
      return [Math.min(...known), Math.max(...known)];
    });
  }

  /** Return the predictions when one feature of the typical row changes. */
  singleChanges(scale) {
    const bins = this.typicalBins();
    return this.facts.features.flatMap((_, f) => Array.from(scale === "response"
      ? this.model.responsesAlong(bins, f, this.output())
      : this.model.marginsAlong(bins, f, this.output())));
  }

  /** Return the cells of a row of typical values: medians and most frequent categories. */
  typicalBins() {
    return this.model.bin(this.facts.features.map((feature) => feature.typical ?? null));
  }

  /** Return the names of features. */
  names(features) {
    return features.map((f) => this.facts.features[f].name);
  }

  /** Return the title of a component. */
  titleOf(features) {
    return this.names(features).join(" × ");
  }
}

/** Return the words for the order of a component. */
function orderName(order) {
  return ["", "main effect", "pair", "three-way interaction"][order] ?? `interaction of ${order} features`;
}

/** Return the class of colours of an order. */
function orderKind(order) {
  return `order-${order === null ? 3 : Math.min(order, 3)}`;
}

/** Run something that needs rows, and return the box that says so where the page has none. */
function orNeedsRows(make) {
  try {
    return make();
  } catch (error) {
    if (error instanceof NeedsRows) return needsRows(error.message.replace(/\.?$/, "."));
    if (error instanceof NotInPage) return element("p.notice.small", {}, error.message.replace(/\.?$/, "."));
    throw error;
  }
}

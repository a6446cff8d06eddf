/* Overview: what the model is, how good it is, and what it uses. */

/** Make the view. */
function overviewView(page) {
  const root = element("section.view", {});
  const importance = new Figure();
  const shares = new Figure();
  const draw = () => {
    fill(root,
      element("div.stack", {}, heading("h2", "Overview", "What the model is, how well it predicts, and which features it uses."), factList(page)),
      scoreBlock(page),
      questions(page),
      page.facts.variance.length ? element("div.panel", {}, shares.element) : null,
      page.facts.featureImportance.length ? element("div.panel", {}, importance.element) : null,
      strongestTiles(page),
      notesBlock(page));
    if (page.facts.variance.length) showShares(shares, page);
    if (page.facts.featureImportance.length) showImportance(importance, page);
  };
  return { id: "overview", title: "Overview", element: root, keys: ["output", "features"], update: draw };
}

/** List the facts of the model and its scores. */
function factList(page) {
  const { facts } = page;
  const entries = [
    ["model", facts.modelName],
    ["trees", facts.nTrees.toLocaleString("en-US")],
    ["leaves", facts.nLeaves.toLocaleString("en-US")],
    [`features used${facts.unusedFeatures?.length ? `, ${facts.unusedFeatures.length} not used` : ""}`, facts.features.length.toLocaleString("en-US")],
    ["background rows", facts.nBackground.toLocaleString("en-US")],
    [`average ${page.unit("margin").name}`, page.unit("margin").write(facts.intercept[page.output()])],
  ];
  return definitions(entries);
}

/** List numbers with their names below them. */
function definitions(entries) {
  return element("dl.facts", {}, entries.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/** List the questions that the other views answer. */
function questions(page) {
  const link = (view, text) => element("li", {}, element("a", { href: page.state.fragment({ view }) }, text));
  return element("div.stack.tight", {},
    heading("h3", "What do you want to know?", "Each question leads to the view that answers it."),
    element("ul.chips", {}, [
      ["rows", "Why is one row predicted so, and what would change it?"],
      ["components", "How does the prediction depend on a feature?"],
      ["removal", "What if the model did not use a feature?"],
      ...(page.facts.compare ? [["comparison", page.facts.compare.kind === "model" ? "Where do the two models differ?" : "Why did the mean prediction change?"]] : []),
    ].map(([view, text]) => furnish(link(view, text), { class: "link" }, []))));
}

/** List the scores; null if the report was made without a target. */
function scoreBlock({ facts }) {
  if (!facts.scores?.length) return null;
  return element("div.stack", {},
    heading("h3", "How well does it predict?", "Scores on the rows that this report was made of. If the model was trained on them, new rows will score lower."),
    definitions(facts.scores.map((score) => [score.name, scoreText(score)])));
}

/** Write a score. */
function scoreText({ name, value }) {
  return name === "accuracy" ? formatShare(value, 1) : formatNumber(value, 3);
}

/** Show how much main effects, pairs and the rest explain. */
function showShares(figure, page) {
  const parts = sharesByOrder(page.facts.variance[page.output()]);
  const main = parts[0]?.share ?? 0;
  const isBelowZero = parts.some((part) => part.share < -0.0005);
  figure.show({
    title: "How simple is the model?",
    sentence: `Main effects, which look at one feature at a time, explain ${formatShare(main)} of what makes predictions differ; `
      + `pairs look at two features together, and so on.${isBelowZero ? " A share below zero means that this part works against the others." : ""}`,
    description: parts.map((part) => part.text).join(", "),
    fileTitle: "variance by order",
    key: keyOf(parts.map((part) => [part.kind, part.text])),
    draw: (width) => wholeBar(width, parts),
    table: () => ({ names: ["part", "share of variance"], records: parts.map((part) => [part.name, part.share]) }),
  });
}

/** Return the shares of main effects, pairs and all higher orders together. */
function sharesByOrder(variance) {
  const names = ["Main effects", "Pairs", "Three and more features"];
  const shares = [0, 0, 0];
  for (const { order, share } of variance) shares[Math.min(order ?? 3, 3) - 1] += share;
  const last = variance.some(({ order }) => order === null || order > 2) ? 3 : variance.length;
  return names.slice(0, last).map((name, q) => ({ kind: orderKind(q + 1), share: shares[q], name, text: `${name}: ${formatShare(shares[q])}` }));
}

/** Show the importance of features, stacked by order. */
function showImportance(figure, page) {
  const { facts, state } = page;
  const output = page.output();
  const unit = page.unit("margin");
  const valueOf = (entry) => entry.byOrder.reduce((sum, order) => sum + (order[output] ?? 0), 0);
  const sorted = [...facts.featureImportance].sort((a, b) => valueOf(b) - valueOf(a));
  const most = state.get("features") === "all" ? Infinity : 15;
  const largest = valueOf(sorted[0]);
  const orders = Math.max(...sorted.map((entry) => entry.byOrder.length));
  const bars = sorted.slice(0, most).map((entry) => ({
    name: facts.features[entry.feature].name,
    parts: entry.byOrder.map((order, q) => ({ kind: orderKind(q + 1), value: order[output] ?? 0 })),
    text: unit.writeDifference(valueOf(entry), largest).replace("+", ""),
    href: state.fragment({ view: "components", component: entry.feature }),
  }));
  figure.show({
    title: "Which features matter?",
    sentence: `The average size of what each feature adds to the prediction, in ${unit.differenceName}: its main effect, half of each of its pairs, a third of each of its triples. Sizes do not cancel, so this is not the mean absolute SHAP value, in which effects of opposite sign do.`,
    description: `Importance of features: ${bars.slice(0, 5).map((bar) => `${bar.name} ${bar.text}`).join(", ")}`,
    fileTitle: "importance of features",
    key: element("div.row.spread", {},
      keyOf(Array.from({ length: Math.min(3, orders) }, (_, q) => [orderKind(q + 1), ["main effect", "pairs", "higher orders"][q]])),
      sorted.length > 15 ? button(most === 15 ? `Show all ${sorted.length}` : "Show 15", () => state.set({ features: most === 15 ? "all" : null }), { kind: "quiet" }) : null),
    draw: (width) => stackedBars(width, bars),
    table: () => ({
      names: ["feature", "importance", ...Array.from({ length: orders }, (_, q) => `order ${q + 1}`)],
      records: sorted.map((entry) => [facts.features[entry.feature].name, valueOf(entry), ...Array.from({ length: orders }, (_, q) => entry.byOrder[q]?.[output] ?? 0)]),
    }),
  });
}

/** Show the strongest components as small pictures that lead to the large ones. */
function strongestTiles(page) {
  const output = page.output();
  const strongest = page.facts.importance.filter((entry) => entry.order <= Math.min(2, page.facts.maxOrder))
    .sort((a, b) => b.value[output] - a.value[output]).slice(0, 8);
  if (strongest.length === 0) return null;
  return element("div.stack", {},
    heading("h3", "The strongest components", "Each small picture shows how the prediction changes with one or two features. Select one to see it in full."),
    element("ul.tiles", {}, strongest.map((entry) => element("li", {}, tile(page, entry)))));
}

/** Make one small picture that leads to the component. */
function tile(page, entry) {
  const unit = page.unit("margin");
  const table = page.table(entry.features);
  const picture = entry.order === 1 ? smallCurve(page.facts.features[entry.features[0]], table) : smallMap(entry.features.map((f) => page.facts.features[f]), table);
  return element("a", { href: page.state.fragment({ view: "components", component: entry.features.join("-") }) },
    picture,
    element("strong", {}, page.titleOf(entry.features)),
    element("span.small.muted", {}, `${orderName(entry.order)} · ${unit.writeDifference(entry.value[page.output()]).replace("+", "")} on average`));
}

/** Draw a curve without axes. */
function smallCurve(feature, table) {
  const svg = emptyChart(220, 80);
  svg.setAttribute("aria-hidden", "true");
  const seen = seenPart(feature, table);
  const axis = layOutAxis({ ...feature, nOnAxis: Infinity }, seen.axis, [2, 218], { missingWidth: 12 });
  const shown = seen.values;
  const up = linearScale(niceDomain(shown, [0]), [76, 4]);
  svg.append(drawing("line.zero", { x1: 0, x2: 220, y1: up(0), y2: up(0) }));
  if (axis.kind === "number") svg.append(...stepLine(axis, { values: shown, kind: "" }, up));
  else axis.bins.forEach((bin, i) => svg.append(drawing("rect.order-1", { x: bin.start + 1, width: Math.max(1, bin.end - bin.start - 2), y: Math.min(up(0), up(shown[i])), height: Math.max(1, Math.abs(up(shown[i]) - up(0))) })));
  return svg;
}

/** Return the part of a curve that rows of the background have: all bins of numbers, and the other bins that are not empty. */
function seenPart(feature, table) {
  const [axis] = table.axes;
  const kept = axis.labels.map((_, i) => i).slice(0, shownBins(feature, axis))
    .filter((i) => axis.share[i] > 0 || (feature.kind === "number" && i !== axis.missing));
  const pick = (list) => kept.map((i) => list[i]);
  const missing = kept.indexOf(axis.missing);
  const edges = axis.edges;
  return { values: pick(table.values), axis: { ...axis, edges, labels: pick(axis.labels), share: pick(axis.share), starts: pick(axis.starts), missing: missing < 0 ? null : missing } };
}

/** Draw a heat map without axes. */
function smallMap(features, table) {
  const svg = emptyChart(220, 80);
  svg.setAttribute("aria-hidden", "true");
  const [first, second] = features.map((feature, k) => withoutEmptyMissing(feature, table.axes[k]));
  const across = layOutAxis(first.feature, first.axis, [0, 220], { missingWidth: 12 });
  const up = layOutAxis(second.feature, second.axis, [80, 0], { missingWidth: 12 });
  const width = table.shape[1];
  svg.append(cellImage(across, up, (i, j) => table.values[i * width + j], colourScale(table.values, 0)));
  return svg;
}

/** List the notes of the report. */
function notesBlock(page) {
  const { notes } = page.facts;
  if (!notes?.length) return null;
  return element("div.stack.tight", {},
    heading("h3", "What this file holds", "How the numbers were computed, and what this file cannot show."),
    element("ul", {}, notes.map((note) => element("li", {}, note))));
}

/* What would change the prediction: for each feature, the value that moves it most, all others kept. */

/** Make the table of single changes. */
function changesPart(page) {
  const { state } = page;
  const direction = switchControl("Look for changes that", [{ value: "raise", text: "Raise it" }, { value: "lower", text: "Lower it" }], (value) => state.set({ direction: value }));
  const place = element("div");
  const left = element("div.place");
  const head = element("div");
  const made = element("div.panel.stack", {}, element("div.row.spread", {}, head, element("div.no-print", {}, direction.element)), place, left);
  const show = (original, edited) => {
    const scale = page.facts.response ? "response" : "margin";
    const now = page.predict(edited.bins, scale);
    const goal = state.get("direction") || (isBinary(page) && now > 0.5 ? "lower" : "raise");
    direction.show(goal);
    fill(head, heading("h3", "What would change it?", changesSentence(page, edited)));
    const found = singleChanges(page, edited, scale, goal === "raise" ? 1 : -1);
    fill(left, fixedList(page));
    fill(place, found.length ? changesTable(page, original, edited, found, scale, now) : element("p.notice", {}, `No change of a single feature would ${goal} the prediction.`));
  };
  const settle = afterPause(show, 200);
  const update = (changed, original, edited) => {
    settle.cancel();
    if (changed && [...changed].every((key) => /^set\d+$/.test(key))) settle(original, edited);
    else show(original, edited);
  };
  return { element: made, update };
}

/** Say what the table shows. */
function changesSentence(page, edited) {
  const outcome = outcomeOf(page, edited.bins);
  const goal = isBinary(page) ? `The model now predicts ${outcomeName(page, outcome)}. Each line changes one feature only: to the nearest value that gives another outcome, or else to the one that moves the prediction most.`
    : "Each line changes one feature only, to the value that moves the prediction most.";
  return `${goal} Try a change, and the next ones build on it. The page does not know which changes are possible in life: leave out what cannot change.`;
}

/** Return the features that the table leaves out: those that the reader calls fixed, at first the protected ones. */
function fixedFeatures(page) {
  const text = page.state.get("fixed");
  return text === "none" ? [] : text === "" ? (page.facts.removal?.features ?? []) : page.state.numbers("fixed");
}

/** List the features that are left out, each with a button that takes it back. */
function fixedList(page) {
  const fixed = fixedFeatures(page).filter((f) => f < page.facts.features.length);
  if (fixed.length === 0) return null;
  return element("div.row", {}, element("span.small.muted", {}, "Left out:"),
    element("ul.chips", { "aria-label": "Features left out" }, fixed.map((f) => {
      const { name } = page.facts.features[f];
      const others = fixed.filter((entry) => entry !== f);
      return element("li", {}, name, button("Use", () => page.state.set({ fixed: others.join("-") || "none" }), { kind: "quiet", "aria-label": `Use ${name} again` }));
    })));
}

/** Return the best change of each feature, the strongest first. */
function singleChanges(page, edited, scale, sign) {
  const output = page.output();
  const now = page.predict(edited.bins, scale);
  const found = [];
  const fixed = fixedFeatures(page);
  page.facts.features.forEach((feature, f) => {
    if (!feature.editable || fixed.includes(f)) return;
    const along = scale === "response" ? page.model.responsesAlong(edited.bins, f, output) : page.model.marginsAlong(edited.bins, f, output);
    const best = bestCell(page, feature, along, edited.bins[f], now, sign);
    if (best !== null) found.push({ f, cell: best, along, prediction: along[best], value: valueInCell(feature, best, edited.values[f]), gain: sign * (along[best] - now) });
  });
  return found.sort((a, b) => b.gain - a.gain);
}

/** Return the nearest cell that gives another outcome, else the one that moves the prediction most; null if none does. */
function bestCell(page, feature, along, current, now, sign) {
  const cells = Array.from(along, (_, cell) => cell).filter((cell) => cell !== current && cell !== feature.missing && feature.background[cell] * page.facts.nBackground >= 5 && cell < feature.nOnAxis);
  let best = null;
  for (const cell of cells) if (best === null || sign * along[cell] > sign * along[best]) best = cell;
  const size = Math.max(1e-9, Math.abs(now) * 1e-6);
  if (best === null || sign * (along[best] - now) < size) return null;
  if (!isBinary(page) || (now > 0.5) === (along[best] > 0.5)) return best;
  const crossing = cells.filter((cell) => (along[cell] > 0.5) !== (now > 0.5));
  if (feature.kind !== "number") return best;
  return crossing.reduce((nearest, cell) => (Math.abs(cell - current) < Math.abs(nearest - current) ? cell : nearest));
}

/** Return a plain value inside a cell, as near as possible to the value before. */
function valueInCell(feature, cell, before) {
  if (feature.kind !== "number") return feature.labels[cell];
  const low = feature.edges[cell - 1] ?? -Infinity;
  const high = feature.edges[cell] ?? Infinity;
  const isAbove = !(before >= high);
  const inside = isFinite(low) && isFinite(high) ? (low + high) / 2 : isFinite(low) ? low : high - Math.max(1e-6, Math.abs(high) * 1e-3);
  const aim = isAbove && isFinite(low) ? low : inside;
  const whole = feature.step === 1 ? (isAbove ? Math.ceil(aim) : isFinite(high) ? Math.ceil(high) - 1 : Math.ceil(aim)) : null;
  if (whole !== null && cellOfNumber(feature, whole) === cell) return whole;
  for (let digits = 1; digits < 15; digits += 1) {
    const rounded = Number(aim.toPrecision(digits));
    if (cellOfNumber(feature, rounded) === cell) return rounded;
  }
  return aim;
}

/** Make the table of changes with their buttons. */
function changesTable(page, original, edited, found, scale, now) {
  const { state, facts } = page;
  const unit = page.unit(scale);
  const most = state.get("changes") === "all" ? Infinity : 8;
  const columns = [
    { name: "Feature" }, { name: "Change" }, { name: unit.isProbability ? "Probability" : "Prediction", isNumber: true },
    ...(isBinary(page) ? [{ name: "Outcome" }] : []),
  ];
  const labels = isBinary(page) ? classLabels(page) : null;
  const tools = (change, feature) => element("div.tools", {},
    button("Try", () => setFeature(page, original, change.f, change.value), { kind: "quiet", "aria-label": `Try ${feature.name} ${formatValue(change.value)}` }),
    button("Leave out", () => state.set({ fixed: [...fixedFeatures(page), change.f].sort((a, b) => a - b).join("-") }), { kind: "quiet", "aria-label": `Leave out ${feature.name}` }));
  const records = found.slice(0, most).map((change) => {
    const feature = facts.features[change.f];
    const turns = labels && (change.prediction > 0.5) !== (now > 0.5);
    return [
      element("span", {}, feature.name, spark(feature, change, edited.bins[change.f])), element("span", {}, `${formatValue(edited.values[change.f])} → ${formatValue(change.value)}`, tools(change, feature)), unit.write(change.prediction),
      ...(labels ? [turns ? element("strong", {}, labels[Number(change.prediction > 0.5)]) : "the same"] : []),
    ];
  });
  const table = dataTable({ caption: "Single changes and the prediction that they lead to", columns, records });
  const more = found.length > 8 ? button(most === 8 ? `Show all ${found.length}` : "Show 8", () => state.set({ changes: most === 8 ? "all" : null }), { kind: "quiet" }) : null;
  return element("div.stack.tight", {}, framed(table, "Single changes", ".changes-table"), more);
}

/** Draw the prediction along all values of a feature, small; dots mark the value now and the one proposed. */
function spark(feature, change, current) {
  const svg = drawing("svg.chart.spark", { viewBox: "0 0 112 28", "aria-hidden": "true" });
  const cells = feature.nOnAxis - (feature.hasMissing ? 1 : 0);
  const tableAxis = { labels: feature.labels, edges: feature.edges ?? [], share: feature.background, missing: null, starts: feature.labels.slice(0, cells).map((_, i) => i) };
  const axis = layOutAxis({ ...feature, nOnAxis: cells }, tableAxis, [4, 108]);
  const shown = change.along.slice(0, cells);
  const up = linearScale(niceDomain(shown), [24, 4]);
  svg.append(...stepLine(axis, { values: shown, kind: "" }, up));
  for (const [cell, kind] of [[current, "dot other"], [change.cell, "dot"]]) {
    if (axis.bins[cell]) svg.append(drawing("circle", { class: kind, cx: Math.max(4, Math.min(108, middleOf(axis.bins[cell]))), cy: up(shown[cell]), r: 3.5 }));
  }
  return svg;
}

/* Removal: predictions without protected features, before and after, by group. */

/** Make the view. */
function removalView(page) {
  const { state, facts, model } = page;
  const groupings = groupingsOf(page);
  const first = facts.removal?.features ?? [];
  const ranked = [...first, ...facts.features.map((_, f) => f).filter((f) => !first.includes(f))];
  const checks = new Map(ranked.map((f) => [f, checkBox(facts.features[f].name, false, (isChecked) => {
    const chosen = removedFeatures(page).filter((entry) => entry !== f);
    state.set({ remove: (isChecked ? [...chosen, f].sort((a, b) => a - b) : chosen).join("-") || "none" });
  })]));
  const strength = sliderControl("How much of their effect is removed:", { min: 0, max: 100, step: 1, write: (value) => `${value}%` }, oncePerFrame((value) => state.set({ strength: value })));
  const group = pickList("Compare by", groupings.map(({ key, name }) => ({ value: key, text: name })), (value) => state.set({ group: value }));
  const figure = new Figure();
  const place = element("div.stack");
  const root = element("section.view", {},
    heading("h2", "Removal", "What the model would predict if it did not use some features, such as protected ones, and had averaged them out instead."),
    model.rows === null ? needsRows("This file holds no rows, whose predictions could be compared.", "skglex.report(…, max_rows=1000, background_rows=200)")
      : element("div.columns.browser", {},
        element("div.panel.stack", {},
          element("fieldset.switch", {}, element("legend", {}, "Features to remove"), element("div.checks", { tabindex: 0, role: "group", "aria-label": "Features to remove" }, [...checks.values()].map((check) => check.element))),
          strength.element, group.element),
        place));
  const update = (changed) => {
    if (model.rows === null) return;
    const chosen = removedFeatures(page);
    checks.forEach(({ input }, f) => { input.checked = chosen.includes(f); });
    strength.show(strengthOf(page) * 100);
    const grouping = groupings.find(({ key }) => key === state.get("group")) ?? groupings[0];
    group.show(grouping.key);
    showRemoval(page, place, figure, chosen, grouping);
  };
  return { id: "removal", title: "Removal", element: root, keys: ["output", "scale", "remove", "strength", "group"], update };
}

/** Return the features that the reader, or the maker of the report, removes. */
function removedFeatures(page) {
  if (page.state.get("remove") === "none") return [];
  if (page.state.get("remove") !== "") return page.state.numbers("remove").filter((f) => f < page.facts.features.length);
  return page.facts.removal?.features ?? [];
}

/** Return the share of the effect that is removed. */
function strengthOf(page) {
  const text = page.state.get("strength");
  return text === "" ? (page.facts.removal?.strength ?? 1) : Math.max(0, Math.min(100, Number(text))) / 100;
}

/** Return the ways to form groups: the groups of the report, features of few categories, or all rows. */
function groupingsOf(page) {
  const { facts, model } = page;
  if (model.rows === null) return [];
  const found = [];
  if (facts.groups && model.rows.groups) found.push({ key: "groups", name: facts.groups.name, labels: facts.groups.labels, codeOf: (i) => model.rows.groups[i] });
  const categories = facts.features.map((feature, f) => ({ feature, f })).filter(({ feature }) => feature.kind === "category" && feature.labels.length <= 20);
  const removed = facts.removal?.features ?? [];
  categories.sort((a, b) => removed.includes(b.f) - removed.includes(a.f));
  for (const { feature, f } of categories) found.push({ key: String(f), name: feature.name, labels: feature.labels, codeOf: (i) => model.rows.bins[f][i] });
  return [...found, { key: "all", name: "nothing: all rows together", labels: ["All rows"], codeOf: () => 0 }];
}

/** Show the distributions of predictions and their means. */
function showRemoval(page, place, figure, chosen, grouping) {
  const scale = page.scale();
  const unit = page.unit();
  const key = `removed ${chosen} ${scale} ${page.output()}`;
  if (chosen.length && !page.kept.has(key)) {
    // All rows take a second; the check box shows its new state before that.
    fill(place, element("p.notice", { role: "status" }, "Computing the predictions …"));
    setTimeout(() => {
      place.replaceChildren(orNeedsRows(() => { page.keep(key, () => page.model.removedAll(chosen, 1, page.output(), scale)); return ""; }));
      if (page.kept.has(key)) page.state.tell(new Set(["strength"]));
    }, 30);
    return;
  }
  const problem = orNeedsRows(() => {
    const before = page.predictions();
    const without = chosen.length ? page.keep(key) : before;
    const strength = strengthOf(page);
    const after = before.map((value, i) => value - strength * (value - without[i]));
    const groups = groupPredictions(grouping, before, after);
    fill(place, element("div.panel", {}, figure.element), removalTable(page, groups, grouping, unit));
    figure.show(removalContent(page, groups, grouping, unit, chosen, [before, after]));
    return null;
  });
  if (problem) fill(place, problem);
}

/** Split predictions by group, the largest group first. */
function groupPredictions(grouping, before, after) {
  const groups = grouping.labels.map((name) => ({ name: `${name}`, before: [], after: [] }));
  before.forEach((value, i) => {
    const group = groups[grouping.codeOf(i)];
    group?.before.push(value);
    group?.after.push(after[i]);
  });
  return groups.filter((group) => group.before.length).sort((a, b) => b.before.length - a.before.length).slice(0, 8);
}

/** Return the figure of distributions. */
function removalContent(page, groups, grouping, unit, chosen, [before, after]) {
  const domain = unit.isProbability ? [0, 1] : niceDomain([...before, ...after]);
  const names = chosen.length ? listed(page.names(chosen)) : "nothing yet";
  return {
    title: "Predictions before and after",
    sentence: `How many rows have which ${unit.name}, by ${grouping.key === "all" ? "all rows together" : grouping.name}. Removed: ${names}. The upright lines are means; heights are square roots, so that rare predictions are seen.`,
    description: groups.map((group) => `${group.name}: mean ${unit.write(meanOf(group.before))} before, ${unit.write(meanOf(group.after))} after`).join("; "),
    key: keyOf([["before", "before"], ["after", "after removal"]]),
    fileTitle: `predictions without ${names}`,
    draw: (width) => distributionChart(width, { groups, unit, domain }),
    table: () => ({ names: ["group", "rows", "mean before", "mean after"], records: groups.map((group) => [group.name, group.before.length, meanOf(group.before), meanOf(group.after)]) }),
  };
}

/** Make the table of means by group. */
function removalTable(page, groups, grouping, unit) {
  const binary = isBinary(page) && page.unit().isProbability;
  const share = (values) => values.filter((value) => value > 0.5).length / values.length;
  const positive = binary ? classLabels(page)[1] : "";
  const columns = [
    { name: grouping.key === "all" ? "rows" : grouping.name }, { name: "rows", isNumber: true, write: (value) => (value === "" ? "" : fixed(value, 0)) },
    { name: "mean before", isNumber: true, write: String }, { name: "mean after", isNumber: true, write: String }, { name: "change", isNumber: true, write: String },
    ...(binary ? [{ name: `predicted ${positive} before`, isNumber: true, write: String }, { name: `predicted ${positive} after`, isNumber: true, write: String }] : []),
  ];
  const records = groups.map(({ name, before, after }) => [
    name, before.length, unit.write(meanOf(before)), unit.write(meanOf(after)), unit.writeDifference(meanOf(after) - meanOf(before)),
    ...(binary ? [formatShare(share(before), 1), formatShare(share(after), 1)] : []),
  ]);
  if (groups.length > 1) {
    const gap = (read) => { const means = groups.map(read); return Math.max(...means) - Math.min(...means); };
    const [before, after] = [gap((group) => meanOf(group.before)), gap((group) => meanOf(group.after))];
    const plain = (value) => unit.writeDifference(value).replace("+", "");
    records.push(["largest difference", "", plain(before), plain(after), unit.writeDifference(after - before),
      ...(binary ? [fixed(100 * gap((group) => share(group.before)), 1), fixed(100 * gap((group) => share(group.after)), 1)] : [])]);
  }
  const sentence = `Each group's mean prediction.${unit.isProbability ? " Differences are percentage points." : ""} A group that differs in other features keeps a difference.`;
  return element("div.stack.tight", {}, heading("h3", "Means by group", sentence), framed(dataTable({ caption: "Mean predictions by group before and after removal", columns, records }), "Means by group"));
}

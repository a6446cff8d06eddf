/* One row: its prediction, what it is made of, and what another value would do. */

const MISSING = "~missing";

/** Return the values of the chosen row before any change. */
function originalOf(page) {
  const i = chosenRow(page);
  const bins = i === null ? page.typicalBins() : page.model.rows.binsOf(i);
  const values = i === null ? page.facts.features.map((feature) => feature.typical ?? null) : page.model.rows.raw(i);
  const kept = i === null ? [] : page.facts.kept.slice(0, 1).map((column) => ` (${column.name} ${column.values[i] ?? "missing"})`);
  const name = i === null ? "Typical values" : `Row ${page.model.rows.id(i)}${kept.join("")}`;
  return { i, bins, values, name };
}

/** Return the values of the row with the reader's changes. */
function editedOf(page, original) {
  const values = [...original.values];
  let bins = original.bins.slice();
  const changed = new Set();
  page.facts.features.forEach((feature, f) => {
    const text = page.state.get(`set${f}`);
    if (text === "" || !feature.editable) return;
    const value = text === MISSING ? null : feature.kind === "number" ? Number(text) : text;
    try {
      bins = page.model.change(bins, f, value);
    } catch {
      return; // A link of another report can hold a value that this model does not know.
    }
    values[f] = value;
    if (!isSameValue(value, original.values[f])) changed.add(f);
  });
  return { values, bins, changed };
}

/** Return whether two values of a feature are the same; missing values are. */
function isSameValue(a, b) {
  const isAbsent = (value) => value === null || value === undefined || Number.isNaN(value);
  return isAbsent(a) ? isAbsent(b) : a === b;
}

/** Set a feature of the row to a value. */
function setFeature(page, original, f, value) {
  const isBack = isSameValue(value, original.values[f]);
  page.state.set({ [`set${f}`]: isBack ? null : value === null ? MISSING : value });
}

/** Make the part of the view that explains one row. */
function rowDetail(page) {
  const { state } = page;
  const title = element("h3", {});
  const verdict = element("div.verdict");
  const dial = new Figure({ withTools: false });
  const explanation = waterfallPart(page);
  const settings = settingsPart(page);
  const changes = changesPart(page);
  const typical = button("Start from typical values", () => state.set(freshRow(page, "typical"), true));
  const copy = button("Copy a link to this", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      copy.textContent = "Link copied";
    } catch {
      copy.textContent = "Copy the address of the page";
    }
    setTimeout(() => { copy.textContent = "Copy a link to this"; }, 2500);
  });
  const element_ = element("div.stack", {},
    element("div.row.spread", {}, title, element("div.row.no-print", {}, page.model.rows ? typical : null, copy)),
    element("div.columns.explain", {},
      settings.element,
      element("div.answers", {}, element("div.panel.stack.verdict-panel", {}, verdict, dial.element), explanation.element, changes.element)));
  const update = (changed) => {
    if (changed && !rowDetailNeeds(page, changed)) return;
    const original = originalOf(page);
    const edited = editedOf(page, original);
    title.textContent = original.name;
    settings.update(changed, original, edited);
    showVerdict(page, verdict, dial, original, edited);
    explanation.update(changed, original, edited);
    changes.update(changed, original, edited);
  };
  return { element: element_, update };
}

/** Return whether a change of the state touches the explained row. */
function rowDetailNeeds(page, changed) {
  const isFirst = page.state.get("row") === "" && ["filter", "by"].some((key) => changed.has(key));
  const keys = ["row", "output", "scale", "explain", "settings", "direction", "changes", "fixed"];
  return isFirst || [...changed].some((key) => keys.includes(key) || /^set\d+$/.test(key));
}

/** Show the prediction as a number, in words and on a dial. */
function showVerdict(page, place, dial, original, edited) {
  const scale = page.facts.response ? "response" : "margin";
  const unit = page.unit(scale);
  const [before, now] = [original.bins, edited.bins].map((bins) => page.predict(bins, scale));
  const isChanged = edited.changed.size > 0;
  const margin = page.facts.response && !page.facts.oneScale ? `${page.unit("margin").name} ${page.unit("margin").write(page.predict(edited.bins, "margin"))}` : null;
  const actual = original.i !== null && page.model.rows.y ? actualText(page, original.i) : null;
  fill(place,
    element("div", { "aria-live": "polite" },
      element("p.number", { id: "prediction" }, unit.write(now), " ", element("small", {}, unit.name)),
      outcomeText(page, edited.bins)),
    element("p.small.muted", {}, [margin, actual, isChanged ? `before the changes ${unit.write(before)}` : null].filter(Boolean).join(" · ")),
    outputBars(page, edited.bins));
  const average = averagePrediction(page, scale);
  dial.show({
    title: null,
    description: `The prediction ${unit.write(now)} between ${unit.write(page.range(scale)[0])} and ${unit.write(page.range(scale)[1])}`,
    draw: (width) => gauge(width, {
      domain: page.range(scale), value: now,
      marks: [
        ...(average === null ? [] : [{ value: average, text: "average" }]),
        ...(isChanged ? [{ value: before, text: "before" }] : []),
        ...(isBinary(page) ? [{ value: 0.5, text: "50%" }] : []),
      ],
    }),
  });
}

/** Return the average prediction of the rows of the page; null if there are none. */
function averagePrediction(page, scale) {
  return page.model.rows ? page.keep(`average ${scale} ${page.output()}`, () => meanOf(page.predictions(scale))) : null;
}

/** Return whether the model decides between two classes by a probability of 50%. */
function isBinary(page) {
  return page.facts.task === "classification" && page.facts.outputs.length === 1 && (page.facts.response ?? page.facts.margin).kind === "probability";
}

/** Say which class the model predicts. */
function outcomeText(page, bins) {
  const outcome = outcomeOf(page, bins);
  return outcome === null ? null : element("p", {}, "The model predicts ", element("strong", {}, outcomeName(page, outcome)), ".");
}

/** Name a class; labels such as 1 need the name of the target. */
function outcomeName({ facts }, label) {
  return facts.target && !Number.isNaN(Number(label)) ? `${facts.target} = ${label}` : label;
}

/** Return the name of the predicted class; null for other models. */
function outcomeOf(page, bins) {
  const { facts } = page;
  if (facts.task !== "classification") return null;
  if (isBinary(page)) {
    const labels = classLabels(page);
    return page.predict(bins, facts.response ? "response" : "margin", 0) > 0.5 ? labels[1] : labels[0];
  }
  if (facts.outputs.length < 3) return null;
  const margins = Array.from(page.model.margins(bins));
  return facts.outputs[margins.indexOf(Math.max(...margins))];
}

/** Return the names of the two classes. */
function classLabels(page) {
  const positive = page.facts.outputs[0];
  const labels = page.facts.targetLabels?.map(String);
  if (labels?.length === 2) return labels.includes(positive) ? [labels.find((text) => text !== positive), positive] : labels;
  return [`not ${positive}`, positive];
}

/** Say what was observed for a row. */
function actualText(page, i) {
  const { facts, model } = page;
  const value = model.rows.y[i];
  return `actual ${facts.target ?? "value"}: ${facts.targetLabels ? facts.targetLabels[value] : formatValue(value)}`;
}

/** Show the probabilities of all classes of a model with several. */
function outputBars(page, bins) {
  const { facts } = page;
  if (facts.task !== "classification" || facts.outputs.length < 2 || !facts.response) return null;
  const margins = page.model.margins(bins);
  const shares = facts.outputs.map((name, o) => ({ name, value: page.model.respond(margins, o) }));
  return element("ul.key", { "aria-label": "Probabilities of all classes" }, shares.map(({ name, value }, o) =>
    element("li", {}, o === page.output() ? element("strong", {}, `${name} ${formatShare(value, 1)}`) : `${name} ${formatShare(value, 1)}`)));
}

/** Make the waterfall, with the switch between features and components. */
function waterfallPart(page) {
  const { state } = page;
  const figure = new Figure();
  const message = element("div.place");
  const kind = switchControl("Explain by", [{ value: "shap", text: "Features" }, { value: "components", text: "Components" }], (value) => state.set({ explain: value === "shap" ? null : value }));
  let order = null;
  let cost = 0;
  const show = (original, edited, keepOrder) => {
    const began = performance.now();
    const { parts, scale, note } = explanationOf(page, edited.bins, state.get("explain") === "components" ? "components" : "shap");
    fill(message, note);
    figure.element.hidden = parts === null;
    if (parts === null) return;
    const terms = termsOf(page, parts, edited.values);
    const kept = strongestTerms(terms, 12, keepOrder ? order : null);
    order = kept.map((term) => term.key);
    figure.show(waterfallContent(page, original, edited, parts, terms, kept, scale));
    cost = performance.now() - began;
  };
  const settle = afterPause(show, 150);
  const update = (changed, original, edited) => {
    kind.show(state.get("explain") === "components" ? "components" : "shap");
    const isMove = changed && [...changed].every((key) => /^set\d+$/.test(key));
    // A picture that takes long to compute would stop the slider, so it waits until the slider rests.
    settle.cancel();
    if (!isMove || cost < 30) show(original, edited, isMove);
    if (isMove) settle(original, edited, false);
  };
  return { element: element("div.panel.stack", {}, element("div.no-print", {}, kind.element), message, figure.element), update };
}

/** Return the parts of a prediction as the reader chose, else the nearest parts that the page can compute, with a note that says why. */
function explanationOf(page, bins, kind) {
  const compute = { shap: "shapValues", components: "components" };
  const scales = [...new Set([page.scale(), "margin"])];
  const ways = [kind, ...(kind === "shap" ? ["components"] : [])].flatMap((way) => scales.map((scale) => [way, scale]));
  let note = null;
  for (const [way, scale] of ways) {
    let parts = null;
    const problem = orNeedsRows(() => { parts = page.model[compute[way]](bins, page.output(), scale); return null; });
    if (parts) return { parts, scale, note };
    note ??= problem;
  }
  return { parts: null, scale: "margin", note };
}

/** Return the terms of a waterfall from SHAP values or components. */
function termsOf(page, parts, values) {
  const names = page.facts.features.map((feature) => feature.name);
  if (parts.values) return Array.from(parts.values, (value, f) => ({ name: names[f], detail: formatValue(values[f]), value, key: String(f) }));
  const terms = parts.terms.filter((term) => term.value !== 0).map(({ features, value }) => ({
    name: page.titleOf(features), detail: features.length === 1 ? formatValue(values[features[0]]) : null, value, key: features.join("-"),
  }));
  const size = Math.abs(parts.remainder);
  return size > 1e-9 ? [...terms, { name: "three and more features together", value: parts.remainder, key: "remainder" }] : terms;
}

/** Return the figure of a waterfall. */
function waterfallContent(page, original, edited, parts, terms, kept, scale) {
  const unit = page.unit(scale);
  const base = parts.base ?? parts.intercept;
  const ofWhat = parts.values ? "feature" : "component";
  const total = base + terms.reduce((sum, term) => sum + term.value, 0);
  return {
    title: "Why this prediction?",
    sentence: `From the average ${unit.name} to this row's, ${ofWhat} by ${ofWhat}${unit.isProbability ? ", in percentage points" : ""}. Orange raises, blue lowers.`,
    description: `From the average ${unit.write(base)} to ${unit.write(total)}. ${kept.slice(0, 6).map((term) => `${nameOf(term)}: ${unit.writeDifference(term.value)}`).join("; ")}`,
    fileTitle: `${original.name}${edited.changed.size ? " changed" : ""} ${ofWhat}s`,
    draw: (width) => waterfall(width, { base, baseName: "average", totalName: "this row", terms: kept, unit }),
    table: () => ({
      names: [ofWhat, "value", `effect on ${unit.name}`],
      records: [["average", null, base], ...[...terms].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).map((term) => [term.name, term.detail ?? null, term.value]), ["this row", null, total]]
        .map(([name, detail, value]) => [name, detail ?? "", value]),
    }),
  };
}

/** Make the controls of all features of the row. */
function settingsPart(page) {
  const { state, facts } = page;
  const list = element("ul.settings");
  const reset = button("Undo all changes", () => state.set(freshRow(page, state.get("row") || null)));
  const more = element("div");
  const ranked = facts.featureImportance.length ? facts.featureImportance.map((entry) => entry.feature) : facts.features.map((_, f) => f);
  let controls = new Map();
  let current = null;
  const rebuild = (original) => {
    const isAll = state.get("settings") === "all" || ranked.length <= 14;
    const shown = isAll ? ranked : ranked.filter((f, k) => k < 12 || state.get(`set${f}`) !== "");
    controls = new Map(shown.map((f) => [f, featureControl(page, f, () => current)]));
    fill(list, [...controls.values()].map((control) => control.element));
    fill(more, ranked.length > 14 ? button(isAll ? "Show the 12 strongest features" : `Show all ${ranked.length} features`, () => state.set({ settings: isAll ? null : "all" }), { kind: "quiet" }) : null);
  };
  const update = (changed, original, edited) => {
    current = original;
    if (!changed || changed.has("settings") || [...changed].some((key) => /^set\d+$/.test(key) && !controls.has(Number(key.slice(3))))) rebuild(original);
    reset.disabled = edited.changed.size === 0;
    for (const [f, control] of controls) control.show(edited.values[f], original.values[f], edited.changed.has(f));
  };
  const made = element("div.panel.stack.settings-panel", {},
    element("div.row.spread", {}, heading("h3", "What if?", "Change any value; the prediction follows at once."), element("div.no-print", {}, reset)),
    list, more);
  return { element: made, update };
}

/** Make the control of one feature: a slider and a number, or a pick list. */
function featureControl(page, f, originalNow) {
  const feature = page.facts.features[f];
  const id = freshId("feature");
  const was = element("span.was");
  const choose = (value) => setFeature(page, originalNow(), f, value);
  const inner = !feature.editable ? fixedControl(id) : feature.kind === "number" ? numberControl(feature, id, choose) : categoryControl(feature, id, choose);
  const made = element("li", {}, element("div.label", {}, element("label", { for: id }, feature.name), was), element("div.control", {}, inner.elements));
  const show = (value, before, isChanged) => {
    made.classList.toggle("changed", isChanged);
    was.textContent = isChanged ? `was ${formatValue(before)}` : "";
    inner.show(value);
  };
  return { element: made, show };
}

/** Show the value of a feature that cannot be changed in the page. */
function fixedControl(id) {
  const output = element("output.muted", { id });
  return { elements: [output], show: () => { output.textContent = "made of several columns; it cannot be changed here"; } };
}

/** Make a slider and a field for a number, and a check box for missing values. */
function numberControl(feature, id, choose) {
  const step = feature.step ?? "any";
  const span = feature.max - feature.min;
  const slider = element("input", { type: "range", id, min: feature.min, max: feature.max, step: feature.step ?? (span > 0 ? span / 200 : 1) });
  const field = element("input", { type: "number", step, placeholder: feature.hasMissing ? "missing" : "", "aria-label": `${feature.name}, exact value` });
  const slide = oncePerFrame(() => choose(Number(slider.value)));
  slider.addEventListener("input", () => { field.value = shortValue(Number(slider.value)); slide(); });
  field.addEventListener("input", () => { if (field.value !== "") choose(Number(field.value)); else if (feature.hasMissing && !field.validity.badInput) choose(null); });
  // Many models take missing values that their data never had; an empty field stands for them too.
  const isKnown = feature.hasMissing && feature.background[feature.missing] > 0;
  const missing = isKnown ? checkBox("missing", false, (isChecked) => choose(isChecked ? null : feature.typical)) : null;
  missing?.input.setAttribute("aria-label", `${feature.name} is missing`);
  const show = (value) => {
    const isAbsent = value === null || value === undefined || Number.isNaN(value);
    if (missing) missing.input.checked = isAbsent;
    if (document.activeElement !== field) field.value = isAbsent ? "" : shortValue(value);
    if (document.activeElement !== slider || Math.abs(Number(slider.value) - value) > span / 150) slider.value = isAbsent ? feature.typical : value;
    slider.setAttribute("aria-valuetext", isAbsent ? "missing" : formatValue(value));
  };
  return { elements: [slider, field, missing?.element], show };
}

/** Write a number for a field, without digits that only the computer needs. */
function shortValue(value) {
  return String(Number(value.toPrecision(6)));
}

/** Return the cells of a category that a reader can choose, without that of missing values. */
function choosable(feature) {
  const cells = feature.choices ?? feature.labels.map((_, cell) => cell).filter((cell) => cell < feature.nOnAxis);
  return cells.filter((cell) => cell !== feature.missing);
}

/** Make the pick list of a category. */
function categoryControl(feature, id, choose) {
  const labels = choosable(feature).map((cell) => feature.labels[cell]);
  const options = labels.map((text) => element("option", { value: text }, text));
  if (feature.hasMissing) options.push(element("option", { value: MISSING }, "missing"));
  const select = element("select", { id, onchange: () => choose(select.value === MISSING ? null : select.value) }, options);
  const show = (value) => {
    const text = value === null || value === undefined ? MISSING : String(value);
    if (![...select.options].some((option) => option.value === text)) select.append(element("option", { value: text }, text));
    select.value = text;
  };
  return { elements: [select], show };
}

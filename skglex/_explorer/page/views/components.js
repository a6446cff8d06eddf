/* Components: a list to search and sort, and the picture of the chosen one. */

/** Make the view. */
function componentsView(page) {
  const { state, facts } = page;
  const search = searchField("Search features", (text) => state.set({ search: text || null }));
  const order = pickList("Show", [{ value: "", text: "All components" }, { value: "1", text: "Main effects" }, { value: "2", text: "Pairs" },
    ...(facts.maxOrder > 2 ? [{ value: "3", text: "Three-way" }] : [])], (value) => state.set({ order: value || null }));
  const sort = pickList("Sort by", [{ value: "", text: "Importance" }, { value: "name", text: "Name" }], (value) => state.set({ sort: value || null }));
  const list = element("ul.choices", { "aria-label": "Components" });
  const found = element("p.small.muted", { role: "status" });
  const detail = componentDetail(page);
  const root = element("section.view", {},
    heading("h2", "Components", "The prediction is a sum of components: of one feature each, of pairs, and of more. Choose one to see it."),
    facts.maxOrder ? element("div.columns.browser", {},
      element("div.stack", {}, search.element, element("div.row", {}, order.element, sort.element), found, list, featurePicker(page)),
      detail.element) : element("p.notice", {}, "This model has no components; see the notes of the overview."));
  const update = (changed) => {
    if (!facts.maxOrder) return;
    search.show(state.get("search"));
    order.show(state.get("order"));
    sort.show(state.get("sort"));
    if (!changed || ["search", "order", "sort", "output", "component", "more"].some((key) => changed.has(key))) showList(page, list, found);
    detail.update(changed);
  };
  return { id: "components", title: "Components", element: root, keys: ["search", "order", "sort", "output", "scale", "component", "more", "joint", "slice", "held"], update };
}

/** Return the components of the list, filtered and sorted as the reader chose. */
function chosenComponents(page) {
  const { state, facts } = page;
  const output = page.output();
  const words = state.get("search").toLowerCase().split(/\s+/).filter(Boolean);
  const order = Number(state.get("order"));
  const all = facts.importance.length ? facts.importance
    : facts.features.map((feature, f) => ({ features: [f], name: feature.name, order: 1, value: facts.outputs.map(() => 0) }));
  const found = all.filter((entry) => {
    const name = page.titleOf(entry.features).toLowerCase();
    return (!order || entry.order === order) && words.every((word) => name.includes(word));
  });
  return state.get("sort") === "name"
    ? found.sort((a, b) => page.titleOf(a.features).localeCompare(page.titleOf(b.features)))
    : found.sort((a, b) => b.value[output] - a.value[output]);
}

/** Return the component that is shown: the chosen one, or the first of the list. */
function shownComponent(page) {
  const chosen = page.state.numbers("component").filter((f) => f >= 0 && f < page.facts.features.length);
  if (chosen.length) return chosen;
  const output = page.output();
  const best = [...page.facts.importance].sort((a, b) => b.value[output] - a.value[output])[0];
  return best ? best.features : [0];
}

/** Show the list of components. */
function showList(page, list, foundText) {
  const { state } = page;
  const output = page.output();
  const found = chosenComponents(page);
  const most = Number(state.get("more")) || 100;
  const largest = Math.max(...page.facts.importance.map((entry) => entry.value[output]), 1e-300);
  const chosen = shownComponent(page).join("-");
  const unit = page.unit("margin");
  foundText.textContent = found.length ? `${count(found.length, "component")}, with their average size in ${unit.name}` : "No component has this name.";
  fill(list, found.slice(0, most).map((entry) => {
    const key = entry.features.join("-");
    const bar = element(`span.${orderKind(entry.order)}`, {});
    bar.style.width = `${(100 * entry.value[output]) / largest}%`;
    return element("li", {}, element("a", { href: state.fragment({ component: key, held: null, slice: null }), "aria-current": key === chosen ? "true" : null },
      element("span.name", {}, page.titleOf(entry.features)),
      element("span.amount", {}, unit.writeDifference(entry.value[output], largest).replace("+", "")),
      element("span.bar", { "aria-hidden": "true" }, bar)));
  }), found.length > most ? element("li.more", {}, button("Show more", () => state.set({ more: most + 200 }), { kind: "quiet" })) : null);
}

/** Make the pick lists for a component that the list may lack. */
function featurePicker(page) {
  if (page.facts.features.length < 2) return null;
  const none = { value: "", text: "none" };
  const options = page.facts.features.map((feature, f) => ({ value: f, text: feature.name }));
  const lists = Array.from({ length: Math.min(3, page.facts.maxOrder) }, (_, i) => pickList(`Feature ${i + 1}`, i ? [none, ...options] : options, () => {
    const chosen = [...new Set(lists.map((entry) => entry.select.value).filter((value) => value !== "").map(Number))].sort((a, b) => a - b);
    page.state.set({ component: chosen.join("-"), held: null, slice: null }, true);
  }));
  return element("details.no-print", {}, element("summary.small", {}, `Choose any ${page.facts.maxOrder > 2 ? "two or three" : "two"} features`), element("div.stack.tight", {}, lists.map((entry) => entry.element)));
}

/** Make the part of the view that shows one component. */
function componentDetail(page) {
  const { state } = page;
  const figure = new Figure({ withReadout: true });
  const pairs = element("div.place");
  const joint = switchControl("Show", [{ value: "", text: "Beyond both alone" }, { value: "yes", text: "With both alone" }], (value) => state.set({ joint: value || null }));
  const controls = element("div.row.place");
  const message = element("div.place");
  const panel = element("div.stack.beside", {}, element("div.panel.stack", {}, controls, message, figure.element), pairs);
  const update = (changed) => {
    if (changed && ![..."output scale component joint slice held".split(" ")].some((key) => changed.has(key))) return;
    const features = shownComponent(page).slice(0, 3);
    fill(controls);
    fill(message);
    fill(pairs, features.length === 1 ? strongestPairs(page, features[0]) : null);
    figure.element.hidden = false;
    const problem = orNeedsRows(() => {
      if (features.length === 1) figure.show(curveContent(page, features[0], page.scale()));
      else if (features.length === 2) {
        if (page.scale() === "margin") fill(controls, joint.element);
        joint.show(state.get("joint"));
        figure.show(mapContent(page, features, page.scale(), state.get("joint") === "yes"));
      } else {
        if (page.scale() === "response") fill(message, element("p.notice", {}, `Three features together are shown on the scale ${page.unit("margin").name}.`));
        showSlice(page, features, controls, figure);
      }
      return null;
    });
    if (!problem) return;
    figure.element.hidden = true;
    fill(message, heading("h3", page.titleOf(features)), problem);
  };
  return { element: panel, update };
}

/** List the strongest pairs of a feature. */
function strongestPairs(page, feature) {
  const output = page.output();
  const pairs = page.facts.importance.filter((entry) => entry.order === 2 && entry.features.includes(feature))
    .sort((a, b) => b.value[output] - a.value[output]).slice(0, 5);
  if (pairs.length === 0) return null;
  return element("div.stack.tight", {},
    heading("h3", `Pairs with ${page.facts.features[feature].name}`, "The features that it works together with most."),
    element("ul.chips", {}, pairs.map((entry) => element("li.link", {}, element("a", { href: page.state.fragment({ component: entry.features.join("-"), held: null, slice: null }) }, page.titleOf(entry.features))))));
}

/** Show one slice of three features, with the controls for it. */
function showSlice(page, features, controls, figure) {
  const { state } = page;
  const held = Math.min(2, Number(state.get("held") || 2));
  const axis = page.table(features).axes[held];
  const shown = shownBins(page.facts.features[features[held]], axis);
  const bin = Math.min(shown - 1, state.get("slice") === "" ? Math.floor((shown - 1) / 2) : Number(state.get("slice")));
  const show = (at) => figure.show(sliceContent(page, features, held, at));
  const which = pickList("Hold", features.map((f, k) => ({ value: k, text: page.facts.features[f].name })), (value) => state.set({ held: value, slice: null }));
  which.show(String(held));
  const draw = oncePerFrame(show);
  const slider = sliderControl("at", { min: 0, max: shown - 1, step: 1, write: (at) => axis.labels[at] }, draw);
  slider.input.addEventListener("change", () => state.set({ slice: slider.input.value }));
  slider.show(bin);
  fill(controls, which.element, slider.element);
  show(bin);
}

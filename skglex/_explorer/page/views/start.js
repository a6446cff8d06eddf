/* Start the page: open the model, make the views, and show the one that the address names. */

/** Make the switches at the top: output, scale and colours. */
function headerSwitches(page) {
  const { facts, state } = page;
  const controls = [];
  if (facts.outputs.length > 1) {
    controls.push({ key: "output", ...pickList("Output", facts.outputs.map((text, o) => ({ value: o, text })), (value) => state.set({ output: value })) });
  }
  if (facts.response && !facts.oneScale) {
    const wordOf = (described) => (described.kind === "probability" ? "probability" : described.scaleName ?? described.name);
    controls.push({ key: "scale", ...switchControl("Scale", [
      { value: "margin", text: capitalize(marginWord(facts)) },
      { value: "response", text: capitalize(wordOf(facts.response)) },
    ], (value) => state.set({ scale: value })) });
  }
  const scheme = switchControl("Colours", [{ value: "auto", text: "Auto" }, { value: "light", text: "Light" }, { value: "dark", text: "Dark" }], chooseScheme);
  scheme.show(storedScheme());
  fill(document.getElementById("switches"), controls.map((control) => control.element), scheme.element);
  return () => controls.forEach((control) => control.show(control.key === "scale" ? page.scale() : String(page.output())));
}

/** Return a short word for the margin scale. */
function marginWord(facts) {
  return facts.margin.kind === "probability" ? "probability" : /log.?odds/i.test(facts.margin.name) ? "log odds" : "score";
}

/** Return the colours that the reader chose earlier. */
function storedScheme() {
  try {
    return localStorage.getItem("skglex-scheme") ?? "auto";
  } catch {
    return "auto"; // A page in a frame may not store anything.
  }
}

/** Show light or dark colours, or those of the system. */
function chooseScheme(scheme) {
  if (scheme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = scheme;
  try {
    localStorage.setItem("skglex-scheme", scheme);
  } catch {
    // The choice then holds for this visit only.
  }
  redrawFigures();
}

/** Make the navigation, and return a function that marks the view that is shown. */
function navigation(page, views) {
  const links = views.map((view) => element("a", {}, view.title));
  fill(document.getElementById("views"), element("ul", {}, links.map((link) => element("li", {}, link))));
  return (current) => views.forEach((view, i) => {
    links[i].setAttribute("href", page.state.fragment({ view: view.id }));
    if (view === current) links[i].setAttribute("aria-current", "page");
    else links[i].removeAttribute("aria-current");
  });
}

/** Return the scale that is shown first: the response, where the page can explain it. */
function firstScale(model) {
  return model.facts.response && !model.facts.oneScale && model.background && model.facts.weighting !== "path_dependent" ? "response" : "margin";
}

/** Show the model. */
function startPage(model) {
  const state = new PageState({ view: "overview", output: String(model.facts.defaultOutput ?? 0), scale: firstScale(model) });
  state.chosen = new Map(new URLSearchParams(location.hash.slice(1)));
  const page = new Page(model, state);
  window.explorer = page;
  const views = [overviewView, componentsView, rowsView, removalView, comparisonView, guideView].map((make) => make(page)).filter(Boolean);
  const showSwitches = headerSwitches(page);
  const markView = navigation(page, views);
  const stale = new Map(views.map((view) => [view, null]));
  const show = (changed) => {
    const current = views.find((view) => view.id === state.get("view")) ?? views[0];
    const isOther = !current.element.isConnected;
    if (isOther) fill(document.getElementById("content"), current.element);
    showSwitches();
    markView(current);
    for (const view of views) {
      if (view === current || !changed || stale.get(view) === null) continue;
      for (const key of changed) stale.get(view).add(key);
    }
    const due = stale.get(current);
    const keys = due === null ? null : new Set([...due, ...(changed ?? [])]);
    stale.set(current, new Set());
    const takes = current.takes ?? ((key) => current.keys.includes(key));
    if (keys === null || [...keys].some(takes)) current.update(keys);
    if (isOther) redrawFigures();
    if (isOther && changed?.has("view")) {
      document.getElementById("content").focus({ preventScroll: true });
      window.scrollTo({ top: 0, behavior: "instant" });
    }
  };
  state.listeners.push(show);
  window.addEventListener("popstate", () => state.read());
  document.addEventListener("click", (event) => followLink(event, state));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawFigures);
  show(null);
  describePage(page);
}

/** Follow a link to another state of the page, unless the reader opens it in another window. */
function followLink(event, state) {
  const address = event.target.closest?.("a[href^='#']")?.getAttribute("href");
  if (!address || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (address === "#content") document.getElementById("content").focus();
  else state.follow(address);
}

/** Say at the top and at the bottom what the page is. */
function describePage({ facts }) {
  document.getElementById("subtitle").textContent = [
    facts.modelName, facts.target ? `predicts ${facts.target}` : null, `made on ${new Date(`${facts.created}T00:00`).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" })}`,
  ].filter(Boolean).join(" · ");
  document.getElementById("colophon").textContent = `Made with skglex ${facts.skglexVersion}. This file computes everything in your browser and sends nothing.`;
}

/** Say in the page that it cannot be shown, and why. */
function showFailure(error) {
  fill(document.getElementById("content"), element("div.notice", { role: "alert" },
    element("p", {}, element("strong", {}, "This report cannot be shown. "), error.message),
    element("p.small", {}, "It needs a browser of 2024 or later.")));
  document.getElementById("subtitle").textContent = "";
  console.error(error);
}

if (storedScheme() !== "auto") document.documentElement.dataset.theme = storedScheme();
openModel(JSON.parse(document.getElementById("payload").textContent)).then(startPage).catch(showFailure);

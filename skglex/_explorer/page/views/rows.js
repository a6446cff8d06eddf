/* Rows: a table to sort and filter; the chosen row is explained below it. */

const ROWS_AT_ONCE = 50;

/** Make the view. */
function rowsView(page) {
  const hasRows = page.model.rows !== null;
  const table = hasRows ? rowTable(page) : null;
  const detail = rowDetail(page);
  const root = element("section.view", {},
    heading("h2", hasRows ? "Rows" : "What if", hasRows
      ? `${rowsOfFile(page.facts)} Choose one to see why it has its prediction, and what would change it.`
      : "See why a row has its prediction, and what would change it."),
    hasRows ? table.element : needsRows("This file holds no rows to browse. You can still start from typical values and change them.", "skglex.report(…, max_rows=1000)"),
    detail.element);
  const update = (changed) => {
    table?.update(changed);
    detail.update(changed);
  };
  const keys = ["row", "output", "scale", "filter", "by", "from", "explain", "settings", "direction", "changes", "fixed"];
  return { id: "rows", title: hasRows ? "Rows" : "What if", element: root, keys, takes: (key) => keys.includes(key) || key.startsWith("set"), update };
}

/** Say how many of the rows are in this file. */
function rowsOfFile(facts) {
  if (facts.rows === facts.nRows) return "All rows of the data.";
  return `${formatNumber(facts.rows)} of ${formatNumber(facts.nRows)} rows, drawn at random. A report with a larger max_rows holds more.`;
}

/** Return the columns of the table of rows. */
function rowColumns(page) {
  const { facts, model } = page;
  const ranked = facts.featureImportance.length ? facts.featureImportance.map((entry) => entry.feature) : facts.features.map((_, f) => f);
  const columns = [
    { key: "id", name: "row", isNumber: true, valueOf: (i) => model.rows.id(i), write: (value) => String(value) },
    { key: "prediction", name: page.unit().name, isNumber: true, isShare: page.unit().isProbability, valueOf: (i) => page.predictions()[i], write: (value) => page.unit().write(value) },
  ];
  for (const [k, { name, isNumber, values }] of facts.kept.entries()) {
    const choices = isNumber ? null : [...new Set(values)].filter((value) => value !== null).sort();
    columns.splice(1 + k, 0, { key: `k${k}`, name, isNumber, choices, hasMissing: values.includes(null), valueOf: (i) => values[i], write: (value) => (value === null ? "missing" : String(value)) });
  }
  if (model.rows.y) {
    const labels = facts.targetLabels;
    const valueOf = (i) => (labels ? labels[model.rows.y[i]] : model.rows.y[i]);
    columns.push({ key: "y", name: `actual ${facts.target ?? "value"}`, isNumber: !labels, choices: labels?.map(String), valueOf, write: (value) => (labels ? String(value) : formatValue(value)) });
  }
  if (model.rows.groups && facts.groups && !facts.features.some((feature) => feature.name === facts.groups.name)) {
    columns.push({ key: "group", name: facts.groups.name, choices: facts.groups.labels, valueOf: (i) => facts.groups.labels[model.rows.groups[i]], write: String });
  }
  const values = page.keep("raw rows", () => Array.from({ length: model.rows.n }, (_, i) => model.rows.raw(i)));
  for (const f of ranked) {
    const feature = facts.features[f];
    columns.push({
      key: `f${f}`, name: feature.name, isNumber: feature.kind === "number", hasMissing: feature.hasMissing,
      choices: feature.kind === "number" ? null : [...new Set(feature.labels)], valueOf: (i) => values[i][f], write: formatValue,
    });
  }
  return columns;
}

/** Return the rows that pass the filters, sorted as the reader chose. */
function chosenRows(page, columns) {
  const { state, model } = page;
  const byKey = new Map(columns.map((column) => [column.key, column]));
  const filters = readFilters(state.get("filter")).filter((filter) => byKey.has(filter.column));
  const found = Array.from({ length: model.rows.n }, (_, i) => i)
    .filter((i) => filters.every((filter) => passes(filter, byKey.get(filter.column).valueOf(i))));
  const { key, descending } = readSort(state.get("by"));
  const column = byKey.get(key) ?? columns[0];
  const direction = descending ? -1 : 1;
  return found.map((i) => [i, column.valueOf(i)]).sort((a, b) => compareValues(a[1], b[1], direction) || a[0] - b[0]).map(([i]) => i);
}

/** Return the sorted column of the state: "-prediction" is descending. */
function readSort(text) {
  return text.startsWith("-") ? { key: text.slice(1), descending: true } : { key: text || "id", descending: false };
}

/** Compare two values; missing values come last in both directions. */
function compareValues(a, b, direction) {
  const isAbsent = (value) => value === null || value === undefined || Number.isNaN(value);
  if (isAbsent(a) || isAbsent(b)) return isAbsent(a) - isAbsent(b);
  return direction * (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));
}

/** Make the table with its filters and the buttons to turn its pages. */
function rowTable(page) {
  const { state } = page;
  let filters = filterControls(page, rowColumns(page));
  const filterPlace = element("div", {}, filters.element);
  const frame = element("div.frame.sticky-first.rows-table", { tabindex: 0, role: "region", "aria-label": "Table of rows" });
  const status = element("p.small.muted", { role: "status" });
  const turn = element("div.row");
  const update = (changed) => {
    if (changed?.has("output") || changed?.has("scale")) {
      filters = filterControls(page, rowColumns(page));
      fill(filterPlace, filters.element);
    }
    if (changed && !["filter", "by", "from", "output", "scale", "row"].some((key) => changed.has(key))) return;
    filters.update();
    const columns = rowColumns(page);
    const found = chosenRows(page, columns);
    const from = Math.max(0, Math.min(Number(state.get("from")) || 0, Math.floor(Math.max(0, found.length - 1) / ROWS_AT_ONCE) * ROWS_AT_ONCE));
    const shown = found.slice(from, from + ROWS_AT_ONCE);
    const scrolled = [frame.scrollLeft, frame.scrollTop];
    fill(frame, tableOfRows(page, columns, shown));
    [frame.scrollLeft, frame.scrollTop] = scrolled;
    status.textContent = found.length ? `Rows ${from + 1} to ${from + shown.length} of ${found.length.toLocaleString("en-US")}` : "No row passes these filters.";
    fill(turn,
      button("Previous", () => state.set({ from: from - ROWS_AT_ONCE || null }), { disabled: from === 0, "aria-label": "Previous rows" }),
      button("Next", () => state.set({ from: from + ROWS_AT_ONCE }), { disabled: from + ROWS_AT_ONCE >= found.length, "aria-label": "Next rows" }),
      button("Download as CSV", () => saveCsv(columns.map((column) => column.name), found.map((i) => columns.map((column) => column.valueOf(i))), "rows")));
  };
  return { element: element("div.stack", {}, filterPlace, frame, element("div.row.spread.no-print", {}, status, turn)), update };
}

/** Make the table of some rows. */
function tableOfRows(page, columns, shown) {
  const { state, model } = page;
  const chosen = chosenRow(page);
  const sorted = readSort(state.get("by"));
  const sort = (key) => {
    const isSame = sorted.key === key;
    const descending = isSame ? !sorted.descending : columns.find((column) => column.key === key).isNumber && key !== "id";
    state.set({ by: `${descending ? "-" : ""}${key}`, from: null });
  };
  const choose = (i) => state.set(freshRow(page, model.rows.id(i)), true);
  const records = shown.map((i) => columns.map((column, k) => (k === 0
    ? button(column.write(column.valueOf(i)), (event) => { event.stopPropagation(); choose(i); }, { kind: "quiet", "aria-label": `Row ${model.rows.id(i)}`, "aria-pressed": String(i === chosen) })
    : column.write(column.valueOf(i)))));
  const plain = columns.map((column) => ({ ...column, write: (value) => value }));
  const table = dataTable({ caption: "Rows of this report. The headers sort.", columns: plain, records, sorted, sort });
  [...table.tBodies[0].rows].forEach((row, k) => {
    row.classList.toggle("current", shown[k] === chosen);
    row.addEventListener("click", () => choose(shown[k]));
  });
  return table;
}

/** Return the state for another row, without the changes made to the one before. */
function freshRow(page, id) {
  return { ...Object.fromEntries([...page.state.chosen.keys()].filter((key) => /^set\d+$/.test(key)).map((key) => [key, null])), row: id };
}

/** Return the position of the chosen row among those of the page; null stands for typical values. */
function chosenRow(page) {
  const { rows } = page.model;
  const text = page.state.get("row");
  if (rows === null || text === "typical") return null;
  if (text === "") return chosenRows(page, rowColumns(page))[0] ?? 0;
  const found = page.keep("positions", () => new Map(Array.from({ length: rows.n }, (_, i) => [String(rows.id(i)), i]))).get(text);
  return found ?? 0;
}

/* Filters of rows: "age at least 40", "sex is Male"; they are kept in the state as "3:ge:40;4:is:Male". */

const FILTER_WORDS = { ge: "at least", le: "at most", is: "is", not: "is not", missing: "is missing" };

/** Return the filters of the state. */
function readFilters(text) {
  return text.split(";").filter(Boolean).map((part) => {
    const [column, kind, ...value] = part.split(":");
    return { column, kind, value: decodeURIComponent(value.join(":")) };
  }).filter(({ kind }) => kind in FILTER_WORDS);
}

/** Write filters for the state. */
function writeFilters(filters) {
  return filters.map(({ column, kind, value }) => `${column}:${kind}:${encodeURIComponent(value).replaceAll(";", "%3B")}`).join(";") || null;
}

/** Return whether a value passes a filter. */
function passes({ kind, value }, found) {
  const isAbsent = found === null || found === undefined || Number.isNaN(found);
  if (kind === "missing") return isAbsent;
  if (kind === "not") return isAbsent || String(found) !== value;
  if (isAbsent) return false;
  if (kind === "is") return String(found) === value || (typeof found === "number" && found === Number(value));
  return kind === "ge" ? found >= Number(value) : found <= Number(value);
}

/** Make the controls that add filters, and the list of those there are. */
function filterControls(page, columns) {
  const { state } = page;
  const byKey = new Map(columns.map((column) => [column.key, column]));
  const place = element("div.row");
  const chips = element("ul.chips", { "aria-label": "Filters" });
  const which = pickList("Filter by", columns.map((column) => ({ value: column.key, text: column.name })), () => offer());
  const kinds = pickList("Condition", [], () => offerValue());
  const valuePlace = element("div");
  let read = () => "";
  const offer = () => {
    const column = byKey.get(which.select.value);
    const words = column.key === "id" ? ["is", "ge", "le"] : column.isNumber ? ["ge", "le", "is"] : ["is", "not"];
    kinds.offer([...words, ...(column.hasMissing ? ["missing"] : [])].map((kind) => ({ value: kind, text: FILTER_WORDS[kind] })));
    offerValue();
  };
  const offerValue = () => {
    const column = byKey.get(which.select.value);
    if (kinds.select.value === "missing") { fill(valuePlace); read = () => ""; return; }
    if (column.isNumber) {
      const input = element("input", { type: "number", id: freshId("value"), step: "any", onkeydown: (event) => { if (event.key === "Enter") add(); } });
      fill(valuePlace, labelled(column.isShare ? "Value, in percent" : "Value", input));
      read = () => (input.value === "" ? null : String(column.isShare ? Number(input.value) / 100 : Number(input.value)));
      return;
    }
    const list = pickList("Value", column.choices.map((text) => ({ value: text, text })), () => {});
    fill(valuePlace, list.element);
    read = () => list.select.value;
  };
  const add = () => {
    const value = read();
    if (value === null) return;
    const filters = [...readFilters(state.get("filter")), { column: which.select.value, kind: kinds.select.value, value }];
    // The first row that passes is explained, unless the reader is changing another one.
    const isChanging = [...state.chosen.keys()].some((key) => /^set\d+$/.test(key));
    state.set({ filter: writeFilters(filters), from: null, ...(isChanging ? {} : { row: null }) });
  };
  offer();
  fill(place, which.element, kinds.element, valuePlace, button("Add filter", add));
  const update = () => {
    const filters = readFilters(state.get("filter")).filter((filter) => byKey.has(filter.column));
    fill(chips, filters.map((filter, i) => {
      const column = byKey.get(filter.column);
      const value = column.isShare && filter.kind !== "missing" ? formatShare(Number(filter.value), 1) : filter.value;
      const text = `${column.name} ${FILTER_WORDS[filter.kind]} ${value}`.trim();
      return element("li", {}, text, button("Remove", () => state.set({ filter: writeFilters(filters.filter((_, k) => k !== i)), from: null }), { kind: "quiet", "aria-label": `Remove the filter ${text}` }));
    }));
    chips.hidden = filters.length === 0;
  };
  return { element: element("div.stack.tight.no-print", {}, place, chips), update };
}

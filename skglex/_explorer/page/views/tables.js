/* Tables: of records, with headers that sort, and as the alternative to a picture. */

/**
 * Make a table.
 * @param {object} options
 * @param {string} options.caption - What a screen reader says first.
 * @param {Array<{name, isNumber, write, key}>} options.columns - `key` makes the header sort.
 * @param {Array<Array>} options.records - One array of values per row; the first is the row's header.
 * @param {{key, descending}} options.sorted
 * @param {function(string)} options.sort - Called with the key of a pressed header.
 */
function dataTable({ caption, columns, records, sorted = null, sort = null, seenCaption = false }) {
  const head = element("tr", {}, columns.map((column) => headerCell(column, sorted, sort)));
  const rows = records.map((record) => element("tr", {}, columns.map((column, i) => dataCell(column, record[i], i === 0))));
  return element("table", {},
    element(seenCaption ? "caption" : "caption.unseen", {}, caption),
    element("thead", {}, head),
    element("tbody", {}, rows));
}

/** Make the header of a column; one with a key is a button that sorts. */
function headerCell(column, sorted, sort) {
  const isSorted = sorted !== null && sorted.key === column.key;
  const order = isSorted ? (sorted.descending ? "descending" : "ascending") : column.key ? "none" : null;
  const mark = isSorted ? (sorted.descending ? " ↓" : " ↑") : "";
  const text = element("span.long", {}, column.name, mark);
  const inside = column.key && sort ? element("button.button.sort", { type: "button", onclick: () => sort(column.key) }, text) : text;
  return element(column.isNumber ? "th.amount-cell" : "th", { scope: "col", "aria-sort": order }, inside);
}

/** Make one cell; the first of a row is its header. */
function dataCell(column, value, isFirst) {
  const shown = value instanceof Node ? value : (column.write ?? writeCell)(value);
  const attributes = isFirst ? { scope: "row" } : {};
  return element(`${isFirst ? "th" : "td"}${column.isNumber ? ".amount-cell" : ""}`, attributes, shown);
}

/** Write a value of a table. */
function writeCell(value) {
  return typeof value === "number" ? formatNumber(value) : value === null || value === undefined ? "missing" : String(value);
}

/** Put a table into a frame that scrolls with the keyboard too. */
function framed(table, name, kind = "") {
  return element(`div.frame${kind}`, { tabindex: 0, role: "region", "aria-label": name }, table);
}

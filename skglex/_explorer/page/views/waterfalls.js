/* Waterfalls: from the average prediction, term by term, to the prediction of one row. */

/**
 * Keep the strongest terms and put the rest into one.
 * @param {Array<{name, value, key}>} terms
 * @param {Array|null} order - Keys in the order of an earlier picture, so that bars do not jump while a slider moves.
 */
function strongestTerms(terms, most, order = null) {
  const rank = order && new Map(order.map((key, i) => [key, i]));
  const sorted = [...terms].sort((a, b) => (rank
    ? (rank.get(a.key) ?? Infinity) - (rank.get(b.key) ?? Infinity) || Math.abs(b.value) - Math.abs(a.value)
    : Math.abs(b.value) - Math.abs(a.value)));
  if (sorted.length <= most + 2) return sorted;
  const kept = sorted.slice(0, most);
  const left = sorted.slice(most);
  if (left.length === 0) return kept;
  const sum = left.reduce((total, term) => total + term.value, 0);
  return [...kept, { name: count(left.length, "other term"), value: sum, key: "rest" }];
}

/**
 * Draw a waterfall.
 * @param {number} width
 * @param {object} what
 * @param {number} what.base - Where it begins.
 * @param {string} what.baseName
 * @param {string} what.totalName
 * @param {Array<{name, detail, value}>} what.terms - In the order of the bars.
 * @param {object} what.unit
 * @param {Array<number>} what.include - Numbers that the axis must contain.
 */
function waterfall(width, { base, baseName, totalName, terms, unit, include = [] }) {
  const isNarrow = width < 560;
  const rowHeight = isNarrow ? 40 : 28;
  const steps = [];
  let at = base;
  for (const term of terms) {
    steps.push({ ...term, from: at, to: at + term.value });
    at += term.value;
  }
  const total = at;
  const spreadOf = Math.max(...terms.map((term) => Math.abs(term.value)), 1e-12);
  const texts = steps.map((step) => unit.writeDifference(step.value, spreadOf));
  const textRoom = Math.max(...texts.map((text) => textWidth(text, 12, 600)), textWidth(unit.write(total)), textWidth(unit.write(base))) + 10;
  const left = isNarrow ? 0 : Math.min(width * 0.4, Math.max(120, ...[...steps, { name: baseName }, { name: totalName }].map((step) => textWidth(nameOf(step), 12, 600) + 14)));
  const domain = niceDomain([base, total, ...steps.map((step) => step.to), ...include]);
  const across = linearScale(domain, [left + textRoom, width - textRoom]);
  const svg = emptyChart(width, (steps.length + 2) * rowHeight + 8);
  const rows = [{ name: baseName, from: base, to: base, isTotal: true, text: unit.write(base) },
    ...steps.map((step, i) => ({ ...step, text: texts[i] })),
    { name: totalName, from: total, to: total, isTotal: true, text: unit.write(total) }];
  svg.append(drawing("line.grid", { x1: across(base), x2: across(base), y1: 0, y2: rows.length * rowHeight }));
  rows.forEach((row, i) => svg.append(...waterfallRow(row, i * rowHeight + 4, { rowHeight, left, across, isNarrow, width, isLast: i === rows.length - 1 })));
  return svg;
}

/** Return the name of a term with the value that it has in the row. */
function nameOf({ name, detail }) {
  return detail ? `${name} = ${detail}` : name;
}

/** Draw one bar, its name on the left and its number at its end. */
function waterfallRow(row, top, { rowHeight, left, across, isNarrow, width, isLast }) {
  const middle = isNarrow ? top + 27 : top + rowHeight / 2;
  const kind = row.isTotal ? "strong" : "";
  const name = isNarrow
    ? label(0, top + 12, shorten(nameOf(row), width), { kind, full: nameOf(row) })
    : label(left - 10, middle + 4, shorten(nameOf(row), left - 12), { anchor: "end", kind, full: nameOf(row) });
  const [start, end] = [across(row.from), across(row.to)];
  const goesUp = row.to >= row.from;
  const made = [name];
  if (!isLast) made.push(drawing("line.thread", { x1: end, x2: end, y1: middle, y2: middle + rowHeight }));
  if (row.isTotal) made.push(drawing("circle.total", { cx: end, cy: middle, r: 5 }));
  else made.push(drawing("rect", { class: goesUp ? "raises" : "lowers", x: Math.min(start, end), y: middle - 8, width: Math.max(1, Math.abs(end - start)), height: 16, rx: 1.5 }));
  const side = goesUp ? { x: end + 9, anchor: "start" } : { x: end - 9, anchor: "end" };
  made.push(label(side.x, middle + 4, row.text, { anchor: side.anchor, kind }));
  return made;
}

/**
 * Draw a gauge: where the prediction stands between the smallest and the largest one.
 * @param {Array<{value, text, kind}>} marks - The first is the prediction.
 */
function gauge(width, { domain, value, marks, kind = "order-1" }) {
  const svg = emptyChart(width, 46);
  const across = linearScale(domain, [1, width - 1]);
  const clamp = (number) => across(Math.min(domain[1], Math.max(domain[0], number)));
  svg.append(drawing("rect.track", { x: 1, y: 8, width: width - 2, height: 12, rx: 6 }));
  svg.append(drawing("rect", { class: kind, x: 1, y: 8, width: Math.max(6, clamp(value) - 1), height: 12, rx: 6 }));
  let taken = -Infinity;
  for (const mark of [...marks].sort((a, b) => a.value - b.value)) {
    const x = clamp(mark.value);
    const half = textWidth(mark.text) / 2;
    const at = Math.max(half, Math.min(width - half, x));
    svg.append(drawing("line.marker", { x1: x, x2: x, y1: 4, y2: 24 }));
    if (at - half < taken) continue;
    svg.append(label(at, 40, mark.text, { anchor: "middle", kind: "tick" }));
    taken = at + half + 8;
  }
  return svg;
}

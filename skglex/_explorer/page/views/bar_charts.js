/* Bars: importance stacked by order, and parts of a whole. */

/**
 * Draw horizontal bars, each made of parts.
 * @param {number} width
 * @param {Array<{name, parts: [{kind, value}], text, href}>} bars
 */
function stackedBars(width, bars, { rowHeight = 28 } = {}) {
  const names = bars.map((bar) => textWidth(bar.name, 13));
  const nameWidth = Math.min(Math.max(...names, 40) + 12, width * 0.42, 320);
  const textRoom = Math.max(...bars.map((bar) => textWidth(bar.text, 12)), 20) + 10;
  const sizes = bars.map((bar) => bar.parts.reduce((sum, part) => sum + part.value, 0));
  const scale = linearScale([0, Math.max(...sizes, 1e-300)], [0, width - nameWidth - textRoom]);
  const svg = emptyChart(width, bars.length * rowHeight + 4);
  bars.forEach((bar, i) => {
    const middle = i * rowHeight + rowHeight / 2 + 2;
    const name = label(nameWidth - 10, middle + 4, shorten(bar.name, nameWidth - 12, 13), { anchor: "end", full: bar.name });
    name.setAttribute("font-size", 13);
    svg.append(bar.href ? drawing("a", { href: bar.href, "aria-label": bar.name }, name) : name);
    let at = nameWidth;
    for (const part of bar.parts) {
      const length = scale(part.value);
      svg.append(drawing("rect", { class: part.kind, x: at, y: middle - 8, width: Math.max(0, length), height: 16 }));
      at += length;
    }
    svg.append(label(at + 6, middle + 4, bar.text, { kind: "tick" }));
  });
  return svg;
}

/**
 * Draw one bar that is a whole, and its parts.
 * @param {Array<{kind, share, text}>} parts
 */
function wholeBar(width, parts) {
  const svg = emptyChart(width, 44);
  const total = parts.reduce((sum, part) => sum + Math.max(0, part.share), 0) || 1;
  let at = 0;
  for (const part of parts) {
    const length = (Math.max(0, part.share) / total) * width;
    svg.append(drawing("rect", { class: part.kind, x: at, y: 4, width: Math.max(0, length - 1), height: 36, rx: 3 }, drawing("title", {}, part.text)));
    at += length;
  }
  return svg;
}

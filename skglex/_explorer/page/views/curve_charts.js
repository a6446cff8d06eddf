/* Curves of one feature: steps over a number, bars over categories, with the background's histogram. */

const CURVE_MARGIN = { top: 10, right: 12, bottom: 40, left: 8 };

/**
 * Draw the curve of a feature.
 * @param {number} width
 * @param {object} what
 * @param {object} what.feature - Facts of the feature.
 * @param {object} what.axis - Axis of the table.
 * @param {Array<{values, kind, name}>} what.lines - One value per bin each; the first is the main one.
 * @param {object} what.unit - Writes the numbers.
 * @param {number|null} what.base - Where bars begin and the zero line stands.
 * @param {number|null} what.marked - Bin to mark.
 * @param {Figure} figure - Says what the pointer is at.
 */
function curveChart(width, what, figure) {
  return what.feature.kind === "number" ? stepChart(width, what, figure) : categoryChart(width, what, figure);
}

/** Draw steps over the values of a number. */
function stepChart(width, { feature, axis, lines, unit, base, marked = null }, figure) {
  const height = Math.round(Math.max(240, Math.min(380, width * 0.5)));
  const domain = niceDomain(lines.flatMap((line) => Array.from(line.values)), base === null ? [] : [base]);
  const bottom = height - CURVE_MARGIN.bottom - 44;
  const up = linearScale(domain, [bottom, CURVE_MARGIN.top]);
  const marks = ticksOf(domain, 5);
  const write = unit.tickWriter(marks);
  const left = CURVE_MARGIN.left + Math.max(...marks.map((mark) => textWidth(write(mark)))) + 8;
  const laidOut = layOutAxis(feature, axis, [left, width - CURVE_MARGIN.right], { wanted: Math.max(3, width / 110) });
  const svg = emptyChart(width, height);
  for (const mark of marks) {
    svg.append(drawing("line.grid", { x1: left, x2: width - CURVE_MARGIN.right, y1: up(mark), y2: up(mark) }));
    svg.append(label(left - 8, up(mark) + 4, write(mark), { anchor: "end", kind: "tick" }));
  }
  if (base !== null) svg.append(drawing("line.zero", { x1: left, x2: width - CURVE_MARGIN.right, y1: up(base), y2: up(base) }));
  svg.append(histogramBars(laidOut, bottom + 40, 34));
  for (const line of [...lines].reverse()) svg.append(...stepLine(laidOut, line, up));
  svg.append(...bottomTicks(laidOut, bottom + 40, bottom + 56));
  svg.append(label((left + width) / 2, height - 5, shorten(feature.name, width - left), { anchor: "middle", kind: "axis-name", full: feature.name }));
  if (marked !== null && laidOut.bins[marked]) svg.append(drawing("line.marker", { x1: middleOf(laidOut.bins[marked]), x2: middleOf(laidOut.bins[marked]), y1: CURVE_MARGIN.top, y2: bottom + 40 }));
  followPointer(svg, laidOut, (i) => sayBin(figure, feature, axis, lines, unit, i), [CURVE_MARGIN.top, bottom + 40]);
  return svg;
}

/** Return the place of the middle of a bin. */
function middleOf(bin) {
  return (bin.start + bin.end) / 2;
}

/** Make the path of one line and the dot of its missing values. */
function stepLine(axis, line, up) {
  let path = "";
  const made = [];
  axis.bins.forEach((bin, i) => {
    const y = up(line.values[i]);
    if (bin.isMissing) made.push(drawing("circle", { class: `${dotKind(axis.tableAxis.share[i])} ${line.kind}`, cx: middleOf(bin), cy: y, r: 5 }));
    else if (bin.end > bin.start) path += `${path ? "L" : "M"}${bin.start.toFixed(2)} ${y.toFixed(2)}H${bin.end.toFixed(2)}`;
  });
  return [drawing("path", { class: `curve ${line.kind}`, d: path }), ...made];
}

/** Return the class of a dot; it is hollow where no row of the background has the value. */
function dotKind(share) {
  return share > 0 ? "dot" : "dot hollow";
}

/** Draw the histogram of the background below a curve. */
function histogramBars(axis, bottom, height) {
  const whole = axis.feature.step === 1 ? axis.feature.max - axis.feature.min + 1 : Infinity;
  const most = Math.max(12, Math.min(60, Math.round(Math.abs(axis.end - axis.start) / 12)));
  const strips = histogramOf(axis, whole <= 2 * most ? whole : most);
  const highest = Math.max(...strips.map((strip) => strip.share), 1e-12);
  return drawing("g.shade", {}, strips.map((strip) => {
    const length = (height * strip.share) / highest;
    return drawing("rect", { x: strip.start + 0.5, y: bottom - length, width: Math.max(0.5, strip.end - strip.start - 1), height: length });
  }));
}

/** Write the values below a picture, with the word "missing" below the bin of missing values. */
function bottomTicks(axis, line, baseline) {
  const made = [drawing("line.zero", { x1: axis.start, x2: axis.missing ? axis.missing.start - 8 : axis.end, y1: line, y2: line })];
  if (axis.missing) made.push(drawing("line.zero", { x1: axis.missing.start, x2: axis.missing.end, y1: line, y2: line }));
  const end = axis.missing ? axis.missing.end - textWidth("missing") - 8 : Infinity;
  for (const tick of axis.ticks) {
    if (tick.at + textWidth(tick.text) / 2 > end) continue;
    const edge = tick.at + textWidth(tick.text) / 2 > axis.end + CURVE_MARGIN.right;
    made.push(label(edge ? axis.end + CURVE_MARGIN.right : tick.at, baseline, tick.text, { anchor: edge ? "end" : "middle", kind: "tick" }));
  }
  if (axis.missing) made.push(label(axis.end + 4, baseline, "missing", { anchor: "end", kind: "tick" }));
  return made;
}

/** Draw one horizontal bar per category, and how frequent it is. */
function categoryChart(width, { feature, axis, lines, unit, base, marked = null }, figure) {
  const rowHeight = lines.length > 1 ? 34 : 26;
  const texts = axis.labels.slice(0, shownBins(feature, axis));
  const nameWidth = Math.min(Math.max(...texts.map((text) => textWidth(text))) + 12, width * 0.36);
  const shareWidth = width < 480 ? 44 : 90;
  const domain = niceDomain(lines.flatMap((line) => Array.from(line.values)), base === null ? [] : [base]);
  const top = 22;
  const right = width - shareWidth - 16;
  const across = linearScale(domain, [nameWidth, right]);
  const bottom = top + rowHeight * texts.length;
  const svg = emptyChart(width, bottom + 6);
  const marks = ticksOf(domain, Math.max(2, (right - nameWidth) / 90));
  const write = unit.tickWriter(marks);
  for (const mark of marks) {
    svg.append(drawing("line.grid", { x1: across(mark), x2: across(mark), y1: top - 4, y2: bottom }));
    svg.append(label(across(mark), 12, write(mark), { anchor: "middle", kind: "tick" }));
  }
  svg.append(label(width, 12, width < 480 ? "rows" : "share of rows", { anchor: "end", kind: "tick" }));
  const begin = across(base ?? domain[0]);
  const highest = Math.max(...axis.share, 1e-12);
  texts.forEach((text, i) => {
    const middle = top + rowHeight * (i + 0.5);
    const name = label(nameWidth - 8, middle + 4, shorten(text, nameWidth - 8), { anchor: "end", kind: i === marked ? "strong" : "", full: text });
    svg.append(name, drawing("rect.shade", { x: width - shareWidth, y: middle - 6, width: (shareWidth * axis.share[i]) / highest, height: 12 }));
    lines.forEach((line, k) => {
      const y = middle + (k - (lines.length - 1) / 2) * 12;
      svg.append(...categoryMark(line, line.values[i], begin, across, y, axis.share[i]));
    });
  });
  if (base !== null) svg.append(drawing("line.zero", { x1: begin, x2: begin, y1: top - 4, y2: bottom }));
  followPointer(svg, { bins: texts.map((_, i) => ({ start: top + rowHeight * i, end: top + rowHeight * (i + 1) })), vertical: true }, (i) => sayBin(figure, feature, axis, lines, unit, i), [0, width]);
  return svg;
}

/** Draw the value of one category: a thread from the base and a dot at the value. */
function categoryMark(line, value, begin, across, y, share) {
  return [
    drawing("line", { class: line.kind === "other" ? "thread" : "curve", x1: begin, x2: across(value), y1: y, y2: y }),
    drawing("circle", { class: `${dotKind(share)} ${line.kind}`, cx: across(value), cy: y, r: 5.5 }),
  ];
}

/** Mark the bin below the pointer and say what it is. */
function followPointer(svg, axis, say, [near, far]) {
  const mark = drawing("rect.hover", { visibility: "hidden" });
  svg.append(mark);
  const place = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    return axis.vertical ? (event.clientY - box.top) * scale : (event.clientX - box.left) * scale;
  };
  svg.addEventListener("pointermove", (event) => {
    const i = binAt(axis, place(event));
    mark.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    say(i);
    if (i < 0) return;
    const { start, end } = axis.bins[i];
    const box = axis.vertical
      ? { x: near + 0.75, y: start, width: far - near - 1.5, height: end - start }
      : { x: start, y: near, width: Math.max(1, end - start), height: far - near };
    furnish(mark, box, []);
  });
  svg.addEventListener("pointerleave", () => { mark.setAttribute("visibility", "hidden"); say(-1); });
}

/** Say the values of a bin below the figure. */
function sayBin(figure, feature, axis, lines, unit, i) {
  if (i < 0) { figure.say(""); return; }
  const values = lines.map((line) => `${lines.length > 1 ? `${line.name}: ` : ""}${line.write(line.values[i])}`).join(" · ");
  figure.say(`${feature.name} ${axis.labels[i]}: ${values} · ${axis.share[i] > 0 ? formatShare(axis.share[i]) : "none"} of the rows`);
}

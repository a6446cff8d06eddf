/* Heat maps of two features: colours from one hue to the other, the base in the middle. */

/** Return a colour of the style sheet as [red, green, blue]. */
function cssColour(name) {
  const probe = element("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return found;
}

/** Return a function from values to colours; `base` has the even colour, values that lie equally far are equally strong. */
function colourScale(values, base) {
  const [low, even, high] = ["--lowers-far", "--even", "--raises-far"].map(cssColour);
  let reach = 0;
  for (const value of values) reach = Math.max(reach, Math.abs(value - base));
  const scale = (value) => {
    const strength = reach > 0 ? Math.min(1, Math.abs(value - base) / reach) : 0;
    const end = value > base ? high : low;
    return even.map((part, i) => Math.round(part + (end[i] - part) * strength ** 0.85));
  };
  return Object.assign(scale, { domain: [base - reach, base + reach] });
}

/**
 * Draw a heat map.
 * @param {number} width
 * @param {object} what
 * @param {Array<object>} what.features - Facts of the two features; the first runs to the right.
 * @param {Array<object>} what.axes - Axes of the table.
 * @param {function(number, number): number} what.valueAt - Value of a cell by its two bins.
 * @param {object} what.unit - Writes the numbers.
 * @param {number} what.base
 * @param {Array<number>|null} what.marked - Bins of a row to mark.
 * @param {Iterable<number>} what.reach - Values that fix the colours, so that slices are comparable.
 */
function heatMap(width, { features: allFeatures, axes: allAxes, valueAt, unit, base, marked = null, reach }, figure) {
  const shown = allFeatures.map((feature, k) => withoutEmptyMissing(feature, allAxes[k]));
  const [features, axes] = [shown.map((part) => part.feature), shown.map((part) => part.axis)];
  const names = features[1].kind === "number" ? [] : axes[1].labels.slice(0, shownBins(features[1], axes[1]));
  const left = Math.min(width * 0.34, Math.max(52, ...names.map((name) => textWidth(name) + 14)));
  const cellHeight = names.length ? Math.max(22, Math.min(48, 300 / names.length)) : 0;
  const plotHeight = names.length ? cellHeight * names.length : Math.round(Math.max(230, Math.min(360, width * 0.5)));
  const [top, right] = [24, width - 10];
  const across = layOutAxis(features[0], axes[0], [left, right], { wanted: Math.max(3, width / 120) });
  const up = layOutAxis(features[1], axes[1], names.length ? [top, top + plotHeight] : [top + plotHeight, top], { wanted: 5, missingWidth: 22 });
  const bottomRoom = across.kind !== "number" ? categoryLabelRoom(across) : 20;
  const height = top + plotHeight + bottomRoom + 66;
  const svg = emptyChart(width, height);
  const colour = colourScale(reach, base);
  svg.append(label(2, 13, shorten(features[1].name, width - 4), { kind: "axis-name", full: features[1].name }));
  svg.append(cellImage(across, up, valueAt, colour), ...cellFrames(across, up));
  svg.append(...sideTicks(up, left), ...acrossTicks(across, top + plotHeight + 16, bottomRoom));
  svg.append(label((left + right) / 2, top + plotHeight + bottomRoom + 12, shorten(features[0].name, right - left), { anchor: "middle", kind: "axis-name", full: features[0].name }));
  svg.append(colourKey(colour, unit, [left, right], height - 34));
  if (marked && across.bins[marked[0]] && up.bins[marked[1]]) {
    svg.append(drawing("circle.dot", { cx: middleOf(across.bins[marked[0]]), cy: middleOf(up.bins[marked[1]]), r: 6 }));
  }
  followCells(svg, across, up, (i, j) => sayCell(figure, features, axes, [i, j], valueAt, unit));
  return svg;
}

/** Paint the cells pixel by pixel: a model has up to 65,000 cells, too many for elements of their own. */
function cellImage(across, up, valueAt, colour) {
  const [x, width] = extentOf(across);
  const [y, height] = extentOf(up);
  const canvas = element("canvas", { width: Math.max(1, Math.round(width)), height: Math.max(1, Math.round(height)) });
  const context = canvas.getContext("2d");
  const columns = positionsOf(across, x, canvas.width);
  const rows = positionsOf(up, y, canvas.height);
  const image = context.createImageData(canvas.width, canvas.height);
  const known = new Map();
  rows.forEach((j, row) => columns.forEach((i, column) => {
    if (i < 0 || j < 0) return;
    const cell = i * 65536 + j;
    if (!known.has(cell)) known.set(cell, colour(valueAt(i, j)));
    image.data.set([...known.get(cell), 255], (row * canvas.width + column) * 4);
  }));
  context.putImageData(image, 0, 0);
  return drawing("image", { x, y, width, height, preserveAspectRatio: "none", href: canvas.toDataURL() });
}

/** Return where an axis begins and how long it is. */
function extentOf(axis) {
  return [Math.min(axis.start, axis.end), Math.abs(axis.end - axis.start)];
}

/** Return the bin at each pixel of an axis. */
function positionsOf(axis, from, pixels) {
  return Array.from({ length: pixels }, (_, i) => binAt(axis, from + i + 0.5));
}

/** Frame the cells; cells of missing values have a frame of their own. */
function cellFrames(across, up) {
  const parts = (axis) => {
    const inner = axis.bins.filter((bin) => !bin.isMissing);
    const whole = [inner[0].start, inner[inner.length - 1].end];
    return axis.missing ? [whole, [axis.missing.start, axis.missing.end]] : [whole];
  };
  return parts(across).flatMap(([x1, x2]) => parts(up).map(([y1, y2]) => drawing("rect.frame-line", {
    x: Math.min(x1, x2), y: Math.min(y1, y2), width: Math.abs(x2 - x1), height: Math.abs(y2 - y1),
  })));
}

/** Write the values of the axis that runs up. */
function sideTicks(axis, left) {
  const room = left - 12;
  const shown = thinned(axis.ticks, 14, () => 12);
  const made = shown.map((tick) => label(left - 8, tick.at + 4, shorten(tick.text, room), { anchor: "end", kind: "tick", full: tick.text }));
  if (axis.missing) made.push(label(left - 8, (axis.missing.start + axis.missing.end) / 2 + 4, "missing", { anchor: "end", kind: "tick" }));
  return made;
}

/** Keep the ticks that have room. */
function thinned(ticks, gap, size) {
  const kept = [];
  for (const tick of ticks) {
    const last = kept[kept.length - 1];
    if (!last || Math.abs(tick.at - last.at) >= (size(tick) + size(last)) / 2 + gap - 12) kept.push(tick);
  }
  return kept;
}

/** Return the height that the names of categories need below a picture; they are turned where they are long. */
function categoryLabelRoom(axis) {
  return areTurned(axis) ? Math.min(96, Math.max(...axis.ticks.map((tick) => textWidth(tick.text))) + 12) : 20;
}

/** Return whether the names of categories need to be turned. */
function areTurned(axis) {
  return axis.kind !== "number" && axis.ticks.some((tick) => textWidth(tick.text) > Math.abs(axis.step) - 6);
}

/** Write the values of the axis that runs to the right. */
function acrossTicks(axis, baseline, room) {
  const missing = axis.missing ? [label(axis.end + 4, baseline, "missing", { anchor: "end", kind: "tick" })] : [];
  if (!areTurned(axis)) {
    const end = axis.missing ? axis.end - textWidth("missing") - 4 : Infinity;
    return thinned(axis.ticks, 18, (tick) => textWidth(tick.text)).filter((tick) => tick.at + textWidth(tick.text) / 2 < end)
      .map((tick) => label(tick.at, baseline, tick.text, { anchor: "middle", kind: "tick" })).concat(missing);
  }
  return thinned(axis.ticks, 14, () => 12).map((tick) => {
    const made = label(0, 0, shorten(tick.text, room - 8), { anchor: "end", kind: "tick", full: tick.text });
    made.setAttribute("transform", `translate(${tick.at + 4} ${baseline - 8}) rotate(-90)`);
    return made;
  }).concat(missing);
}

/** Draw the colours and their numbers. */
function colourKey(colour, unit, [left, right], y) {
  const width = Math.min(260, right - left);
  const from = left + (right - left - width) / 2;
  const steps = 41;
  const [low, high] = colour.domain;
  const strips = Array.from({ length: steps }, (_, i) => drawing("rect", {
    x: from + (i * width) / steps, y, width: width / steps + 0.5, height: 10,
    fill: `rgb(${colour(low + ((high - low) * (i + 0.5)) / steps).join(" ")})`,
  }));
  const texts = [[from, low, "start"], [from + width / 2, (low + high) / 2, "middle"], [from + width, high, "end"]]
    .map(([x, value, anchor]) => label(x, y + 25, unit.write(value, high - low), { anchor, kind: "tick" }));
  return drawing("g", {}, strips, texts);
}

/** Mark the cell below the pointer and say what it is. */
function followCells(svg, across, up, say) {
  const mark = drawing("rect.hover", { visibility: "hidden" });
  svg.append(mark);
  const hide = () => { mark.setAttribute("visibility", "hidden"); say(-1, -1); };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const i = binAt(across, (event.clientX - box.left) * scale);
    const j = binAt(up, (event.clientY - box.top) * scale);
    if (i < 0 || j < 0) { hide(); return; }
    const [column, row] = [across.bins[i], up.bins[j]];
    furnish(mark, {
      x: Math.min(column.start, column.end), y: Math.min(row.start, row.end), visibility: "visible",
      width: Math.max(1, Math.abs(column.end - column.start)), height: Math.max(1, Math.abs(row.end - row.start)),
    }, []);
    say(i, j);
  });
  svg.addEventListener("pointerleave", hide);
}

/** Say the value of a cell below the figure. */
function sayCell(figure, features, axes, cell, valueAt, unit) {
  if (cell[0] < 0) { figure.say(""); return; }
  const places = features.map((feature, k) => `${feature.name} ${axes[k].labels[cell[k]]}`);
  figure.say(`${places.join(", ")}: ${unit.write(valueAt(...cell))}`);
}

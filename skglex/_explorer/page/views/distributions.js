/* Distributions of predictions: one strip per group, before and after. */

/** Count values in bins of equal width, as shares of all. */
function sharesIn(values, domain, bins) {
  const counts = new Float64Array(bins);
  const width = (domain[1] - domain[0]) / bins;
  for (const value of values) counts[Math.max(0, Math.min(bins - 1, Math.floor((value - domain[0]) / width)))] += 1;
  return counts.map((number) => number / Math.max(1, values.length));
}

/** Return the mean of numbers, or NaN of none. */
function meanOf(values) {
  let sum = 0;
  for (const value of values) sum += value;
  return values.length ? sum / values.length : NaN;
}

/**
 * Draw the distribution of predictions of each group, before as an outline and after as an area. Heights are square
 * roots of shares, since most predictions often stand in one bin.
 * @param {Array<{name, before, after}>} groups - Predictions.
 */
function distributionChart(width, { groups, unit, domain }) {
  const stripHeight = 86;
  const bottom = groups.length * stripHeight + 6;
  const svg = emptyChart(width, bottom + 40);
  const across = linearScale(domain, [8, width - 8]);
  const bins = Math.max(16, Math.min(50, Math.round(width / 14)));
  const shares = groups.map((group) => [sharesIn(group.before, domain, bins), sharesIn(group.after, domain, bins)]);
  const highest = Math.max(...shares.flat().map((counts) => Math.max(...counts)), 1e-12);
  const marks = ticksOf(domain, Math.max(3, width / 110));
  const write = unit.tickWriter(marks);
  for (const mark of marks) {
    svg.append(drawing("line.grid", { x1: across(mark), x2: across(mark), y1: 4, y2: bottom }));
    const half = textWidth(write(mark)) / 2;
    svg.append(label(Math.max(half, Math.min(width - half, across(mark))), bottom + 16, write(mark), { anchor: "middle", kind: "tick" }));
  }
  svg.append(label(width / 2, bottom + 35, shorten(unit.name, width), { anchor: "middle", kind: "axis-name" }));
  groups.forEach((group, i) => {
    const floor = (i + 1) * stripHeight;
    const up = (share) => floor - Math.sqrt(share / highest) * (stripHeight - 26);
    svg.append(drawing("path.after", { d: outline(shares[i][1], across, up, floor) }), drawing("path.before", { d: outline(shares[i][0], across, up, floor) }));
    for (const [kind, values] of [["mean-before", group.before], ["mean-after", group.after]]) {
      const x = across(meanOf(values));
      svg.append(drawing("line", { class: kind, x1: x, x2: x, y1: floor - stripHeight + 24, y2: floor }));
    }
    svg.append(drawing("line.zero", { x1: 8, x2: width - 8, y1: floor, y2: floor }));
    svg.append(label(8, floor - stripHeight + 18, shorten(`${group.name} · ${count(group.before.length, "row")}`, width - 16), { kind: "strong" }));
  });
  return svg;
}

/** Return the outline of a histogram as a path. */
function outline(shares, across, up, floor) {
  const [low, high] = across.domain;
  const width = (high - low) / shares.length;
  let path = `M${across(low).toFixed(1)} ${floor}`;
  shares.forEach((share, i) => { path += `V${up(share).toFixed(1)}H${across(low + (i + 1) * width).toFixed(1)}`; });
  return `${path}V${floor}Z`;
}

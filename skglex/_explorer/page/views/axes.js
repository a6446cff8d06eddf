/* Axes: from values of features to places in a picture. */

/** Return a function from numbers of a domain to pixels, with the domain and range as properties. */
function linearScale([from, to], [start, end]) {
  const slope = to === from ? 0 : (end - start) / (to - from);
  const scale = (value) => start + (value - from) * slope;
  return Object.assign(scale, { domain: [from, to], range: [start, end] });
}

/** Return about `wanted` round numbers inside a domain. */
function ticksOf([from, to], wanted = 5) {
  const span = to - from;
  if (!(span > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(span / wanted));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => span / size <= wanted * 1.2);
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

/** Widen a domain to round numbers; it always contains the numbers of `include`. */
function niceDomain(values, include = []) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of [...values, ...include]) {
    if (!isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  if (low === high) return [low - 0.5, high + 0.5];
  const margin = (high - low) * 0.06;
  return [include.includes(low) ? low : low - margin, include.includes(high) ? high : high + margin];
}

/** Write round numbers of an axis with the decimals that their step needs. */
function tickWriter(ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(ticks[0]) || 1;
  if (step >= 1e7 || step < 1e-5) return (value) => (value === 0 ? "0" : trimZeros(value.toPrecision(3)).replace("-", MINUS));
  const decimals = [0, 1, 2, 3, 4, 5].find((places) => Math.abs(step * 10 ** places - Math.round(step * 10 ** places)) < 1e-6) ?? 5;
  return (value) => fixed(value, decimals);
}

/**
 * Lay out one feature along a picture: where each bin of a table begins and ends in pixels.
 * Numbers stand at their values between the smallest and the largest of the data; categories have equal cells;
 * the bin of missing values has a cell of its own at the end, behind a gap.
 * @returns {{kind, bins: [{start, end, label, isMissing}], ticks: [{at, text}], at: function}}
 */
function layOutAxis(feature, tableAxis, [start, end], { wanted = 5, missingWidth = 26 } = {}) {
  const direction = Math.sign(end - start) || 1;
  const hasMissing = tableAxis.missing !== null;
  const count = shownBins(feature, tableAxis) - (hasMissing ? 1 : 0);
  const room = hasMissing ? Math.min(missingWidth, Math.abs(end - start) / 6) : 0;
  const stop = hasMissing ? end - direction * (room + 8) : end;
  const shared = { feature, tableAxis, start, end, missing: hasMissing ? { start: end - direction * room, end } : null };
  return feature.kind === "number"
    ? layOutNumbers(shared, count, start, stop, wanted)
    : layOutCategories(shared, count, start, stop);
}

/** Return how many bins of an axis have a place in a picture; they come first, and that of missing values is the last of them. */
function shownBins(feature, tableAxis) {
  if (feature.kind === "combination") return tableAxis.labels.length;
  return tableAxis.starts.filter((cell) => cell < feature.nOnAxis).length;
}

/** Give each category a cell of the same width. */
function layOutCategories(shared, count, start, stop) {
  const step = (stop - start) / count;
  const bins = binsOf(shared, count, (i) => [start + i * step, start + (i + 1) * step]);
  const ticks = bins.filter((bin) => !bin.isMissing).map((bin) => ({ at: (bin.start + bin.end) / 2, text: bin.label }));
  return { ...shared, kind: "category", bins, ticks, step };
}

/** Put the bins of a number at their values. */
function layOutNumbers(shared, count, start, stop, wanted) {
  const { feature, tableAxis } = shared;
  const domain = numberDomain(feature, tableAxis);
  const scale = linearScale(domain, [start, stop]);
  // A whole number stands in the middle of its bin.
  const edgeOf = (value) => (feature.step === 1 && isFinite(value) ? Math.ceil(value) - 0.5 : value);
  const place = (value) => scale(Math.min(domain[1], Math.max(domain[0], edgeOf(value))));
  const bins = binsOf(shared, count, (i) => [place(tableAxis.edges[i - 1] ?? -Infinity), place(tableAxis.edges[i] ?? Infinity)]);
  const values = ticksOf(domain, wanted).filter((value) => feature.step !== 1 || Number.isInteger(value));
  const write = tickWriter(values);
  return { ...shared, kind: "number", bins, scale, ticks: values.map((value) => ({ at: scale(value), text: write(value) })) };
}

/** Return the range of values that the picture of a number shows; no bin is without width. */
function numberDomain(feature, tableAxis) {
  const { min, max } = feature;
  if (feature.step === 1 || !(max > min)) return [min - 0.5, max + 0.5];
  const edges = tableAxis.edges.filter((edge) => edge >= min && edge <= max);
  const room = (max - min) * 0.02;
  return [edges[0] <= min ? min - room : min, edges[edges.length - 1] >= max ? max + room : max];
}

/** Return the feature and its axis without the bin of missing values, where no row of the background has any. */
function withoutEmptyMissing(feature, axis) {
  if (axis.missing === null || axis.share[axis.missing] > 0) return { feature, axis };
  return { feature: { ...feature, nOnAxis: feature.nOnAxis - 1 }, axis: { ...axis, missing: null } };
}

/** Make the list of bins, the one of missing values last. */
function binsOf(shared, count, limits) {
  const { tableAxis, missing } = shared;
  const bins = Array.from({ length: count }, (_, i) => {
    const [start, end] = limits(i);
    return { start, end, label: tableAxis.labels[i], isMissing: false };
  });
  if (missing) bins.push({ start: missing.start, end: missing.end, label: tableAxis.labels[tableAxis.missing], isMissing: true });
  return bins;
}

/** Return the position of the bin at a place in pixels, or -1. */
function binAt(axis, place) {
  return axis.bins.findIndex((bin) => {
    const [low, high] = bin.start <= bin.end ? [bin.start, bin.end] : [bin.end, bin.start];
    return place >= low && place < high;
  });
}

/**
 * Spread the background shares of a laid-out axis over strips of equal width, so that the heights of a histogram
 * are comparable although the bins of the model are not.
 */
function histogramOf(axis, strips = 48) {
  const shares = axis.tableAxis.share;
  if (axis.kind !== "number") return axis.bins.map((bin, i) => ({ ...bin, share: shares[i] ?? 0 }));
  const inner = axis.bins.filter((bin) => !bin.isMissing);
  const [from, to] = [inner[0].start, inner[inner.length - 1].end];
  const width = (to - from) / strips;
  const heights = new Float64Array(strips);
  inner.forEach((bin, i) => spread(heights, (bin.start - from) / width, (bin.end - from) / width, shares[i] ?? 0));
  const made = Array.from(heights, (share, i) => ({ start: from + i * width, end: from + (i + 1) * width, share, isMissing: false }));
  const missing = axis.bins.find((bin) => bin.isMissing);
  return missing ? [...made, { ...missing, share: shares[inner.length] ?? 0 }] : made;
}

/** Add a share to the strips between two positions, in proportion to the part of each that lies between. */
function spread(heights, from, to, share) {
  const last = heights.length - 1;
  const length = to - from;
  if (length < 1e-9) {
    heights[Math.min(last, Math.max(0, Math.floor(from)))] += share;
    return;
  }
  for (let i = Math.max(0, Math.floor(from)); i <= Math.min(last, Math.floor(to)); i += 1) {
    heights[i] += (share * Math.max(0, Math.min(to, i + 1) - Math.max(from, i))) / length;
  }
}

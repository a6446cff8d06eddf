/* Figures of one component: a curve, a map, or slices of three features. */

/** Return the base line and the lines of a figure of one feature. */
function curveContent(page, feature, scale, marked = null) {
  const facts = page.facts.features[feature];
  const unit = page.unit(scale);
  const table = page.table([feature], scale);
  const isResponse = scale === "response";
  const writeValue = (value) => (isResponse ? unit.write(value) : unit.writeDifference(value));
  const lines = [{ values: table.values, kind: "", name: "this model", write: writeValue }];
  const other = isResponse ? null : otherCurve(page, facts.name, table, writeValue);
  if (other) lines.push(other);
  const base = isResponse ? meanOfTable(table) : 0;
  const axis = table.axes[0];
  return {
    title: facts.name,
    sentence: curveSentence(facts, unit, isResponse),
    hint: "Point at the picture to read its values.",
    description: describeCurve(facts, axis, table.values, writeValue),
    fileTitle: `${facts.name} ${isResponse ? "response" : "component"}`,
    key: other ? keyOf([["line", page.facts.compare.names[0]], ["line other", page.facts.compare.names[1]], ["shade", "share of rows"]])
      : keyOf([["line", isResponse ? `mean ${unit.name}` : "main effect"], ["shade", "how many rows"]]),
    draw: (width, figure) => curveChart(width, { feature: facts, axis, lines, unit, base, marked: marked === null ? null : axis.binOf[marked] }, figure),
    table: () => ({
      names: [facts.name, isResponse ? unit.name : `effect on ${unit.name}`, ...(other ? [other.name] : []), "share of rows"],
      records: axis.labels.map((text, i) => [text, table.values[i], ...(other ? [other.values[i]] : []), axis.share[i]]),
    }),
  };
}

/** Say what the curve shows. */
function curveSentence(feature, unit, isResponse) {
  return isResponse
    ? `The mean ${unit.name} if every row had this value of ${feature.name}, and all its other values as they are.`
    : `What ${feature.name} alone adds to the prediction, in ${unit.differenceName}, compared with the average row.`;
}

/** Return the mean of a table over the background. */
function meanOfTable(table) {
  const share = table.axes.map((axis) => axis.share);
  let sum = 0;
  let weight = 0;
  table.values.forEach((value, i) => {
    let w = 1;
    let rest = i;
    for (let k = share.length - 1; k >= 0; k -= 1) {
      w *= share[k][rest % table.shape[k]] || 0;
      rest = Math.floor(rest / table.shape[k]);
    }
    sum += w * value;
    weight += w;
  });
  return weight > 0 ? sum / weight : 0;
}

/** Tell the highest and the lowest place of a curve. */
function describeCurve(feature, axis, values, write) {
  const shown = Array.from(values).slice(0, shownBins(feature, axis));
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  return `Curve of ${feature.name}: lowest ${write(low)} at ${axis.labels[shown.indexOf(low)]}, highest ${write(high)} at ${axis.labels[shown.indexOf(high)]}`;
}

/** Return the curve of the compared model at the bins of a table; null if it has none. */
function otherCurve(page, name, table, write) {
  const { other } = page.model;
  if (!other || !other.facts.maxOrder) return null;
  const feature = other.facts.features.findIndex((entry) => entry.name === name);
  const output = Math.min(page.output(), other.facts.outputs.length - 1);
  if (feature < 0) return null;
  const found = page.keep(`other ${feature} ${output}`, () => other.table([feature], output));
  const own = table.axes[0];
  const values = own.labels.map((text, i) => {
    const cell = cellInOther(page.facts.features[table.features[0]], other.facts.features[feature], own, i);
    return cell === null ? NaN : found.values[found.axes[0].binOf[cell]];
  });
  return values.some(Number.isNaN) ? null : { values, kind: "other", name: page.facts.compare.names[1], write };
}

/** Return the cell of the compared model that holds the middle of a bin; null if there is none. */
function cellInOther(feature, otherFeature, axis, bin) {
  try {
    if (bin === axis.missing) return cellOfValue(otherFeature, null);
    if (feature.kind !== "number") return cellOfValue(otherFeature, axis.labels[bin]);
    const low = axis.edges[bin - 1] ?? feature.min;
    const high = axis.edges[bin] ?? feature.max;
    return cellOfValue(otherFeature, (low + Math.max(low, high)) / 2);
  } catch {
    return null;
  }
}

/**
 * Return the figure of two features.
 * @param {boolean} together - Whether the main effects of both are added to the pair.
 */
function mapContent(page, features, scale, together, marked = null) {
  const facts = features.map((f) => page.facts.features[f]);
  const unit = page.unit(scale);
  const isResponse = scale === "response";
  const table = page.table(features, scale);
  const values = isResponse || !together ? table.values : addMainEffects(page, table);
  const valueAt = (i, j) => values[i * table.shape[1] + j];
  const writeUnit = { ...unit, write: isResponse ? unit.write : (value, size) => unit.writeDifference(value, size) };
  const names = listed(facts.map((feature) => feature.name));
  return {
    title: page.titleOf(features),
    sentence: isResponse
      ? `The mean ${unit.name} if every row had these values of ${names}.`
      : together ? `What ${names} add to the prediction, alone and together, in ${unit.differenceName}.`
        : `What ${names} add to the prediction beyond what each adds alone, in ${unit.differenceName}.`,
    hint: "Point at the picture to read its values.",
    description: `Heat map of ${names}; the table holds its numbers`,
    fileTitle: `${page.titleOf(features)} ${isResponse ? "response" : together ? "joint" : "component"}`,
    draw: (width, figure) => heatMap(width, {
      features: facts, axes: table.axes, valueAt, unit: writeUnit, reach: values,
      base: isResponse ? meanOfTable(table) : 0, marked: marked && table.axes.map((axis, k) => axis.binOf[marked[k]]),
    }, figure),
    table: () => ({
      names: [...facts.map((feature) => feature.name), isResponse ? unit.name : `effect on ${unit.name}`],
      records: table.axes[0].labels.flatMap((first, i) => table.axes[1].labels.map((second, j) => [first, second, valueAt(i, j)])),
    }),
  };
}

/** Return the table of a pair with the main effects of both features added. */
function addMainEffects(page, table) {
  const mains = table.features.map((feature) => page.table([feature]));
  const cellOfBin = table.axes.map((axis) => axis.labels.map((_, bin) => axis.starts[bin]));
  return table.values.map((value, i) => {
    const bins = [Math.floor(i / table.shape[1]), i % table.shape[1]];
    return value + mains.reduce((sum, main, k) => sum + main.values[main.axes[0].binOf[cellOfBin[k][bins[k]]]], 0);
  });
}

/**
 * Return the figure of three features: a map of two at one value of the third.
 * @param {number} sliced - Which of the three is held.
 * @param {number} bin - Its bin.
 */
function sliceContent(page, features, sliced, bin) {
  const unit = page.unit("margin");
  const table = page.table(features);
  const kept = [0, 1, 2].filter((k) => k !== sliced);
  const facts = kept.map((k) => page.facts.features[features[k]]);
  const held = page.facts.features[features[sliced]];
  const stride = [table.shape[1] * table.shape[2], table.shape[2], 1];
  const valueAt = (i, j) => table.values[i * stride[kept[0]] + j * stride[kept[1]] + bin * stride[sliced]];
  const axes = kept.map((k) => table.axes[k]);
  const place = `${held.name} ${table.axes[sliced].labels[bin]}`;
  const writeUnit = { ...unit, write: (value, size) => unit.writeDifference(value, size) };
  return {
    title: page.titleOf(features),
    sentence: `What the three features add to the prediction beyond what they add alone and in pairs, in ${unit.differenceName}, at ${place}.`,
    hint: "Point at the picture to read its values.",
    description: `Heat map of ${listed(facts.map((feature) => feature.name))} at ${place}; the table holds its numbers`,
    fileTitle: `${page.titleOf(features)} at ${place}`,
    draw: (width, figure) => heatMap(width, { features: facts, axes, valueAt, unit: writeUnit, reach: table.values, base: 0 }, figure),
    table: () => ({
      names: [...facts.map((feature) => feature.name), held.name, `effect on ${unit.name}`],
      records: axes[0].labels.flatMap((first, i) => axes[1].labels.map((second, j) => [first, second, table.axes[sliced].labels[bin], valueAt(i, j)])),
    }),
  };
}

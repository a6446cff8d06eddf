/* Comparison: what differs between two models, or between two sets of rows under one model. */

/** Make the view; null if the report compares nothing. */
function comparisonView(page) {
  const { compare } = page.facts;
  if (!compare) return null;
  const figure = new Figure();
  const curve = new Figure({ withReadout: true });
  const curvePanel = element("div.panel", {}, curve.element);
  const tablePlace = element("div");
  const isModel = compare.kind === "model";
  const summary = element("p.notice");
  const root = element("section.view", {},
    heading("h2", "Comparison", isModel
      ? `What differs between ${compare.names[0]} and ${compare.names[1]}, component by component.`
      : "Why the mean prediction differs between two sets of rows, component by component."),
    summary,
    element("div.panel", {}, figure.element), isModel ? curvePanel : null, tablePlace);
  const update = () => {
    const unit = page.unit("margin");
    const output = page.output();
    fill(summary, comparisonSummary(compare, unit, output));
    figure.show(isModel ? differenceContent(compare, unit, output) : shiftContent(compare, unit, output));
    if (isModel) showBothCurves(page, curve, curvePanel, compare, output);
    fill(tablePlace, element("div.stack.tight", {},
      heading("h3", "All components", isModel ? "The mean size of the difference, and its mean, over the rows of this report." : "What each component adds to the change of the mean."),
      framed(comparisonTable(compare, unit, output), "All components", ".sticky-first")));
  };
  return { id: "comparison", title: "Comparison", element: root, keys: ["output", "scale"], update };
}

/** Say how far the mean prediction moves in all. */
function comparisonSummary(compare, unit, output) {
  const change = compare.lines.reduce((sum, line) => sum + line.difference[output], 0);
  const size = unit.writeDifference(Math.abs(change), Math.abs(change)).replace("+", "");
  return compare.kind === "model"
    ? `Over the rows of this report, ${compare.names[1]} predicts on average ${size} ${change < 0 ? "less" : "more"} (${unit.name}).`
    : `The mean ${unit.name} ${change < 0 ? "falls" : "rises"} by ${size}, from ${unit.write(compare.means[0][output])} to ${unit.write(compare.means[1][output])}.`;
}

/** Return the figure of the components in which two models differ most. */
function differenceContent(compare, unit, output) {
  const largest = Math.max(...compare.lines.map((line) => line.absolute[output]), 1e-300);
  const bars = compare.lines.slice(0, 15).map((line) => ({
    name: line.name.replaceAll(":", " × "), parts: [{ kind: orderKind(line.order || null), value: line.absolute[output] }],
    text: unit.writeDifference(line.absolute[output], largest).replace("+", ""),
  }));
  return {
    title: "Where do they differ?",
    sentence: `The mean size of the difference of each component, in ${unit.name}; the longest bars are the components that changed most.`,
    description: bars.slice(0, 5).map((bar) => `${bar.name} ${bar.text}`).join(", "),
    fileTitle: "differences of components",
    draw: (width) => stackedBars(width, bars),
    table: () => ({ names: ["component", "mean size of the difference", "mean difference"], records: compare.lines.map((line) => [line.name, line.absolute[output], line.difference[output]]) }),
  };
}

/** Return the waterfall from the old mean to the new one. */
function shiftContent(compare, unit, output) {
  const terms = compare.lines.map((line, i) => ({ name: line.name.replaceAll(":", " × "), value: line.difference[output], key: String(i) }));
  const [old, now] = compare.means.map((mean) => mean[output]);
  return {
    title: "Why did the mean prediction change?",
    sentence: `From the mean ${unit.name} of the ${compare.names[0]} to that of the ${compare.names[1]}. Orange raises, blue lowers.`,
    description: `From ${unit.write(old)} to ${unit.write(now)}`,
    fileTitle: "change of the mean prediction",
    draw: (width) => waterfall(width, { base: old, baseName: compare.names[0], totalName: compare.names[1], terms: strongestTerms(terms, 12), unit }),
    table: () => ({ names: ["component", "change of the mean"], records: terms.map((term) => [term.name, term.value]) }),
  };
}

/** Show both curves of the feature whose main effect differs most. */
function showBothCurves(page, figure, panel, compare, output) {
  const mains = [...compare.lines].filter((line) => line.order === 1).sort((a, b) => b.absolute[output] - a.absolute[output]);
  const feature = mains.map((line) => page.facts.features.findIndex((entry) => entry.name === line.name)).find((f) => f >= 0);
  panel.hidden = feature === undefined;
  if (feature === undefined) return;
  const content = curveContent(page, feature, "margin");
  figure.show({ ...content, title: `The main effect that differs most: ${content.title}`, sentence: `${content.sentence} The view Components shows both curves of every feature.` });
}

/** Make the table of all components. */
function comparisonTable(compare, unit, output) {
  const isModel = compare.kind === "model";
  const largest = Math.max(...compare.lines.map((line) => Math.abs(line.difference[output])), 1e-300);
  const difference = (value) => unit.writeDifference(value, largest);
  const size = (value) => difference(value).replace("+", "");
  const parts = isModel ? [] : ["marginals", "dependence"].filter((part) => compare.lines.some((line) => line[part]));
  const partNames = { marginals: "from its features' own distributions", dependence: "from how they go together" };
  const columns = [{ name: "component" }, ...(isModel ? [{ name: "mean size of the difference", isNumber: true, write: size }] : []),
    { name: isModel ? "mean difference" : "change of the mean", isNumber: true, write: difference },
    ...parts.map((part) => ({ name: partNames[part], isNumber: true, write: (value) => (value === null ? "" : difference(value)) }))];
  const records = compare.lines.slice(0, 300).map((line) => [
    line.name.replaceAll(":", " × "), ...(isModel ? [line.absolute[output]] : []), line.difference[output], ...parts.map((part) => line[part]?.[output] ?? null),
  ]);
  return dataTable({ caption: "Differences of all components", columns, records });
}

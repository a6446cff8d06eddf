/* How to read the report: the words it uses, in plain English. */

/** Make the view. */
function guideView(page) {
  const { facts } = page;
  const margin = page.unit("margin").name;
  const words = [
    ["Component", "A part of the prediction. The prediction of a row is the average plus all its components, exactly."],
    ["Main effect", "The component of one feature: what its value alone adds, compared with the average row."],
    ["Pair", "The component of two features: what they add together, beyond the two main effects. Where it is zero, the two do not interact."],
    ["Higher orders", "What three and more features add together, beyond their pairs and main effects."],
    ["SHAP value", "What a feature adds to the prediction of one row in all: its main effect, half of each pair, a third of each component of three features, and so on."],
    ["Importance", "The average size of a component or of a feature's share over the background rows."],
    ["Background rows", "The rows that stand for the average: whatever is not known is averaged over them."],
    ["Partial dependence", "The mean prediction if every row had one value of a feature and kept all its other values."],
  ];
  if (facts.response && !facts.oneScale) {
    words.push([`Scale: ${margin}`, "The sum that the trees make. Components and SHAP values add up on it."]);
    words.push([`Scale: ${page.unit("response").name}`, "What the model says in the end. On this scale, effects depend more on where a row stands."]);
  }
  words.push(["Removal", "A prediction in which some features were averaged out, so that their values no longer matter."]);
  const root = element("section.view", {},
    heading("h2", "How to read this", "The words of this report, and how to use it."),
    element("div.stack", {}, heading("h3", "Why was this row predicted so, and what would change it?", "In four steps:"),
      element("ol", {},
        element("li", {}, "Open ", element("a", { href: page.state.fragment({ view: "rows" }) }, "Rows"), ". Filter or sort the table, and choose a row."),
        element("li", {}, "Read \"Why this prediction?\": the longest bars are the reasons; orange ones raise the prediction, blue ones lower it."),
        element("li", {}, "Read \"What would change it?\": each line is one change and the prediction that it leads to."),
        element("li", {}, "Try a change there, or move a slider under \"What if?\"; everything follows. The address of the page keeps what you see, so you can send it."))),
    element("div.stack", {}, heading("h3", "Words", "In the order in which one meets them."),
      element("dl.words", {}, words.map(([word, meaning]) => [element("dt", {}, element("strong", {}, word)), element("dd", {}, element("p", {}, meaning))]))),
    element("div.stack", {}, heading("h3", "What an explanation is not", "A caution."),
      element("p", {}, "The report says how the model predicts. It does not say that changing a feature in the world would have this effect: a model learns what goes together, not what causes what.")));
  return { id: "guide", title: "Guide", element: root, keys: [], update: () => {} };
}

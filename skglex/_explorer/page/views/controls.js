/* Controls: each is labelled, works with the keyboard, and calls `choose` with the new text. */

let controlCount = 0;

/** Return an id that no other control has. */
function freshId(stem) {
  controlCount += 1;
  return `${stem}-${controlCount}`;
}

/**
 * Make a switch: a group of radio buttons, of which one is chosen.
 * @param {string} legend
 * @param {Array<{value, text, disabled}>} options
 * @param {function(string)} choose
 */
function switchControl(legend, options, choose) {
  const name = freshId("switch");
  const inputs = options.map(({ value, disabled }) =>
    element("input", { type: "radio", name, value, disabled, onchange: () => choose(value) }));
  const made = element("fieldset.switch", {},
    element("legend", {}, legend),
    element("div.switch-options", {}, options.map(({ text }, i) => element("label", {}, inputs[i], text))));
  const show = (value) => inputs.forEach((input) => { input.checked = input.value === value; });
  return { element: made, show };
}

/** Put the label of a control above it; the control has an id. */
function labelled(text, control) {
  return element("div.field", {}, element("label", { for: control.id }, text), control);
}

/** Make a pick list; `show` sets what it shows, `offer` replaces its options. */
function pickList(text, options, choose) {
  const select = element("select", { id: freshId("list"), onchange: () => choose(select.value) });
  const offer = (offered) => fill(select, offered.map((option) => element("option", { value: option.value }, option.text)));
  offer(options);
  const made = labelled(text, select);
  return { element: made, select, offer, show: (value) => { select.value = value; } };
}

/** Make a field to search in; `choose` gets the text after each key. */
function searchField(text, choose) {
  const input = element("input", { type: "search", id: freshId("search"), autocomplete: "off", spellcheck: "false", oninput: () => choose(input.value) });
  const made = labelled(text, input);
  return { element: made, show: (value) => { if (input.value !== value) input.value = value; } };
}

/** Make a button. */
function button(text, press, { kind = "", ...attributes } = {}) {
  return element("button", { type: "button", class: `button ${kind}`.trim(), onclick: press, ...attributes }, text);
}

/** Make a check box with its text. */
function checkBox(text, isChecked, choose) {
  const input = element("input", { type: "checkbox", checked: isChecked, onchange: () => choose(input.checked) });
  return { element: element("label.check", {}, input, element("span", {}, text)), input };
}

/** Make a slider with a text beside it that says the value. */
function sliderControl(text, { min, max, step, write }, choose) {
  const id = freshId("slider");
  const output = element("output.amount", { for: id });
  const input = element("input", { type: "range", id, min, max, step, oninput: () => { say(); choose(Number(input.value)); } });
  const say = () => {
    output.textContent = write(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const made = element("div.field", {}, element("span", {}, element("label", { for: id }, text), " ", output), input);
  return { element: made, input, show: (value) => { input.value = value; say(); } };
}

/** Make the box that says what a part of the page lacks and how to get it. */
function needsRows(what, how = null) {
  return element("div.notice.needs-rows", {},
    element("p", {}, element("strong", {}, "Needs rows. "), what),
    how ? element("p.small", {}, "Ask for a report with them: ", element("code", {}, how), ".") : null);
}

/* Make elements of the page and of its drawings. */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * Make an HTML element.
 * @param {string} name - Tag, with classes after dots: "p.muted.small".
 * @param {object} attributes - Attributes; "on..." is a listener; false, null and undefined are left out.
 * @param {...(Node|string|null|Array)} children
 */
function element(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  return furnish(made, attributes, children);
}

/** Make an SVG element; the arguments are those of `element`. */
function drawing(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElementNS(SVG_NAMESPACE, tag);
  if (classes.length) made.setAttribute("class", classes.join(" "));
  return furnish(made, attributes, children);
}

/** Set the attributes of an element and append its children. */
function furnish(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Replace the children of an element. */
function fill(parent, ...children) {
  parent.replaceChildren();
  return furnish(parent, {}, children);
}

/** Make a heading with the sentence that says what is seen below it. */
function heading(level, text, sentence) {
  return element("div.heading", {}, element(level, {}, text), sentence ? element("p", {}, sentence) : null);
}

/** Make the text of a picture. `anchor` is start, middle or end. */
function label(x, y, text, { anchor = "start", kind = "", full = null } = {}) {
  const made = drawing("text", { x, y, "text-anchor": anchor, class: kind || null }, text);
  if (full && full !== text) made.prepend(drawing("title", {}, full));
  return made;
}

const textMeasure = document.createElement("canvas").getContext("2d");

/** Return the width of a text in pixels. */
function textWidth(text, size = 12, weight = 400) {
  textMeasure.font = `${weight} ${size}px ${getComputedStyle(document.documentElement).fontFamily}`;
  return textMeasure.measureText(text).width;
}

/** Shorten a text to a width in pixels, in its middle, where names differ least. */
function shorten(text, width, size = 12) {
  if (textWidth(text, size) <= width) return text;
  let kept = Math.max(2, Math.floor((text.length * width) / textWidth(text, size)));
  const cut = () => `${text.slice(0, Math.ceil(kept * 0.6))}…${text.slice(text.length - Math.floor(kept * 0.4))}`;
  while (kept > 2 && textWidth(cut(), size) > width) kept -= 1;
  return cut();
}

/** Return a function that runs `action` at most once per drawn frame, with the last arguments. */
function oncePerFrame(action) {
  let waiting = null;
  return (...given) => {
    if (waiting === null) requestAnimationFrame(() => {
      const last = waiting;
      waiting = null;
      action(...last);
    });
    waiting = given;
  };
}

/** Return a function that runs `action` when it was not called for `delay` milliseconds; its `cancel` forgets the call. */
function afterPause(action, delay) {
  let timer = null;
  const wait = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), delay);
  };
  return Object.assign(wait, { cancel: () => clearTimeout(timer) });
}

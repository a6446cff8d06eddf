/* Figures: a picture with its heading, its numbers as a table, and its downloads. */

const redrawnOnResize = new Set();
const resizeWatcher = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const figure = [...redrawnOnResize].find(({ canvas }) => canvas === target);
    if (figure && figure.drawnWidth !== Math.round(target.clientWidth)) figure.draw();
  }
});

/** Shows a picture that fits the width it has, and is drawn anew when the width, the data or the colours change. */
class Figure {
  /**
   * @param {object} options
   * @param {string} options.level - Tag of the heading, such as "h3".
   * @param {boolean} options.withTools - Whether the reader may download it and see its table.
   */
  constructor({ level = "h3", withTools = true, withReadout = false } = {}) {
    this.canvas = element("div.canvas");
    this.readout = withReadout ? element("p.readout", { "aria-hidden": "true" }) : null;
    this.head = element("div.figure-head.place");
    this.tablePlace = element("div.place");
    this.keyPlace = element("div.place");
    this.level = level;
    this.withTools = withTools;
    this.content = null;
    this.element = element("figure.figure", {}, this.head, this.keyPlace, this.canvas, this.readout, this.tablePlace);
    redrawnOnResize.add(this);
    resizeWatcher.observe(this.canvas);
  }

  /**
   * Show something else.
   * @param {object} content
   * @param {string} content.title
   * @param {string} content.sentence - Says what is seen.
   * @param {string} content.description - The picture in words, for those who do not see it.
   * @param {function(number, Figure): SVGElement} content.draw - Makes the picture for a width.
   * @param {function(): {names, records, columns}} content.table - Its numbers.
   * @param {Node|null} content.key - Says what the colours mean.
   */
  show(content) {
    const hadTable = this.isTableShown();
    this.content = content;
    fill(this.head, content.title ? heading(this.level, content.title, content.sentence) : null, this.withTools ? this.makeTools() : null);
    fill(this.keyPlace, content.key ?? null);
    if (this.readout) this.readout.textContent = content.hint ?? "";
    fill(this.tablePlace);
    if (hadTable) this.toggleTable();
    this.draw();
  }

  /** Draw the picture anew, for the width that there is now. */
  draw() {
    const width = Math.round(this.canvas.clientWidth);
    if (this.content === null || width === 0) return;
    this.drawnWidth = width;
    const svg = this.content.draw(width, this);
    // A picture with links is a group: what is inside an image cannot be reached.
    svg.setAttribute("role", svg.querySelector("a") ? "group" : "img");
    svg.setAttribute("aria-label", this.content.description ?? this.content.title);
    fill(this.canvas, svg);
  }

  /** Make the buttons below the heading. */
  makeTools() {
    const { title, fileTitle = title } = this.content;
    const picture = () => this.canvas.querySelector("svg");
    const about = { "aria-label": null };
    this.tableButton = button("Table", () => this.toggleTable(), { kind: "quiet", "aria-expanded": "false", "aria-label": `Table of ${fileTitle}` });
    const download = (text, action) => button(text, action, { kind: "quiet", ...about, "aria-label": `${text}: download ${fileTitle}` });
    return element("div.tools", {},
      this.tableButton,
      download("PNG", () => savePng(picture(), fileTitle)),
      download("SVG", () => saveSvg(picture(), fileTitle)),
      download("CSV", () => {
        const { names, records } = this.content.table();
        saveCsv(names, records, fileTitle);
      }));
  }

  /** Return whether the table of the numbers is open. */
  isTableShown() {
    return this.tablePlace.childElementCount > 0;
  }

  /** Open or close the table of the numbers. */
  toggleTable() {
    const isShown = this.isTableShown();
    this.tableButton?.setAttribute("aria-expanded", String(!isShown));
    if (isShown) {
      fill(this.tablePlace);
      return;
    }
    const { names, records } = this.content.table();
    const columns = names.map((name, i) => ({ name, isNumber: records.some((record) => typeof record[i] === "number") }));
    const shown = records.slice(0, 500);
    const left = records.length - shown.length;
    const caption = `${this.content.fileTitle ?? this.content.title}${left ? `: the first 500 of ${count(records.length, "row")}; the CSV file has all` : ""}`;
    fill(this.tablePlace, framed(dataTable({ caption, columns, records: shown, seenCaption: left > 0 }), `Table of ${this.content.title}`));
  }

  /** Say something below the picture about the place that the pointer is at. */
  say(text) {
    if (this.readout) this.readout.textContent = text || (this.content.hint ?? "");
  }
}

/** Draw all pictures anew that are seen, for instance in other colours. */
function redrawFigures() {
  for (const figure of redrawnOnResize) if (figure.element.isConnected) figure.draw();
}

/** Make the key of a picture. */
function keyOf(entries) {
  return element("ul.key", {}, entries.map(([kind, text]) => element("li", {}, element("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), text)));
}

/** Make an empty picture of a size. */
function emptyChart(width, height) {
  return drawing("svg.chart", { width, height, viewBox: `0 0 ${width} ${height}` });
}

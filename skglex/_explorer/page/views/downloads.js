/* Files that the reader takes away: pictures as SVG and PNG, numbers as CSV. */

const DRAWN_PROPERTIES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order",
  "font-family", "font-size", "font-weight", "text-anchor", "opacity"];

/** Offer a blob to the reader as a file. */
function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Return a name that every file system takes. */
function fileName(text, ending) {
  const plain = text.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").toLowerCase();
  return `${plain.slice(0, 80) || "figure"}.${ending}`;
}

/** Return the text of an SVG picture that looks the same outside of the page: its styles become attributes. */
function standaloneSvg(svg, title) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    for (const property of DRAWN_PROPERTIES) node.setAttribute(property, style.getPropertyValue(property));
    node.removeAttribute("class");
  });
  const { width, height } = svg.viewBox.baseVal;
  furnish(copy, { xmlns: SVG_NAMESPACE, width, height }, []);
  const paper = drawing("rect", { width, height, fill: getComputedStyle(document.documentElement).getPropertyValue("background-color") });
  copy.prepend(drawing("title", {}, title), paper);
  return new XMLSerializer().serializeToString(copy);
}

/** Save a picture as SVG. */
function saveSvg(svg, title) {
  saveFile(new Blob([standaloneSvg(svg, title)], { type: "image/svg+xml" }), fileName(title, "svg"));
}

/** Save a picture as PNG, with three pixels per pixel of the page. */
async function savePng(svg, title) {
  const { width, height } = svg.viewBox.baseVal;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standaloneSvg(svg, title))}`;
  await image.decode();
  const canvas = element("canvas", { width: width * 3, height: height * 3 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => saveFile(blob, fileName(title, "png")), "image/png");
}

/** Save columns of numbers and texts as CSV, in full precision. */
function saveCsv(names, records, title) {
  const cell = (value) => {
    const text = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [names, ...records].map((record) => record.map(cell).join(","));
  saveFile(new Blob(["\ufeff", lines.join("\r\n"), "\r\n"], { type: "text/csv;charset=utf-8" }), fileName(title, "csv"));
}

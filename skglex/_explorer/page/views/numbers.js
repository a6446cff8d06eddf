/* Write numbers for people: few digits, true minus signs, and units. */

const MINUS = "−";

/** Write a number with a given number of decimals. */
function fixed(value, decimals) {
  const text = Math.abs(value).toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
    useGrouping: Math.abs(value) >= 10000,
  });
  const isZero = !/[1-9]/.test(text);
  return value < 0 && !isZero ? MINUS + text : text;
}

/** Return how many decimals show `digits` significant digits of a size. */
function decimalsFor(size, digits = 3) {
  if (!(size > 0) || !isFinite(size)) return 0;
  return Math.min(8, Math.max(0, digits - 1 - Math.floor(Math.log10(size) + 1e-9)));
}

/** Write a number with about `digits` significant digits; whole numbers stay whole. */
function formatNumber(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "missing";
  if (!isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return fixed(value, 0);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2).replace("-", MINUS);
  return fixed(value, decimalsFor(size, digits));
}

/** Write a number as it was measured: all its digits, up to six significant ones. */
function formatValue(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "missing";
  if (typeof value !== "number") return String(value);
  return trimZeros(formatNumber(value, 6));
}

/** Drop zeros after the decimal point that carry nothing. */
function trimZeros(text) {
  return text.includes("e") ? text : text.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** Write a share between 0 and 1 as a percentage. */
function formatShare(share, decimals = null) {
  const percent = share * 100;
  const size = Math.min(Math.abs(percent), Math.abs(100 - percent));
  const places = decimals ?? (size > 0 && size < 0.095 ? 2 : size < 9.95 ? 1 : 0);
  return `${fixed(percent, places)}%`;
}

/** Put a plus sign before texts of positive numbers. */
function signed(text, value) {
  return value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

/** Write a count with its noun: "1 row", "12,000 rows". */
function count(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en-US")} ${number === 1 ? noun : plural}`;
}

/** Begin a text with a capital letter. */
function capitalize(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Join names as English does: "a, b and c". */
function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

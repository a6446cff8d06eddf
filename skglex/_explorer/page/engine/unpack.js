// Decode the arrays of a payload.

const ARRAY_TYPES = {
  Uint8: Uint8Array,
  Uint16: Uint16Array,
  Uint32: Uint32Array,
  Float32: Float32Array,
  Float64: Float64Array,
};

/**
 * Decode the packed arrays of a payload.
 * @param {{layout: Array, data: string}} packed
 * @returns {Promise<Object<string, TypedArray>>} the arrays by name
 */
async function unpackArrays(packed) {
  const text = atob(packed.data);
  const compressed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) compressed[i] = text.charCodeAt(i);
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const arrays = {};
  let start = 0;
  for (const [name, type, n] of packed.layout) {
    const values = new ARRAY_TYPES[type](n);
    const width = values.BYTES_PER_ELEMENT;
    const out = new Uint8Array(values.buffer);
    // The first bytes of all numbers come first, then all second bytes, and so on; the least byte is the first.
    for (let k = 0; k < width; k++) {
      const from = start + k * n;
      for (let i = 0, to = k; i < n; i++, to += width) out[to] = bytes[from + i];
    }
    start += width * n;
    arrays[name] = values;
  }
  return arrays;
}

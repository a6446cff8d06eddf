async function openModel(payload) {
  const arrays = await unpackArrays(payload.arrays);
  return { facts: payload.facts, arrays };
}

// The fields of a receipt or form, as rows of a small table.

/** Collect the fields of a page: parts with a place of their own, or else the JSON of its blocks. */
export function collectFields(page) {
  const blocks = page?.blocks ?? [];
  if (!blocks.some((block) => block.fields !== undefined)) return [];
  const placed = blocks.flatMap((block) => block.children ?? []).filter((block) => block.box && block.text);
  if (placed.length) {
    return placed.map((block, place) => ({
      name: block.kind,
      value: block.text,
      confidence: block.confidence,
      place,
      mark: { box: block.box, probability: block.confidence ?? 1, text: block.text },
    }));
  }
  return blocks.flatMap((block) => [...flatten(block.fields)]).map(([name, value]) => ({ name, value, place: null }));
}

function* flatten(value, path = "") {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* flatten(item, value.length > 1 ? `${path} ${index + 1}`.trim() : path);
  } else if (value && typeof value === "object") {
    for (const [key, item] of Object.entries(value)) yield* flatten(item, path ? `${path} ${key}` : key);
  } else if (value !== undefined && value !== null) {
    yield [path || "value", String(value)];
  }
}

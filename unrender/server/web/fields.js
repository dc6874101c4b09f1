// The fields of a receipt or form: a small form to correct them in, beside the picture.

import { element, percent, pointing } from "./markup.js";

/** Collect the fields of a page, each with the path to its value and, where it is known, its place. */
export function collectFields(page) {
  const block = page?.blocks?.find((one) => one.fields !== undefined);
  return block ? [...leaves(block.fields)].map(([path, value]) => makeField(block, path, value)) : [];
}

function makeField(block, path, value) {
  const [name, place] = [path.join(" ") || "value", (block.children ?? []).find((child) => child.kind === path.join("."))];
  const found = value && typeof value === "object" ? value : { text: value, confidence: place?.confidence };
  const box = found.box ?? place?.box;
  const read = found.text === null || found.text === undefined ? "" : String(found.text);
  return { name, path, read, value: read, confidence: found.confidence ?? undefined, box: Array.isArray(box) ? { x0: box[0], y0: box[1], x1: box[2], y1: box[3] } : box, probability: found.confidence ?? 1 };
}

/** Give the path and value of everything that is not itself made of parts; a text with its box is one thing. */
function* leaves(value, path = []) {
  if (!value || typeof value !== "object" || "text" in value) yield [path, value];
  else if (Array.isArray(value) && value.length === 1) yield* leaves(value[0], [...path, 0]);
  else for (const [key, item] of Object.entries(value)) yield* leaves(item, [...path, Array.isArray(value) ? Number(key) : key]);
}

/** The fields as JSON, with what was corrected. */
export function correctedFields({ page, fields }) {
  const all = { whole: structuredClone(page.blocks.find((block) => block.fields !== undefined).fields) };
  for (const { path, value, read } of fields) {
    if (value === read) continue;
    const steps = ["whole", ...path];
    const last = steps.pop();
    const owner = steps.reduce((part, step) => part[step], all);
    const { confidence, ...known } = owner[last] && typeof owner[last] === "object" ? owner[last] : {};
    const plain = typeof owner[last] === "number" && value.trim() && isFinite(value) ? Number(value) : value || null;
    owner[last] = Object.keys(known).length ? { ...known, text: value } : plain;
  }
  return all.whole;
}

/** The fields of several results as a table: a row for each, under the names of the fields. */
export function toCsv(rows) {
  const column = ({ path, name }) => path?.filter((step) => typeof step === "string").join(".") || name;
  const all = [...new Set(rows.flat().map(column))];
  // Null in one receipt, several columns in another
  const names = all.filter((name) => !all.some((other) => other.startsWith(`${name}.`)));
  const quote = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const line = (values) => values.map(quote).join(",");
  const cell = (fields, name) => fields.filter((field) => column(field) === name).map(({ value }) => value).join("; ");
  return [line(names), ...rows.map((fields) => line(names.map((name) => cell(fields, name))))].join("\n");
}

/** Make the form; tells which field is pointed at, and when one is changed. */
export function makeForm(fields, { onPoint, onChange }) {
  const form = element("div", { className: "fields", role: "group", "aria-label": "Fields" });
  let [group, line] = [null, null];
  fields.forEach((field, index) => {
    const [key, number, ...rest] = field.path;
    const row = makeRow(field, rest.length ? rest.join(" ") : field.name, onChange);
    pointing(row, index, onPoint);
    if (!rest.length) return form.append(row);
    if (!number && group?.dataset.key !== key) form.append((group = element("div", { className: "group", "data-key": key }, element("span", { className: "hint" }, key))));
    if (line?.dataset.line !== `${key} ${number}`) group.append((line = element("div", { className: "line", "data-line": `${key} ${number}` })));
    line.append(row);
  });
  return form;
}

function makeRow(field, name, onChange) {
  const input = element("input", { type: "text", value: field.value, "aria-label": field.name, placeholder: "not found", autocomplete: "off", spellcheck: false });
  const note = element("span", { className: "hint" });
  const row = element("label", { className: "row part" }, element("span", {}, name.replaceAll("_", " ")), input, note);
  const mark = () => {
    note.textContent = field.value !== field.read ? "edited" : field.confidence === undefined ? "" : percent(field.confidence);
    row.classList.toggle("unsure", field.value === field.read && field.probability < 0.8);
  };
  input.addEventListener("input", () => {
    field.value = input.value;
    mark();
    onChange();
  });
  mark();
  return row;
}

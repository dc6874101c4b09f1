// Several pictures: a strip to see them all, how far they are read, and all results as one file.

import { at, complain, save, say, state } from "./desk.js";
import { toCsv } from "./fields.js";
import { element } from "./markup.js";
import { ENDINGS, write } from "./reading.js";
import { zip } from "./zip.js";

const MARKS = { reading: "… ", done: "✓ ", failed: "✗ " };
// The notation of a file in the zip
const OWN = { formula: "latex", fields: "json", page: "markdown", other: "markdown" };

/** Show the strip when there is more than one picture; `onOpen` gets the one that is chosen. */
export function drawStrip(onOpen) {
  const cards = (state.items.length < 2 ? [] : state.items).map((item, index) => {
    const leaf = element("span", { className: "leaf" }, item.file.name.split(".").pop().slice(0, 4));
    const picture = element("img", { src: URL.createObjectURL(item.file), alt: "" });
    picture.addEventListener("load", () => URL.revokeObjectURL(picture.src));
    // A PDF, or no picture at all
    picture.addEventListener("error", () => picture.replaceWith(leaf));
    item.card = element("button", { title: item.file.name, "aria-label": `${index + 1}: ${item.file.name}` }, picture, element("span", { className: "hint" }));
    item.card.addEventListener("click", () => onOpen(item));
    return element("li", {}, item.card);
  });
  at("pictures").replaceChildren(...cards);
  markStrip();
}

/** Bring the strip up to date. */
export function markStrip() {
  const count = (status) => state.items.filter((item) => item.status === status).length;
  for (const item of state.items) {
    if (!item.card) continue;
    item.card.className = item.status;
    item.card.lastChild.textContent = `${MARKS[item.status] ?? ""}${item.file.name}`;
    item.card.ariaCurrent = String(item === state.item);
  }
  const pages = state.items.reduce((sum, item) => sum + item.latest.size, 0);
  at("strip").hidden = state.items.length < 2 && pages < 2;
  at("progress").max = state.items.length || 1;
  at("progress").value = count("done") + count("failed");
  const failed = count("failed");
  at("read").textContent = state.items.length < 2 ? `${pages} pages read` : `${count("done")} of ${state.items.length} read${failed ? `, ${failed} failed` : ""}`;
  for (const id of ["zip", "markdown"]) at(id).disabled = !pages;
}

/** Every result that is there, with a name of its own. */
function named() {
  const taken = new Set();
  return state.items.flatMap((item) => {
    const base = item.file.name.replace(/\.\w+$/, "") || "picture";
    return [...item.latest].sort(([one], [two]) => one - two).map(([page, result]) => {
      const wished = item.pages > 1 ? `${base}-page-${page}` : base;
      let name = wished;
      for (let number = 2; taken.has(name); number++) name = `${wished}-${number}`;
      taken.add(name);
      return { name, result };
    });
  });
}

async function together() {
  const parts = [];
  for (const { name, result } of named()) parts.push(`<!-- ${name.replaceAll("--", "-")} -->\n\n${(await write(result, "markdown")).trim()}\n`);
  return parts.join("\n");
}

async function archive() {
  const [files, fields] = [[], []];
  for (const { name, result } of named()) {
    const notation = OWN[result.kind];
    files.push([`${name}.${ENDINGS[notation]}`, `${await write(result, notation)}\n`]);
    if (result.kind === "fields") fields.push([{ name: "file", value: name }, ...result.fields]);
  }
  if (fields.length) files.push(["all.csv", `${toCsv(fields)}\n`]);
  return zip([...files, ["all.md", await together()]]);
}

function offer(id, name, make) {
  at(id).addEventListener("click", async () => {
    try {
      save(name, ...[await make()].flat());
      say(`Saved ${name}.`, { passing: true });
    } catch (error) {
      complain(error.message);
    }
  });
}

offer("zip", "unrender.zip", archive);
offer("markdown", "unrender.md", together);

// Taking a result away: copied in the notation that was chosen last, or downloaded.

import { at, complain, memory, save, say, state } from "./desk.js";
import { element } from "./markup.js";
import { dropDown } from "./menu.js";
import { toFile } from "./picture.js";
import { ENDINGS, write } from "./reading.js";

export const NAMES = { latex: "LaTeX", inline: "$...$", display: "$$...$$", mathml: "MathML", markdown: "Markdown", json: "JSON", typst: "Typst", sympy: "SymPy", text: "Text", csv: "CSV", html: "HTML", picture: "Picture" };
const LABELS = { mathml: "MathML (for Word)", text: "Plain text", picture: "Picture (PNG)" };
const OFFERED = {
  formula: ["latex", "inline", "display", "mathml", "typst", "sympy", "text", "markdown", "json", "picture"],
  fields: ["json", "csv", "text", "markdown", "picture"],
  page: ["markdown", "latex", "html", "text", "json", "picture"],
  other: ["text", "markdown", "latex", "json", "picture"],
};

/** The notation to copy in: what was chosen last for this kind of thing. */
export function chosen() {
  const offered = OFFERED[state.result?.kind] ?? ["latex"];
  const last = memory.get(`copy.${state.result?.kind}`);
  return offered.includes(last) ? last : offered[0];
}

/** Remember a notation for this kind of thing. */
export function choose(notation) {
  memory.set(`copy.${state.result.kind}`, notation);
  showChoice();
}

export function showChoice() {
  at("copy").textContent = `Copy ${NAMES[chosen()]}`;
}

/** Copy the result. */
export async function copy() {
  if (!state.result) return;
  const notation = chosen();
  try {
    if (notation === "picture") await copyPicture(state.result.seen);
    else await copyText(await write(state.result, notation));
    say(`Copied as ${NAMES[notation]}.`, { passing: true });
    complain("");
  } catch (error) {
    complain(error.message);
  }
}

async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages without encryption have no clipboard
  const area = element("textarea", { value: text, className: "outside" });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

async function copyPicture(seen) {
  if (!navigator.clipboard?.write) throw new Error("This browser copies pictures only from pages with encryption, or on this machine.");
  await navigator.clipboard.write([new ClipboardItem({ "image/png": toFile(seen(), "picture") })]);
}

at("copy").addEventListener("click", copy);
dropDown(
  at("copy-as"),
  () => OFFERED[state.result.kind].map((name) => ({ name, label: LABELS[name] ?? NAMES[name], chosen: name === chosen() })),
  (name) => {
    choose(name);
    copy();
  },
);
at("download").addEventListener("click", async () => {
  try {
    const name = (state.result.document.source || "result").replace(/\.\w+$/, "");
    save(`${name}.${ENDINGS[state.notation]}`, `${await write(state.result, state.notation)}\n`);
  } catch (error) {
    complain(error.message);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "c" || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (!event.target.closest("input, textarea, select, dialog")) copy();
});

// The result: as it will look, as its source in several notations, and corrected.

import { drawBlocks, lightBlock } from "./blocks.js";
import { choose as chooseCopy, chosen, NAMES, showChoice } from "./copy.js";
import { at, state } from "./desk.js";
import { makeForm } from "./fields.js";
import { DOUBTFUL, build, element, percent } from "./markup.js";
import { Picture } from "./picture.js";
import { isCorrected, write, writeBlocks } from "./reading.js";
import { Source } from "./source.js";

// Milliseconds without a key before an edited formula is drawn
const TYPING = 150;
const OFFERED = { formula: ["latex", "mathml", "markdown", "typst", "json"], fields: ["json", "csv", "text", "markdown"], page: ["markdown", "text", "latex", "json"], other: ["text", "markdown", "json"] };
const ENDED = {
  partial: "A part of the picture was not read.",
  limit: "The text was cut at the limit of tokens.",
  repetition: "The model began to repeat itself; the text was cut there.",
  empty: "There is nothing to read on this picture.",
};

let drawing = new AbortController();
let timer = 0;
const told = { onCorrection: () => {}, onCrop: () => {} };

const point = (index, onPicture = false) => {
  picture.light(index, !onPicture);
  if (state.result?.kind === "fields" || state.result?.kind === "page") lightBlock(at("rendered"), index, onPicture);
  else source.light(index);
};
export const picture = new Picture(at("figure"), {
  onPoint: (index) => point(index, index !== null),
  onPick: (index) => pick(index),
  onCrop: (box) => told.onCrop(box),
  onZoom: () => (at("whole").hidden = !picture.crop && picture.view.scale === 1),
});
const source = new Source(at("source"), { onPoint: point, onChange: changed });

/** Be told when a result is corrected, and when a part of the picture is chosen. */
export function listen(listeners) {
  Object.assign(told, listeners);
}

function pick(index) {
  if (state.result?.kind === "fields") at("rendered").querySelectorAll("input")[index]?.focus();
  else if (state.result?.kind !== "page") source.open(index);
}

/** Show a result. */
export async function show(result) {
  state.result = result;
  const { page, block, kind } = result;
  source.load(kind === "page" ? { text: "" } : block);
  source.edited = result.edited;
  const places = { fields: result.fields, page: (page.blocks ?? []).map((one) => ({ ...one, probability: one.confidence ?? 1 })) }[kind] ?? source.tokens;
  picture.mark(places, page.width || 1, page.height || 1, kind === "fields" || kind === "page", kind === "formula" ? DOUBTFUL : undefined);
  const offered = OFFERED[kind];
  state.notation = offered.includes(chosen()) ? chosen() : offered[0];
  describe();
  drawOthers(block.readings?.slice(1) ?? []);
  drawTabs(offered);
  showChoice();
  at("rendered").className = kind === "page" ? "page" : "";
  await Promise.all([drawSource(), render()]);
}

/** Say how sure the model was, or that a person has changed what it read, and how the reading ended. */
function describe() {
  const { document: read, page, kind } = state.result;
  const parts = [];
  if (isCorrected(state.result)) parts.push("Edited");
  else if (read.confidence !== undefined) parts.push(`Confidence ${percent(read.confidence)}`);
  const { doubtful } = source;
  if (doubtful && kind === "formula") parts.push(`${doubtful} doubtful ${doubtful === 1 ? "symbol" : "symbols"}`);
  at("sure").textContent = parts.join(" · ");
  const open = source.tokens.some((token) => token.alternatives?.length);
  at("legend").hidden = !open && !isCorrected(state.result);
  at("legend").firstElementChild.hidden = !open;
  at("legend").firstElementChild.textContent = doubtful ? "Tinted symbols are doubtful: choose one to see what else it might be." : "Choose a symbol to see what else it might be.";
  at("reset").hidden = !isCorrected(state.result);
  const { kind: ended = "complete", reason } = page.status ?? {};
  at("ended").textContent = ended === "unlikely" ? reason.replace(/^./, (letter) => letter.toUpperCase()) : ENDED[ended] ?? "";
}

/** Offer the other readings of the whole; choosing one puts it in place of the source. */
function drawOthers(readings) {
  const items = readings.map(({ text, written, confidence }) => {
    const button = element("button", { className: "quiet" }, `${text} (${percent(confidence)})`);
    button.addEventListener("click", () => {
      source.take(written ?? text);
      if (source.changed) source.typed = source.text = text;
      source.editing = false;
      drawSource();
      changed();
    });
    return element("li", {}, button);
  });
  at("others").hidden = !items.length;
  at("others").lastElementChild.replaceChildren(...items);
}

export function clearResult() {
  drawing.abort();
  state.result = null;
  source.load({ text: "" });
  for (const id of ["rendered", "notations", "source"]) at(id).replaceChildren();
  for (const id of ["sure", "ended", "wrong"]) at(id).textContent = "";
  at("legend").hidden = true;
  at("rendered").hidden = false;
  drawOthers([]);
  document.body.classList.remove("done");
  picture.mark([], 1, 1);
}

/** A token was exchanged, or the text or a field edited. */
function changed() {
  const { result } = state;
  if (result.kind !== "fields") result.edited = source.edited;
  describe();
  if (!source.editing && result.kind === "formula") picture.mark(source.tokens.map((token) => (token.chosen ? { ...token, probability: 1 } : token)), picture.width, picture.height, false, DOUBTFUL);
  clearTimeout(timer);
  timer = setTimeout(() => (result.kind === "fields" ? drawSource() : render()), source.editing ? TYPING : 0);
  told.onCorrection(result);
}

/** Draw the result as it will look: mathematics as MathML, fields as a form, a page block by block. */
async function render() {
  drawing.abort();
  drawing = new AbortController();
  const { signal } = drawing;
  const { result } = state;
  document.body.classList.add("done");
  if (result.kind === "fields") return at("rendered").replaceChildren(makeForm(result.fields, { onPoint: point, onChange: changed }));
  try {
    if (result.kind === "page") drawBlocks(at("rendered"), await writeBlocks(result, signal), point);
    else at("rendered").replaceChildren(build(result.block.text || result.edited ? await write(result, result.kind === "formula" ? "mathml" : "html", signal) : ""));
    at("rendered").classList.remove("stale");
    at("wrong").textContent = "";
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    at("rendered").classList.add("stale");
    at("wrong").textContent = error.message;
  }
}

// Notations.

function drawTabs(offered) {
  const tabs = offered.map((notation) => element("button", { role: "tab", id: `tab-${notation}`, "aria-controls": "source" }, NAMES[notation]));
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => choose(offered[index]));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = (index + step + tabs.length) % tabs.length;
      choose(offered[next]);
      tabs[next].focus();
    });
  });
  at("notations").replaceChildren(...tabs);
  markTabs();
}

function markTabs() {
  for (const tab of at("notations").children) {
    const selected = tab.id === `tab-${state.notation}`;
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
  }
  at("source").setAttribute("aria-labelledby", `tab-${state.notation}`);
}

function choose(notation) {
  state.notation = notation;
  source.editing = false;
  chooseCopy(notation);
  markTabs();
  drawSource();
}

const editable = () => ["latex", "text"].includes(state.notation) && !["fields", "page"].includes(state.result.kind);

async function drawSource() {
  const { result, notation } = state;
  at("edit").hidden = !editable();
  at("edit").setAttribute("aria-pressed", String(source.editing));
  at("edit").textContent = source.editing ? "Done" : "Edit";
  if (editable()) return source.editing ? source.drawEditor() : source.draw();
  const panel = element("pre", { tabIndex: 0 });
  try {
    panel.textContent = await write(result, notation);
  } catch (error) {
    at("wrong").textContent = error.message;
  }
  if (state.result === result && state.notation === notation) at("source").replaceChildren(panel);
}

at("edit").addEventListener("click", () => {
  source.editing = !source.editing;
  drawSource();
  if (!source.editing) changed();
});
at("reset").addEventListener("click", () => {
  for (const field of state.result.fields) field.value = field.read;
  source.edited = null;
  source.editing = false;
  changed();
  render();
  drawSource();
});

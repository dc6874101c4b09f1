// The result: as it will look, as its source in several notations, corrected, and taken away.

import * as api from "./api.js";
import { at, complain, say, state } from "./desk.js";
import { collectFields } from "./fields.js";
import { build, element, percent } from "./markup.js";
import { Picture } from "./picture.js";
import { Source } from "./source.js";

const TYPING = 150; // milliseconds without a key before an edited formula is drawn
const ENDINGS = { latex: "tex", mathml: "mml", markdown: "md", json: "json", typst: "typ", text: "txt" };
const NAMES = { latex: "LaTeX", mathml: "MathML", markdown: "Markdown", json: "JSON", typst: "Typst", text: "Text" };
const OFFERED = { formula: ["latex", "mathml", "markdown", "typst", "json"], fields: ["json", "text", "markdown"], other: ["text", "markdown", "json"] };
const ENDED = {
  limit: "The text was cut at the limit of tokens.",
  repetition: "The model began to repeat itself; the text was cut there.",
  empty: "There is nothing to read on this picture.",
};

let drawing = new AbortController();
let timer = 0;

const point = (index) => {
  picture.light(index);
  source.light(index);
  picture.lightRow(index, state.fields);
};
export const picture = new Picture(at("figure"), { onPoint: point, onPick: (index) => source.open(index) });
const source = new Source(at("source"), { onPoint: point, onChange: changed });

/** Show a document. */
export async function show(found) {
  state.document = found;
  const page = found.pages[0];
  const block = page?.blocks?.[0] ?? { kind: "text", text: "" };
  source.load({ ...block, text: block.text ?? "" });
  state.fields = collectFields(page);
  state.kind = state.fields.length ? "fields" : block.kind === "formula" ? "formula" : "other";
  const places = state.fields.length ? state.fields.flatMap((field) => field.mark ?? []) : source.tokens;
  picture.mark(places, page?.width || 1, page?.height || 1);
  picture.table(state.fields, point);
  const offered = OFFERED[state.kind];
  if (!offered.includes(state.notation)) state.notation = offered[0];
  describe(page);
  drawOthers(block.readings?.slice(1) ?? []);
  drawTabs(offered);
  await Promise.all([drawSource(), render()]);
}

function describe(page) {
  const parts = [];
  if (state.document.confidence !== undefined) parts.push(`Confidence ${percent(state.document.confidence)}`);
  const doubtful = source.tokens.filter((token) => token.probability < 0.8).length;
  if (doubtful && state.kind === "formula") parts.push(`${doubtful} doubtful ${doubtful === 1 ? "symbol" : "symbols"}`);
  const ended = ENDED[page?.status.kind];
  at("sure").textContent = [...parts, ...(ended ? [ended] : [])].join(" · ");
}

/** Offer the other readings of the whole; choosing one puts it in place of the source. */
function drawOthers(readings) {
  const items = readings.map(({ text, written, confidence }) => {
    const button = element("button", { type: "button", className: "quiet" }, `${text} (${percent(confidence)})`);
    button.addEventListener("click", () => {
      source.take(written ?? text);
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
  state.document = null;
  state.fields = [];
  source.load({ text: "" });
  for (const id of ["rendered", "notations", "source"]) at(id).replaceChildren();
  for (const id of ["sure", "wrong"]) at(id).textContent = "";
  at("legend").hidden = true;
  drawOthers([]);
  document.body.classList.remove("done");
  picture.mark([], 1, 1);
}

/** A token was exchanged or the text edited. */
function changed() {
  at("reset").hidden = !source.changed;
  if (!source.editing) picture.mark(source.tokens, picture.width, picture.height);
  clearTimeout(timer);
  timer = setTimeout(render, source.editing ? TYPING : 0);
}

/** Draw the result as it will look: mathematics as MathML, anything else as text. */
async function render() {
  drawing.abort();
  drawing = new AbortController();
  document.body.classList.add("done");
  at("legend").hidden = !source.tokens.some((token) => token.alternatives?.length);
  const target = { formula: "mathml", other: "html" }[state.kind];
  at("rendered").hidden = !target;
  if (!target) return;
  try {
    const markup = source.text ? await written(target, drawing.signal) : "";
    at("rendered").replaceChildren(build(markup));
    at("rendered").classList.remove("stale");
    at("wrong").textContent = "";
  } catch (error) {
    if (error.name === "AbortError") return;
    at("rendered").classList.add("stale");
    at("wrong").textContent = error.message;
  }
}

/** Write the result, as it stands now, in a notation. */
async function written(notation, signal) {
  if (notation === "json") return JSON.stringify(state.kind === "fields" ? fieldsAlone() : corrected(await tidy(signal)), null, 2);
  if (state.kind === "formula") return notation === "latex" ? tidy(signal) : api.convert(source.text, "latex", notation, signal);
  const { source: name, model, task, status } = state.document;
  const pages = corrected().pages.map((page) => ({ ...page, blocks: page.blocks?.map(({ tokens, ...block }) => block) }));
  return api.convert(JSON.stringify({ source: name, model, task, status, pages }), "json", notation, signal);
}

/** The text as people write it, with what was chosen and typed. */
async function tidy(signal) {
  if (!source.changed) return state.document.text;
  return state.kind === "formula" ? api.convert(source.text, "latex", "latex", signal) : source.text;
}

/** The document with what was chosen and typed. */
function corrected(text = source.text) {
  if (!source.changed) return state.document;
  const { pages: [page, ...others], ...document } = state.document;
  const { blocks: [block, ...rest], ...sheet } = page;
  const tokens = source.tokens.map(({ chosen, typed, ...token }) => token);
  const blocks = [{ ...block, text, ...(block.written && { written: source.text }), tokens }, ...rest];
  return { ...document, text, pages: [{ ...sheet, text, blocks }, ...others] };
}

function fieldsAlone() {
  return state.document.pages[0].blocks.find((block) => block.fields !== undefined)?.fields ?? Object.fromEntries(state.fields.map(({ name, value }) => [name, value]));
}

// Notations.

function drawTabs(offered) {
  const tabs = offered.map((notation) => element("button", { type: "button", role: "tab", id: `tab-${notation}`, "aria-controls": "source" }, NAMES[notation]));
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
  markTabs();
  drawSource();
}

const editable = () => ["latex", "text"].includes(state.notation) && state.kind !== "fields";

async function drawSource() {
  at("edit").hidden = !editable();
  at("edit").setAttribute("aria-pressed", String(source.editing));
  at("edit").textContent = source.editing ? "Done" : "Edit";
  at("wrong").textContent = "";
  at("reset").hidden = !source.changed;
  if (editable()) return source.draw();
  const panel = element("pre", { tabIndex: 0 });
  at("source").replaceChildren(panel);
  try {
    panel.textContent = await written(state.notation);
  } catch (error) {
    at("wrong").textContent = error.message;
  }
}

at("edit").addEventListener("click", () => {
  source.editing = !source.editing;
  drawSource();
  if (!source.editing) changed();
});
at("reset").addEventListener("click", () => {
  source.reset();
  drawSource();
});
at("copy").addEventListener("click", async () => {
  try {
    await copy(await written(state.notation));
    say(`Copied as ${NAMES[state.notation]}.`);
  } catch (error) {
    complain(error.message);
  }
});
at("download").addEventListener("click", async () => {
  try {
    const blob = new Blob([`${await written(state.notation)}\n`], { type: "text/plain" });
    const name = (state.document.source || "result").replace(/\.\w+$/, "");
    const link = element("a", { href: URL.createObjectURL(blob), download: `${name}.${ENDINGS[state.notation]}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  } catch (error) {
    complain(error.message);
  }
});

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = element("textarea", { value: text, className: "outside" }); // pages without encryption have no clipboard
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

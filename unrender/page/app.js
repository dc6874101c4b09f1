// The page: takes a picture, has it read, shows the result, lets it be corrected and taken away.

import * as api from "./api.js";
import { photograph } from "./camera.js";
import { Sheet } from "./draw.js";
import { collectFields } from "./fields.js";
import { History } from "./history.js";
import { build, element, percent } from "./markup.js";
import { Picture } from "./picture.js";
import { Source } from "./source.js";

const at = (id) => document.getElementById(id);
const PAUSE = 700; // milliseconds without a stroke before a drawing is read
const ENLARGED = 1.6; // small pictures are shown this much larger
const TYPING = 150; // milliseconds without a key before an edited formula is drawn
const ENDINGS = { latex: "tex", mathml: "mml", markdown: "md", json: "json", typst: "typ", text: "txt" };
const NAMES = { latex: "LaTeX", mathml: "MathML", markdown: "Markdown", json: "JSON", typst: "Typst", text: "Text" };
const OFFERED = { formula: ["latex", "mathml", "markdown", "typst", "json"], fields: ["json", "text", "markdown"], other: ["text", "markdown", "json"] };
const ENDED = {
  limit: "The text was cut at the limit of tokens.",
  repetition: "The model began to repeat itself; the text was cut there.",
  empty: "There is nothing to read on this picture.",
};

const state = { file: null, shown: false, page: 1, pages: 1, document: null, notation: "latex", fields: [], entry: null };
let reading = new AbortController();
let drawing = new AbortController();
let timer = 0;

const point = (index) => {
  picture.light(index);
  source.light(index);
  picture.lightRow(index, state.fields);
};
const picture = new Picture(at("figure"), { onPoint: point, onPick: (index) => source.open(index) });
const source = new Source(at("source"), { onPoint: point, onChange: changed });
const earlier = new History(at("history"), at("earlier"), restore);
const sheet = new Sheet(() => {
  clearTimeout(timer);
  timer = setTimeout(readSheet, PAUSE);
});

// Where pictures come from.

at("choose").addEventListener("click", () => at("file").click());
for (const id of ["file", "snapshot"]) {
  at(id).addEventListener("change", (event) => {
    if (event.target.files[0]) open(event.target.files[0]);
    event.target.value = "";
  });
}
at("photograph").addEventListener("click", async () => {
  try {
    const file = await photograph();
    if (file) open(file);
  } catch (error) {
    complain(`The camera cannot be used here (${error.message}).`);
  }
});
at("draw").addEventListener("click", startDrawing);
at("example").addEventListener("click", async () => open(new File([await (await fetch("/example.png")).blob()], "example.png", { type: "image/png" })));
document.addEventListener("paste", (event) => {
  const file = [...event.clipboardData.files][0];
  if (!file) return;
  event.preventDefault();
  open(file);
});
for (const name of ["dragenter", "dragover"]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    document.body.classList.add("dragging");
  });
}
document.addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("dragging"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dragging");
  if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
});

/** Take a new file: show its first page and read it. */
async function open(file) {
  Object.assign(state, { file, page: 1, pages: 1, entry: null });
  at("pencil").hidden = true;
  await readPage(1);
}

async function readPage(page) {
  Object.assign(state, { page, entry: null, shown: false });
  await attempt(async (signal) => {
    await showPage(signal);
    await readFile(state.file, signal);
  });
}

/** Show the present page: the browser draws what it can, the server the rest. */
async function showPage(signal) {
  const paged = /pdf|tif/i.test(`${state.file.type} ${state.file.name}`);
  let image = paged ? null : await decoded(state.file);
  if (!image) {
    const page = await api.preview(state.file, state.page, signal);
    state.pages = page.pages;
    image = await decoded(page.picture);
  }
  image.style.width = `${ENLARGED * image.naturalWidth}px`; // at most: the style sheet keeps it in its frame
  begin(image);
}

async function decoded(blob) {
  const image = element("img", { alt: "What is read", src: URL.createObjectURL(blob) });
  try {
    await image.decode();
    return image;
  } catch {
    return null;
  }
}

function begin(shown) {
  state.shown = true;
  URL.revokeObjectURL(picture.shown?.src ?? "");
  picture.show(shown);
  picture.table([]);
  at("work").hidden = false;
  document.body.classList.add("working");
  at("pager").hidden = state.pages < 2;
  at("pages").textContent = state.pages;
  Object.assign(at("page"), { value: state.page, max: state.pages });
  at("previous").disabled = state.page <= 1;
  at("next").disabled = state.page >= state.pages;
}

at("previous").addEventListener("click", () => readPage(state.page - 1));
at("next").addEventListener("click", () => readPage(state.page + 1));
at("page").addEventListener("change", (event) => {
  const page = Math.round(Number(event.target.value));
  if (page >= 1 && page <= state.pages) readPage(page);
  else event.target.value = state.page;
});

function startDrawing() {
  reading.abort();
  Object.assign(state, { file: null, page: 1, pages: 1, entry: null });
  begin(sheet.canvas);
  at("pencil").hidden = false;
  clearResult();
  say("");
  sheet.canvas.focus();
  if (!sheet.empty) readSheet();
}

at("undo").addEventListener("click", () => sheet.undo());
at("wipe").addEventListener("click", () => sheet.clear());

async function readSheet() {
  if (sheet.empty) return clearResult();
  const file = await sheet.toFile();
  await attempt((signal) => readFile(file, signal));
}

// Reading.

/** Do something that takes time; what was under way before is given up. */
async function attempt(act) {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  at("problem").hidden = true;
  document.body.classList.add("reading");
  say("Reading ...");
  try {
    await act(signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    clearResult();
    say("");
    complain(error.message);
    at("work").hidden = !state.shown; // a file that is no picture leaves nothing to see
  }
  if (!signal.aborted) document.body.classList.remove("reading");
}

async function readFile(file, signal) {
  if (at("pencil").hidden) clearResult(); // of a drawing, the reading before stays until there is a new one
  const started = performance.now();
  const options = { page: state.pages > 1 ? state.page : 0, model: at("model").value };
  const hear = (text, note) => {
    if (signal.aborted) return;
    if (note) say(note);
    at("source").replaceChildren(element("div", { className: "tokens growing" }, text));
  };
  const found = await api.read(file, options, hear, signal);
  signal.throwIfAborted();
  await show(found);
  say(`Read in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
  state.entry = earlier.add(picture.shown, found, state.entry);
}

function restore(entry) {
  reading.abort();
  document.body.classList.remove("reading");
  Object.assign(state, { file: null, page: 1, pages: 1, entry: entry.id });
  at("pencil").hidden = at("problem").hidden = true;
  const image = element("img", { alt: "What was read", src: entry.picture });
  image.style.width = `${ENLARGED * entry.document.pages[0].width}px`;
  begin(image);
  say("");
  show(entry.document);
  scrollTo({ top: 0 });
}

// The result.

async function show(found) {
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

function clearResult() {
  state.document = null;
  state.fields = [];
  source.load({ text: "" });
  for (const id of ["rendered", "notations", "source"]) at(id).replaceChildren();
  for (const id of ["sure", "wrong"]) at(id).textContent = "";
  at("legend").hidden = true;
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
  if (notation === "json") return JSON.stringify(state.kind === "fields" ? fieldsAlone() : corrected(), null, 2);
  if (state.kind === "formula") return notation === "latex" ? source.text : api.convert(source.text, "latex", notation, signal);
  const { source: name, model, task, status } = state.document;
  const pages = corrected().pages.map((page) => ({ ...page, blocks: page.blocks?.map(({ tokens, ...block }) => block) }));
  return api.convert(JSON.stringify({ source: name, model, task, status, pages }), "json", notation, signal);
}

/** The document with what was chosen and typed. */
function corrected() {
  if (!source.changed) return state.document;
  const { pages: [page, ...others], ...document } = state.document;
  const { blocks: [block, ...rest], ...sheet } = page;
  const tokens = source.tokens.map(({ chosen, typed, ...token }) => token);
  const blocks = [{ ...block, text: source.text, tokens }, ...rest];
  return { ...document, text: source.text, pages: [{ ...sheet, text: source.text, blocks }, ...others] };
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

// Everything else.

at("forget").addEventListener("click", () => earlier.clear());

function say(sentence) {
  at("status").textContent = sentence;
}

function complain(sentence) {
  at("problem").textContent = sentence;
  at("problem").hidden = false;
}

async function listModels() {
  try {
    const models = await api.models();
    at("model").replaceChildren(...models.map(({ name, task }) => element("option", { value: name }, name === task ? name : `${name} (${task})`)));
    at("models").hidden = models.length < 2;
  } catch (error) {
    complain(error.message);
  }
}

at("model").addEventListener("change", () => (state.file ? readPage(state.page) : at("pencil").hidden || readSheet()));
listModels();

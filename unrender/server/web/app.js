// The page: takes a picture, has it read, shows the result, lets it be corrected and taken away.

import * as api from "./api.js";
import { photograph } from "./camera.js";
import { at, complain, say, state } from "./desk.js";
import { Sheet } from "./draw.js";
import { History } from "./history.js";
import { element } from "./markup.js";
import { clearResult, picture, show } from "./result.js";

const PAUSE = 700; // milliseconds without a stroke before a drawing is read
const ENLARGED = 1.6; // small pictures are shown this much larger

let reading = new AbortController();
let timer = 0;

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
  if (sheet.empty) {
    reading.abort();
    document.body.classList.remove("reading");
    say("");
    return clearResult();
  }
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
  const options = { page: state.pages > 1 ? state.page : 0, model: at("model").value, formula: at("model").selectedOptions[0]?.dataset.task === "formula" };
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

// Everything else.

at("forget").addEventListener("click", () => earlier.clear());

async function listModels() {
  try {
    const models = await api.models();
    at("model").replaceChildren(...models.map(({ name, task }) => element("option", { value: name, "data-task": task }, name === task ? name : `${name} (${task})`)));
    at("models").hidden = models.length < 2;
  } catch (error) {
    complain(error.message);
  }
}

at("model").addEventListener("change", () => (state.file ? readPage(state.page) : at("pencil").hidden || readSheet()));
listModels();

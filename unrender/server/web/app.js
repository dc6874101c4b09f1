// The page: takes pictures, has them read one after the other, and shows what comes back.

import * as api from "./api.js";
import { keepCorrection } from "./corrections.js";
import { at, complain, say, state } from "./desk.js";
import { openDoors } from "./doors.js";
import { Sheet } from "./draw.js";
import { History } from "./history.js";
import { element } from "./markup.js";
import { cut, decoded, sharesOf, toFile } from "./picture.js";
import { makeResult } from "./reading.js";
import { clearResult, listen, picture, show } from "./result.js";
import { drawStrip, markStrip } from "./strip.js";
import { leaveWelcome, offerExamples, readExample } from "./welcome.js";

const PAUSE = 400; // milliseconds without a stroke before a drawing is read

let reading = new AbortController();
let model = ""; // the one a person chose
let timer = 0;

const earlier = new History(at("history"), at("earlier"), restore);
const sheet = new Sheet(() => {
  clearTimeout(timer);
  timer = setTimeout(readSheet, PAUSE);
});
listen({
  onCrop: (box) => look({ crop: box }),
  onCorrection: (result) => {
    if (result.entry) earlier.correct(result);
    keepCorrection(result);
  },
});

openDoors((files) => open(files));
offerExamples(open);
at("draw").addEventListener("click", startDrawing);

const makeItem = (file, more = {}) => ({ file, model, page: 1, pages: 1, crop: null, image: null, status: "waiting", results: new Map(), latest: new Map(), ...more });

/** Take new files in place of those before: show the first, read all in order. */
function open(files, wanted = model) {
  if (!files.length) return;
  leave();
  state.items = files.map((file) => makeItem(file, { model: wanted }));
  drawStrip(select);
  select(state.items[0]);
  run();
}

/** Give up what is on the desk. */
function leave() {
  leaveWelcome();
  reading.abort();
  document.body.classList.remove("reading");
  for (const item of state.items) URL.revokeObjectURL(item.image?.src ?? "");
}

/** Put one of the pictures on the desk; one that was left unread is read now. */
function select(item) {
  state.item = item;
  at("pencil").hidden = true;
  clearResult();
  complain(item.problem ?? "");
  at("model").value = item.model;
  if (!at("model").value) at("model").selectedIndex = 0;
  if (item.image) put(item);
  else at("work").hidden = item.status === "failed";
  const known = item.results.get(keyOf(item));
  if (known) show(known);
  else if (item.status === "left" || item.status === "done") look({});
  markStrip();
}

/** Look at another page or part of the picture on the desk, or with another model; what was read before is not read again. */
function look(change) {
  const { item } = state;
  if (!item) return;
  if (change.page) {
    URL.revokeObjectURL(item.image?.src ?? "");
    Object.assign(item, { image: null, crop: null });
  }
  Object.assign(item, change);
  if (item.image) put(item, true);
  const known = item.image && item.results.get(keyOf(item));
  if (known) {
    item.latest.set(item.page, known);
    return show(known);
  }
  item.status = "waiting";
  return run();
}

const keyOf = ({ page, crop, model: read }) => JSON.stringify([page, crop, read]);

/** Show the picture of an item; the view stays when only the crop changes. */
function put(item, stays = false) {
  if (!stays || picture.shown !== item.image) picture.show(item.image, item.wide);
  picture.crop = item.crop;
  if (stays && !item.crop) picture.reset();
  clearResult();
  at("work").hidden = false;
  document.body.classList.add("working");
  at("viewer").hidden = item.drawn ?? false;
  at("result").hidden = item.status === "failed";
  picture.onZoom();
  at("pager").hidden = item.pages < 2;
  at("pages").textContent = item.pages;
  Object.assign(at("page"), { value: item.page, max: item.pages });
  at("previous").disabled = item.page <= 1;
  at("next").disabled = item.page >= item.pages;
}

at("previous").addEventListener("click", () => look({ page: state.item.page - 1 }));
at("next").addEventListener("click", () => look({ page: state.item.page + 1 }));
at("page").addEventListener("change", (event) => {
  const page = Math.round(Number(event.target.value));
  if (page >= 1 && page <= state.item.pages) look({ page });
  else event.target.value = state.item.page;
});

at("every").addEventListener("click", async () => {
  const { item } = state;
  for (let page = 1; page <= item.pages; page++) {
    if (!item.latest.has(page)) await look({ page });
    if (state.item !== item || item.status === "left") return; // something else is wanted, or nothing more
  }
});

// Zoom, crop, and back to the whole.

const whole = () => (state.item?.crop ? look({ crop: null }) : picture.shown && picture.reset());
const setCropping = (on) => {
  picture.cropping = on;
  at("figure").classList.toggle("cropping", on);
  at("crop").setAttribute("aria-pressed", String(on));
};
at("closer").addEventListener("click", () => picture.zoom(1));
at("farther").addEventListener("click", () => picture.zoom(-1));
at("whole").addEventListener("click", whole);
at("crop").addEventListener("click", () => setCropping(!picture.cropping));
setCropping(!matchMedia("(hover: none)").matches); // a finger scrolls until it is asked to crop
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented && !event.target.closest("input, textarea, dialog")) whole();
});

function startDrawing() {
  leave();
  state.item = makeItem(null, { model: model || formulaModel(), image: sheet.canvas, drawn: true, status: "left" });
  state.items = [state.item];
  drawStrip(select);
  put(state.item);
  complain("");
  at("pencil").hidden = false;
  say("");
  sheet.canvas.focus();
  if (!sheet.empty) readSheet();
}

sheet.attach(at("pencil"));

async function readSheet() {
  const { item } = state;
  if (!item?.drawn) return;
  if (sheet.empty) {
    leave();
    say("");
    return clearResult();
  }
  Object.assign(item, taskOf(item.model) === "formula" ? sheet.toInk() : { file: await sheet.toFile(), settle: null });
  item.results.clear();
  item.status = "waiting";
  run();
}

// Reading.

/** Read whatever waits, the picture on the desk first; what was under way is given up. */
async function run() {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  complain("");
  document.body.classList.add("reading");
  const waits = (item) => item?.status === "waiting";
  for (let item; (item = waits(state.item) ? state.item : state.items.find(waits)); ) {
    await readItem(item, signal);
    if (signal.aborted) return;
  }
  document.body.classList.remove("reading");
}

at("cancel").addEventListener("click", () => {
  reading.abort();
  document.body.classList.remove("reading");
  for (const item of state.items) if (/ing$/.test(item.status)) item.status = "left"; // waiting or reading
  if (!state.result) clearResult();
  say("Stopped.");
  markStrip();
});

async function readItem(item, signal) {
  const several = state.items.length > 1 ? ` ${state.items.indexOf(item) + 1} of ${state.items.length}` : "";
  say(`Reading${several}${item.pages > 1 ? `, page ${item.page} of ${item.pages}` : ""} ...`);
  Object.assign(item, { status: "reading", problem: null });
  if (item === state.item) at("result").hidden = false;
  markStrip();
  try {
    if (!item.image) await loadPage(item, signal);
    const result = await readPicture(item, signal);
    item.status = "done";
    if (item === state.item) await show(result);
    const as = at("model").options[0]?.value || item.model ? "" : ` as a ${result.document.task}`;
    say(several ? `Read${several}${as}.` : `Read in ${result.seconds.toFixed(1)} s${as}.`);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return void (item.status === "reading" && (item.status = "waiting"));
    Object.assign(item, { status: "failed", problem: error.message });
    say("");
    if (item === state.item) {
      clearResult();
      complain(error.message);
      at("work").hidden = !item.image; // a file that is no picture leaves nothing to see
      at("result").hidden = true;
    }
  }
  markStrip();
}

/** Draw the present page: the browser draws what it can, the server the rest. */
async function loadPage(item, signal) {
  const paged = /pdf|tif/i.test(`${item.file.type} ${item.file.name}`);
  let image = paged ? null : await decoded(item.file);
  if (!image) {
    const page = await api.preview(item.file, item.page, signal);
    Object.assign(item, { pages: page.pages, served: true });
    image = await decoded(page.picture);
  }
  signal.throwIfAborted();
  item.image = image;
  if (item === state.item) put(item);
}

async function readPicture(item, signal) {
  const started = performance.now();
  const { image, crop, page, served } = item;
  const options = { page: item.pages > 1 && (served || !crop) ? page : 0, model: item.model, formula: /^(formula|)$/.test(taskOf(item.model)) };
  if (crop && served) options.crop = sharesOf(crop, image); // drawn again, as finely as the model wants it
  const hear = (text, note) => {
    if (signal.aborted) return;
    if (note) say(note);
    if (item === state.item && !item.drawn) at("source").replaceChildren(element("div", { className: "tokens growing" }, text));
  };
  const found = await api.read(crop && !served ? await toFile(cut(image, crop), item.file.name) : item.file, options, hear, signal);
  signal.throwIfAborted();
  item.settle?.(found);
  const now = cut(image, crop); // what is drawn changes; any other picture is cut again when it is wanted
  const result = makeResult(found, { seconds: (performance.now() - started) / 1000, seen: () => (item.drawn ? now : cut(image, crop)) });
  result.id = result.entry = item.entry = earlier.add(now, found, item.drawn ? item.entry : null);
  item.results.set(keyOf(item), result);
  item.latest.set(page, result);
  return result;
}

function restore(entry) {
  const image = element("img", { alt: "What was read", src: entry.picture });
  image.decode().then(async () => {
    const file = await toFile(cut(image), entry.document.source || "picture");
    leave();
    const item = makeItem(file, { model: entry.document.model, image, wide: entry.document.pages[0].width, status: "done" });
    const result = History.revive(entry, { seen: () => cut(image), id: entry.id, entry: entry.id });
    item.results.set(keyOf(item), result);
    item.latest.set(1, result);
    state.items = [item];
    drawStrip(select);
    say("");
    select(item);
    scrollTo({ top: 0 });
  });
}

at("forget").addEventListener("click", () => earlier.clear());

const taskOf = (name) => [...at("model").options].find((option) => !name || option.value === name)?.dataset.task ?? "";

const formulaModel = () => [...at("model").options].find((option) => option.dataset.task === "formula")?.value ?? "";

async function listModels() {
  try {
    const { models, chooses } = await api.models();
    const options = models.map(({ name, task }) => element("option", { value: name, "data-task": task }, name === task ? name : `${name} (${task})`));
    if (chooses) options.unshift(element("option", { value: "", "data-task": "" }, "what it looks like"));
    at("model").replaceChildren(...options);
    at("models").hidden = models.length < 2;
    await readExample(models);
  } catch (error) {
    complain(error.message);
  }
}

at("model").addEventListener("change", () => {
  model = at("model").value;
  for (const item of state.items) Object.assign(item, { model }, item.status === "done" && item !== state.item && { status: "waiting" });
  if (state.item) look({});
});
listModels();

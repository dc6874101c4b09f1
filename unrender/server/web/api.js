// Talking to the server that served this page, and to nobody else.

const KEY = "unrender.token";
const RETRIES = 5;
// Of a formula: the best, and what else the whole might be
const READINGS = 3;

/** An answer other than success: a sentence, and for texts the character that is wrong. */
export class Problem extends Error {
  constructor(status, sentence, position) {
    super(sentence);
    this.status = status;
    this.position = position;
  }
}

/** Read one page of a file; `hear` gets the text as it grows. Resolves to the document. */
export async function read(file, { page, crop, model, formula }, hear, signal) {
  const query = new URLSearchParams({ stream: "true" });
  if (page) query.set("pages", page);
  if (crop) query.set("crop", crop.map((share) => share.toFixed(4)));
  if (model) query.set("model", model);
  if (formula) query.set("n_best", READINGS);
  const response = await patiently(() => request(`/v1/read?${query}`, { method: "POST", body: form(file), signal }), hear, signal);
  for await (const [name, data] of events(response)) {
    if (name === "text") hear(data.text);
    if (name === "document") return data;
    if (name === "error") throw new Problem(data.status, data.error, data.position);
  }
  throw new Problem(0, "The server stopped before it was done; try again.");
}

/** Draw a page of a PDF or TIFF; resolves to its picture and the number of pages. */
export async function preview(file, page, signal) {
  const response = await request(`/v1/preview?page=${page}`, { method: "POST", body: form(file), signal });
  return { picture: await response.blob(), pages: Number(response.headers.get("Pages")) };
}

/** Write a text in another notation. */
export async function convert(text, source, target, signal) {
  const body = JSON.stringify({ text, source, target });
  const headers = { "Content-Type": "application/json" };
  return (await (await request("/v1/convert", { method: "POST", body, headers, signal })).json()).text;
}

export async function models() {
  return (await request("/v1/models", {})).json();
}

// Corrections that the server keeps.

const CORRECTIONS = "/v1/corrections";

export async function keep(picture, fields) {
  return (await request(CORRECTIONS, { method: "POST", body: form(picture, fields) })).json();
}

export async function kept() {
  return (await request(CORRECTIONS, {})).json();
}

export async function erase() {
  return (await request(CORRECTIONS, { method: "DELETE" })).json();
}

export async function exported() {
  return (await request(`${CORRECTIONS}/export`, {})).blob();
}

function form(file, fields = {}) {
  const made = new FormData();
  made.append("file", file, file.name || "picture.png");
  for (const [name, value] of Object.entries(fields)) made.append(name, value);
  return made;
}

async function request(address, options) {
  const token = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let response;
  try {
    response = await fetch(address, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer; is it still running?");
  }
  if (response.ok) return response;
  if (response.status === 401) {
    sessionStorage.setItem(KEY, await askForToken());
    return request(address, options);
  }
  const data = await response.json().catch(() => ({ error: response.statusText }));
  const problem = new Problem(response.status, data.error, data.position);
  problem.retry = Number(response.headers.get("Retry-After")) || 0;
  throw problem;
}

/** Come back when a busy server says so, a few times. */
async function patiently(attempt, hear, signal) {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (problem) {
      if (problem.status !== 503 || !problem.retry || tries === RETRIES) throw problem;
      hear("", `The server is busy; trying again in ${problem.retry} s.`);
      await new Promise((resolve) => setTimeout(resolve, problem.retry * 1000));
      signal.throwIfAborted();
    }
  }
}

function askForToken() {
  const dialog = document.getElementById("locked");
  const field = document.getElementById("token");
  field.value = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(field.value), { once: true }));
}

/** Take server-sent events from a response as they come. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let kept = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (kept + value).split("\n\n");
    kept = blocks.pop();
    for (const block of blocks) {
      const lines = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
      if (lines.event) yield [lines.event, JSON.parse(lines.data)];
    }
  }
}

// Corrections kept for learning: only if a person switches it on, on the machine that serves the page, and nowhere else.

import * as api from "./api.js";
import { at, complain, memory, save, say } from "./desk.js";
import { toFile } from "./picture.js";
import { isCorrected, write } from "./reading.js";

// Milliseconds without a change before a correction is sent
const PAUSE = 1500;
const KEY = "keep-corrections";

let timer = 0;

/** Send a corrected result to be kept, once it stays as it is; one that was sent before is replaced. */
export function keepCorrection(result) {
  clearTimeout(timer);
  if (memory.get(KEY) !== "yes" || !isCorrected(result) || result.kind === "page") return;
  timer = setTimeout(() => send(result), PAUSE);
}

async function send(result) {
  try {
    const picture = await toFile(result.seen(), "picture");
    const text = await write(result, { formula: "latex", fields: "json" }[result.kind] ?? "text");
    tell(await api.keep(picture, { id: result.id, task: result.document.task, text }));
    say("The correction is kept.", { passing: true });
  } catch {
    // a formula that is not well-formed yet; the sentence below the source says so
  }
}

function tell({ count, folder }) {
  at("kept").textContent = count ? `${count} kept in ${folder}.` : "None are kept.";
  for (const id of ["export", "erase"]) at(id).hidden = !count;
}

function attempt(act) {
  return async () => {
    try {
      await act();
    } catch (error) {
      complain(error.message);
    }
  };
}

at("keep").checked = memory.get(KEY) === "yes";
at("keep").addEventListener("change", () => memory.set(KEY, at("keep").checked ? "yes" : "no"));
at("learning").addEventListener("toggle", attempt(async () => at("learning").open && tell(await api.kept())));
at("export").addEventListener("click", attempt(async () => save("corrections.zip", await api.exported())));
at("erase").addEventListener("click", attempt(async () => tell(await api.erase())));

// The first screen: an example that is read when the page opens, and more to click.

import * as api from "./api.js";
import { at, complain } from "./desk.js";
import { build, element } from "./markup.js";
import { cut, toFile } from "./picture.js";
import { makeResult, write } from "./reading.js";

const reading = new AbortController();

let offered = [];
const modelFor = (task) => offered.find((model) => model.task === task)?.name;
const samples = [...document.querySelectorAll("#welcome [data-file]")];

/** Hand the example that is clicked to `open`, with the model for it. */
export function offerExamples(open) {
  for (const sample of samples) {
    sample.addEventListener("click", async () => {
      try {
        open([await fetchFile(sample.dataset.file)], modelFor(sample.dataset.task));
      } catch (error) {
        complain(error.message);
      }
    });
  }
}

/** Read the first example, and show the others that this server has a model for. */
export async function readExample(models) {
  offered = models;
  for (const sample of samples) sample.hidden = !modelFor(sample.dataset.task);
  if (!modelFor("formula") || document.body.classList.contains("working")) return;
  try {
    const { signal } = reading;
    const result = makeResult(await api.read(await fetchFile(at("example").dataset.file), { model: modelFor("formula") }, () => {}, signal));
    const [latex, drawn] = await Promise.all([write(result, "latex", signal), write(result, "mathml", signal)]);
    at("wrote").textContent = latex;
    at("drawn").replaceChildren(build(drawn));
  } catch {
    // Only an example: what is wrong is said when something is wanted
    at("drawn").hidden = at("wrote").hidden = true;
  }
}

/** A picture was given: the example is not needed any more. */
export function leaveWelcome() {
  reading.abort();
}

/** Fetch an example; a drawing in lines becomes a picture first. */
async function fetchFile(name) {
  const blob = await (await fetch(`/${name}`)).blob();
  if (name.endsWith(".png")) return new File([blob], name, { type: "image/png" });
  const image = element("img", { src: URL.createObjectURL(blob) });
  await image.decode();
  return toFile(cut(image), name);
}

// The last reads of this browser, kept in it and nowhere else.

import { collectFields } from "./fields.js";
import { element, percent } from "./markup.js";
import { makeResult } from "./reading.js";

const KEY = "unrender.history";
const KEPT = 24;
// Of the picture that is kept, in pixels
const SIDE = 700;

/** Lists earlier reads; `onOpen` gets the one that is chosen. */
export class History {
  constructor(section, list, onOpen) {
    [this.section, this.list, this.onOpen] = [section, list, onOpen];
    this.draw();
  }

  get entries() {
    try {
      return JSON.parse(localStorage.getItem(KEY)) ?? [];
    } catch {
      return [];
    }
  }

  /** Keep a read, in place of the one before it if it is of the same picture. */
  add(picture, document, same) {
    const before = this.entries;
    const id = same ?? crypto.randomUUID?.() ?? String(Math.random());
    const entry = { id, time: Date.now(), picture: shrink(picture), document };
    this.keep([entry, ...before.filter((other) => other.id !== id)].slice(0, KEPT));
    this.draw();
    return id;
  }

  /** Keep what a person has corrected in a result. */
  correct({ entry: id, edited, fields }) {
    const values = fields.map((field) => field.value);
    this.keep(this.entries.map((entry) => (entry.id === id ? { ...entry, edited, values } : entry)));
  }

  /** Make a result again of what was kept. */
  static revive(entry, more) {
    const result = makeResult(entry.document, { edited: entry.edited ?? null, ...more });
    result.fields.forEach((field, index) => (field.value = entry.values?.[index] ?? field.read));
    return result;
  }

  keep(entries) {
    while (entries.length) {
      try {
        localStorage.setItem(KEY, JSON.stringify(entries));
        break;
      } catch {
        // No room left: the oldest goes
        entries.pop();
      }
    }
  }

  clear() {
    localStorage.removeItem(KEY);
    this.draw();
  }

  draw() {
    const entries = this.entries;
    this.section.hidden = !entries.length;
    this.list.replaceChildren(...entries.map((entry) => element("li", {}, this.card(entry))));
  }

  card(entry) {
    const { confidence, pages: [page] } = entry.document;
    const text = entry.document.text || collectFields(page).map((field) => field.value).filter(Boolean).join(", ");
    const when = new Date(entry.time).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    const note = confidence === undefined ? when : `${percent(confidence)} · ${when}`;
    const picture = element("img", { src: entry.picture, alt: "" });
    const card = element("button", { title: text }, picture, element("code", {}, text || "(nothing)"), element("span", { className: "hint" }, note));
    card.addEventListener("click", () => this.onOpen(entry));
    return card;
  }
}

function shrink(picture) {
  const [width, height] = [picture.naturalWidth ?? picture.width, picture.naturalHeight ?? picture.height];
  const scale = Math.min(1, SIDE / Math.max(width, height, 1));
  const canvas = element("canvas", { width: Math.max(1, width * scale), height: Math.max(1, height * scale) });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const [png, jpeg] = [canvas.toDataURL("image/png"), canvas.toDataURL("image/jpeg", 0.8)];
  return png.length < jpeg.length ? png : jpeg;
}

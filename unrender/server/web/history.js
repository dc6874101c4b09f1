// The last reads of this browser, kept in it and nowhere else.

import { collectFields } from "./fields.js";
import { element, percent } from "./markup.js";

const KEY = "unrender.history";
const KEPT = 24;
const SIDE = 700; // of the picture that is kept, in pixels

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
    const entries = [entry, ...before.filter((other) => other.id !== id)].slice(0, KEPT);
    while (entries.length) {
      try {
        localStorage.setItem(KEY, JSON.stringify(entries));
        break;
      } catch {
        entries.pop(); // no room left: the oldest goes
      }
    }
    this.draw();
    return id;
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
    const text = entry.document.text || collectFields(page).map((field) => field.value).join(", ");
    const when = new Date(entry.time).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    const note = confidence === undefined ? when : `${percent(confidence)} · ${when}`;
    const picture = element("img", { src: entry.picture, alt: "" });
    const card = element("button", { type: "button", title: text }, picture, element("code", {}, text || "(nothing)"), element("span", { className: "hint" }, note));
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

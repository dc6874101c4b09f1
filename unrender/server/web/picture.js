// The picture: it can be zoomed and moved, a part of it chosen, and places on it lit and pointed at.

import { element } from "./markup.js";

// Places less sure than this are outlined from the start
const UNSURE = 0.8;
// Pixels that a pointer moves before a click is a drag
const DRAG = 6;
const CLOSEST = 12;
const STEP = 1.5;
// Small pictures are shown this much larger
const ENLARGED = 1.6;

/** Shows a picture or a canvas; tells which place is pointed at, which is clicked, and which part is cropped. */
export class Picture {
  constructor(figure, { onPoint, onPick, onCrop, onZoom }) {
    Object.assign(this, { figure, onPoint, onPick, onCrop, onZoom, places: [], pointers: new Map(), cropping: true });
    this.layer = element("div", { className: "layer", "aria-hidden": "true" });
    this.lamp = element("div", { className: "lamp", hidden: true });
    this.frame = element("div", { className: "crop", hidden: true });
    figure.addEventListener("pointermove", (event) => this.drag(event) || onPoint(this.find(event)));
    figure.addEventListener("pointerleave", () => onPoint(null));
    figure.addEventListener("pointerdown", (event) => this.press(event));
    for (const name of ["pointerup", "pointercancel"]) figure.addEventListener(name, (event) => this.release(event));
    figure.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    figure.addEventListener("dragstart", (event) => event.preventDefault());
  }

  /** Show an element (an image or a canvas), in the size of a picture so many pixels wide, and forget the places. */
  show(shown, wide = 0) {
    this.shown = shown;
    this.size = { width: shown.naturalWidth || shown.width || 1, height: shown.naturalHeight || shown.height || 1 };
    this.sheet = element("div", { className: "sheet" }, shown, this.layer);
    this.paper = element("div", { className: "paper" }, this.sheet);
    // At most: the style sheet keeps the paper in its frame, in the picture's own shape
    this.paper.style.setProperty("--wide", `${ENLARGED * (wide || this.size.width)}px`);
    this.paper.style.setProperty("--shape", this.size.width / this.size.height);
    this.figure.replaceChildren(this.paper);
    this.crop = null;
    this.reset();
    this.mark([], 1, 1);
  }

  get whole() {
    return { x0: 0, y0: 0, x1: this.size.width, y1: this.size.height };
  }

  get still() {
    // A sheet to draw on has other uses for a drag
    return this.shown instanceof HTMLImageElement;
  }

  /** Mark places, given as {box, probability}, found on a page of this size: the whole picture, or its crop. */
  mark(places, width, height, boxed = false, unsure = UNSURE) {
    Object.assign(this, { places, width, height, boxed, unsure });
    const outlined = places.filter((place) => place.box && (boxed || place.probability < unsure));
    this.layer.replaceChildren(...outlined.map((place) => this.put(element("div", { className: place.probability < unsure ? "doubt" : "boxed" }), place.box)));
    this.frame.hidden = !this.crop;
    if (this.crop) this.putIn(this.frame, this.crop);
    this.layer.append(this.frame, this.lamp);
    this.light(null);
  }

  /** Light a place; with `reveal`, bring it into view when the picture is zoomed. */
  light(index, reveal = false) {
    const box = index === null ? null : this.places[index]?.box;
    this.lamp.hidden = !box;
    if (!box) return;
    this.put(this.lamp, box);
    if (!reveal || this.view.scale === 1) return;
    const [lamp, room] = [this.lamp, this.figure].map((shown) => shown.getBoundingClientRect());
    const outside = lamp.left < room.left || lamp.right > room.right || lamp.top < room.top || lamp.bottom > room.bottom;
    if (outside) this.move((room.left + room.right - lamp.left - lamp.right) / 2, (room.top + room.bottom - lamp.top - lamp.bottom) / 2);
  }

  /** Put an element where a box of the page that was read is. */
  put(made, { x0, y0, x1, y1 }) {
    const part = this.crop ?? this.whole;
    const [across, down] = [(part.x1 - part.x0) / this.width, (part.y1 - part.y0) / this.height];
    return this.putIn(made, { x0: part.x0 + x0 * across, y0: part.y0 + y0 * down, x1: part.x0 + x1 * across, y1: part.y0 + y1 * down });
  }

  putIn(made, { x0, y0, x1, y1 }) {
    const share = (value, whole) => `${(100 * value) / whole}%`;
    const { width, height } = this.size;
    Object.assign(made.style, { left: share(x0, width), top: share(y0, height), width: share(x1 - x0, width), height: share(y1 - y0, height) });
    return made;
  }

  /** Where a pointer is, in pixels of the picture. */
  place({ clientX, clientY }) {
    const area = this.layer.getBoundingClientRect();
    return { x: ((clientX - area.left) / area.width) * this.size.width, y: ((clientY - area.top) / area.height) * this.size.height };
  }

  /** Return the index of the smallest place under the pointer, a sign before a brace; null if there is none. */
  find(event) {
    if (!this.places.length) return null;
    const { x, y } = this.place(event);
    const part = this.crop ?? this.whole;
    const [across, down] = [((x - part.x0) / (part.x1 - part.x0)) * this.width, ((y - part.y0) / (part.y1 - part.y0)) * this.height];
    let [best, smallest] = [null, Infinity];
    this.places.forEach(({ box, text }, index) => {
      if (!box || across < box.x0 || across > box.x1 || down < box.y0 || down > box.y1) return;
      const size = (box.x1 - box.x0) * (box.y1 - box.y0) * (/^[{}^_]$/.test(text) ? 1.01 : 1);
      if (size < smallest) [best, smallest] = [index, size];
    });
    return best;
  }

  // Zooming and moving.

  reset() {
    this.view = { scale: 1, x: 0, y: 0 };
    this.turn();
  }

  /** Zoom in or out by steps, around the middle or a point of the screen. */
  zoom(steps, point = null) {
    const area = this.paper.getBoundingClientRect();
    const [x, y] = [(point?.clientX ?? area.left + area.width / 2) - area.left, (point?.clientY ?? area.top + area.height / 2) - area.top];
    const scale = Math.min(CLOSEST, Math.max(1, this.view.scale * STEP ** steps));
    const grown = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * grown, y: y - (y - this.view.y) * grown };
    this.turn();
  }

  move(x, y) {
    this.view = { ...this.view, x: this.view.x + x, y: this.view.y + y };
    this.turn();
  }

  turn() {
    const { scale } = this.view;
    // Fill the whole frame, and leave no part of it empty that could show something
    const within = (value, size, room) => {
      const [grown, margin] = [size * scale, (room - size) / 2];
      return grown <= room ? (size - grown) / 2 : Math.min(-margin, Math.max(room - margin - grown, value));
    };
    this.view.x = within(this.view.x, this.paper.clientWidth, this.figure.clientWidth);
    this.view.y = within(this.view.y, this.paper.clientHeight, this.figure.clientHeight);
    // Larger, not magnified: lines stay thin
    Object.assign(this.sheet.style, { width: `${100 * scale}%`, transform: scale === 1 ? "" : `translate(${this.view.x}px, ${this.view.y}px)` });
    this.figure.classList.toggle("zoomed", scale > 1);
    this.onZoom();
  }

  wheel(event) {
    const fits = document.documentElement.scrollHeight <= innerHeight;
    if (!this.still || !this.paper.contains(event.target) || !(event.ctrlKey || this.view.scale > 1 || fits)) return;
    event.preventDefault();
    this.zoom(-Math.sign(event.deltaY) * Math.min(1, Math.abs(event.deltaY) / 60), event);
  }

  press(event) {
    if (!this.still || event.button > 1 || (event.pointerType === "touch" && !this.paper.contains(event.target))) return;
    if (event.button) event.preventDefault();
    this.pointers.set(event.pointerId, event);
    const cuts = this.cropping && !event.shiftKey && !event.button && this.pointers.size === 1;
    this.gesture = { begin: event, cuts, moved: false };
    this.spread = 0;
  }

  /** Follow a drag: two pointers zoom, one crops or moves. Returns whether there is one. */
  drag(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return false;
    const { begin, cuts } = this.gesture;
    this.gesture.moved ||= Math.hypot(event.clientX - begin.clientX, event.clientY - begin.clientY) > DRAG;
    this.pointers.set(event.pointerId, event);
    if (!this.gesture.moved) return true;
    this.figure.setPointerCapture(event.pointerId);
    if (this.pointers.size === 2) this.pinch();
    else if (cuts) this.rubber(this.place(begin), this.place(event));
    else this.move(event.clientX - last.clientX, event.clientY - last.clientY);
    return true;
  }

  pinch() {
    const [one, two] = [...this.pointers.values()];
    const spread = Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY);
    this.band = null;
    const middle = { clientX: (one.clientX + two.clientX) / 2, clientY: (one.clientY + two.clientY) / 2 };
    if (this.spread) this.zoom(Math.log(spread / this.spread) / Math.log(STEP), middle);
    this.spread = spread;
  }

  rubber(from, to) {
    const inside = (value, whole) => Math.round(Math.min(whole, Math.max(0, value)));
    const { width, height } = this.size;
    const [xs, ys] = [[from.x, to.x].map((x) => inside(x, width)), [from.y, to.y].map((y) => inside(y, height))];
    this.band = { x0: Math.min(...xs), y0: Math.min(...ys), x1: Math.max(...xs), y1: Math.max(...ys) };
    this.frame.hidden = false;
    this.putIn(this.frame, this.band);
  }

  release(event) {
    if (!this.pointers.delete(event.pointerId) || this.pointers.size) return;
    const [band, { moved }] = [this.band, this.gesture];
    this.band = null;
    if (band && event.type === "pointerup" && band.x1 - band.x0 >= DRAG && band.y1 - band.y0 >= DRAG) return this.onCrop(band);
    if (band) this.mark(this.places, this.width, this.height, this.boxed, this.unsure);
    const found = moved ? null : this.find(event);
    if (found !== null) this.onPick(found);
  }
}

/** Make an image of a file; null if the browser cannot. */
export async function decoded(blob) {
  const image = element("img", { alt: "What is read", src: URL.createObjectURL(blob) });
  try {
    await image.decode();
    return image;
  } catch {
    return null;
  }
}

/** Copy a picture, or the part of it in a box, to a canvas. */
export function cut(shown, box) {
  const { x0, y0, x1, y1 } = box ?? { x0: 0, y0: 0, x1: shown.naturalWidth || shown.width, y1: shown.naturalHeight || shown.height };
  const canvas = element("canvas", { width: x1 - x0, height: y1 - y0 });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(shown, x0, y0, x1 - x0, y1 - y0, 0, 0, x1 - x0, y1 - y0);
  return canvas;
}

/** Say what part of a picture a box is: left, top, right, bottom, each from 0 to 1. */
export function sharesOf({ x0, y0, x1, y1 }, { naturalWidth, naturalHeight }) {
  return [x0 / naturalWidth, y0 / naturalHeight, x1 / naturalWidth, y1 / naturalHeight];
}

/** Make a PNG of a canvas. */
export function toFile(canvas, name) {
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(new File([blob], `${name.replace(/\.\w+$/, "")}.png`, { type: "image/png" }))));
}

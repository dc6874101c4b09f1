// A sheet of paper to write on.

import { element } from "./markup.js";

const WIDTH = 900;
const HEIGHT = 420;
const PEN = 5;

/** A canvas that keeps its strokes, so that the last one can be taken back; `onPause` is called when one ends. */
export class Sheet {
  constructor(onPause) {
    this.onPause = onPause;
    this.strokes = [];
    this.canvas = element("canvas", { width: WIDTH, height: HEIGHT, tabIndex: 0, role: "img", "aria-label": "Sheet to write on with mouse, pen or finger" });
    this.pen = this.canvas.getContext("2d");
    this.canvas.addEventListener("pointerdown", (event) => this.begin(event));
    this.canvas.addEventListener("pointermove", (event) => this.go(event));
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => this.end());
    this.paint();
  }

  get empty() {
    return !this.strokes.length;
  }

  undo() {
    this.strokes.pop();
    this.paint();
    this.onPause();
  }

  clear() {
    this.strokes = [];
    this.paint();
    this.onPause();
  }

  toFile() {
    return new Promise((resolve) => this.canvas.toBlob((blob) => resolve(new File([blob], "drawing.png", { type: "image/png" }))));
  }

  begin(event) {
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.stroke = [this.at(event)];
    this.strokes.push(this.stroke);
    this.paint();
  }

  go(event) {
    if (!this.stroke) return;
    for (const part of event.getCoalescedEvents?.() ?? [event]) this.stroke.push(this.at(part));
    this.paint();
  }

  end() {
    if (!this.stroke) return;
    this.stroke = null;
    this.onPause();
  }

  at(event) {
    const area = this.canvas.getBoundingClientRect();
    return [((event.clientX - area.left) / area.width) * WIDTH, ((event.clientY - area.top) / area.height) * HEIGHT];
  }

  paint() {
    const pen = this.pen;
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, WIDTH, HEIGHT);
    [pen.lineWidth, pen.lineCap, pen.lineJoin, pen.strokeStyle] = [PEN, "round", "round", "#111"];
    for (const stroke of this.strokes) {
      pen.beginPath();
      stroke.forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      if (stroke.length === 1) pen.lineTo(stroke[0][0] + 0.1, stroke[0][1]);
      pen.stroke();
    }
  }
}

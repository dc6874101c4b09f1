// A sheet of paper to write on.

import { element } from "./markup.js";
import { toFile } from "./picture.js";

const WIDTH = 900;
const HEIGHT = 420;
const PENS = { pen: 5, thick: 10 };
// Pixels around the ink where the server draws strokes
const MARGIN = 8;
// Line width of a symbol's height where the reader learned
const TRAINED = 1.5 / 16;
// How near the eraser must come to a stroke
const RUBBER = 16;

/** A canvas that keeps its strokes, so that they can be rubbed out and taken back; `onPause` is called when it changes. */
export class Sheet {
  constructor(onPause) {
    Object.assign(this, { onPause, strokes: [], before: [], tool: "pen", stroke: null });
    this.canvas = element("canvas", { width: WIDTH, height: HEIGHT, tabIndex: 0, role: "img", "aria-label": "Sheet to write on with mouse, pen or finger" });
    this.pen = this.canvas.getContext("2d");
    this.canvas.addEventListener("pointerdown", (event) => this.begin(event));
    this.canvas.addEventListener("pointermove", (event) => this.go(event));
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => this.end());
    this.canvas.addEventListener("keydown", (event) => (event.ctrlKey || event.metaKey) && event.key === "z" && this.undo());
    this.paint();
  }

  /** Obey the buttons of a bar: data-tool chooses, data-act does. */
  attach(bar) {
    const tools = [...bar.querySelectorAll("[data-tool]")];
    const mark = () => tools.forEach((tool) => tool.setAttribute("aria-pressed", String(tool.dataset.tool === this.tool)));
    bar.addEventListener("click", ({ target: { dataset } }) => {
      if (dataset.act) this[dataset.act]();
      this.tool = dataset.tool ?? this.tool;
      mark();
    });
    mark();
  }

  get empty() {
    return !this.strokes.length;
  }

  /** Change the strokes in a way that can be taken back. */
  change(strokes) {
    this.before.push(this.strokes);
    this.strokes = strokes;
    this.paint();
  }

  undo() {
    this.strokes = this.before.pop() ?? this.strokes;
    this.paint();
    this.onPause();
  }

  clear() {
    this.change([]);
    this.onPause();
  }

  toFile() {
    const canvas = element("canvas", { width: WIDTH, height: HEIGHT });
    draw(canvas.getContext("2d"), this.strokes, (TRAINED * symbolHeight(this.strokes)) / PENS.pen);
    return toFile(canvas, "drawing");
  }

  /** Give the strokes themselves, which a reader of formulas can draw with several pens. */
  toInk() {
    const traces = this.strokes.map(({ points }) => `<trace>${points.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join(", ")}</trace>`);
    const placed = findInk(this.strokes);
    const file = new File([`<ink>${traces.join("")}</ink>`], "drawing.inkml", { type: "application/inkml+xml" });
    return { file, settle: (found) => moveBoxes(found, placed) };
  }

  begin(event) {
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.focus();
    this.stroke = { width: PENS[this.tool], points: [] };
    if (this.stroke.width) this.change([...this.strokes, this.stroke]);
    this.go(event);
  }

  go(event) {
    if (!this.stroke) return;
    const moves = event.getCoalescedEvents?.() ?? [];
    const points = (moves.length ? moves : [event]).map((part) => this.at(part));
    if (this.stroke.width) this.stroke.points.push(...points);
    else this.rub(points);
    this.paint();
  }

  rub(points) {
    const near = ([x, y]) => points.some((point) => Math.hypot(point[0] - x, point[1] - y) < RUBBER);
    const left = this.strokes.filter((stroke) => !stroke.points.some(near));
    if (left.length < this.strokes.length) this.change(left);
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
    draw(this.pen, this.strokes, 1);
  }
}

function draw(pen, strokes, factor) {
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, WIDTH, HEIGHT);
  [pen.lineCap, pen.lineJoin, pen.strokeStyle] = ["round", "round", "#111"];
  for (const { width, points } of strokes) {
    pen.lineWidth = Math.max(1, width * factor);
    pen.beginPath();
    points.forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    if (points.length === 1) pen.lineTo(points[0][0] + 0.1, points[0][1]);
    pen.stroke();
  }
}

/** Return where the ink begins, and how far it goes. */
function findInk(strokes) {
  const points = strokes.flatMap((stroke) => stroke.points);
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return { left, top, across: Math.max(...xs) - left, down: Math.max(...ys) - top };
}

/** Move the boxes of a reading from the picture that the server drew of the ink to the sheet. */
function moveBoxes(found, { left, top, across, down }) {
  for (const page of found.pages) {
    const scale = (across > down ? across / (page.width - 2 * MARGIN) : down / (page.height - 2 * MARGIN)) || 1;
    const move = (part) => {
      if (part === null || typeof part !== "object") return;
      if ("x0" in part) {
        for (const side of ["x0", "x1"]) part[side] = left + (part[side] - MARGIN) * scale;
        for (const side of ["y0", "y1"]) part[side] = top + (part[side] - MARGIN) * scale;
      } else Object.values(part).forEach(move);
    };
    move(page);
    [page.width, page.height] = [WIDTH, HEIGHT];
  }
}

/** Estimate how high the typical symbol is; the lower strokes are bars, signs and dots. */
function symbolHeight(strokes) {
  const heights = strokes.map(({ points }) => Math.max(...points.map(([, y]) => y)) - Math.min(...points.map(([, y]) => y)));
  const typical = heights.sort((one, other) => one - other)[Math.floor(0.6 * heights.length)];
  return typical > RUBBER ? typical : PENS.pen / TRAINED;
}

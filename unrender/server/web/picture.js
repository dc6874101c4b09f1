// The picture, with places on it that can be lit and pointed at.

import { element, percent } from "./markup.js";

const DOUBTFUL = 0.8; // places less sure than this are outlined from the start

/** Shows a picture or a canvas; tells which place is pointed at and which is clicked. */
export class Picture {
  constructor(figure, { onPoint, onPick }) {
    this.figure = figure;
    this.layer = element("div", { className: "layer", "aria-hidden": "true" });
    this.lamp = element("div", { className: "lamp", hidden: true });
    this.places = [];
    figure.addEventListener("pointermove", (event) => event.target.closest(".fields") ?? onPoint(this.find(event)));
    figure.addEventListener("pointerleave", () => onPoint(null));
    figure.addEventListener("click", (event) => {
      const found = event.target.closest(".fields") ? null : this.find(event);
      if (found !== null) onPick(found);
    });
  }

  /** Show an element (an image or a canvas) and forget the places. */
  show(shown) {
    this.shown = shown;
    this.figure.replaceChildren(element("div", { className: "paper" }, shown, this.layer));
    this.mark([], 1, 1);
  }

  /** Mark places, given as {box, doubt}, on a page of this size. */
  mark(places, width, height) {
    [this.places, this.width, this.height] = [places, width, height];
    const doubtful = places.filter((place) => place.box && place.probability < DOUBTFUL);
    this.layer.replaceChildren(...doubtful.map((place) => this.put(element("div", { className: "doubt" }), place.box)));
    this.layer.append(this.lamp);
    this.light(null);
  }

  light(index) {
    const box = index === null ? null : this.places[index]?.box;
    this.lamp.hidden = !box;
    if (box) this.put(this.lamp, box);
  }

  /** Lay the fields of a receipt over the picture. */
  table(fields, onPoint) {
    this.figure.querySelector(".fields")?.remove();
    if (!fields.length) return;
    const rows = fields.map(({ name, value, confidence, place }) => {
      const sure = confidence === undefined ? "" : percent(confidence);
      const row = element("tr", { tabIndex: 0 }, element("th", { scope: "row" }, name), element("td", {}, value), element("td", { className: "hint" }, sure));
      for (const [event, lit] of [["pointerenter", place], ["focus", place], ["pointerleave", null], ["blur", null]]) row.addEventListener(event, () => onPoint(lit));
      return row;
    });
    this.figure.append(element("details", { className: "fields", open: true }, element("summary", {}, "Fields"), element("table", {}, ...rows)));
  }

  lightRow(place, fields) {
    const rows = this.figure.querySelectorAll(".fields tr");
    rows.forEach((row, index) => row.classList.toggle("lit", place !== null && fields[index].place === place));
  }

  put(made, { x0, y0, x1, y1 }) {
    const share = (value, whole) => `${(100 * value) / whole}%`;
    made.style.left = share(x0, this.width);
    made.style.top = share(y0, this.height);
    made.style.width = share(x1 - x0, this.width);
    made.style.height = share(y1 - y0, this.height);
    return made;
  }

  /** Return the index of the smallest place under the pointer, a sign before a brace; null if there is none. */
  find(event) {
    const area = this.layer.getBoundingClientRect();
    const x = ((event.clientX - area.left) / area.width) * this.width;
    const y = ((event.clientY - area.top) / area.height) * this.height;
    let [best, smallest] = [null, Infinity];
    this.places.forEach(({ box, text }, index) => {
      if (!box || x < box.x0 || x > box.x1 || y < box.y0 || y > box.y1) return;
      const size = (box.x1 - box.x0) * (box.y1 - box.y0) * (/^[{}^_]$/.test(text) ? 1.01 : 1);
      if (size < smallest) [best, smallest] = [index, size];
    });
    return best;
  }
}

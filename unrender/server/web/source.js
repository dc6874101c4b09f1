// The source of a result as people write it, piece by piece: tinted by doubt, with alternatives, or as a text to edit.

import { DOUBTFUL, element, percent, pointing } from "./markup.js";
import { walk } from "./menu.js";
import { align, join, split } from "./pieces.js";
import { separatorOf } from "./reading.js";

const SPACE = /^(\\[,;:! ]|\\q?quad|~)$/;

/** How much a piece is in doubt, from 0 to 1: not what a person chose, nor a space that nobody sees. */
function doubtOf({ text }, token) {
  return !token || token.chosen || SPACE.test(text) ? 0 : Math.min(1, Math.max(0, (DOUBTFUL - token.probability) / DOUBTFUL) * 1.6);
}

/** Shows tokens; tells which is pointed at (`onPoint`) and when the text changes (`onChange`). */
export class Source {
  constructor(panel, { onPoint, onChange }) {
    this.panel = panel;
    // What a menu is open for stays lit
    this.onPoint = (index) => this.menu === null && onPoint(index);
    this.onChange = onChange;
    this.tokens = [];
    this.separator = " ";
    this.editing = false;
    this.menu = null;
    document.addEventListener("pointerdown", (event) => this.menu && !this.menu.contains(event.target) && this.close());
  }

  /** Take the tokens of a block; a block without tokens is one token. */
  load(block) {
    const tokens = block.tokens ?? [];
    this.separator = separatorOf(block);
    const whole = tokens.length ? tokens : [{ text: block.text, probability: 1 }];
    this.tokens = whole.map((token) => ({ ...token, text: token.text ?? "" }));
    this.original = this.tokens;
    this.text = this.written = block.text ?? "";
    // The text as it was typed
    this.typed = null;
    this.editing = false;
  }

  /** What was changed, to be kept and given back; null when nothing was. */
  get edited() {
    return this.changed ? { tokens: this.tokens, typed: this.typed, text: this.text } : null;
  }

  set edited(edited) {
    Object.assign(this, edited ?? { tokens: this.original, typed: null, text: this.written });
  }

  get changed() {
    return this.tokens !== this.original;
  }

  reset() {
    this.edited = null;
    this.editing = false;
    this.draw();
    this.onChange();
  }

  draw() {
    this.close();
    this.pieces = this.separator ? align(this.text, this.tokens) : this.tokens.map(({ text }, index) => ({ text, before: "", first: index, last: index }));
    this.buttons = this.pieces.map((piece, place) => this.button(piece, place));
    const group = element("div", { className: "tokens", role: "group", "aria-label": "Symbols; arrow keys move, Enter shows alternatives" });
    this.buttons.forEach((button, place) => group.append(this.pieces[place].before, button));
    this.panel.replaceChildren(group);
    if (this.buttons.length) this.buttons[0].tabIndex = 0;
  }

  /** How many pieces are in doubt. */
  get doubtful() {
    const known = this.separator ? align(this.text, this.tokens) : [];
    return known.filter((piece) => doubtOf(piece, this.tokenOf(piece)) > 0).length;
  }

  /** The token of a piece; of several, the least sure. */
  tokenOf({ first, last }) {
    return this.tokens.slice(first, last === undefined ? first : last + 1).reduce((least, token) => (least && least.probability <= token.probability ? least : token), undefined);
  }

  /** Let the text be edited as a person would write it. */
  drawEditor() {
    const area = element("textarea", { value: this.text, spellcheck: false, rows: 4, "aria-label": "Source" });
    area.addEventListener("input", () => {
      this.take(area.value);
      if (area.value === this.written) this.edited = null;
      this.onChange();
    });
    this.close();
    this.panel.replaceChildren(area);
    this.buttons = [];
    area.focus();
  }

  /** Take an edited text, keeping the tokens at both ends that are still there. */
  take(text) {
    const pieces = this.separator ? split(text) : [...text];
    const old = this.original;
    let head = 0;
    while (head < pieces.length && head < old.length && old[head].text === pieces[head]) head++;
    let tail = 0;
    while (tail < pieces.length - head && tail < old.length - head && old.at(-1 - tail).text === pieces.at(-1 - tail)) tail++;
    const typed = pieces.slice(head, pieces.length - tail).map((piece) => ({ text: piece, probability: 1, typed: true }));
    const same = !typed.length && head + tail === old.length;
    this.tokens = same ? old : [...old.slice(0, head), ...typed, ...old.slice(old.length - tail)];
    this.typed = same ? null : text;
    this.text = same ? this.written : text;
  }

  button(piece, place) {
    const token = this.tokenOf(piece) ?? { probability: 1, typed: true };
    const others = piece.first === piece.last ? token.alternatives?.length ?? 0 : 0;
    const label = token.typed ? piece.text : `${piece.text}, ${percent(token.probability)}${others ? `, ${others} alternatives` : ""}`;
    const made = element("button", { className: "token", tabIndex: -1, "aria-label": label }, piece.text);
    const doubt = doubtOf(piece, token);
    if (doubt > 0) made.style.setProperty("--doubt", `${Math.round(12 + 88 * doubt)}%`);
    made.classList.toggle("unsure", doubt > 0);
    made.classList.toggle("chosen", Boolean(piece.first !== undefined && (token.chosen || token.typed)));
    if (piece.first !== undefined) made.title = token.typed ? "typed" : percent(token.probability);
    if (others) made.setAttribute("aria-haspopup", "menu");
    pointing(made, piece.first ?? null, this.onPoint);
    made.addEventListener("click", () => this.open(piece.first));
    made.addEventListener("keydown", (event) => this.move(event, place));
    return made;
  }

  move(event, place) {
    const last = this.buttons.length - 1;
    const target = { ArrowRight: Math.min(last, place + 1), ArrowLeft: Math.max(0, place - 1), Home: 0, End: last }[event.key];
    if (event.key === "ArrowDown") this.open(this.pieces[place].first);
    else if (target === undefined) return;
    else this.focus(target);
    event.preventDefault();
  }

  focus(place) {
    this.buttons.forEach((button, other) => (button.tabIndex = other === place ? 0 : -1));
    this.buttons[place]?.focus();
  }

  /** Which piece shows a token. */
  placeOf(index) {
    return this.pieces?.findIndex(({ first, last }) => first <= index && index <= last) ?? -1;
  }

  light(index) {
    const place = index === null ? -1 : this.placeOf(index);
    this.buttons?.forEach((button, other) => button.classList.toggle("lit", other === place));
  }

  /** Offer what else a token might be. */
  open(index) {
    this.close();
    const [place, token] = [this.placeOf(index), this.tokens[index]];
    const { first, last } = this.pieces?.[place] ?? {};
    const others = token?.alternatives ?? [];
    if (!others.length || first !== last || !this.buttons[place]) return;
    const items = [token, ...others].map((other, number) =>
      element("button", { role: "menuitemradio", "aria-checked": String(number === 0) }, element("code", {}, other.text || "nothing"), element("span", { className: "hint" }, percent(other.probability))),
    );
    this.onPoint(index);
    this.menu = element("div", { className: "menu", role: "menu", "aria-label": `Instead of ${token.text}` }, ...items);
    items.forEach((item, number) => {
      item.addEventListener("click", () => this.choose(index, number - 1));
      item.addEventListener("keydown", (event) => walk(event, items, number, () => this.close(place)));
    });
    const button = this.buttons[place];
    button.after(this.menu);
    button.setAttribute("aria-expanded", "true");
    const room = this.panel.clientWidth - this.menu.offsetWidth - 8;
    this.menu.style.left = `${Math.max(0, Math.min(button.offsetLeft, room))}px`;
    this.menu.style.top = `${button.offsetTop + button.offsetHeight + 4}px`;
    items[Math.min(1, items.length - 1)].focus();
  }

  close(place) {
    this.menu?.previousElementSibling?.removeAttribute("aria-expanded");
    this.menu?.remove();
    this.menu = null;
    this.onPoint(null);
    if (place !== undefined) this.focus(place);
  }

  /** Put an alternative in a token's place; the token becomes the first alternative. */
  choose(index, number) {
    const place = this.placeOf(index);
    if (number >= 0) {
      const { alternatives, ...old } = this.tokens[index];
      const taken = alternatives[number];
      const rest = alternatives.filter((_, other) => other !== number);
      const swapped = { ...old, ...taken, text: taken.text ?? "", chosen: true, alternatives: [{ text: old.text, probability: old.probability }, ...rest] };
      this.tokens = this.tokens.map((token, other) => (other === index ? swapped : token));
      this.typed = null;
      this.text = join(this.pieces.map((piece, other) => (other === place ? { ...piece, text: swapped.text } : piece)));
      this.draw();
      this.onChange();
    }
    this.close(place);
  }
}

// The source of a result, token by token: tinted by doubt, with alternatives, or as a text to edit.

import { element, percent } from "./markup.js";

const SURE = 0.97; // from here on a token has no tint

/** Shows tokens; tells which is pointed at (`onPoint`) and when the text changes (`onChange`). */
export class Source {
  constructor(panel, { onPoint, onChange }) {
    this.panel = panel;
    this.onPoint = (index) => this.menu === null && onPoint(index); // what a menu is open for stays lit
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
    this.separator = tokens.map((token) => token.text ?? "").join(" ") === (block.written ?? block.text) ? " " : "";
    const whole = tokens.length ? tokens : [{ text: block.text, probability: 1 }];
    this.tokens = whole.map((token) => ({ ...token, text: token.text ?? "" }));
    this.original = this.tokens;
    this.editing = false;
  }

  get text() {
    return this.tokens.map((token) => token.text).join(this.separator).trim();
  }

  get changed() {
    return this.tokens !== this.original;
  }

  reset() {
    this.tokens = this.original;
    this.editing = false;
    this.draw();
    this.onChange();
  }

  draw() {
    this.close();
    if (this.editing) return this.drawEditor();
    const buttons = this.tokens.map((token, index) => this.button(token, index));
    const group = element("div", { className: "tokens", role: "group", "aria-label": "Symbols; arrow keys move, Enter shows alternatives" });
    buttons.forEach((button, index) => group.append(...(index && this.separator ? [this.separator] : []), button));
    this.panel.replaceChildren(group);
    this.buttons = buttons;
    if (buttons.length) buttons[0].tabIndex = 0;
  }

  drawEditor() {
    const area = element("textarea", { value: this.text, spellcheck: false, rows: 4, "aria-label": "Source" });
    area.addEventListener("input", () => {
      this.take(area.value);
      this.onChange();
    });
    this.panel.replaceChildren(area);
    this.buttons = [];
    area.focus();
  }

  /** Take an edited text, keeping the tokens at both ends that are still there. */
  take(text) {
    const pieces = this.separator ? text.split(/\s+/).filter(Boolean) : [...text];
    const old = this.original;
    let head = 0;
    while (head < pieces.length && head < old.length && old[head].text === pieces[head]) head++;
    let tail = 0;
    while (tail < pieces.length - head && tail < old.length - head && old.at(-1 - tail).text === pieces.at(-1 - tail)) tail++;
    const typed = pieces.slice(head, pieces.length - tail).map((piece) => ({ text: piece, probability: 1, typed: true }));
    this.tokens = typed.length || head + tail < old.length ? [...old.slice(0, head), ...typed, ...old.slice(old.length - tail)] : old;
  }

  button(token, index) {
    const others = token.alternatives?.length ?? 0;
    const label = token.typed ? token.text : `${token.text}, ${percent(token.probability)}${others ? `, ${others} alternatives` : ""}`;
    const made = element("button", { type: "button", className: "token", tabIndex: -1, "aria-label": label }, token.text);
    const doubt = Math.min(1, Math.max(0, (SURE - token.probability) / SURE) * 1.6);
    if (doubt > 0) made.style.setProperty("--doubt", `${Math.round(12 + 88 * doubt)}%`);
    made.classList.toggle("unsure", doubt > 0);
    made.classList.toggle("chosen", Boolean(token.chosen || token.typed));
    made.title = token.typed ? "typed" : percent(token.probability);
    if (others) made.setAttribute("aria-haspopup", "menu");
    made.addEventListener("pointerenter", () => this.onPoint(index));
    made.addEventListener("pointerleave", () => this.onPoint(null));
    made.addEventListener("focus", () => this.onPoint(index));
    made.addEventListener("blur", () => this.onPoint(null));
    made.addEventListener("click", () => this.open(index));
    made.addEventListener("keydown", (event) => this.move(event, index));
    return made;
  }

  move(event, index) {
    const last = this.tokens.length - 1;
    const target = { ArrowRight: Math.min(last, index + 1), ArrowLeft: Math.max(0, index - 1), Home: 0, End: last }[event.key];
    if (event.key === "ArrowDown") this.open(index);
    else if (target === undefined) return;
    else this.focus(target);
    event.preventDefault();
  }

  focus(index) {
    this.buttons.forEach((button, place) => (button.tabIndex = place === index ? 0 : -1));
    this.buttons[index]?.focus();
  }

  light(index) {
    this.buttons?.forEach((button, place) => button.classList.toggle("lit", place === index));
  }

  /** Offer what else a token might be. */
  open(index) {
    this.close();
    const token = this.tokens[index];
    const others = token.alternatives ?? [];
    if (!others.length || !this.buttons.length) return;
    const items = [token, ...others].map((other, place) =>
      element("button", { type: "button", role: "menuitemradio", "aria-checked": String(place === 0) }, element("code", {}, other.text || "nothing"), element("span", { className: "hint" }, percent(other.probability))),
    );
    this.onPoint(index);
    this.menu = element("div", { className: "menu", role: "menu", "aria-label": `Instead of ${token.text}` }, ...items);
    items.forEach((item, place) => {
      item.addEventListener("click", () => this.choose(index, place - 1));
      item.addEventListener("keydown", (event) => this.moveInMenu(event, items, place, index));
    });
    const button = this.buttons[index];
    button.after(this.menu);
    button.setAttribute("aria-expanded", "true");
    const room = this.panel.clientWidth - this.menu.offsetWidth - 8;
    this.menu.style.left = `${Math.max(0, Math.min(button.offsetLeft, room))}px`;
    this.menu.style.top = `${button.offsetTop + button.offsetHeight + 4}px`;
    items[Math.min(1, items.length - 1)].focus();
  }

  moveInMenu(event, items, place, index) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) items[(place + step + items.length) % items.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") this.close(index);
    else return;
    event.preventDefault();
  }

  close(index) {
    this.menu?.previousElementSibling?.removeAttribute("aria-expanded");
    this.menu?.remove();
    this.menu = null;
    this.onPoint(null);
    if (index !== undefined) this.focus(index);
  }

  /** Put an alternative in a token's place; the token becomes the first alternative. */
  choose(index, place) {
    if (place >= 0) {
      const { alternatives, ...old } = this.tokens[index];
      const taken = alternatives[place];
      const rest = alternatives.filter((_, other) => other !== place);
      const swapped = { ...old, ...taken, text: taken.text ?? "", chosen: true, alternatives: [{ text: old.text, probability: old.probability }, ...rest] };
      this.tokens = this.tokens.map((token, other) => (other === index ? swapped : token));
      this.draw();
      this.onChange();
    }
    this.close(index);
  }
}

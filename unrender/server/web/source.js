// The source of a result, token by token: tinted by doubt, with alternatives, or as a text to edit.

import { DOUBTFUL, element, percent, pointing } from "./markup.js";
import { walk } from "./menu.js";
import { separatorOf } from "./reading.js";

const PIECE = /\\(?:begin|end)\s*\{[a-zA-Z*]+\}|\\operatorname\*|\\[a-zA-Z]+|\\.|\S/gs;
const AIRY = /^([=<>&]|\\\\|\\(pm|mp|times|cdot|div|[lg]eq?|neq?|to|in|approx|equiv|sim|cup|cap|subset|wedge|vee|oplus|otimes|\w*arrow))$/;
const OPENS = /^([({[^_&=<>+-]|\\(left|pm|mp|times|cdot|[lg]eq?|\\)|\\begin.*)$/;

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
    // The text as it was typed
    this.typed = null;
    this.editing = false;
  }

  /** What was changed, to be kept and given back; null when nothing was. */
  get edited() {
    return this.changed ? { tokens: this.tokens, typed: this.typed } : null;
  }

  set edited(edited) {
    Object.assign(this, edited ?? { tokens: this.original, typed: null });
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
    const buttons = this.tokens.map((token, index) => this.button(token, index));
    const group = element("div", { className: "tokens", role: "group", "aria-label": "Symbols; arrow keys move, Enter shows alternatives" });
    buttons.forEach((button, index) => group.append(...(index && this.gap(index) ? [" "] : []), button));
    this.panel.replaceChildren(group);
    this.buttons = buttons;
    if (buttons.length) buttons[0].tabIndex = 0;
  }

  /** Whether a blank stands before a token: where a person would put one, and where TeX needs it. */
  gap(index) {
    if (!this.separator) return false;
    const [before, last, next] = [-2, -1, 0].map((step) => this.tokens[index + step]?.text ?? "");
    const sign = (token, previous) => AIRY.test(token) || (/^[+-]$/.test(token) && previous !== "" && !OPENS.test(previous));
    if (sign(next, last) || sign(last, before)) return true;
    if (/^\\[a-zA-Z]+$/.test(last) && /^[a-zA-Z]/.test(next)) return true;
    return last === "}" && /^[\w\\]/.test(next) && /^\\operatorname/.test(this.tokens[this.opening(index - 1) - 1]?.text);
  }

  /** The index of the brace that a closing one belongs to. */
  opening(index) {
    for (let depth = 0; index >= 0; index--) {
      depth += { "}": 1, "{": -1 }[this.tokens[index].text] ?? 0;
      if (!depth) return index;
    }
    return 0;
  }

  /** Let the text be edited as a person would write it. */
  drawEditor(text, original) {
    const area = element("textarea", { value: this.typed ?? text, spellcheck: false, rows: 4, "aria-label": "Source" });
    area.addEventListener("input", () => {
      this.take(area.value);
      if (area.value === original) this.edited = null;
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
  }

  button(token, index) {
    const others = token.alternatives?.length ?? 0;
    const label = token.typed ? token.text : `${token.text}, ${percent(token.probability)}${others ? `, ${others} alternatives` : ""}`;
    const made = element("button", { className: "token", tabIndex: -1, "aria-label": label }, token.text);
    const doubt = Math.min(1, Math.max(0, (DOUBTFUL - token.probability) / DOUBTFUL) * 1.6);
    if (doubt > 0) made.style.setProperty("--doubt", `${Math.round(12 + 88 * doubt)}%`);
    made.classList.toggle("unsure", doubt > 0);
    made.classList.toggle("chosen", Boolean(token.chosen || token.typed));
    made.title = token.typed ? "typed" : percent(token.probability);
    if (others) made.setAttribute("aria-haspopup", "menu");
    pointing(made, index, this.onPoint);
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
      element("button", { role: "menuitemradio", "aria-checked": String(place === 0) }, element("code", {}, other.text || "nothing"), element("span", { className: "hint" }, percent(other.probability))),
    );
    this.onPoint(index);
    this.menu = element("div", { className: "menu", role: "menu", "aria-label": `Instead of ${token.text}` }, ...items);
    items.forEach((item, place) => {
      item.addEventListener("click", () => this.choose(index, place - 1));
      item.addEventListener("keydown", (event) => walk(event, items, place, () => this.close(index)));
    });
    const button = this.buttons[index];
    button.after(this.menu);
    button.setAttribute("aria-expanded", "true");
    const room = this.panel.clientWidth - this.menu.offsetWidth - 8;
    this.menu.style.left = `${Math.max(0, Math.min(button.offsetLeft, room))}px`;
    this.menu.style.top = `${button.offsetTop + button.offsetHeight + 4}px`;
    items[Math.min(1, items.length - 1)].focus();
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
      this.typed = null;
      this.draw();
      this.onChange();
    }
    this.close(index);
  }
}

/** Split LaTeX into tokens as the model writes them: what is raised or lowered stands in braces. */
function split(text) {
  const pieces = text.match(PIECE) ?? [];
  return pieces.flatMap((piece, index) => (/^[\^_]$/.test(pieces[index - 1]) && piece !== "{" ? ["{", piece, "}"] : [piece]));
}

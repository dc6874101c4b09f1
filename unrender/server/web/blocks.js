// A page block by block: what was read, in the order it is read in, each lit together with its place.

import { build, element, pointing } from "./markup.js";

/** Fill a panel with the blocks of a page, made from HTML that has a section for each. */
export function drawBlocks(panel, markup, onPoint) {
  const parts = [...build(markup).children].filter((part) => part.localName === "section");
  const blocks = parts.map((part, index) => {
    const block = element("div", { className: "block part", tabIndex: 0 }, ...part.childNodes);
    pointing(block, index, onPoint);
    return block;
  });
  panel.replaceChildren(...blocks);
}

/** Light one block; with `scroll`, bring it into view inside its panel. */
export function lightBlock(panel, index, scroll = false) {
  const parts = [...panel.querySelectorAll(".part")];
  parts.forEach((part, place) => part.classList.toggle("lit", place === index));
  const block = parts[index];
  if (scroll && block) panel.scrollTop = block.offsetTop - panel.clientHeight / 3;
}

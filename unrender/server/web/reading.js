// One result: the document that was read, with what a person has corrected, in any notation.

import * as api from "./api.js";
import { collectFields, correctedFields, toCsv } from "./fields.js";

export const ENDINGS = { latex: "tex", inline: "tex", display: "tex", mathml: "mml", markdown: "md", json: "json", typst: "typ", text: "txt", sympy: "py", csv: "csv", html: "html" };
// Boxes and other lists of numbers in one line
const NUMBERS = /([[{])\n +((?:"\w+": )?-?\d[\d.e+-]*(?:,\n +(?:"\w+": )?-?\d[\d.e+-]*)*)\n *([\]}])/g;
const WRAPPED = { inline: (latex) => `$${latex}$`, display: (latex) => `$$${latex}$$` };

/** Make a result of a document: its first page and block are what is shown. */
export function makeResult(document, more = {}) {
  const page = document.pages[0] ?? {};
  const fields = collectFields(page);
  const blocks = page.blocks ?? [];
  const placed = blocks.filter((block) => block.box);
  const kind = fields.length ? "fields" : placed.length > 1 ? "page" : blocks[0]?.kind === "formula" ? "formula" : "other";
  return { document, page, kind, fields, block: { kind: "text", text: "", ...blocks[0] }, edited: null, ...more };
}

/** How the tokens of a block are put together. */
export function separatorOf(block) {
  return (block.tokens ?? []).map((token) => token.text ?? "").join(" ") === (block.written || block.text) ? " " : "";
}

/** Whether a person has changed something. */
export const isCorrected = (result) => Boolean(result.edited) || result.fields.some((field) => field.value !== field.read);

/** The text to convert: as the model wrote it, or as it was edited. */
function textOf({ block, edited }) {
  if (!edited) return block.written || block.text;
  return edited.typed ?? edited.tokens.map((token) => token.text).join(separatorOf(block)).trim();
}

/** The text as people write it, with what was chosen and typed. */
async function tidy(result, signal) {
  if (!result.edited) return result.block.text;
  return result.kind === "formula" ? api.convert(textOf(result), "latex", "latex", signal) : textOf(result);
}

/** Write a result in a notation. */
export async function write(result, notation, signal) {
  if (notation === "csv") return toCsv([result.fields]);
  if (notation === "json") {
    const whole = result.kind === "fields" ? correctedFields(result) : corrected(result, await tidy(result, signal));
    return JSON.stringify(whole, null, 2).replace(NUMBERS, (_, open, inside, close) => open + inside.replace(/,\s+/g, ", ") + close);
  }
  if (WRAPPED[notation]) return WRAPPED[notation](await write(result, "latex", signal));
  if (result.kind === "formula") return notation === "latex" ? tidy(result, signal) : api.convert(textOf(result), "latex", notation, signal);
  return api.convert(plain(corrected(result, textOf(result))), "json", notation, signal);
}

/** Write every block of a page as HTML by itself. */
export async function writeBlocks(result, signal) {
  const { pages: [page], ...document } = corrected(result, textOf(result));
  const pages = page.blocks.map((block, index) => ({ ...page, number: index + 1, text: block.text ?? "", blocks: [block] }));
  return api.convert(plain({ ...document, pages }), "json", "html", signal);
}

/** A document as JSON without what no notation needs. */
function plain({ source, model, task, status, pages }) {
  const bare = ({ tokens, readings, children, ...block }) => ({ ...block, ...(children && { children: children.map(bare) }) });
  return JSON.stringify({ source, model, task, status, pages: pages.map((page) => ({ ...page, blocks: page.blocks?.map(bare) })) });
}

/** The document with what was chosen and typed. */
function corrected(result, text) {
  const { pages: [page, ...others], ...document } = result.document;
  if (result.kind === "fields") {
    const blocks = page.blocks.map((block) => (block.fields === undefined ? block : { ...block, fields: correctedFields(result) }));
    return { ...document, pages: [{ ...page, blocks }, ...others] };
  }
  if (!result.edited) return result.document;
  const { blocks: [block, ...rest], ...sheet } = page;
  const tokens = result.edited.tokens.map(({ chosen, typed, ...token }) => token);
  const { confidence, ...sure } = block;
  const blocks = [{ ...sure, text, ...(block.written && { written: result.edited.tokens.map((token) => token.text).join(" ") }), tokens }, ...rest];
  const { confidence: before, ...whole } = document;
  return { ...whole, text, pages: [{ ...sheet, text, blocks }, ...others] };
}

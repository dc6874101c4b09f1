// What the parts of the page share.

export const at = (id) => document.getElementById(id);

/** What is shown: the file and its page, the document that was read, and how it is written. */
export const state = { file: null, shown: false, page: 1, pages: 1, document: null, notation: "latex", fields: [], entry: null };

export function say(sentence) {
  at("status").textContent = sentence;
}

export function complain(sentence) {
  at("problem").textContent = sentence;
  at("problem").hidden = false;
}

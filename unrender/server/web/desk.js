// What the parts of the page share.

// Milliseconds that a passing sentence stays
const PASSING = 3000;

export const at = (id) => document.getElementById(id);

/** What is shown: the pictures that were given, the one on the desk, what was read of it, and how it is written. */
export const state = { items: [], item: null, result: null, notation: "latex" };

let lasting = "";
let timer = 0;

/** Say something; a passing sentence makes room again for what was said before it. */
export function say(sentence, { passing = false } = {}) {
  clearTimeout(timer);
  at("status").textContent = sentence;
  if (passing) timer = setTimeout(() => (at("status").textContent = lasting), PASSING);
  else lasting = sentence;
}

export function complain(sentence) {
  at("problem").textContent = sentence;
  at("problem").hidden = !sentence;
}

/** Hand a file to the person. */
export function save(name, ...parts) {
  const link = document.createElement("a");
  [link.href, link.download] = [URL.createObjectURL(new Blob(parts)), name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** What this browser remembers, where it may remember at all. */
export const memory = {
  get: (key) => {
    try {
      return localStorage.getItem(`unrender.${key}`);
    } catch {
      return null;
    }
  },
  set: (key, value) => {
    try {
      localStorage.setItem(`unrender.${key}`, value);
    } catch {
      // nothing is lost but the convenience
    }
  },
};

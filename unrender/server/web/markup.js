// Markup from the server into this page: known elements only, and no style attribute (the policy forbids them).

const words = (text) => new Set(text.split(" "));
const KNOWN = words(
  "math semantics mrow mi mo mn mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr " +
    "mtd mphantom menclose p h1 h2 h3 h4 h5 h6 ul ol li table tr td th caption figure figcaption pre code dl dt dd " +
    "section header footer",
);
const DROPPED = words("annotation script style template iframe object title");
const ATTRIBUTES = words(
  "display mathvariant stretchy fence form accent accentunder linethickness width minsize maxsize separator lspace " +
    "rspace notation rowspan colspan",
);
// Between a function and what it is of
const APPLY = "\u2061";
// Where TeX leaves out the space around signs
const SCRIPTS = ":is(msub, msup, msubsup, munder, mover, munderover) > :not(:first-child)";
const STYLES = ["text-align", "border", "padding"];

/** Build a fragment from MathML or HTML. */
export function build(text) {
  const fragment = document.createDocumentFragment();
  copyChildren(new DOMParser().parseFromString(text.replace(/<style>.*?<\/style>/s, ""), "text/html").body, fragment);
  return fragment;
}

function copyChildren(from, to) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) to.append(node.data);
    else if (node.nodeType === Node.ELEMENT_NODE && !DROPPED.has(node.localName)) to.append(copy(node));
  }
}

function copy(node) {
  if (!KNOWN.has(node.localName)) {
    const inside = document.createDocumentFragment();
    copyChildren(node, inside);
    return inside;
  }
  const made = document.createElementNS(node.namespaceURI, node.localName);
  for (const { name, value } of node.attributes) if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
  for (const name of STYLES) {
    const value = node.style?.getPropertyValue(name);
    if (value) made.style.setProperty(name, value);
  }
  copyChildren(node, made);
  if (node.localName === "mo" && node.closest(SCRIPTS)) for (const name of ["lspace", "rspace"]) made.setAttribute(name, "0");
  const next = node.nextElementSibling ?? node.parentNode.nextElementSibling;
  // Cos x
  if (node.textContent === APPLY && next && !/^[([]/.test(next.textContent)) made.setAttribute("rspace", ".17em");
  return made;
}

/** Make an element with properties and children. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Tell, while an element is pointed at or has the focus, its index, and null afterwards. */
export function pointing(made, index, onPoint) {
  for (const name of ["pointerenter", "focusin"]) made.addEventListener(name, () => onPoint(index));
  for (const name of ["pointerleave", "focusout"]) made.addEventListener(name, () => onPoint(null));
}

/** Below this probability a symbol of a formula is in doubt. */
export const DOUBTFUL = 0.6;

export const percent = (probability) => `${Math.round(probability * 100)} %`;

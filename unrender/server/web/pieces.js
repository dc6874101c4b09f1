// The LaTeX that people read, piece by piece, each with the tokens that the model wrote for it.

const PIECE = /\\(?:begin|end)\s*\{[a-zA-Z*]+\}|\\operatorname\*|\\[a-zA-Z]+|\\.|\S/gs;
const NAME = /^\\operatorname\s*\{([a-zA-Z\s]+)\}/;

/** Split LaTeX into tokens as the model writes them: what is raised or lowered stands in braces. */
export function split(text) {
  const pieces = text.match(PIECE) ?? [];
  return pieces.flatMap((piece, index) => (/^[\^_]$/.test(pieces[index - 1]) && piece !== "{" ? ["{", piece, "}"] : [piece]));
}

/** Part a text into pieces {text, before, first, last}: the blanks before each, and the tokens behind it, if any. */
export function align(text, tokens) {
  const shown = piecesOf(text);
  const units = unitsOf(tokens.map((token) => token.text));
  const [aligned, done] = [[], { piece: 0, unit: 0 }];
  for (const [piece, unit] of [...matches(shown, units), [shown.length, units.length]]) {
    const [rest, behind] = [shown.slice(done.piece, piece), units.slice(done.unit, unit)];
    // What has no token of its own is one piece with those that are left between its neighbours
    if (behind.length && rest.length) aligned.push({ text: join([{ ...rest[0], before: "" }, ...rest.slice(1)]), before: rest[0].before, first: behind[0].first, last: behind.at(-1).last });
    else aligned.push(...rest);
    if (shown[piece]) aligned.push({ ...shown[piece], first: units[unit].first, last: units[unit].last });
    Object.assign(done, { piece: piece + 1, unit: unit + 1 });
  }
  return aligned;
}

/** Put pieces together again, with a blank where TeX needs one. */
export function join(pieces) {
  return pieces.reduce((text, { before, text: piece }) => `${text}${before || (/\\[a-zA-Z]+$/.test(text) && /^[a-zA-Z]/.test(piece) ? " " : "")}${piece}`, "");
}

function piecesOf(text) {
  let end = 0;
  const found = [];
  for (const match of text.matchAll(PIECE)) {
    if (match.index < end) continue;
    const name = text.slice(match.index).match(NAME);
    const piece = name?.[0] ?? match[0];
    found.push({ text: piece, key: name ? keyOf(name[1]) : piece, before: text.slice(end, match.index) });
    end = match.index + piece.length;
  }
  return found;
}

/** Tokens as units: the letters of a function's name are one. */
function unitsOf(texts) {
  const units = [];
  for (let first = 0; first < texts.length; first++) {
    let last = first;
    if (texts[first] === "\\operatorname" && texts[first + 1] === "{" && texts.indexOf("}", first) > 0) last = texts.indexOf("}", first);
    units.push({ key: last > first ? keyOf(texts.slice(first + 2, last).join("")) : texts[first], first, last });
    first = last;
  }
  return units;
}

const keyOf = (name) => `\\${name.replace(/\s/g, "")}`;

/** The longest common subsequence, as pairs of indices. */
function matches(shown, units) {
  const [rows, columns] = [shown.length + 1, units.length + 1];
  const longest = Array.from({ length: rows }, () => new Uint16Array(columns));
  for (let row = rows - 2; row >= 0; row--)
    for (let column = columns - 2; column >= 0; column--)
      longest[row][column] = shown[row].key === units[column].key ? longest[row + 1][column + 1] + 1 : Math.max(longest[row + 1][column], longest[row][column + 1]);
  const pairs = [];
  for (let [row, column] = [0, 0]; row < rows - 1 && column < columns - 1; ) {
    if (shown[row].key === units[column].key) pairs.push([row++, column++]);
    else if (longest[row + 1][column] > longest[row][column + 1]) row++;
    else column++;
  }
  return pairs;
}

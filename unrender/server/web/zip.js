// Several files as one: a zip archive whose entries are stored as they are.

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte;
});
const VERSION = 20;
const NAMES_ARE_UTF8 = 0x0800;
// The first of January 1980: what was read has no date of its own
const DATE = 0x0021;

/** Pack [name, text] pairs; returns the parts of the archive. */
export function zip(files) {
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const [name, text] of files) {
    const [title, data] = [name, text].map((part) => new TextEncoder().encode(part));
    const shared = [[VERSION, 2], [NAMES_ARE_UTF8, 2], [0, 2], [0, 2], [DATE, 2], [crc(data), 4], [data.length, 4], [data.length, 4], [title.length, 2], [0, 2]];
    const head = pack([[0x04034b50, 4], ...shared]);
    parts.push(head, title, data);
    directory.push(pack([[0x02014b50, 4], [VERSION, 2], ...shared, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]]), title);
    offset += head.length + title.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = pack([[0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [size, 4], [offset, 4], [0, 2]]);
  return [...parts, ...directory, end];
}

/** Write numbers, each with its count of bytes, the lowest byte first. */
function pack(numbers) {
  return Uint8Array.from(numbers.flatMap(([number, bytes]) => Array.from({ length: bytes }, (_, place) => number >>> (8 * place))));
}

function crc(data) {
  return ~data.reduce((sum, byte) => TABLE[(sum ^ byte) & 255] ^ (sum >>> 8), -1) >>> 0;
}

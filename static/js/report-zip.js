// A ZIP archive without compression: PNG is already compressed, and SVG is small.

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = CRC_TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

// Numbers as little-endian fields: [width in bytes, value] each.
function fields(...pairs) {
  const bytes = new Uint8Array(pairs.reduce((sum, [width]) => sum + width, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [width, value] of pairs) {
    if (width === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += width;
  }
  return bytes;
}

const UTF8_NAMES = 0x0800;
const FIRST_OF_1980 = 0x21; // ZIP's earliest date, so that archives do not depend on the time

export function zip(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const { name, bytes } of files) {
    const title = new TextEncoder().encode(name);
    const told = [
      [2, 20],
      [2, UTF8_NAMES],
      [2, 0],
      [2, 0],
      [2, FIRST_OF_1980],
      [4, crc32(bytes)],
      [4, bytes.length],
      [4, bytes.length],
      [2, title.length],
      [2, 0],
    ];
    const head = fields([4, 0x04034b50], ...told);
    parts.push(head, title, bytes);
    directory.push(
      fields([4, 0x02014b50], [2, 20], ...told, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]),
      title,
    );
    offset += head.length + title.length + bytes.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = fields(
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, files.length],
    [2, files.length],
    [4, size],
    [4, offset],
    [2, 0],
  );
  return new Blob([...parts, ...directory, end]);
}

/** What the header of an image says, without decoding it. */
export interface ImageFacts {
  mime_type: string;
  width: number;
  height: number;
}

type Reader = (bytes: Buffer) => { width: number; height: number } | null;

/** Type and size of a JPEG, PNG, GIF, WebP or BMP by its first bytes; null when it is none or its header is broken. */
export function imageFacts(bytes: Buffer): ImageFacts | null {
  for (const [mime_type, fits, size] of FORMATS) {
    if (!fits(bytes)) continue;
    try {
      const found = size(bytes);
      return found === null || found.width < 1 || found.height < 1 ? null : { mime_type, ...found };
    } catch {
      return null; // the header ends too early
    }
  }
  return null;
}

const says =
  (text: string, at = 0) =>
  (bytes: Buffer): boolean =>
    bytes.toString('latin1', at, at + text.length) === text;

const FORMATS: readonly [string, (bytes: Buffer) => boolean, Reader][] = [
  ['image/png', says('\x89PNG\r\n\x1a\n'), (b) => ({ width: b.readUInt32BE(16), height: b.readUInt32BE(20) })],
  ['image/gif', says('GIF8'), (b) => ({ width: b.readUInt16LE(6), height: b.readUInt16LE(8) })],
  // A negative height stands for rows from top to bottom.
  ['image/bmp', says('BM'), (b) => ({ width: b.readInt32LE(18), height: Math.abs(b.readInt32LE(22)) })],
  ['image/webp', (b) => says('RIFF')(b) && says('WEBP', 8)(b), webpSize],
  ['image/jpeg', says('\xff\xd8\xff'), jpegSize],
];

function webpSize(b: Buffer): { width: number; height: number } | null {
  switch (b.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: b.readUIntLE(24, 3) + 1, height: b.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const bits = b.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return { width: b.readUInt16LE(26) & 0x3fff, height: b.readUInt16LE(28) & 0x3fff };
    default:
      return null;
  }
}

/** Walks the segments up to the frame header, whatever its coding. */
function jpegSize(b: Buffer): { width: number; height: number } | null {
  let at = 2;
  while (at + 9 < b.length) {
    if (b[at] !== 0xff) return null;
    const marker = b[at + 1]!;
    if (marker === 0xff) {
      at++; // fill byte
      continue;
    }
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd9)) {
      at += 2; // without a body
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { height: b.readUInt16BE(at + 5), width: b.readUInt16BE(at + 7) };
    at += 2 + b.readUInt16BE(at + 2);
  }
  return null;
}

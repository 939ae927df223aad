import { expect, it } from '@jest/globals';
import { imageFacts } from './image-size.js';

const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));

it('reads the size of each kind from its header', () => {
  const png = bytes('\x89PNG\r\n\x1a\n', [0, 0, 0, 13], 'IHDR', [0, 0, 1, 44, 0, 0, 0, 200]);
  expect(imageFacts(png)).toEqual({ mime_type: 'image/png', width: 300, height: 200 });
  const gif = bytes('GIF89a', [44, 1, 200, 0]);
  expect(imageFacts(gif)).toEqual({ mime_type: 'image/gif', width: 300, height: 200 });
  const bmp = bytes('BM', Array<number>(16).fill(0), [44, 1, 0, 0, 0x38, 0xff, 0xff, 0xff]);
  expect(imageFacts(bmp)).toEqual({ mime_type: 'image/bmp', width: 300, height: 200 });
  const webp = (kind: string, rest: number[]) => imageFacts(bytes('RIFF', [0, 0, 0, 0], 'WEBP', kind, rest));
  const size = { mime_type: 'image/webp', width: 300, height: 200 };
  expect(webp('VP8X', [0, 0, 0, 0, 0, 0, 0, 0, 43, 1, 0, 199, 0, 0])).toEqual(size);
  expect(webp('VP8 ', [0, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a, 44, 1, 200, 0])).toEqual(size);
  const bits = 299 | (199 << 14);
  expect(webp('VP8L', [0, 0, 0, 0, 0x2f, bits & 255, (bits >> 8) & 255, (bits >> 16) & 255, bits >>> 24])).toEqual(
    size,
  );
  const frame = [0, 17, 8, 0, 200, 1, 44, 3, 0, 0];
  const jpeg = bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0xff, 0xc0, 0xff, 0xff, 0xc2], frame);
  expect(imageFacts(jpeg)).toEqual({ mime_type: 'image/jpeg', width: 300, height: 200 });
});

it('T68 takes no header that is broken, cut off or empty for an image, and always ends', () => {
  expect(imageFacts(bytes('text'))).toBeNull();
  expect(imageFacts(bytes('\x89PNG\r\n\x1a\n'))).toBeNull();
  expect(imageFacts(bytes('GIF89a', [0, 0, 0, 0]))).toBeNull();
  expect(imageFacts(bytes('RIFF', [0, 0, 0, 0], 'WEBPnope'))).toBeNull();
  expect(imageFacts(bytes([0xff, 0xd8], Array<number>(10_000).fill(0xff)))).toBeNull();
  expect(imageFacts(bytes([0xff, 0xd8, 0xff, 0xe0, 0, 0], Array<number>(64).fill(0)))).toBeNull();
});

import { isUtf8 } from 'node:buffer';
import { failedPrecondition, invalidArgument } from '@cortex/contracts';

/** How a text lies in its file; an edit puts it back the same way. */
export type Encoding = 'utf8' | 'utf8-bom' | 'utf16le' | 'latin1';

export interface DecodedText {
  text: string;
  encoding: Encoding;
}

/** Text of a file, or null when its first bytes say that it is none. */
export function decodeText(bytes: Buffer): DecodedText | null {
  if (bytes.length >= 2 && bytes[0] === 0xff && bytes[1] === 0xfe) {
    return { text: bytes.subarray(2).toString('utf16le'), encoding: 'utf16le' };
  }
  if (bytes.subarray(0, 8192).includes(0)) return null;
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return { text: bytes.subarray(3).toString('utf8'), encoding: 'utf8-bom' };
  }
  // Bytes that are no UTF-8 are kept one to one, so that an edit elsewhere in the file does not spoil them.
  return isUtf8(bytes)
    ? { text: bytes.toString('utf8'), encoding: 'utf8' }
    : { text: bytes.toString('latin1'), encoding: 'latin1' };
}

export function encodeText({ text, encoding }: DecodedText): Buffer {
  switch (encoding) {
    case 'utf8':
      return Buffer.from(text, 'utf8');
    case 'utf8-bom':
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text, 'utf8')]);
    case 'utf16le':
      return Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
    case 'latin1':
      if (/[\u0100-\uffff]/.test(text)) {
        throw invalidArgument(
          'new_string',
          'has characters that the file, which is no UTF-8, cannot hold',
          'leave them out',
        );
      }
      return Buffer.from(text, 'latin1');
  }
}

export const binaryFile = (): Error =>
  failedPrecondition('file_path', 'is a binary file', 'look into it with remote_bash (file, xxd, strings)');

/** True when most line ends are CRLF. */
export function mostlyCrlf(text: string): boolean {
  const all = text.split('\n').length - 1;
  const crlf = text.split('\r\n').length - 1;
  return crlf > all - crlf;
}

export const toLf = (text: string): string => text.replaceAll('\r\n', '\n');
export const toCrlf = (text: string): string => toLf(text).replaceAll('\n', '\r\n');

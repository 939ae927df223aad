/**
 * Cuts the bytes of a keep-alive connection into HTTP answers, with a length or in chunks. It knows just what the servers
 * under measurement send.
 */
export class HttpAnswers {
  #rest: Buffer = Buffer.alloc(0);

  /** `head` is the status line and the headers, as they came. */
  constructor(readonly onAnswer: (status: number, body: Buffer, head: string) => void) {}

  take(bytes: Buffer): void {
    let data = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const headEnd = data.indexOf('\r\n\r\n');
      if (headEnd === -1) break;
      const head = data.toString('latin1', 0, headEnd);
      const answer = bodyOf(data, headEnd + 4, head.toLowerCase());
      if (answer === undefined) break;
      data = data.subarray(answer.end);
      this.onAnswer(Number(head.slice(9, 12)), answer.body, head);
    }
    this.#rest = data;
  }
}

function bodyOf(data: Buffer, from: number, head: string): { body: Buffer; end: number } | undefined {
  const at = head.indexOf('\r\ncontent-length:');
  if (at !== -1) {
    const end = from + Number.parseInt(head.slice(at + 17), 10);
    return data.length < end ? undefined : { body: data.subarray(from, end), end };
  }
  if (!head.includes('\r\ntransfer-encoding: chunked')) return { body: Buffer.alloc(0), end: from };
  const parts: Buffer[] = [];
  let position = from;
  for (;;) {
    const lineEnd = data.indexOf('\r\n', position);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(data.toString('latin1', position, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (data.length < end) return undefined;
    if (size === 0) return { body: Buffer.concat(parts), end };
    parts.push(data.subarray(lineEnd + 2, end - 2));
    position = end;
  }
}

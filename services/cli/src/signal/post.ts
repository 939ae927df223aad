import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';

export interface Posted {
  status: number;
  /** Parsed, where it is JSON. */
  body: Record<string, unknown>;
}

const TIMEOUT_MS = 10_000;
const MOST_BYTES = 64 * 1024;

/** Rejects where no answer came: nobody listens, the connection broke, or nothing was heard for 10 s. */
export function post(url: string, body: string): Promise<Posted> {
  const target = new URL(url);
  const open = target.protocol === 'https:' ? overHttps : overHttp;
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = open(target, { method: 'POST', headers, agent: false, timeout: TIMEOUT_MS }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        if (text.length < MOST_BYTES) text += piece;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: parse(text) }));
      answer.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)));
    sent.on('error', reject);
    sent.end(body);
  });
}

function parse(text: string): Posted['body'] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Posted['body']) : {};
  } catch {
    return {};
  }
}

import { connect } from 'node:net';
import { HttpAnswers } from './http-answers.js';
import type { WireRequest } from './request.js';

/** Sends a request as the load does, and gives the body of the answer. */
export async function send(port: number, request: WireRequest): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    return await new Promise((resolve, reject) => {
      const answers = new HttpAnswers((_status, body) => resolve(body.toString('utf8')));
      socket.on('data', (bytes) => answers.take(bytes));
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('closed without an answer')));
      socket.write(request.head + request.body);
    });
  } finally {
    socket.destroy();
  }
}

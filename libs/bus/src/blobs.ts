import { randomUUID } from 'node:crypto';
import { BLOBS, internal, invalidArgument, notFound, sha256Hex, type BlobRef } from '@cortex/contracts';
import type { Blobs, Bus } from './bus.js';

/** Below every server's default limit of 1 MiB, with room for headers. */
const CHUNK = 512 * 1024;
const OBJECT = /^[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{1,64}$/;

/** Bodies too large for one message, in chunks below the writer's own prefix. The object is `<service>.<id>`. */
export function blobStore(bus: Bus): Blobs {
  return {
    async put(data) {
      const object = `${bus.service}.${randomUUID()}`;
      for (let n = 0; n * CHUNK < data.length || n === 0; n++) {
        const chunk = data.subarray(n * CHUNK, (n + 1) * CHUNK);
        await bus.publishAcked(`cortex.blob.${object}.${n}`, chunk, { msgId: `${object}.${n}` });
      }
      return { object, sha256: sha256Hex(data), size: data.length };
    },

    async get({ object, sha256, size }: BlobRef) {
      if (!OBJECT.test(object)) throw invalidArgument('blob', 'names no object', 'use the reference as it was given');
      const chunks: Uint8Array[] = [];
      let length = 0;
      for (let n = 0; length < size || n === 0; n++) {
        const message = await bus.direct.last(BLOBS, `cortex.blob.${object}.${n}`);
        if (!message) throw notFound('blob', 'is gone', 'ask for the result again; it is kept for a day');
        if (message.data.length === 0 && size > 0) break;
        chunks.push(message.data.slice());
        length += message.data.length;
      }
      const data = Buffer.concat(chunks);
      if (length !== size || sha256Hex(data) !== sha256) {
        throw internal('blob', `${object} does not have the bytes of its digest`, 'ask for the result again');
      }
      return data;
    },
  };
}

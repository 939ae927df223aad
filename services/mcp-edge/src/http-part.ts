import { failedPrecondition } from '@cortex/contracts';
import type { HttpPart } from '@cortex/service-kit';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Edge } from './edge.js';
import { answerBroken } from './http/broken-request.js';

/** Above the idle time of the balancers in front, so that they and not we close an idle connection. */
const KEEP_ALIVE_MS = 65_000;
/** A client that sends its headers or its body slower than this is let go. */
const REQUEST_MS = 60_000;

/** The public listener, and the loopback one beside it, in the life of the process. */
export const http: HttpPart = {
  async create(module, options) {
    const made: { edge?: Edge } = {};
    const adapter = new FastifyAdapter({
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: REQUEST_MS,
      // What was under way has had its time in `drain`.
      forceCloseConnections: true,
      http: { headersTimeout: REQUEST_MS },
      clientErrorHandler: answerBroken,
      // A path that is no URL: the edge has an answer to it like to any other.
      frameworkErrors: (_error: unknown, request: FastifyRequest, reply: FastifyReply) => {
        reply.hijack();
        void made.edge?.route.serve(request.raw, reply.raw);
      },
    });
    const app = await NestFactory.create<NestFastifyApplication>(module, adapter, { ...options, bodyParser: false });
    made.edge = app.get(Edge, { strict: false });
    return app;
  },

  async listen(app) {
    const edge = app.get(Edge, { strict: false });
    const fastify = (app as NestFastifyApplication).getHttpAdapter().getInstance();
    await edge.webhooks.listen();
    edge.start(fastify);
    const { PORT, host } = edge.settings;
    try {
      await app.listen(PORT, host);
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code;
      if (code === 'EADDRINUSE') throw failedPrecondition('PORT', `${PORT} is taken`, 'set another one', { cause });
      throw failedPrecondition('PORT', `${PORT} on ${host} cannot be opened (${code})`, 'set PORT or CORTEX_HOST', {
        cause,
      });
    }
  },

  drain: (app) => app.get(Edge, { strict: false }).drain(),
};

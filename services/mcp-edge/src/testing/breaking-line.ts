import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface BreakingLine extends AsyncDisposable {
  /** Leads to the origin that it was made for. */
  readonly origin: string;
  /** Every connection that is open breaks. */
  cut(): void;
}

/** A network between a client and a server that breaks when a test wants it. */
export async function breakingLine(to: string): Promise<BreakingLine> {
  const { hostname, port } = new URL(to);
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(socket);
          other.destroy();
        });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

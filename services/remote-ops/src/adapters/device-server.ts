import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Bus } from '@cortex/bus';
import { failedPrecondition } from '@cortex/contracts';
import { DEVICE_CLOSE, DEVICE_FRAME_LIMIT, DEVICE_HEARTBEAT_MS } from '@cortex/contracts/device-wire';
import { BUS, CONFIG, HOST, LOG, type ServiceHost } from '@cortex/service-kit';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { Logger } from 'pino';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Config } from '../config.js';
import { DeviceConnection } from './device-connection.js';
import { DeviceHub } from './device-hub.js';
import { DeviceLog } from './device-log.js';
import { Refusal, send, shakeHands } from './handshake.js';
import { Machines } from './machines.js';
import { serverKey, type ServerKey } from './server-key.js';

const HANDSHAKE_MS = 10_000;
const MOST_UNPROVED = 32;
/** Bytes that a socket may send before it has proved who it is. */
const UNPROVED_BYTES = 64 * 1024;

/** The port that devices dial: upgrade checks, handshakes, heartbeats. Source: agent-server, section 20.1. */
@Injectable()
export class DeviceServer implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #token: Buffer | null;
  readonly #key: ServerKey | null;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: DEVICE_FRAME_LIMIT, perMessageDeflate: false });
  #http: Server | null = null;
  #host: string | null = null;
  #port: number;
  #unproved = 0;
  #sweep: NodeJS.Timeout | undefined;
  #opening = false;
  #stopping = false;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(HOST) host: ServiceHost,
    @Inject(BUS) private readonly bus: Bus,
    @Inject(LOG) private readonly log: Logger,
    private readonly machines: Machines,
    private readonly hub: DeviceHub,
    private readonly deviceLog: DeviceLog,
  ) {
    const token = config.CORTEX_CLIENT_TOKEN ?? host.secrets?.client_token;
    const pem = config.CORTEX_DEVICE_SERVER_KEY ?? host.secrets?.device_server_key;
    if (token !== undefined && pem === undefined) {
      throw failedPrecondition(
        'CORTEX_DEVICE_SERVER_KEY',
        'is missing',
        'set it, since CORTEX_CLIENT_TOKEN lets devices in',
      );
    }
    this.#token = token === undefined ? null : digest(token);
    this.#key = pem === undefined ? null : serverKey(pem);
    this.#port = config.CORTEX_CLIENT_PORT;
    host.health.add('remote-ops.device-port', () => (this.#http?.listening ? null : 'the device port is not open'));
  }

  /** The port that is listened on. */
  get port(): number {
    return this.#port;
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.#token === null) this.log.warn('CORTEX_CLIENT_TOKEN is not set: every device is refused');
    if (this.config.CORTEX_DEVICE_ENROLMENT === 'off') {
      this.log.warn('CORTEX_DEVICE_ENROLMENT=off: whoever holds the client token can claim any device name');
    }
    await this.#listen();
    this.machines.onChange(() => void this.#onMachines());
    this.hub.onRevoked((name) => this.#closeNamed(name, DEVICE_CLOSE.refused, 'revoked'));
    this.#sweep = setInterval(() => this.#check(), DEVICE_HEARTBEAT_MS);
  }

  /** Also after a start that failed half way. */
  onModuleDestroy(): Promise<void> {
    return this.stop();
  }

  /** Commands in flight fail at once, so that nothing waits for them while the service stops. */
  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    clearInterval(this.#sweep);
    for (const connection of this.hub.local()) connection.close(DEVICE_CLOSE.goingAway, 'server shutting down');
    for (const socket of this.#sockets.clients)
      if (socket.readyState === socket.OPEN) socket.close(DEVICE_CLOSE.goingAway);
    const closed = [...this.#sockets.clients].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    const cutOff = setTimeout(() => this.#sockets.clients.forEach((socket) => socket.terminate()), 1_000);
    this.#http?.close();
    await Promise.all(closed);
    clearTimeout(cutOff);
    await this.deviceLog.settled();
  }

  async #listen(): Promise<void> {
    const host = this.#wantedHost();
    const server = createServer((_request, response) => {
      response.writeHead(426, { connection: 'close', upgrade: 'websocket' }).end('devices connect by WebSocket\n');
    });
    server.on('upgrade', (request, socket, head) => this.#onUpgrade(request, socket, head));
    server.requestTimeout = server.headersTimeout = HANDSHAKE_MS;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(
          error.code === 'EADDRINUSE'
            ? failedPrecondition(
                'CORTEX_CLIENT_PORT',
                `${this.#port} is taken`,
                'free it, or set CORTEX_CLIENT_PORT to another',
              )
            : failedPrecondition(
                'CORTEX_CLIENT_HOST',
                `${host}:${this.#port} cannot be opened (${error.code})`,
                'set another',
              ),
        ),
      );
      server.listen(this.#port, host, resolve);
    });
    this.#http = server;
    this.#host = host;
    this.#port = (server.address() as AddressInfo).port;
    this.log.info({ host, port: this.#port }, 'devices may connect');
  }

  #wantedHost(): string {
    if (this.config.CORTEX_CLIENT_HOST !== undefined) return this.config.CORTEX_CLIENT_HOST;
    const elsewhere = [...this.machines.all().values()].some(({ ssh, remote }) => ssh !== undefined || remote === true);
    return elsewhere ? '0.0.0.0' : '127.0.0.1';
  }

  async #onMachines(): Promise<void> {
    for (const { name } of this.hub.local()) {
      if (this.machines.get(name) === undefined) {
        this.#closeNamed(name, DEVICE_CLOSE.notRegistered, 'no longer in machines.json');
      }
    }
    if (this.#host === this.#wantedHost()) return;
    this.#http?.close(); // connections that are there stay
    await this.#listenAgain();
  }

  /** Tried at every sweep until it succeeds. */
  async #listenAgain(): Promise<void> {
    if (this.#stopping || this.#opening || this.#http?.listening) return;
    this.#opening = true;
    await this.#listen().catch((err: unknown) => this.log.error({ err }, 'the device port could not be opened'));
    this.#opening = false;
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const refused = this.#refusalOf(request);
    if (refused !== null) {
      socket.end(`HTTP/1.1 ${refused}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (ws) => void this.#greet(ws, socket as Socket));
  }

  #refusalOf({ headers, url = '/' }: IncomingMessage): string | null {
    // Any other path will do: a proxy in front may keep its own.
    if (url.startsWith('/reverse')) return '404 Not Found';
    // No device is a page in a browser, and no page may reach this port by way of one.
    if (headers.origin !== undefined || !this.#isOwnHost(headers.host)) return '403 Forbidden';
    const token = headers['x-cortex-token'];
    const fits = typeof token === 'string' && this.#token !== null && timingSafeEqual(digest(token), this.#token);
    if (!fits) return '401 Unauthorized';
    return this.#stopping || this.#unproved >= MOST_UNPROVED ? '503 Service Unavailable' : null;
  }

  /** On loopback the name must be a loopback one; elsewhere the operator chose how the port is called. */
  #isOwnHost(host: string | undefined): boolean {
    if (host === undefined) return false;
    if (this.#host !== '127.0.0.1' && this.#host !== '::1' && this.#host !== 'localhost') return true;
    return /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host);
  }

  async #greet(socket: WebSocket, tcp: Socket): Promise<void> {
    this.#unproved++;
    const tooLate = setTimeout(() => socket.terminate(), HANDSHAKE_MS);
    // The frame limit is for who is known: strangers together must not fill the memory.
    const meter = (): void => void (tcp.bytesRead > UNPROVED_BYTES && socket.terminate());
    tcp.on('data', meter);
    socket.on('error', () => socket.terminate()); // a broken frame or one over the limit; `close` follows
    let proved = false;
    const prove = (): void => {
      if (!proved) this.#unproved--;
      proved = true;
      clearTimeout(tooLate);
      tcp.off('data', meter);
    };
    socket.once('close', prove);
    try {
      const facts = await shakeHands(socket, {
        machines: this.machines,
        hub: this.hub,
        log: this.deviceLog,
        key: this.#key!,
        enrolment: this.config.CORTEX_DEVICE_ENROLMENT,
      });
      prove();
      this.#welcome(new DeviceConnection(facts, socket, tcp), socket);
    } catch (error) {
      const { code, message, device } = error instanceof Refusal ? error : new Refusal(1011, 'the server failed', null);
      if (!(error instanceof Refusal)) this.log.error({ err: error }, 'a handshake failed');
      if (socket.readyState === socket.OPEN) {
        this.log.info({ device, code, reason: message }, 'device refused');
        this.deviceLog.rejected(device, code, message);
      }
      socket.close(code, message);
    }
  }

  #welcome(connection: DeviceConnection, socket: WebSocket): void {
    const { name, facts } = connection;
    const end = (code: number): void => {
      const { cause, inFlight } = connection.lose('disconnected', code === 1006 ? 'connection lost' : `closed ${code}`);
      this.hub.gone(connection);
      this.log.info({ device: name, reason: cause, in_flight: inFlight }, 'device disconnected');
      this.deviceLog.note(name, { type: 'DisconnectDevice', device: name, reason: cause, in_flight: inFlight });
    };
    this.hub.connected(connection);
    if (socket.readyState !== socket.OPEN) return end(1006); // it left while its arrival was recorded
    socket.once('close', end);
    if (this.#stopping) return connection.close(DEVICE_CLOSE.goingAway, 'server shutting down');
    send(socket, { type: 'welcome', device: name });
    this.log.info({ device: name, platform: facts.platform, key_sha256: facts.keySha256 }, 'device connected');
  }

  #closeNamed(name: string, code: number, reason: string): void {
    this.hub
      .local()
      .filter((connection) => connection.name === name)
      .forEach((connection) => connection.close(code, reason));
  }

  #check(): void {
    void this.#listenAgain();
    for (const connection of this.hub.local()) {
      if (connection.isSilent)
        connection.close(DEVICE_CLOSE.heartbeatTimeout, 'heartbeat timeout', 'heartbeat_timeout');
      else if (connection.facts.keySha256 !== null && this.bus.up) void this.#checkKey(connection);
    }
  }

  /** The hint that a key was revoked may be lost, and one that came during a handshake met no connection yet. */
  async #checkKey(connection: DeviceConnection): Promise<void> {
    const key = await this.deviceLog.keyOf(connection.name).catch(() => undefined);
    if (key !== undefined && key !== connection.facts.keySha256) connection.close(DEVICE_CLOSE.refused, 'revoked');
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

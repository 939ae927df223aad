import { eventually } from '@cortex/testing';
import { Bridge } from '../stdio/bridge.js';
import { Upstream } from '../stdio/upstream.js';

export const MODERN = '2026-07-28';

/** What a client of the stateless era says in every request. */
export const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A bridge whose lines are read and written by a test. */
export class Bridged implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly told: string[] = [];
  readonly bridge: Bridge;

  constructor(url: URL, token: () => string = () => 'token') {
    this.bridge = new Bridge({
      upstream: new Upstream(url, token),
      write: (line) => void this.lines.push(line),
      tell: (text) => void this.told.push(text),
    });
  }

  say(message: unknown): void {
    this.bridge.receive(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)));
  }

  ask(id: unknown, method: string, params?: object): void {
    this.say({ jsonrpc: '2.0', id, method, ...(params && { params }) });
  }

  /** The same in the stateless era. */
  askModern(id: unknown, method: string, params: object = {}): void {
    this.ask(id, method, { ...params, _meta: META });
  }

  notify(method: string, params?: object): void {
    this.say({ jsonrpc: '2.0', method, ...(params && { params }) });
  }

  async initialize(protocolVersion = '2025-11-25'): Promise<void> {
    const clientInfo = { name: 'test', version: '1' };
    this.ask('init', 'initialize', { protocolVersion, capabilities: {}, clientInfo });
    await this.answer('init');
    this.notify('notifications/initialized');
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- what a client reads is looked at field by field
  get messages(): any[] {
    return this.lines.map((line) => JSON.parse(line) as unknown);
  }

  /** The answer to a request, when it is there. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  async answer(id: unknown): Promise<any> {
    // oxlint-disable-next-line typescript/no-explicit-any -- as above
    const find = () => this.messages.find((one: any) => one.id === id && one.method === undefined);
    await eventually(() => find() !== undefined);
    return find();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bridge.end(0);
  }
}

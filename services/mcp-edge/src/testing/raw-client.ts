import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

export interface RawAsk {
  /** Default POST. */
  method?: string;
  /** Default `/mcp`. */
  path?: string;
  headers?: Record<string, string | undefined>;
  /** Sent as JSON unless it is a string. */
  body?: unknown;
  /** Another one than the client's; null sends none. */
  token?: string | null;
}

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what a server answered is looked at field by field
  readonly json: any;
}

export interface RawStream {
  status: number;
  headers: IncomingHttpHeaders;
  /** What has come so far. */
  readonly text: string;
  /** The data of the events so far that have any, parsed where it is JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what a server answered is looked at field by field
  readonly events: any[];
  /** The ids of the events so far, also of those without data. */
  readonly ids: string[];
  readonly ended: boolean;
  close(): void;
}

/** HTTP as it is: for what no SDK client would send, and for streams in the middle. One connection per exchange. */
export function rawClient(origin: string, token: string) {
  const open = ({
    method = 'POST',
    path = '/mcp',
    headers = {},
    body,
    token: own = token,
  }: RawAsk): Promise<IncomingMessage> => {
    const sent: Record<string, string | undefined> = {
      ...(own !== null && { authorization: `Bearer ${own}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      accept: method === 'GET' ? 'text/event-stream' : 'application/json',
      ...headers,
    };
    const given = Object.fromEntries(Object.entries(sent).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
    return new Promise((resolve, reject) => {
      const req = request(`${origin}${path}`, { method, headers: given, agent: false }, resolve);
      req.on('error', reject);
      req.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
    });
  };
  return {
    /** Resolves when the answer is whole. */
    async ask(ask: RawAsk): Promise<RawAnswer> {
      const res = await open(ask);
      let text = '';
      res.setEncoding('utf8');
      for await (const chunk of res) text += chunk as string;
      return {
        status: res.statusCode ?? 0,
        headers: res.headers,
        text,
        get json() {
          return JSON.parse(text) as never;
        },
      };
    },
    /** Resolves with the headers; the body goes on. */
    async stream(ask: RawAsk): Promise<RawStream> {
      const res = await open(ask);
      let text = '';
      let ended = false;
      res.setEncoding('utf8');
      res.on('data', (chunk: string) => void (text += chunk));
      res.on('error', () => undefined);
      res.on('close', () => void (ended = true));
      return {
        status: res.statusCode ?? 0,
        headers: res.headers,
        get text() {
          return text;
        },
        get events() {
          const data = [...text.matchAll(/^data: (.+)$/gm)].map(([, line = '']) => line);
          return data.map((line) => (line.startsWith('{') || line.startsWith('[') ? JSON.parse(line) : line) as never);
        },
        get ids() {
          return [...text.matchAll(/^id: (.+)$/gm)].map(([, id = '']) => id);
        },
        get ended() {
          return ended;
        },
        close: () => void res.destroy(),
      };
    },
  };
}
export type RawClient = ReturnType<typeof rawClient>;

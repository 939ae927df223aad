// A backend of Cortex in one file, without a dependency: the contract, level 1, is one POST route that speaks JSON.
// Node 20 or newer. What each variable means is in the README beside this file.
import { createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import { createServer } from 'node:http';

const {
  PORT = '4820',
  HOST = '127.0.0.1',
  CORTEX_URL = 'http://127.0.0.1:9030/mcp',
  OAUTH_ISSUER = 'http://127.0.0.1:9031',
  OAUTH_JWKS_URL = `${OAUTH_ISSUER}/.well-known/jwks.json`,
  TECHNICAL_TOKEN = '',
} = process.env;
const READ = 'mcp:demo:read';
const WRITE = 'mcp:demo:write';
const MAX_NOTES = 100;
const MAX_LENGTH = 500;

/** How an answer other than 200 is told: `throw refuse(404, 'there is no such note')`. */
const refuse = (status, error, more = {}) => Object.assign(new Error(error), { status, body: { error, ...more } });

const notes = new Map();
let nextId = 1;

/** Each tool: what a model is told of it, the scope that it needs, and what it does for the user who calls. */
const tools = {
  get_help: {
    scope: READ,
    description: 'Explains this backend: a shared list of short notes. Read it before you use the others.',
    params: { topic: 'string?' },
    run: () => ({
      overview: 'A list of notes that all users share.',
      limits: { notes: MAX_NOTES, characters: MAX_LENGTH },
    }),
  },
  echo: {
    scope: READ,
    description: 'Sends a message back, to see that the way to this backend works.',
    params: { message: 'string' },
    annotations: { readOnlyHint: true },
    run: ({ message }) => ({ message: textOf(message, 'message') }),
  },
  get_time: {
    scope: READ,
    description: 'Tells the time, in UTC or in an IANA time zone such as Europe/Berlin.',
    params: { timezone: 'string?' },
    annotations: { readOnlyHint: true },
    run: ({ timezone = 'UTC' }) => {
      try {
        return {
          timezone,
          time: new Intl.DateTimeFormat('sv', { timeZone: timezone, dateStyle: 'short', timeStyle: 'long' }).format(),
        };
      } catch {
        throw refuse(422, `timezone ${JSON.stringify(timezone)} is unknown; use a name such as Europe/Berlin`);
      }
    },
  },
  list_notes: {
    scope: READ,
    description: 'Lists all notes with id, text and author, oldest first.',
    annotations: { readOnlyHint: true },
    run: () => ({ notes: [...notes.values()] }),
  },
  save_note: {
    scope: WRITE,
    description: `Saves a note of at most ${MAX_LENGTH} characters and gives its id.`,
    params: { text: 'string' },
    annotations: { readOnlyHint: false, destructiveHint: false },
    run: ({ text }, user) => {
      if (notes.size >= MAX_NOTES) throw refuse(409, `there are ${MAX_NOTES} notes already; delete one first`);
      const note = { id: String(nextId++), text: textOf(text, 'text'), author: user.sub };
      notes.set(note.id, note);
      return note;
    },
  },
  delete_note: {
    scope: WRITE,
    description: 'Deletes a note by its id. It cannot be brought back.',
    params: { id: 'string' },
    annotations: { readOnlyHint: false, destructiveHint: true },
    run: ({ id }) => {
      if (!notes.delete(String(id))) throw refuse(404, `there is no note ${JSON.stringify(id)}; see list_notes`);
      return { deleted: String(id) };
    },
  },
};

function textOf(value, name) {
  if (typeof value !== 'string' || value.trim() === '') throw refuse(422, `${name} is missing; send a text`);
  if (value.length > MAX_LENGTH) throw refuse(422, `${name} has more than ${MAX_LENGTH} characters; shorten it`);
  return value;
}

/** The token of the catalogue. It is nobody's, so it lists and does nothing else. */
const same = (a, b) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
const isTechnical = (bearer) => (TECHNICAL_TOKEN === '' ? bearer === '' : same(bearer, TECHNICAL_TOKEN));

let keys = new Map();
async function keyOf(kid) {
  if (!keys.has(kid)) {
    const { keys: found } = await (await fetch(OAUTH_JWKS_URL, { signal: AbortSignal.timeout(5_000) })).json();
    keys = new Map(found.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]));
  }
  return keys.get(kid);
}

/** Who calls: signature, issuer, audience and expiry are checked here again, whatever the gateway has checked. */
async function userOf(bearer) {
  const [head, claims, signature] = bearer.split('.');
  const json = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString());
  try {
    const { alg, kid } = json(head);
    const key = alg === 'RS256' ? await keyOf(kid) : undefined;
    const signed = key && verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'));
    const user = json(claims);
    const good =
      signed && user.iss === OAUTH_ISSUER && [user.aud].flat().includes(CORTEX_URL) && user.exp > Date.now() / 1000;
    if (good) return user;
  } catch {
    // Whatever is wrong with it, it is no token that this backend takes.
  }
  throw refuse(401, 'invalid token');
}

async function answer(method, params, bearer) {
  if (isTechnical(bearer)) {
    if (method !== 'list_tools') throw refuse(403, 'the technical token only lists');
    // A function is nothing in JSON, so `run` stays here.
    return { tools: Object.entries(tools).map(([name, tool]) => ({ name, ...tool })) };
  }
  const user = await userOf(bearer);
  const tool = Object.hasOwn(tools, method) ? tools[method] : undefined;
  if (tool === undefined) throw refuse(404, `there is no method ${method}`);
  const granted = String(user.scope ?? '').split(' ');
  if (!granted.includes(tool.scope)) throw refuse(403, 'scope', { required: tool.scope, method });
  return tool.run(params ?? {}, user);
}

createServer(async (req, res) => {
  const send = (status, body) =>
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  try {
    if (req.method !== 'POST' || req.url !== '/api/cortex/backend') throw refuse(404, 'not found');
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const { method, params } = JSON.parse(Buffer.concat(chunks).toString());
    send(200, await answer(method, params, (req.headers.authorization ?? '').replace(/^Bearer /i, '')));
  } catch (error) {
    if (error.status === undefined) console.error(error);
    send(error.status ?? 500, error.body ?? { error: 'something broke' });
  }
}).listen(Number(PORT), HOST, () => console.log(`the demo backend listens on http://${HOST}:${PORT}`));

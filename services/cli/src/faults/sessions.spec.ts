import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { RunningCortex, type Outcome } from './running.js';

// Sessions as a person meets them: by the command line alone.
let cortex: RunningCortex;
beforeAll(async () => {
  cortex = await RunningCortex.start();
});
afterAll(async () => cortex[Symbol.asyncDispose]());

interface Opened {
  session_id: string;
  workspace_id: string | null;
  execution_id: string;
  token: string;
  channel: string;
  scopes: string[];
  claude: string;
  endpoint: string;
}
const session = (...args: string[]): Promise<Outcome> => cortex.cortex(['session', ...args]);
async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await cortex.cortex([...args, '--json']);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as T;
}
const open = (...args: string[]): Promise<Opened> => json('session', 'open', ...args);
const call = (token: string, tool: string, args: object = {}): Promise<Outcome> =>
  cortex.cortex(['call', tool, JSON.stringify(args), '--token', token]);
const resultOf = async <T = Record<string, string>>(token: string, tool: string, args: object = {}) => {
  const { code, stdout, stderr } = await call(token, tool, args);
  if (code !== 0) throw new Error(stderr || stdout);
  return JSON.parse(stdout) as T;
};

describe('a session', () => {
  it('is opened in the workspace default with what its person may do, and prints what to paste', async () => {
    const opened = await open();
    const { session_id, token, claude, endpoint } = opened;
    expect(opened).toMatchObject({ workspace_id: 'default', channel: `web:${session_id}`, project: 'general' });
    expect(claude).toBe(
      `claude mcp add --transport http cortex-session ${endpoint} --header "Authorization: Bearer ${token}"`,
    );
    const { stdout } = await session('open');
    expect(stdout).toMatch(/^session {4}[0-9a-f-]{36}$/m);
    expect(stdout).toMatch(/^ {2}claude mcp add --transport http cortex-session .*Bearer ey/m);
  });

  it('is told of by its own tool, and by the list of executions while it runs and when it has ended', async () => {
    const { session_id, execution_id, token } = await open('--project', 'arm');
    expect(await resultOf(token, 'cortex_context')).toMatchObject({ sessionId: session_id, project: 'arm' });
    const status = async () => {
      const found = await resultOf<{ execution: { status: string } }>(cortex.token, 'query_executions', {
        execution_id,
      });
      return found.execution.status;
    };
    await eventually(async () => expect(await status()).toBe('running'));
    expect((await session('end', session_id)).code).toBe(0);
    await eventually(async () => expect(await status()).toBe('completed'));
  });

  it('T06 that has ended is refused, and gives no other token', async () => {
    const { session_id, token } = await open();
    expect((await call(token, 'whoami')).code).toBe(0);
    expect(await session('end', session_id)).toMatchObject({ code: 0, stderr: expect.stringContaining('has ended') });
    const refused = await call(token, 'whoami');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('HTTP 401')]);
    expect((await session('end', session_id)).stderr).toContain('had ended before');
    const none = await session('token', session_id);
    expect([none.code, none.stdout]).toEqual([1, '']);
    expect(none.stderr).toContain('open a new one with: cortex session open');
  });

  it('gives another token, alone on stdout', async () => {
    const { session_id } = await open();
    const { stdout } = await session('token', session_id, '--ttl', '5m');
    expect(stdout).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(await resultOf(stdout.trim(), 'cortex_context')).toMatchObject({ sessionId: session_id });
  });

  it('of a workspace is opened by `token --workspace` too', async () => {
    const { stdout, stderr } = await cortex.cortex(['token', '--workspace', 'default']);
    expect(stdout).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const { sessionId } = await resultOf(stdout.trim(), 'cortex_context');
    expect(stderr).toContain(`session ${sessionId} was opened in default`);
  });

  it('T04 of somebody with fewer rights has no more than these', async () => {
    const { stdout } = await cortex.cortex(['token', '--sub', 'low', '--scopes', 'mcp:cortex:read']);
    expect((await call(stdout.trim(), 'whoami')).code).toBe(0);
    const opened = await session('open', '--sub', 'low', '--no-workspace');
    expect(opened.stdout).toMatch(/^scopes {5}mcp:cortex:read$/m);
    expect(opened.stderr).toContain('withheld, since the last token of the person did not have them: mcp:cortex:write');
  });
});

describe('an inbox', () => {
  it('shows a wake, and nothing in it reaches the terminal as more than text', async () => {
    const { session_id, token } = await open();
    const { id, secret } = await resultOf(token, 'wait_create', { label: 'job', intent: 'look' });
    const answer = await fetch(`http://127.0.0.1:${cortex.state.ports.webhooks}/webhook/signal`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, secret, status: 'ok', message: 'done \u001b[31mred\u001b]0;title\u0007' }),
    });
    expect(answer.status).toBe(202);
    const shown = await eventually(async () => {
      const { stdout } = await session('show', session_id);
      expect(stdout).toContain('external-signal');
      return stdout;
    });
    expect(shown).toContain('done');
    expect(shown).not.toContain('\u001b');
    expect(await json<{ messages: object[] }>('session', 'show', session_id)).toMatchObject({
      messages: [{ origin: 'external-signal', delivery: 'held' }],
    });
  });
});

describe('after kill -9 of all services', () => {
  it('a session is open as it was, with its inbox and its tokens', async () => {
    const { session_id, token } = await open();
    const before = await json<object>('session', 'show', session_id);
    await cortex.kill('services');
    expect(await json<object>('session', 'show', session_id)).toEqual(before);
    expect(await resultOf(token, 'cortex_context')).toMatchObject({ sessionId: session_id });
  });
});

describe('what is wrong on the command line', () => {
  it.each([
    [1, ['open', '--workspace', 'nowhere'], 'workspace_id is no workspace'],
    [1, ['open', '--sub', 'stranger'], 'does not belong to'],
    [1, ['open', '--channel', 'mail:1'], 'channel names no conversation'],
    [2, ['open', '--ttl', '13h'], '--ttl is over 12h'],
    [2, ['open', '--ttl', 'soon'], '--ttl is no duration'],
    [2, ['open', '--scopes', 'all'], '--scopes names what is unknown: all'],
    [2, ['list', '--status', 'closed'], 'Allowed choices are open, ended, all'],
    [1, ['list', '--cursor', 'x'], 'cursor is none that a list gave'],
    [1, ['show', 'nope'], 'session_id names no session'],
    [1, ['end', 'a.b'], 'session_id'],
    [2, ['show'], "missing required argument 'session'"],
    [2, ['close'], "unknown command 'close'"],
  ])('ends with %i: session %j', async (code, args, text) => {
    const outcome = await session(...args);
    expect([outcome.code, outcome.stdout]).toEqual([code, '']);
    expect(outcome.stderr).toContain(text);
  });
});

import { describe, expect, it } from '@jest/globals';
import { configuredBackends, secretFault } from './backends.js';

const configured = (variables: Record<string, string>, more: object = {}) =>
  configuredBackends(
    {
      CORTEX_BACKENDS: (variables['CORTEX_BACKENDS'] ?? 'demo').split(','),
      CORTEX_TICKET_BACKENDS: (variables['CORTEX_TICKET_BACKENDS'] ?? '').split(',').filter(Boolean),
      CORTEX_TECHNICAL_TOKEN: 'technical',
      CORTEX_ALLOW_INSECURE_BACKENDS: false,
      CORTEX_ALLOW_UNPREFIXED: false,
      CORTEX_REQUIRE_TOKEN_EXCHANGE: false,
      CORTEX_TOOL_NAME_MAX: 48,
      production: false,
      ...more,
    },
    variables,
  );
const URL_ = 'CORTEX_BACKEND_DEMO_URL';

describe('a backend', () => {
  it('has defaults for all but its URL', () => {
    const { backends, faults } = configured({ [URL_]: 'https://app.example.com/base/' });
    expect(faults).toEqual([]);
    expect(backends).toEqual([
      {
        id: 'demo',
        url: 'https://app.example.com/base',
        path: '/api/cortex/backend',
        prefix: 'demo_',
        scopePrefixes: ['mcp:demo:'],
        uriSchemes: ['demo'],
        timeoutMs: 10_000,
        technicalToken: 'technical',
        eventToken: undefined,
        tokenMode: 'passthrough',
        actions: ['networkEgress'],
        ownsTickets: false,
        order: 0,
      },
    ]);
  });

  it('keeps its own tickets where it is named for that, and nobody else can be named', () => {
    const named = (owners: string) => configured({ [URL_]: 'https://x.example', CORTEX_TICKET_BACKENDS: owners });
    expect(named('Demo').backends).toMatchObject([{ id: 'demo', ownsTickets: true }]);
    expect(named('demo,other').faults).toEqual([
      'CORTEX_TICKET_BACKENDS names "other", which is none of CORTEX_BACKENDS; correct it',
    ]);
  });

  it('without a URL is left out silently, and one that is named twice counts once, which is told', () => {
    const { backends, faults, skipped, warnings } = configured({
      CORTEX_BACKENDS: 'demo,Other-App,OTHER-APP',
      CORTEX_BACKEND_OTHER_APP_URL: 'https://x.example',
    });
    expect(backends.map(({ id, order }) => [id, order])).toEqual([['other-app', 1]]);
    expect([faults, skipped]).toEqual([[], []]);
    expect(warnings).toContain('CORTEX_BACKENDS names other-app more than once; each counts once, take it out');
    expect(configured({ [URL_]: 'https://x.example' }).warnings).not.toContainEqual(expect.stringContaining('once'));
  });

  it.each([
    ['http://app.example.com', 'is http to another machine'],
    ['http://127.0.0.1.evil.example', 'is http to another machine'],
    ['http://0x7f.1.evil.example', 'is http to another machine'],
    ['http://user:secret@127.0.0.1', 'holds a user or a password'],
    ['ftp://app.example.com', 'is neither https nor http'],
    ['app.example.com', 'is no absolute URL'],
    ['/relative', 'is no absolute URL'],
  ])('at %s is left out, with the reason and without the URL', (url, reason) => {
    const { backends, skipped, faults } = configured({ [URL_]: url });
    expect([backends, faults]).toEqual([[], []]);
    expect(skipped).toEqual([expect.stringContaining(`backend demo is left out: ${URL_} ${reason}`)]);
    expect(skipped[0]).not.toContain('secret');
  });

  it.each([
    'http://localhost:4820',
    'http://127.9.8.7:4820',
    'http://[::1]:4820',
    'http://0x7f000001:4820',
    'https://x.example',
  ])('at %s is served', (url) => expect(configured({ [URL_]: url }).backends).toHaveLength(1));

  it('over plaintext on another machine is served where that is allowed, but never given the token of a caller', () => {
    const insecure = { CORTEX_ALLOW_INSECURE_BACKENDS: true };
    const passing = configured({ [URL_]: 'http://app.internal' }, insecure);
    expect(passing.backends).toEqual([]);
    expect(passing.skipped[0]).toContain('would get the token of the caller in the clear');
    const none = configured({ [URL_]: 'http://app.internal', CORTEX_BACKEND_DEMO_TOKEN_MODE: 'none' }, insecure);
    expect(none.backends).toHaveLength(1);
    expect(none.warnings).toContainEqual(expect.stringContaining('over http on another machine'));
  });
});

describe('a start', () => {
  it('is told every fault at once', () => {
    const { faults } = configured({
      CORTEX_BACKENDS: 'demo,Cortex,a b,my-app,my_app,x--y,x-_y,-a',
      [URL_]: 'https://x.example/?a=1',
      CORTEX_BACKEND_DEMO_PATH: 'api',
      CORTEX_BACKEND_DEMO_PREFIX: 'a.b',
      CORTEX_BACKEND_DEMO_TIMEOUT_MS: '10s',
      CORTEX_BACKEND_DEMO_SCOPE_PREFIXES: 'mcp:',
      CORTEX_BACKEND_DEMO_URI_SCHEMES: 'cortex 1x',
      CORTEX_BACKEND_DEMO_TOKEN_MODE: 'exchange',
      CORTEX_BACKEND_DEMO_ACTIONS: 'everything',
      CORTEX_BACKEND_DEMO_TECHNICAL_TOKEN: 'abc\u2060',
    });
    for (const part of [
      'DEMO_URL has a query',
      'DEMO_PATH is no path',
      'DEMO_PREFIX has other characters',
      'DEMO_TIMEOUT_MS is no whole number',
      'SCOPE_PREFIXES holds "mcp:"',
      'holds "cortex", which is reserved',
      'holds "1x", which is no scheme',
      'TOKEN_MODE is not one of passthrough, none',
      'ACTIONS holds everything',
      'U+2060 at position 4',
      '"cortex", which is reserved',
      '"a b", which is no id',
      '"my_app", which is no id',
      '"-a", which is no id',
    ])
      expect(faults).toContainEqual(expect.stringContaining(part));
  });

  it('takes no empty prefix without the word for it, and no prefix that leaves no room', () => {
    const prefix = (value: string, more = {}) =>
      configured({ [URL_]: 'https://x.example', CORTEX_BACKEND_DEMO_PREFIX: value }, more);
    expect(prefix('none').faults[0]).toContain('CORTEX_ALLOW_UNPREFIXED');
    expect(prefix('none', { CORTEX_ALLOW_UNPREFIXED: true }).backends[0]?.prefix).toBe('');
    expect(prefix('x'.repeat(35)).faults).toEqual([]);
    expect(prefix('x'.repeat(36)).faults[0]).toContain('at most 35 characters');
  });

  it('T10 names every backend that is given the token of the caller, and is refused where that is forbidden', () => {
    const variables = {
      CORTEX_BACKENDS: 'demo,b',
      [URL_]: 'https://x.example',
      CORTEX_BACKEND_B_URL: 'https://y.example',
    };
    expect(configured(variables).warnings).toContainEqual(expect.stringMatching(/token of the caller.*: demo, b$/));
    const strict = { CORTEX_REQUIRE_TOKEN_EXCHANGE: true };
    expect(configured(variables, strict).faults[0]).toContain('demo, b would get the token of the caller');
    const none = { ...variables, CORTEX_BACKEND_DEMO_TOKEN_MODE: 'none', CORTEX_BACKEND_B_TOKEN_MODE: 'none' };
    expect(configured(none, strict).faults).toEqual([]);
  });

  it('needs a token for the catalogue in production, and says elsewhere that there is none', () => {
    const without = { CORTEX_TECHNICAL_TOKEN: undefined };
    const variables = { [URL_]: 'https://x.example' };
    expect(configured(variables, { ...without, production: true }).faults[0]).toContain(
      'CORTEX_TECHNICAL_TOKEN is missing',
    );
    expect(configured(variables, without).warnings.join()).toContain('asked without a token');
  });

  it('takes a client of the issuer in place of that token, whole and alone', () => {
    const client = { CORTEX_TECHNICAL_CLIENT_ID: 'cortex', CORTEX_TECHNICAL_CLIENT_SECRET: 's', production: true };
    const of = (more: object, variables: Record<string, string> = {}) =>
      configured(
        { [URL_]: 'https://x.example', ...variables },
        { ...client, CORTEX_TECHNICAL_TOKEN: undefined, ...more },
      );
    expect(of({})).toMatchObject({ faults: [], backends: [{ technicalToken: undefined, machineIdentity: true }] });
    const own = of({}, { CORTEX_BACKEND_DEMO_TECHNICAL_TOKEN: 'of-demo' });
    expect(own.backends).toMatchObject([{ technicalToken: 'of-demo' }]);
    expect(own.backends[0]).not.toHaveProperty('machineIdentity');
    expect(of({ CORTEX_TECHNICAL_CLIENT_SECRET: undefined }).faults[0]).toContain('CLIENT_SECRET is missing');
    expect(of({ CORTEX_TECHNICAL_TOKEN: 't' }).faults).toEqual([expect.stringContaining('are both set; keep one')]);
  });

  it('names a variable that nobody reads', () => {
    const { warnings } = configured({
      [URL_]: 'https://x.example',
      CORTEX_BACKEND_DEMO_TIMEOUT: '5',
      CORTEX_BACKEND_ERROR_STYLE: 'rpc',
    });
    expect(warnings).toContainEqual(expect.stringContaining('CORTEX_BACKEND_DEMO_TIMEOUT is read by nobody'));
    expect(warnings.join()).not.toContain('ERROR_STYLE');
  });

  it('gives a scheme that two backends claim to the first of them', () => {
    const { backends, warnings } = configured({
      CORTEX_BACKENDS: 'demo,b',
      [URL_]: 'https://x.example',
      CORTEX_BACKEND_B_URL: 'https://y.example',
      CORTEX_BACKEND_B_URI_SCHEMES: 'DEMO:,b',
    });
    expect(backends.map(({ uriSchemes }) => uriSchemes)).toEqual([['demo'], ['b']]);
    expect(warnings).toContainEqual('b claims the scheme demo, which is of demo; its items of it are left out');
  });
});

it('P48 a secret with a character that no header takes is told by its position', () => {
  expect(secretFault('abc')).toBeUndefined();
  expect(secretFault('ab\u2060c')).toBe('has the character U+2060 at position 3; copy it again');
  expect(secretFault('a b')).toContain('U+0020 at position 2');
});

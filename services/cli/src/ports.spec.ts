import { describe, expect, it } from '@jest/globals';
import { EXIT } from './exit.js';
import { publicPorts } from './ports.js';

describe('ports', () => {
  it('are the documented ones when nobody says otherwise', () => {
    expect(publicPorts({})).toEqual({ public: 9030, webhooks: 3001, devices: 3002, issuer: 9031 });
  });

  it('follow --port, but for those with a variable of their own', () => {
    expect(publicPorts({}, 9100)).toEqual({ public: 9100, issuer: 9101, webhooks: 9102, devices: 9103 });
    expect(publicPorts({ WEBHOOK_PORT: '4001' }, 9100)).toMatchObject({ public: 9100, webhooks: 4001, devices: 9103 });
    expect(publicPorts({ PORT: '8000' }, 9100)).toMatchObject({ public: 8000, issuer: 9101 });
  });

  it('put the issuer next to the public one', () => {
    expect(publicPorts({ PORT: '8000' })).toMatchObject({ issuer: 8001, webhooks: 3001 });
    expect(publicPorts({ PORT: '8000', CORTEX_ISSUER_PORT: '7000' })).toMatchObject({ issuer: 7000 });
  });

  it.each(['', '0', '80 80', '70000', '1e3', '-1'])('refuse %j with the name of the variable', (text) => {
    const make = () => publicPorts({ CORTEX_CLIENT_PORT: text });
    if (text === '') expect(make()).toMatchObject({ devices: 3002 });
    else expect(make).toThrow(/^CORTEX_CLIENT_PORT is no port/);
  });

  it('refuse one number for two things', () => {
    expect(() => publicPorts({ WEBHOOK_PORT: '9030' })).toThrow(
      expect.objectContaining({
        message: 'port 9030 is given to public and webhooks; set PORT and WEBHOOK_PORT apart',
        exitCode: EXIT.usage,
      }),
    );
  });
});

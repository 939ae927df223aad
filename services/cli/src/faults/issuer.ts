import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { JwksSource, TokenVerifier, type VerifiedToken } from '@cortex/auth';
import { freePort } from '@cortex/embedded/ports';
import { eventually, tempDir } from '@cortex/testing';
import { startIssuer, type Issuer, type IssuerOptions } from '../up/issuer.js';
import { Browser, RawClient, type Page, type Tokens } from '../oauth/browser.js';

const kid = 'k1';
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const private_jwk = { ...privateKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' };
const canonicalUri = 'http://127.0.0.1:9030/mcp';

type Parameters = Record<string, string | undefined>;

/** A development issuer of its own for each test of a file, which must not have told of an error by its end. */
export class IssuerFixture {
  options!: IssuerOptions;
  told: string[] = [];
  #issuer!: Issuer;

  /** For a file of tests. */
  static forEach(): IssuerFixture {
    const fixture = new IssuerFixture();
    beforeEach(async () => {
      fixture.told = [];
      fixture.options = {
        port: await freePort(),
        key: { kid, private_jwk },
        file: join(await tempDir('issuer'), 'logins.json'),
        canonicalUri,
        audience: canonicalUri,
        owner: 'owner',
        env: {},
        tell: (text) => fixture.told.push(text),
      };
      await fixture.start();
    });
    afterEach(async () => {
      await fixture.#issuer.close();
      expect(fixture.told).toEqual([]);
    });
    return fixture;
  }

  get url(): string {
    return this.#issuer.url;
  }

  get loginCode(): string {
    return this.#issuer.loginCode;
  }

  async start(changes: Partial<IssuerOptions> = {}): Promise<void> {
    this.#issuer = await startIssuer({ ...this.options, ...changes });
  }

  async stop(): Promise<void> {
    await this.#issuer.close();
    // Until the connections that `fetch` kept are gone too.
    await eventually(() =>
      fetch(this.url).then(
        () => false,
        (error: Error) => String(error.cause).includes('ECONNREFUSED'),
      ),
    );
  }

  async restart(changes: Partial<IssuerOptions> = {}): Promise<void> {
    await this.stop();
    await this.start(changes);
  }

  /** As the edge reads a token. */
  async verified(token: string): Promise<VerifiedToken> {
    const keys = new JwksSource({ url: `${this.url}/.well-known/jwks.json` });
    const result = await new TokenVerifier({ keys, issuer: this.url, audiences: [canonicalUri] }).verify(token);
    if ('refused' in result) throw new Error(result.refused);
    return result;
  }

  client(metadata?: Record<string, unknown>): Promise<RawClient> {
    return RawClient.make(this.url, metadata);
  }

  /** A new client that went the whole way. */
  async login(parameters: Parameters = {}): Promise<{ client: RawClient; tokens: Tokens }> {
    const client = await this.client();
    const { status, body } = await client.exchange(await client.code(this.loginCode, parameters));
    expect({ status, body }).toMatchObject({ status: 200 });
    return { client, tokens: body };
  }

  /** A page that waits for the code, in a browser of its own. */
  async waiting(
    parameters: Parameters = {},
    metadata?: Record<string, unknown>,
  ): Promise<{ client: RawClient; browser: Browser; page: Page }> {
    const client = await this.client(metadata);
    const browser = new Browser();
    const page = await browser.open(client.authorizeUrl(parameters));
    return { client, browser, page };
  }
}

/** Whether the client was given a code. */
export const allowed = (page: Page): boolean => Boolean(page.left?.searchParams.get('code'));

import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** PEM texts. */
export interface Certified {
  cert: string;
  key: string;
}

/** An authority that lives for one test; every key is made for it and trusted by nothing else. */
export interface Authority {
  ca: string;
  /** A certificate made out to these host names and IPv4 addresses, valid for an hour; the first is also its common name. */
  certify(...hosts: [string, ...string[]]): Certified;
}

/** Written by hand, as Node makes keys and no certificates, and not every machine has openssl. */
export function testAuthority(name = 'test authority'): Authority {
  const keys = ecKeys();
  const basicConstraints = sequence(oid('2.5.29.19'), octets(sequence(TRUE)));
  return {
    ca: certificate({ subject: name, issuer: name, publicKey: keys.publicKey, signer: keys.privateKey }, [
      basicConstraints,
    ]),
    certify(...hosts) {
      const own = ecKeys();
      const names = hosts.map((host) =>
        isIPv4(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host)),
      );
      const alternatives = sequence(oid('2.5.29.17'), octets(sequence(...names)));
      const parts = { subject: hosts[0], issuer: name, publicKey: own.publicKey, signer: keys.privateKey };
      const key = own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      return { cert: certificate(parts, [alternatives]), key };
    },
  };
}

const ecKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

interface Parts {
  subject: string;
  issuer: string;
  publicKey: KeyObject;
  signer: KeyObject;
}

const HOUR_MS = 3_600_000;

function certificate({ subject, issuer, publicKey, signer }: Parts, extensions: readonly Buffer[]): string {
  const algorithm = sequence(oid('1.2.840.10045.4.3.2')); // ECDSA with SHA-256
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    nameOf(issuer),
    // Begun before, for servers whose clock is a little behind.
    sequence(time(Date.now() - HOUR_MS), time(Date.now() + HOUR_MS)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, signer)]));
  const text = sequence(body, algorithm, signature).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${text.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const TRUE = der(0x01, Buffer.from([255]));
const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, Buffer.concat(parts));
const octets = (content: Buffer): Buffer => der(0x04, content);
const nameOf = (text: string): Buffer => sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(text)))));
const time = (ms: number): Buffer =>
  der(
    0x17,
    Buffer.from(
      `${new Date(ms)
        .toISOString()
        .replaceAll(/[-:T]|\..*$/g, '')
        .slice(2)}Z`,
    ),
  );

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = rest.flatMap((part) => {
    const groups = [part & 127];
    for (let more = part >> 7; more > 0; more >>= 7) groups.unshift((more & 127) | 128);
    return groups;
  });
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]));
}

import { readFileSync } from 'node:fs';

const read = (): string =>
  (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;

export const version = read();

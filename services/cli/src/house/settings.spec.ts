import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SharedVariables } from '@cortex/service-kit/config';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { loadServices } from '../services.js';

const PAGE = join(resolve(import.meta.dirname, '../../../..'), 'docs/settings.md');
const ROW = /^\| `([A-Z_]+)` +\| (.+?) +\| (.+?) +\|$/gm;
const rows = [...readFileSync(PAGE, 'utf8').matchAll(ROW)].map(([, name = '', fallback = '', meaning = '']) => ({
  name,
  fallback,
  meaning,
}));

/** What stands on the page where the code alone decides; undefined where a default is worked out, or there is none. */
function fallbackOf(variable: z.ZodType): string | undefined {
  const { success, data } = variable.safeParse(undefined);
  if (!success || data === undefined || data === null) return undefined;
  if (Array.isArray(data)) return data.length === 0 ? '—' : `\`${data.join(' ')}\``;
  return ['string', 'number', 'boolean'].includes(typeof data) ? `\`${data as string | number | boolean}\`` : undefined;
}
/** Their defaults are a place of this machine. */
const OF_THE_MACHINE = ['CORTEX_HOME', 'TZ'];

describe('the page of settings', () => {
  let variables: [string, z.ZodType][];
  beforeAll(async () => {
    const services = await loadServices();
    const shapes = services.map(({ def }) => def.config.shape as Record<string, z.ZodType>);
    variables = [SharedVariables.shape, ...shapes].flatMap((shape) => Object.entries(shape));
  });

  it('has a row of every variable that a service reads, and no other', () => {
    const names = [...new Set(variables.map(([name]) => name))];
    expect(rows.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  });

  it('gives the defaults of the code', () => {
    const fallbacks = new Map(variables.map(([name, variable]) => [name, fallbackOf(variable)]));
    const wrong = rows.filter(({ name, fallback }) => {
      const expected = OF_THE_MACHINE.includes(name) ? undefined : fallbacks.get(name);
      return expected !== undefined && expected !== fallback && !(expected === '``' && fallback === '—');
    });
    expect(wrong).toEqual([]);
  });
});

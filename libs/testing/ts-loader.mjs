import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

/**
 * Runs the sources in a plain process, for tests that need a real one: `node --import …/ts-loader.mjs file.ts`. Node's own
 * support of TypeScript knows neither decorators nor parameter properties.
 */
const swc = JSON.parse(readFileSync(new URL('../../.swcrc', import.meta.url), 'utf8'));

registerHooks({
  resolve(specifier, context, next) {
    if (/^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL?.endsWith('.ts')) {
      const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
      if (existsSync(source)) return next(source.href, context);
    }
    return next(specifier, { ...context, conditions: ['cortex-source', ...context.conditions] });
  },
  load(url, context, next) {
    if (!url.endsWith('.ts')) return next(url, context);
    const filename = fileURLToPath(url);
    const { code } = transformSync(readFileSync(filename, 'utf8'), { ...swc, filename, sourceMaps: 'inline' });
    return { format: 'module', source: code, shortCircuit: true };
  },
});

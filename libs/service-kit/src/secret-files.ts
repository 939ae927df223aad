import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { failedPrecondition } from '@cortex/contracts';

/** Where a deployment puts secrets: a folder of files, each named as the variable whose value it holds. */
const FOLDER = 'CORTEX_SECRETS_DIR';
const VARIABLE = /^[A-Z][A-Z0-9_]*$/;

/**
 * The environment with what lies in the files of `CORTEX_SECRETS_DIR`: a secret in the environment is shown by every tool that
 * inspects a container. A variable that is set wins over its file. A line break at the end is not part of the value. Errors:
 * `failed_precondition` naming the folder or file that cannot be read.
 */
export function withSecretFiles(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const folder = env[FOLDER];
  if (!folder) return env;
  const names = read(folder, (path) => readdirSync(path)).filter((name) => VARIABLE.test(name));
  const files = names
    .filter((name) => !env[name])
    .map((name) => [name, read(join(folder, name), (path) => readFileSync(path, 'utf8')).replace(/\r?\n$/, '')]);
  return { ...env, ...(Object.fromEntries(files) as Record<string, string>) };
}

function read<T>(path: string, how: (path: string) => T): T {
  try {
    return how(path);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw failedPrecondition(
      FOLDER,
      `names ${path}, which cannot be read (${code ?? message})`,
      'mount it, readable for this user',
      {
        cause,
      },
    );
  }
}

import { posix } from 'node:path';
import { domainToASCII } from 'node:url';
import type { GuardConstraint } from '@cortex/contracts';
import { splitCommand, startsWithWords } from './commands.js';

/** What of a call's arguments a rule may name. A facet without a value is left out. */
export interface Facets {
  paths?: string[];
  refs?: string[];
  hosts?: string[];
  command?: string;
  count?: number;
  cents?: number;
}

const OPENS_URL = new Set(['browser_use', 'mobile_use', 'ios_use']);
const INSTALLS = new Set(['install_skill', 'update_skill', 'mobile_use', 'ios_use']);
const COMMAND_ARGUMENTS = ['command', 'cmd', 'shell_command', 'script'] as const;

/** Source: workspace-tools-2, section 2.3. */
export function facetsOf(tool: string, args: Readonly<Record<string, unknown>>): Facets {
  const facets: Facets = {};
  const { url, path, argv } = args;
  if (OPENS_URL.has(tool) && typeof url === 'string' && URL.canParse(url)) facets.hosts = [new URL(url).hostname];
  if (INSTALLS.has(tool) && typeof path === 'string') facets.paths = [path];
  const text = COMMAND_ARGUMENTS.map((name) => args[name]).find((value) => typeof value === 'string');
  if (typeof text === 'string') facets.command = text;
  else if (Array.isArray(argv)) facets.command = argv.filter((word) => typeof word === 'string').join(' ');
  return facets;
}

/**
 * Whether a constraint fits the call. `loosens` = the rule would allow: then every value has to fit, otherwise one is enough.
 * A constraint that names a facet for which the call has no value does not fit.
 */
export function constraintFits(constraint: GuardConstraint, tool: string, facets: Facets, loosens: boolean): boolean {
  const values = (given: readonly string[] | undefined, fits: (value: string) => boolean): boolean => {
    if (given === undefined || given.length === 0) return false;
    return loosens ? given.every(fits) : given.some(fits);
  };
  const { tools, paths, refs, hosts, commands, max_count, max_cents } = constraint;
  if (tools !== undefined && !tools.includes(tool)) return false;
  if (paths !== undefined && !values(facets.paths, (path) => globsFit(paths, path))) return false;
  if (refs !== undefined && !values(facets.refs, (ref) => globsFit(refs, ref))) return false;
  if (hosts !== undefined && !values(facets.hosts, (host) => hosts.some((pattern) => hostFits(pattern, host))))
    return false;
  if (commands !== undefined && !commandFits(commands, facets.command, loosens)) return false;
  if (max_count !== undefined && !(facets.count !== undefined && facets.count <= max_count)) return false;
  if (max_cents !== undefined && !(facets.cents !== undefined && facets.cents <= max_cents)) return false;
  return true;
}

function commandFits(prefixes: readonly string[], command: string | undefined, loosens: boolean): boolean {
  if (command === undefined) return false;
  const { parts, plain } = splitCommand(command);
  if (loosens && !plain) return false;
  return parts.some((part) => prefixes.some((prefix) => startsWithWords(part, prefix)));
}

/** `a/./b//../c` is `a/c`: what is compared is where the path leads. */
const resolved = (path: string): string => posix.normalize(path.replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');

/** The last pattern that fits decides; `!` in front takes out again. */
export function globsFit(patterns: readonly string[], path: string): boolean {
  const value = resolved(path);
  let fits = false;
  for (const pattern of patterns) {
    const negated = pattern.startsWith('!');
    if (globToRegExp(resolved(negated ? pattern.slice(1) : pattern)).test(value)) fits = !negated;
  }
  return fits;
}

function globToRegExp(glob: string): RegExp {
  const source = glob.replace(/[.+^${}()|[\]\\]|\*\*\/?|\*|\?/g, (token) => {
    if (token === '**/') return '(?:.*/)?';
    if (token === '**') return '.*';
    if (token === '*') return '[^/]*';
    if (token === '?') return '[^/]';
    return `\\${token}`;
  });
  return new RegExp(`^${source}$`, 's');
}

const hostName = (host: string): string => domainToASCII(host.trim().replace(/\.$/, '')).toLowerCase();

/** `*.example.com` takes what lies below, on label borders only. */
export function hostFits(pattern: string, host: string): boolean {
  const value = hostName(host);
  if (value === '') return false;
  if (pattern.startsWith('*.')) return value.endsWith(`.${hostName(pattern.slice(2))}`);
  return value === hostName(pattern);
}

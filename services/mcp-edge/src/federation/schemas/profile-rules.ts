import { ORIGINAL, profileOf } from './profiles.js';

/** Which profile whoever asks for none gets (spelled as `profileOf` does). Source: gateway, section 13.8. */
export interface ProfileDefaults {
  readonly fallback: string;
  /** By the name that a client gives itself; the first that fits counts. */
  readonly rules: readonly ProfileRule[];
}
export interface ProfileRule {
  readonly name: RegExp;
  readonly profile: string;
}

export const NO_DEFAULTS: ProfileDefaults = { fallback: ORIGINAL, rules: [] };

/** Reads `claude*=basic; Old Client=strip,draft-07`, where `*` stands for anything. Throws an Error that says what is wrong. */
export function parseProfileRules(text: string): ProfileRule[] {
  return text
    .split(/[;\n]/)
    .map((rule) => rule.trim())
    .filter((rule) => rule !== '')
    .map((rule) => {
      const end = rule.lastIndexOf('=');
      const pattern = rule.slice(0, Math.max(0, end)).trim();
      const profile = profileOf(rule.slice(end + 1));
      if (pattern === '') throw new Error(`"${rule}" is no rule; write <client name>=<profile>`);
      if (profile === undefined) throw new Error(`"${rule}" names an unknown profile`);
      const name = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
      return { name: new RegExp(`^${name}$`, 'is'), profile };
    });
}

/** The profile of a list. `asked` is one that `profileOf` knows; a name is the client's own word and picks a form, never a right. */
export function profileFor(defaults: ProfileDefaults, asked: string | undefined, client: string | undefined): string {
  const known = asked === undefined ? undefined : profileOf(asked);
  if (known !== undefined) return known;
  const rule = client === undefined ? undefined : defaults.rules.find(({ name }) => name.test(client));
  return rule?.profile ?? defaults.fallback;
}

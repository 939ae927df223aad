/** Words after which another command may stand in the same part. */
const CARRIERS = new Set([
  'sudo',
  'doas',
  'env',
  'xargs',
  'exec',
  'eval',
  'command',
  'nohup',
  'time',
  'nice',
  'sh',
  'bash',
  'dash',
  'zsh',
]);
/** Where one command ends and another begins. Quotes are not honoured: `sh -c 'rm x'` must be looked into, and a wrong split only asks more. */
const BORDERS = /[;&|\n\r(){}`]|\$\(/;
const REDIRECTION_OR_SUBSTITUTION = /[<>`$]/;
const MAX_WORDS = 64;

export interface SplitCommand {
  /** Every command in the text, spaces collapsed, without leading assignments and quotes. */
  parts: readonly string[];
  /** One command without redirection, substitution or carrier: the only kind that an allow rule counts for. */
  plain: boolean;
}

/** Prefix rules are a seat belt, not a jail: a script can hide anything. Source: workspace-tools-2, section 2.3, rule 4. */
export function splitCommand(text: string): SplitCommand {
  const parts = new Set<string>();
  const pieces = text.split(BORDERS).filter((piece) => piece.trim() !== '');
  for (const piece of pieces) {
    const words = wordsOf(piece);
    addForms(parts, words);
    words.forEach((word, i) => {
      if (CARRIERS.has(baseName(word))) for (let j = i + 1; j < words.length; j++) addForms(parts, words.slice(j));
    });
  }
  const carried = pieces.some((piece) => wordsOf(piece).some((word) => CARRIERS.has(baseName(word))));
  return {
    parts: [...parts],
    plain: pieces.length === 1 && !carried && !BORDERS.test(text.trim()) && !REDIRECTION_OR_SUBSTITUTION.test(text),
  };
}

/** True when the command begins with the prefix and the prefix ends where a word ends. */
export const startsWithWords = (command: string, prefix: string): boolean => {
  const wanted = prefix.trim().replace(/\s+/g, ' ');
  return wanted !== '' && (command === wanted || command.startsWith(`${wanted} `));
};

const baseName = (word: string): string => word.slice(word.lastIndexOf('/') + 1);

function wordsOf(piece: string): string[] {
  const words = piece
    .replace(/['"\\]/g, '')
    .trim()
    .split(/\s+/)
    .slice(0, MAX_WORDS);
  // `FOO=1 rm x` runs rm.
  while (words.length > 1 && /^[A-Za-z_][A-Za-z0-9_]*=/.test(words[0] ?? '')) words.shift();
  return words;
}

/** `/bin/rm x` is `rm x` too. */
function addForms(parts: Set<string>, words: readonly string[]): void {
  const [first, ...rest] = words;
  if (first === undefined || first === '') return;
  parts.add([first, ...rest].join(' '));
  parts.add([baseName(first), ...rest].join(' '));
}

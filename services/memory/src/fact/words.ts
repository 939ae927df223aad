/** Lower-case words without punctuation around them: what makes two texts alike. */
export function wordSet(text: string): ReadonlySet<string> {
  const words = text
    .toLowerCase()
    .split(/\s+/u)
    .map((word) => word.replace(/^\p{P}+|\p{P}+$/gu, ''));
  return new Set(words.filter((word) => word !== ''));
}

/** Shared words by all words, 0 to 1; 0 when either has none. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0;
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  let shared = 0;
  for (const word of few) if (many.has(word)) shared++;
  return shared / (a.size + b.size - shared);
}

/** Trimmed, white space of any length as one blank, without case: topics that fold alike are one. */
export const folded = (text: string): string => text.trim().replace(/\s+/gu, ' ').toLowerCase();

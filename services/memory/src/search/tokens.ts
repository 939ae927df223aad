import { charCount, firstChars } from '@cortex/contracts/text';

const STOP_WORDS = new Set(
  (
    'a an and are as at be been but by for from has have if in is it its of on or that the their them these they this ' +
    'those to was were will with'
  ).split(' '),
);

/** Runs of CJK characters, or of other letters and digits. */
const RUNS = /[\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]+|[\p{L}\p{N}\p{M}]+/gu;
const CJK = /[\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]/u;
const MIXED =
  /[\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]+|[^\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]+/gu;

/** A longer word is a hash or a blob; an index entry has a limit, and nobody looks for its end. */
const LONGEST = 64;

/**
 * The words of a text as search knows them, in order and with repeats: in NFKC and lower case, without stop words, plurals
 * cut; CJK text as overlapping pairs of characters. Facts and queries are both cut up by this, so it is the only place where
 * a text becomes something to look for.
 */
export function tokens(text: string): string[] {
  return (text.normalize('NFKC').toLowerCase().match(RUNS) ?? [])
    .flatMap((run) => run.match(MIXED) ?? [])
    .flatMap((run) => (CJK.test(run) ? pairs(run) : word(run)));
}

/** How often each token stands in a text. */
export function termCounts(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const token of tokens(text)) counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts;
}

function pairs(run: string): string[] {
  if (run.length === 1) return [run];
  return Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2));
}

function word(run: string): string[] {
  if (STOP_WORDS.has(run) || (charCount(run) === 1 && !/^\p{N}/u.test(run))) return [];
  return [stem(firstChars(run, LONGEST))];
}

/** The first rule that fits, for ASCII words of four letters and more. */
function stem(text: string): string {
  if (text.length < 4 || !/^[a-z0-9]+$/.test(text)) return text;
  if (text.endsWith('ies') && !/(?:eies|aies)$/.test(text)) return `${text.slice(0, -3)}y`;
  if (text.endsWith('es') && !/(?:aes|ees|oes)$/.test(text)) return text.slice(0, -1);
  if (text.endsWith('s') && !/(?:us|ss)$/.test(text)) return text.slice(0, -1);
  return text;
}

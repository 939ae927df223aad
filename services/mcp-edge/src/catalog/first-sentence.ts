const MAX_SENTENCE = 120;

/** The first sentence of a description, at most 120 characters; with the full stops of scripts that put no blank behind them. */
export function firstSentence(description: string): string {
  const text = description.replace(/\s+/g, ' ').trim();
  const sentence = /^.*?(?:[.!?](?=\s|$)|[。！？])/u.exec(text)?.[0] ?? text;
  const characters = Array.from(sentence);
  return characters.length <= MAX_SENTENCE ? sentence : `${characters.slice(0, MAX_SENTENCE - 1).join('')}…`;
}

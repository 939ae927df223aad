/** What a rule found in a text that a model will read. */
export interface TextFinding {
  readonly rule: TextRule;
  /** What fired, at most 120 characters, with what shows nothing written as `<U+200B>`. */
  readonly snippet: string;
}
export type TextRule =
  'zero_width_chars' | 'bidi_override' | 'control_chars' | 'prompt_injection' | 'hidden_html_comment';

const SNIPPET = 120;
/** Of a joined emoji, or the sign that asks for its coloured form: where these stand they are seen. */
const SEEN_JOINER =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}])\u{200D}(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})\u{FE0F}|(?<=[0-9#*])\u{FE0F}(?=\u{20E3})/gu;
const INVISIBLE =
  // oxlint-disable-next-line no-misleading-character-class -- single characters are looked for, whatever they combine with
  /[\u00AD\u061C\u180E\u200B-\u200F\u2028\u2029\u202F\u205F-\u2064\uFEFF\uFFF9-\uFFFB\uFE00-\uFE0F\u{E0000}-\u{E007F}]/u;
const BIDI = /[\u202A-\u202E\u2066-\u2069]/u;
/** All controls but tab and the line breaks; a carriage return alone overwrites its line on a terminal. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const CONTROL = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]|\r(?!\n)/u;

const ORDERS = [
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|earlier|above|preceding|foregoing|system|developer|all|any|other)\b.{0,30}\b(?:instructions?|prompts?|rules|messages?|directions?|guidelines?|commands?)\b/i,
  /\b(?:you are now|from now on,? you|act as|become|pretend to be|you must now be)\b.{0,30}\b(?:assistant|ai|agent|model|chatbot|persona)\b/i,
  /\bdear (?:reviewer|scanner|assistant|ai|model|agent|claude|gpt|chatgpt|gemini|llm)\b/i,
  /\b(?:note|message|attention|instructions?|important) (?:to|for) (?:the |any |every )?(?:reviewer|scanner|assistant|ai|llm|language model)\b/i,
  /<\/?(?:system|important|instructions?)>/i,
];
const COMMENT_WORDS = /ignore|disregard|system|instruction|prompt|execute|run|password|secret/i;

/** Letters of other alphabets that look like Latin ones; NFKC leaves them as they are. */
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  'аa ɑa αa сc ϲc ԁd еe єe εe һh іi ıi ιi јj κk кk ӏl мm ոn пn оo οo օo рp ρp ԛq гr ѕs тt τt υu սu νv ѵv ԝw ωw хx χx уy γy'
    .split(' ')
    .map((pair) => [pair.charAt(0), pair.charAt(1)]),
);

/** Arabic words of one character: NFKC makes up to 18 letters of each, none of them Latin, and a text of them would take seconds to read. */
const WORD_LIGATURES = /[\uFDF0-\uFDFC]+/g;

/** As a reader takes it: compatible forms made one, nothing that shows nothing, look-alikes as what they look like, single blanks. */
function asRead(text: string): string {
  return text
    .replace(WORD_LIGATURES, ' ')
    .normalize('NFKC')
    .replace(new RegExp(INVISIBLE, 'gu'), '')
    .replace(/[^\p{ASCII}]/gu, (letter) => LOOKALIKES.get(letter.toLowerCase()) ?? letter)
    .replace(/\s+/g, ' ');
}

/** A text with what shows nothing written by name, so that a person sees it. */
export function shown(text: string): string {
  return text.replace(
    /(?![\n\t])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu,
    (hidden) => `<U+${hidden.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}>`,
  );
}

const around = (text: string, index: number): string =>
  shown(text.slice(Math.max(0, index - 20), index + 40)).slice(0, SNIPPET);

/**
 * Tricks by which a text says something else to a model than to a person, or gives it orders. It knows some wordings, not intent. Each rule
 * at most once. Source: workspace tools, C6; control characters: gateway, section 17.3.
 */
export function hiddenText(text: string): TextFinding[] {
  const found: TextFinding[] = [];
  const add = (rule: TextRule, snippet: string): void => void found.push({ rule, snippet });
  const visible = text.replace(SEEN_JOINER, '');
  const invisible = INVISIBLE.exec(visible);
  if (invisible) add('zero_width_chars', around(visible, invisible.index));
  const bidi = BIDI.exec(text);
  if (bidi) add('bidi_override', around(text, bidi.index));
  const control = CONTROL.exec(text);
  if (control) add('control_chars', around(text, control.index));
  const read = asRead(text);
  const order = ORDERS.map((rule) => rule.exec(read)).find((match) => match !== null);
  if (order) add('prompt_injection', shown(order[0]).slice(0, SNIPPET));
  for (let at = text.indexOf('<!--'); at >= 0;) {
    const end = text.indexOf('-->', at);
    // One that is never closed hides the rest of the text.
    const comment = text.slice(at, end < 0 ? undefined : end + 3);
    if (COMMENT_WORDS.test(comment)) {
      add('hidden_html_comment', shown(comment).slice(0, SNIPPET));
      break;
    }
    at = end < 0 ? -1 : text.indexOf('<!--', end);
  }
  return found;
}

/** How much each voice of a search counts by what a query asks for. */
export interface Biases {
  vector: number;
  fact: number;
  temporal: number;
}

interface Intent extends Biases {
  cues: readonly RegExp[];
}

const cue = (words: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])(?:${words})(?![\\p{L}\\p{N}])`, 'iu');

const MONTHS = 'january|february|march|april|may|june|july|august|september|october|november|december';
const WEEKDAYS = 'monday|tuesday|wednesday|thursday|friday|saturday|sunday';

/** In this order: of two that match equally the first one is meant. */
const INTENTS: readonly Intent[] = [
  {
    vector: 0.6,
    fact: 1.5,
    temporal: 0.8,
    cues: [
      ...['when', 'last', 'yesterday', 'today', 'ago', 'since', 'until', 'recently'].map(cue),
      cue(`${WEEKDAYS}|${MONTHS}`),
      /(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)/,
      cue('(?:this|next|last) week'),
    ],
  },
  {
    vector: 1.0,
    fact: 1.2,
    temporal: 0.9,
    cues: ['what is', 'who is', 'where is', 'define', 'explain', 'how (?:many|much|long)'].map(cue),
  },
  {
    vector: 1.1,
    fact: 1.0,
    temporal: 1.3,
    cues: ['tell me about', 'what do you know about', 'regarding'].map(cue),
  },
  {
    vector: 0.9,
    fact: 0.8,
    temporal: 1.5,
    cues: ['prefer', 'like', 'want', 'favorite', 'best', 'should i', 'recommend', 'choose'].map(cue),
  },
  {
    vector: 1.3,
    fact: 0.9,
    temporal: 0.7,
    cues: ['how (?:to|do|can)', 'step', 'workflow', 'guide', 'install', 'configure', 'deploy', 'run'].map(cue),
  },
];

const GENERAL: Biases = { vector: 1, fact: 1, temporal: 1 };

/** The biases of the intent with the most cues in the query. */
export function biasesOf(query: string): Biases {
  let best: Biases = GENERAL;
  let most = 0;
  for (const { cues, ...biases } of INTENTS) {
    const found = cues.filter((one) => one.test(query)).length;
    if (found > most) [best, most] = [biases, found];
  }
  return best;
}

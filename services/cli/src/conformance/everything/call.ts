/** JSON as the fixture reads and writes it. */
export type Json = Record<string, unknown>;

/** One call as the contract brings it: level 2, with what the gateway knows of the client. */
export interface Call {
  readonly params: Json;
  readonly context: Json;
  /** Writes a line of the answer, where that is a stream. */
  readonly tell: (line: Json) => void;
}
export type Run = (call: Call) => Json | Promise<Json>;

/** What the suite asks for by name. */
export interface FixtureTool {
  readonly description: string;
  readonly inputSchema?: Json;
  /** Its answer is a stream of lines. */
  readonly streamed?: boolean;
  readonly run: Run;
}

export const SCOPE = 'mcp:test:all';
/** The smallest picture and the shortest sound there are. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==';

export const text = (value: string): Json => ({ type: 'text', text: value });
export const said = (value: string): Json => ({ content: [text(value)] });

/** Answers of the client by the keys they were asked under. */
export const answersOf = ({ context }: Call): Record<string, Json> =>
  (context['inputResponses'] ?? {}) as Record<string, Json>;

/** Questions in place of a result. */
export const asks = (inputRequests: Record<string, Json>, requestState?: string): Json => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState !== undefined && { requestState }),
});

/** A form of these fields, all of them required. */
export const form = (message: string, properties: Json): Json => ({
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
  },
});

export const sample = (prompt: string, maxTokens: number): Json => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(prompt) }], maxTokens },
});

export const roots: Json = { method: 'roots/list', params: {} };

/** A field of an accepted form; undefined when it was not given. */
export function field(answer: Json | undefined, name: string): unknown {
  const content = answer?.['content'];
  if (answer?.['action'] !== 'accept' || typeof content !== 'object' || content === null) return undefined;
  return (content as Json)[name];
}

/** The text of a sampled message; undefined when there is none. */
export function sampled(answer: Json | undefined): string | undefined {
  const content = answer?.['content'];
  const block = (Array.isArray(content) ? content[0] : content) as Json | undefined;
  return typeof block?.['text'] === 'string' ? block['text'] : undefined;
}

export const rootsOf = (answer: Json | undefined): Json[] | undefined =>
  Array.isArray(answer?.['roots']) ? (answer['roots'] as Json[]) : undefined;

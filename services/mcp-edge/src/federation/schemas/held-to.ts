import type { CallContext } from '../../calls/call-context.js';
import type { Delivered } from '../../calls/dispatch.js';
import type { EdgeLog } from '../../seams.js';
import { failureOf } from '../failures.js';
import { provenanceOf, toldBy } from '../provenance.js';
import type { FederatedTool } from '../types.js';
import { checkResult, type ResultPolicy, wordsOf } from './result-check.js';
import type { Validator } from './validator.js';

export interface HeldToOptions {
  readonly validator: Pick<Validator, 'check'>;
  readonly results: ResultPolicy;
  /** Whether arguments are checked here and not by the backend alone. */
  readonly arguments: boolean;
  readonly log: EdgeLog;
  readonly onMismatch: (backend: string) => void;
}

/** Holds the calls of federated tools to the schemas that these were declared with, in their original form. */
export class HeldToSchemas {
  constructor(private readonly options: HeldToOptions) {}

  /** A result that refuses the call, where arguments are checked and do not fit; it names the rule that was broken. */
  arguments(ctx: CallContext, tool: FederatedTool): undefined | Promise<Delivered | undefined> {
    return this.options.arguments ? this.#refusal(ctx, tool) : undefined;
  }

  async #refusal({ args_json }: CallContext, tool: FederatedTool): Promise<Delivered | undefined> {
    const verdict = await this.options.validator.check(tool.schemaTexts.input, args_json);
    if (verdict.kind === 'fits') return undefined;
    const text = `${wordsOf(verdict, 'arguments')}; correct them and call again`;
    return {
      members: `"content":[{"type":"text","text":${JSON.stringify(text)}}]`,
      is_error: true,
      fault: { kind: 'invalid_argument' },
      meta: provenanceOf(tool),
    };
  }

  /** The result as it goes to the client. Throws where the policy is strict and it does not fit. */
  result(ctx: CallContext, tool: FederatedTool, delivered: Delivered): Delivered | Promise<Delivered> {
    // Most tools declare none, and most results are plain.
    const plain = delivered.structured === undefined && tool.schemaTexts.output === undefined;
    return plain ? delivered : this.#checked(ctx, tool, delivered);
  }

  async #checked(ctx: CallContext, tool: FederatedTool, delivered: Delivered): Promise<Delivered> {
    const { log, onMismatch, results, validator } = this.options;
    const { structured: _, ...rest } = delivered;
    if (delivered.result_type !== undefined) return rest;
    const checked = await checkResult(tool, delivered, {
      validator,
      policy: results,
      onMisfit: (why) => {
        onMismatch(tool.backend.id);
        const fields = { call_id: ctx.call_id, backend: tool.backend.id, tool: tool.exposed, why };
        log.warn(fields, 'a result does not fit the output schema of its tool');
      },
    });
    if ('invalid' in checked) {
      const { backend, original } = tool;
      throw failureOf(backend, { kind: 'invalid', why: checked.invalid }, original, toldBy(backend, ctx.input.caller));
    }
    const { structured, mismatch } = checked;
    const whole =
      structured === undefined
        ? rest
        : { ...rest, members: `${String(rest.members)},"structuredContent":${structured}` };
    return mismatch === undefined ? whole : { ...whole, meta: { ...rest.meta, 'cortex/schema': { mismatch } } };
  }
}

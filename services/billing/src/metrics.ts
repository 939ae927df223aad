import type { CostEvent } from '@cortex/contracts/cost';
import { HOST, type ServiceHost } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Tokens } from './prices/price-table.js';

const TOKENS: readonly (readonly [keyof Tokens, string])[] = [
  ['input_tokens', 'input'],
  ['output_tokens', 'output'],
  ['cache_read_tokens', 'cache_read'],
  ['cache_creation_tokens', 'cache_creation'],
];

/**
 * What this replica recorded since it started. Labels have few values whatever is reported: a model stands under its name in
 * the table of prices, every other one is `other`, and `unknown` where none was named; of the workspace no more is told than whether there was one.
 */
@Injectable()
export class BillingMetrics {
  readonly #spent;
  readonly #tokens;
  readonly #unpriced;

  constructor(@Inject(HOST) { metrics }: Pick<ServiceHost, 'metrics'>) {
    this.#spent = metrics.counter('cortex_spent_usd_total', 'Spending recorded, in US dollars', [
      'model',
      'mode',
      'source',
      'place',
    ]);
    this.#tokens = metrics.counter('cortex_tokens_total', 'Tokens of recorded spending', ['model', 'kind', 'place']);
    this.#unpriced = metrics.counter('cortex_unpriced_total', 'Records whose cost is unknown', ['model']);
  }

  /** Of one record that is new; `priced` is the model's name in the table of prices, undefined where it has none. */
  recorded(entry: CostEvent['data'], priced: string | undefined, inWorkspace: boolean): void {
    const model = priced ?? (entry.model === null ? 'unknown' : 'other');
    const place = inWorkspace ? 'workspace' : 'none';
    const { cost_usd, mode, source } = entry;
    if (cost_usd === null) this.#unpriced.inc({ model });
    else this.#spent.inc({ model, mode, source, place }, cost_usd);
    for (const [field, kind] of TOKENS) if (entry[field] > 0) this.#tokens.inc({ model, kind, place }, entry[field]);
  }
}

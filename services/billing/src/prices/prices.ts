import { join } from 'node:path';
import { CONFIG, LOG } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { parseConfig, readText } from '../adapters/config-file.js';
import type { Config } from '../config.js';
import { entryOf, merged, priceOf, PriceTable, type ModelPrice } from './price-table.js';
import { PUBLISHED } from './published.js';

/**
 * The published prices with `$CORTEX_HOME/config/prices.json` over them. The file is looked at with every record that needs
 * a price, so a change counts from the next one on; a broken one leaves the last good one in force and is told once.
 */
@Injectable()
export class Prices {
  readonly #file: string;
  #text: string | null = null;
  #table = PUBLISHED;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.#file = join(config.CORTEX_HOME, 'config', 'prices.json');
    this.#refresh();
  }

  /** Undefined for a model without a price. */
  of(provider: string | null, model: string): ModelPrice | undefined {
    this.#refresh();
    return priceOf(this.#table, provider, model);
  }

  /** Under which name of the table the model stands, undefined for one without a price: of these names there are few. */
  nameOf(provider: string | null, model: string): string | undefined {
    return entryOf(this.#table, provider, model)?.[0];
  }

  #refresh(): void {
    let text: string | null;
    try {
      text = readText(this.#file);
    } catch (err) {
      this.log.error({ err, file: this.#file }, 'prices.json cannot be read; the last prices stay in force');
      return;
    }
    if (text === this.#text) return;
    this.#text = text;
    const parsed = text === null ? { value: {} } : parseConfig(text, PriceTable);
    if ('problem' in parsed) {
      const { problem } = parsed;
      this.log.error({ file: this.#file, problem }, `prices.json is broken: ${problem}; the last prices stay in force`);
      return;
    }
    this.#table = merged(PUBLISHED, parsed.value);
    if (text !== null) this.log.info({ file: this.#file }, 'prices.json read');
  }
}

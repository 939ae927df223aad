import type { AnnouncedTool } from '@cortex/contracts';
import { HOST, LOG, type ServiceHost } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Machines } from './machines.js';

/** Keeps the list of machines at the end of the first tool's description up to date. */
@Injectable()
export class MachineList {
  constructor(
    @Inject(HOST) host: ServiceHost,
    @Inject(LOG) log: Logger,
    private readonly machines: Machines,
  ) {
    machines.onChange(() => {
      host.announce().catch((err: unknown) => log.warn({ err }, 'the machines could not be announced'));
    });
  }

  /** Every caller reads the description, so a machine that is open to some only is not in it. */
  appendTo(tool: AnnouncedTool): AnnouncedTool {
    const open = [...this.machines.all()].filter(([, machine]) => machine.allow === undefined);
    const names = open.map(([name, { win }]) => (win === true ? `${name} (Windows)` : name)).sort();
    const list = names.length === 0 ? 'none is registered' : names.join(', ');
    return { ...tool, description: `${tool.description}\n\nMachines: ${list}` };
  }
}

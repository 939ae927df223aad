import { SERVICES, type ServiceName } from '@cortex/contracts/services';
import { runServices } from '@cortex/service-kit';
import { CliError, EXIT } from '../exit.js';
import { loadServices } from '../services.js';

/** `cortex serve`: what a container runs. Nothing is started beside the services, and nobody brings them back. */
export async function serve(names: string[]): Promise<void> {
  const unknown = names.filter((name) => !isService(name));
  if (unknown.length > 0)
    throw new CliError(`service ${unknown.join(', ')} is unknown; use some of ${SERVICES.join(', ')}`, EXIT.usage);
  await runServices(await loadServices(names.filter(isService)));
}

const isService = (name: string): name is ServiceName => (SERVICES as readonly string[]).includes(name);

import { runServices, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { counterService } from './counter.service.js';

/** The sample service in a process of its own. */
@Module({ imports: [ServiceKit.forService(counterService)] })
class CounterModule {}

await runServices([{ module: CounterModule, def: counterService }]);

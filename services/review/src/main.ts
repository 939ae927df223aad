import { runServices } from '@cortex/service-kit';
import { ReviewModule, reviewService } from './review.module.js';

await runServices([{ module: ReviewModule, def: reviewService }]);

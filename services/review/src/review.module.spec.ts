import { startsWithoutTools } from '@cortex/testing';
import { ReviewModule, reviewService } from './review.module.js';

startsWithoutTools({ module: ReviewModule, def: reviewService });

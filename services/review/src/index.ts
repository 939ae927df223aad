export { ReviewModule, reviewService } from './review.module.js';

import { percentile } from '../figures.js';
import { Crowd, type CrowdFigures, type CrowdOrder, type CrowdQuestion } from './crowd.js';

/** Process of the callers: the first message is its order, each later one a question that is answered once. */
process.once('message', (order: CrowdOrder) => {
  const crowd = new Crowd(order);
  const figures = (): CrowdFigures => {
    const { times, ...rest } = crowd.figures();
    return { ...rest, p50_ms: percentile(times, 0.5), p99_ms: percentile(times, 0.99) };
  };
  process.on('message', (question: CrowdQuestion) => {
    if (question === 'figures') process.send?.(figures());
    else void crowd.leave().then(() => process.send?.(figures()));
  });
});
process.once('disconnect', () => process.exit(0));

/**
 * Runs `check` until it neither throws nor returns false, at most `limitMs` long; gives what it returned. The last failure is
 * the error, so that a test that ran out of time says what it still saw.
 */
export async function eventually<T>(check: () => T | Promise<T>, limitMs = 20_000): Promise<Exclude<T, false>> {
  const until = performance.now() + limitMs;
  for (let pause = 2; ; pause = Math.min(pause * 2, 50)) {
    try {
      const value = await check();
      if (value !== false) return value as Exclude<T, false>;
      if (performance.now() > until) throw new Error(`was still false after ${limitMs} ms: ${check.toString()}`);
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

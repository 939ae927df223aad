/** What a record holds under a key that came from outside: `constructor` and `__proto__` are ids like any other. */
export const own = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

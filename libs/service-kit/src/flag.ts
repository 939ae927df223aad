import { z } from 'zod';

const ON = ['true', '1', 'on'] as const;
const OFF = ['false', '0', 'off'] as const;

/** Whether a variable is set to a word that turns something on. */
export const isOn = (word: string | undefined): boolean => ON.some((one) => one === word);

/** A variable that turns something on or off; any other word is a fault, so that nothing is switched by a slip of the pen. */
export const flag = (fallback: boolean) =>
  z
    .enum([...ON, ...OFF])
    .optional()
    .transform((word) => (word === undefined ? fallback : isOn(word)));

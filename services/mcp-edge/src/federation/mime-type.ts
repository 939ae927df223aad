/** Whether a value can be handed on as a `mimeType`: clients put it into headers and pages. */
export const isMimeType = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 255 && value !== '' && !/\p{Cc}/u.test(value);

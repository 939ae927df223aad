import { createHash } from 'node:crypto';
import { z } from 'zod';
import { invalidArgument } from './errors.js';

/** One token of a subject, and so every id: 1 to 64 of `A-Z a-z 0-9 _ - :`. Source: architecture, section 11.1. */
export const TOKEN_PATTERN = /^[A-Za-z0-9_:-]{1,64}$/;

export const isToken = (text: string): boolean => TOKEN_PATTERN.test(text);

export const ID_PROBLEM = 'must be 1 to 64 of A-Z a-z 0-9 _ - :';

/** An id that may stand in a subject. */
export const Id = z.string().regex(TOKEN_PATTERN, ID_PROBLEM);

export const WorkspaceId = Id.describe('Id of the workspace');

/** The workspace token of what belongs to no workspace. */
export const NO_WORKSPACE = '_';

/** Refuses what cannot stand in a subject before a subject is built of it (threat T84). */
export function assertToken(field: string, text: string): string {
  if (isToken(text)) return text;
  throw invalidArgument(field, 'is no id', 'use 1 to 64 of A-Z a-z 0-9 _ - :');
}

export const sha256Hex = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex');

/** Stands for a key that names a person or does not fit: the first 32 hex digits of its SHA-256. */
export const hashedToken = (key: string): string => sha256Hex(key).slice(0, 32);

/** The name of a tool as a subject token; the record keeps the real name. */
export const toolToken = (name: string): string => name.replace(/[^A-Za-z0-9_:-]/g, '_').slice(0, 64);

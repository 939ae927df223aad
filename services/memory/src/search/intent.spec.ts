import { expect, it } from '@jest/globals';
import { biasesOf } from './intent.js';

it.each([
  ['when was the last release', { vector: 0.6, fact: 1.5, temporal: 0.8 }],
  ['what changed on 2026-01-05', { vector: 0.6, fact: 1.5, temporal: 0.8 }],
  ['how long do sessions last', { vector: 0.6, fact: 1.5, temporal: 0.8 }],
  ['what is the session TTL', { vector: 1.0, fact: 1.2, temporal: 0.9 }],
  ['tell me about the pipeline', { vector: 1.1, fact: 1.0, temporal: 1.3 }],
  ['which library do we prefer', { vector: 0.9, fact: 0.8, temporal: 1.5 }],
  ['how to deploy and configure it', { vector: 1.3, fact: 0.9, temporal: 0.7 }],
  ['session token', { vector: 1, fact: 1, temporal: 1 }],
  ['blast lastly whenever', { vector: 1, fact: 1, temporal: 1 }],
])('%j weighs its voices by what it asks for', (query, biases) => expect(biasesOf(query)).toEqual(biases));

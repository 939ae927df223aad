import { describe, expect, it } from '@jest/globals';
import { absentOwner } from './absent.js';
import type { Backend } from './types.js';

const shelf = (id: string, healthy: boolean | null, prefix = `${id}_`) => ({
  backend: { id, prefix } as Backend,
  healthy,
  awaySince: healthy === false ? '2026-01-01T00:00:00.000Z' : undefined,
  problem: undefined,
});
const holding = (names: Record<string, string[]>) =>
  new Map(Object.entries(names).map(([id, list]) => [id, new Map(list.map((name) => [name, name]))]));
const ownerOf = (name: string, shelves: ReturnType<typeof shelf>[], names: Record<string, string[]> = {}) =>
  absentOwner(name, shelves, holding(names))?.backend.id;

describe('a name that no tool has', () => {
  it('is of the backend that held it and is away', () => {
    const held = { home: ['light'], lab: ['lab_light'] };
    expect(ownerOf('light', [shelf('home', false, 'none'), shelf('lab', true)], held)).toBe('home');
    expect(ownerOf('lab_light', [shelf('home', false, 'none'), shelf('lab', true)], held)).toBeUndefined();
  });

  it('is nobody’s where a backend that is away held others', () => {
    expect(ownerOf('home_nothing', [shelf('home', false)], { home: ['home_light'] })).toBeUndefined();
  });

  it('is of the backend with the longest prefix of it where nobody knows what that one has', () => {
    expect(ownerOf('home_lab_light', [shelf('home', false)])).toBe('home');
    expect(ownerOf('home_lab_light', [shelf('home', false), shelf('lab', false, 'home_lab_')])).toBe('lab');
    expect(ownerOf('home_lab_light', [shelf('home', false), shelf('lab', true, 'home_lab_')])).toBeUndefined();
    expect(ownerOf('light', [shelf('home', false, '')])).toBeUndefined();
  });

  it('is nobody’s while the backend has not been asked yet', () => {
    expect(ownerOf('home_light', [shelf('home', null)])).toBeUndefined();
  });
});

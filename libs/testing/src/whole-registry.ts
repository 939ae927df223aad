import { readdirSync } from 'node:fs';
import { REGISTRY_CLASSES, REQUIRES_APPROVAL } from '@cortex/contracts';
import type { Tool } from '@cortex/service-kit';
import { expect, it } from '@jest/globals';

/** What holds for the tools of every service. `spec` is the `import.meta.url` of the test beside their files. */
export function wholeRegistry(tools: readonly Tool[], spec: string): void {
  it('lists every tool file', () => {
    const files = readdirSync(new URL('.', spec)).filter((name) => name.endsWith('.tool.ts'));
    const names = files.map((name) => name.replace('.tool.ts', '').replaceAll('-', '_'));
    expect(tools.map((tool) => tool.name).sort()).toEqual(names.sort());
  });

  it('describes every argument', () => {
    const bare = tools.flatMap(({ name, announced }) =>
      Object.entries(announced.input_schema['properties'] as Record<string, { description?: string }>)
        .filter(([, { description }]) => !description)
        .map(([field]) => `${name}.${field}`),
    );
    expect(bare).toEqual([]);
  });

  it('declares the classes and approvals that the gates go by', () => {
    // Those of a capability group are no tools of the workspace registry, and name their classes themselves.
    for (const { name, actions, announced } of tools.filter((tool) => tool.announced.group === undefined)) {
      expect([name, actions]).toEqual([name, REGISTRY_CLASSES[name] ?? []]);
      expect([name, announced.approval]).toEqual([name, REQUIRES_APPROVAL.includes(name)]);
    }
  });
}

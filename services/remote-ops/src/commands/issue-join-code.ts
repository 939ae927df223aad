import { randomBytes } from 'node:crypto';
import { notFound } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { joinCodeDigest } from '../adapters/handshake.js';
import { Machines } from '../adapters/machines.js';
import { device, deviceId } from '../device/device.decider.js';
import { DeviceName } from './names.js';

const LIFE_MS = 15 * 60 * 1000;

/** A code that lets one machine join under this name, once, within 15 minutes. Only its digest is recorded. */
export const issueJoinCode = defineCommand({
  name: 'issue_join_code',
  input: z.object({ name: DeviceName }),
  async handle({ name }, ctx) {
    const machines = ctx.get(Machines);
    machines.refresh(); // another instance may just have added it
    if (machines.get(name) === undefined) {
      throw notFound('name', 'is not in machines.json', 'add the machine first');
    }
    const code = randomBytes(16).toString('base64url');
    const expires_at = new Date(Date.parse(ctx.now()) + LIFE_MS).toISOString();
    const command = { type: 'IssueJoinCode' as const, device: name, code_sha256: joinCodeDigest(code), expires_at };
    await ctx.execute(device, deviceId(name), command, { workspace: null });
    return { code, expires_at };
  },
});

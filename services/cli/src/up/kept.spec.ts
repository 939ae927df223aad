import { describe, expect, it } from '@jest/globals';
import type { Exit, Running } from '@cortex/embedded/child';
import { eventually } from '@cortex/testing/eventually';
import { Kept } from './kept.js';

/** A process that ends when it is told to. */
class Puppet implements Running {
  readonly port = 0;
  readonly exited: Promise<Exit>;
  end: (code?: number) => void = () => undefined;
  stopped = false;

  constructor(readonly pid: number) {
    this.exited = new Promise((resolve) => (this.end = (code = 1) => resolve({ code, signal: null })));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.end();
  }

  kill = this.stop.bind(this);
}

function keep(make: (n: number) => Promise<Puppet>) {
  const puppets: Puppet[] = [];
  const died: string[] = [];
  const waits: number[] = [];
  let refused = 0;
  const kept = new Kept(
    'puppet',
    async () => {
      const puppet = await make(puppets.length + 1);
      puppets.push(puppet);
      return puppet;
    },
    {
      started: () => undefined,
      died: (why, waitMs) => {
        died.push(why);
        waits.push(waitMs);
      },
      refused: () => void refused++,
    },
  );
  return { kept, puppets, died, waits, refused: () => refused };
}

describe('a kept process', () => {
  it('is started again whenever it ends', async () => {
    const { kept, puppets, died } = keep(async (n) => new Puppet(n));
    await kept.begin();
    puppets[0]?.end();
    await eventually(() => expect(puppets).toHaveLength(2));
    expect(died).toEqual(['ended with code 1']);
    await kept.stop(0);
    expect(puppets[1]?.stopped).toBe(true);
  });

  it('is started again ever later while it ends at once', async () => {
    const { kept, waits } = keep(async (n) => {
      const puppet = new Puppet(n);
      puppet.end();
      return puppet;
    });
    await kept.begin();
    await eventually(() => expect(waits).toEqual([100, 200, 400]));
    await kept.stop(0);
  });

  it('is not started again when it says that its configuration is unusable', async () => {
    const { kept, puppets, died, refused } = keep(async (n) => new Puppet(n));
    await kept.begin();
    puppets[0]?.end(78);
    await eventually(() => expect(refused()).toBe(1));
    await kept.stop(0);
    expect([puppets.length, died, kept.running]).toEqual([1, [], undefined]);
  });

  it('is tried again when it cannot be started again', async () => {
    let fail = true;
    const { kept, puppets } = keep(async (n) => {
      if (n === 2 && fail) {
        fail = false;
        throw new Error('no memory');
      }
      return new Puppet(n);
    });
    await kept.begin();
    puppets[0]?.end();
    await eventually(() => expect(puppets).toHaveLength(2));
    await kept.stop(0);
  });

  it('tells its first failure to whoever started it, and is not tried again', async () => {
    const { kept, puppets } = keep(() => Promise.reject(new Error('port taken')));
    await expect(kept.begin()).rejects.toThrow('port taken');
    await kept.stop(0);
    expect(puppets).toEqual([]);
  });

  it('is ended when it is asked to stop while it starts', async () => {
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const { kept, puppets } = keep(async (n) => {
      await gate;
      return new Puppet(n);
    });
    const begun = kept.begin();
    const stopped = kept.stop(0);
    go();
    await Promise.all([begun, stopped]);
    expect(puppets.map(({ stopped: was }) => was)).toEqual([true]);
  });

  it('does not come back after stop, also from between two tries', async () => {
    const { kept, puppets } = keep(async (n) => new Puppet(n));
    await kept.begin();
    puppets[0]?.end();
    await eventually(() => expect(kept.running).toBeUndefined());
    await kept.stop(0);
    expect(puppets).toHaveLength(1);
  });
});

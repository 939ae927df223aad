import { describe, expect, it } from '@jest/globals';
import { createLog, nestLog } from './log.js';

function logged(write: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = [];
  write(createLog('debug', { write: (line: string) => void lines.push(line) }));
  return lines;
}

describe('log', () => {
  it('T88 writes one JSON line per record, whatever stands in names and errors', () => {
    const hostile = 'x\n{"level":"error","msg":"forged"}\r\n\u001b[2J\u0000\u0085\u009b31m\u2028\u202egpj\u007f\ufeff';
    const error = new Error(hostile);
    error.stack = hostile;
    const lines = logged((log) => {
      log.info({ tool: hostile, [hostile]: hostile, err: error }, hostile);
      nestLog(log).error(hostile, hostile);
    });
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      expect(line.slice(0, -1)).toMatch(/^[\x20-\x7e]*$/);
      expect(line.endsWith('\n')).toBe(true);
      const record = JSON.parse(line) as { msg: string; level: string };
      expect(record.msg).toBe(hostile);
    }
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'info', tool: hostile });
  });

  it('carries no trace ids when nothing is traced', () => {
    expect(JSON.parse(logged((log) => log.info('x'))[0]!)).not.toHaveProperty('trace_id');
  });
});

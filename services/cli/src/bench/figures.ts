/** What one visit to a target gave. */
export interface Visit {
  target: string;
  connections: number;
  round: number;
  requests_per_s: number;
  p50_ms: number;
  p99_ms: number;
  /** CPU of the server under measurement, all threads, microseconds per request. */
  cpu_us: number;
  /** Cores of each process of the list in the measured time. */
  cores: Record<string, number>;
  resident_mib: number;
  /** Cores that nobody of the list used: neighbours. */
  foreign_cores: number;
}

export interface Row {
  target: string;
  connections: number;
  requests_per_s: number;
  p50_ms: number;
  p99_ms: number;
  cpu_us: number;
  resident_mib: number;
}

export interface Ratio {
  target: string;
  floor: string;
  connections: number;
  /** Median over rounds of target / floor of the same round. */
  requests_per_s: number;
  cpu: number;
  p50: number;
  /** Each round's ratio of requests per second. */
  rounds: number[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] =
    sorted.length % 2 ? [sorted[middle], sorted[middle]] : sorted.slice(middle - 1, middle + 1);
  return (low + high) / 2;
}

/** The value below which the share `p` of all lies. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

const groups = (visits: readonly Visit[]): Map<string, Visit[]> =>
  Map.groupBy(visits, ({ target, connections }) => `${target} ${connections}`);

/** One row per target and number of connections: medians over the rounds; memory is the highest seen. */
export function rows(visits: readonly Visit[]): Row[] {
  return [...groups(visits).values()].map((group) => {
    const of = (field: 'requests_per_s' | 'p50_ms' | 'p99_ms' | 'cpu_us') => median(group.map((visit) => visit[field]));
    const [{ target, connections }] = group as [Visit];
    return {
      target,
      connections,
      requests_per_s: of('requests_per_s'),
      p50_ms: of('p50_ms'),
      p99_ms: of('p99_ms'),
      cpu_us: of('cpu_us'),
      resident_mib: Math.max(...group.map((visit) => visit.resident_mib)),
    };
  });
}

/** A target against a floor, round by round: neighbours that come and go hit both sides of a pair alike. */
export function ratio(visits: readonly Visit[], target: string, floor: string, connections: number): Ratio | undefined {
  const find = (name: string, round: number) =>
    visits.find((visit) => visit.target === name && visit.round === round && visit.connections === connections);
  const pairs = [...new Set(visits.map((visit) => visit.round))].flatMap((round) => {
    const [ours, theirs] = [find(target, round), find(floor, round)];
    return ours && theirs
      ? [
          {
            rps: ours.requests_per_s / theirs.requests_per_s,
            cpu: ours.cpu_us / theirs.cpu_us,
            p50: ours.p50_ms / theirs.p50_ms,
          },
        ]
      : [];
  });
  if (pairs.length === 0) return undefined;
  const rounds = pairs.map((pair) => pair.rps);
  return {
    target,
    floor,
    connections,
    requests_per_s: median(rounds),
    cpu: median(pairs.map((pair) => pair.cpu)),
    p50: median(pairs.map((pair) => pair.p50)),
    rounds,
  };
}

/** The order of a round: each one begins one further on, so that nobody is always first or always after the same one. */
export const rotated = <T>(items: readonly T[], by: number): T[] => {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
};

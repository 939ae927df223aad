/** One figure of a scenario; without a limit it is told, not judged. */
export interface Finding {
  what: string;
  value: number;
  goal?: { bound: 'at least' | 'at most'; limit: number };
}

/** What is measured otherwise than by requests per second beside floors. */
export interface Scenario {
  name: string;
  what: string;
  run(options: { quick: boolean; signal: AbortSignal; tell: (line: string) => void }): Promise<Finding[]>;
}

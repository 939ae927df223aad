/** One record of spending. Money in US dollars with at most six decimals; times ISO 8601. Source: agent-server, section 23. */
export interface CostRecord {
  timestamp: string;
  project: string;
  trigger: string | null;
  cost_usd: number | null;
  num_turns: number | null;
  duration_s: number | null;
  backend: string | null;
  mode: 'api' | 'plan';
  source: 'estimate' | 'gateway';
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_creation_tokens: number;
  provider: string | null;
  model: string | null;
  session_id: string | null;
  owner_session_id: string | null;
  execution_id: string | null;
}

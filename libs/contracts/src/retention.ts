const YEAR = 365;
const MOST = 36_500;

/** Days that call records are kept, as `CORTEX_AUDIT_RETENTION_DAYS` says: 1 to 36,500; what is no such number means 365. Source: gateway, section 20. */
export function retentionDays(text: string | undefined): number {
  const days = /^\s*\d+\s*$/.test(text ?? '') ? Number(text) : 0;
  return days >= 1 && days <= MOST ? days : YEAR;
}

/** Why a token was refused; the values of the counter and of the record. Source: gateway, section 10.3. */
export const AUTH_REFUSALS = {
  missing: 'no token was sent',
  in_query: 'a token in the query string counts as none; send it as Authorization: Bearer',
  malformed: 'the token is no signed JWT',
  too_large: 'the token is over 8 KiB',
  alg: 'the signature algorithm of the token is not accepted here',
  unknown_key: 'the key that signed the token is unknown',
  no_keys: 'the keys of the issuer cannot be fetched just now',
  signature: 'the signature of the token does not fit',
  issuer: 'the token comes from another issuer',
  audience: 'the audience of the token is not this server',
  expired: 'the token has expired',
  not_yet_valid: 'the token is not valid yet',
  no_sub: 'the token names no subject',
  no_jti: 'the token has no jti',
  revoked: 'the token has been revoked',
  introspection: 'the issuer could not be asked whether the token is still good',
  session_closed: 'the session of the token has ended, or there never was one',
  view_behind: 'it cannot be told just now whether the session of the token is open',
} as const;
export type AuthReason = keyof typeof AUTH_REFUSALS;

/** A refused token. Data, not an error: refusing must stay cheap, and no byte of the token may get into a stack. */
export interface AuthRefusal {
  refused: AuthReason;
  /** The reason in words, for `error_description`. */
  description: string;
}

const refusals = Object.fromEntries(
  Object.entries(AUTH_REFUSALS).map(([refused, description]) => [refused, Object.freeze({ refused, description })]),
) as Record<AuthReason, AuthRefusal>;

export const refuse = (reason: AuthReason): AuthRefusal => refusals[reason];

const malformed = (description: string): AuthRefusal => Object.freeze({ refused: 'malformed', description });

/** Signed JWTs that lack what is asked of every token, in words by which an issuer can be set right. */
export const MALFORMED = {
  typ: malformed('the typ of the token says that it is no access token'),
  times: malformed('the token has no exp, or its exp, nbf or iat is no number'),
  sub: malformed('the sub of the token has control characters'),
  sid: malformed('the token names no session'),
};

export const isRefusal = (value: object): value is AuthRefusal => 'refused' in value;

import { createHash } from 'node:crypto';
import { meaningOf } from '../../scopes.js';
import { isLoopback } from './resource.js';

const STYLE = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 3rem auto; padding: 0 1rem; }
dt { font-weight: 600; margin-top: .75rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.warn { border-left: 4px solid #c60; padding: .25rem .75rem; }
.bad { border-left: 4px solid #c00; padding: .25rem .75rem; }
input { font: 1.25rem ui-monospace, monospace; padding: .4rem; width: 12em; text-transform: uppercase; }
button { font: inherit; padding: .4rem 1rem; margin: 1rem .5rem 0 0; }
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** As HTML text, with what a reader cannot see (controls, direction marks, zero widths) made visible. */
export const escape = (text: string): string =>
  text
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
    .replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? '');

export interface LoginPage {
  clientName: string | undefined;
  clientId: string;
  redirectUri: string;
  scopes: readonly string[];
  /** Why the last try did not do. */
  problem?: string;
}

export interface Html {
  html: string;
  csp: string;
}

/** What the owner is asked before a client gets a token. */
export function loginPage({ clientName, clientId, redirectUri, scopes, problem }: LoginPage): Html {
  const target = new URL(redirectUri);
  const away = /^https?:$/.test(target.protocol) && !isLoopback(target.hostname);
  const body = `
<h1>Let a client use Cortex?</h1>
<dl>
  <dt>It calls itself</dt>
  <dd><bdi>${clientName === undefined ? '(it gives no name)' : escape(clientName)}</bdi> — unverified: anybody can choose this name</dd>
  <dt>It continues at</dt>
  <dd><code>${escape(redirectUri)}</code></dd>
  <dt>It would be allowed to</dt>
  ${scopes.map((scope) => `<dd>${escape(meaningOf(scope))} <code>${escape(scope)}</code></dd>`).join('\n  ')}
  <dt>Its id</dt>
  <dd><code>${escape(clientId)}</code></dd>
</dl>
${away ? `<p class="warn">This is not a program on this machine: <b>${escape(target.host)}</b> will get the access.</p>` : ''}
<p>Go on only if you have just started this yourself, in that client. Whoever sent you here by a link gets what you allow.</p>
${problem === undefined ? '' : `<p class="bad" role="alert">${escape(problem)}</p>`}
<form method="post">
  <p><label for="code">Login code, as <code>cortex up</code> and <code>cortex status</code> print it</label></p>
  <input id="code" name="code" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="40" required autofocus>
  <br>
  <button name="decision" value="allow">Allow</button>
  <button name="decision" value="deny" formnovalidate>Do not allow</button>
</form>`;
  return document('Cortex: log a client in', body, `'self' ${sourceOf(target)}`);
}

/** A page that only tells something. */
export const messagePage = (title: string, text: string): Html =>
  document(title, `<h1>${escape(title)}</h1>\n<p>${escape(text)}</p>`, "'none'");

/** A browser holds the redirects behind a form to `form-action` too. Its grammar knows no IPv6 address. */
function sourceOf({ protocol, host, hostname }: URL): string {
  if (!/^https?:$/.test(protocol) || hostname.startsWith('[')) return protocol;
  return `${protocol}//${host}`;
}

function document(title: string, body: string, formAction: string): Html {
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>${STYLE}</style>
</head>
<body>${body}
</body>
</html>
`,
    csp: `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`,
  };
}

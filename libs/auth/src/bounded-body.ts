/** The body of a response as text, bounded while it is read: a server that goes on for ever costs no more than the limit. */
export async function boundedBody({ body }: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the rest.
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`answered more than ${maxBytes / 1024} KiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

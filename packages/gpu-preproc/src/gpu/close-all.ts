/**
 * Closes one after the other, also when one refuses, as all do on a device whose context is lost: none is left open.
 * Undefined ones are passed over.
 * @throws what the first that refused did so with
 */
export async function closeAll(all: Iterable<{ close(): Promise<void> } | undefined>): Promise<void> {
  const refusals: unknown[] = [];
  for (const each of all) await each?.close().catch((error: unknown) => refusals.push(error));
  if (refusals.length > 0) throw refusals[0];
}

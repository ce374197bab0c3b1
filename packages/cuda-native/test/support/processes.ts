import { expectNothingLeft, type Snapshot } from '@zerohop/test-support';

/**
 * Waits until no child process that began after `before` is left. Names in /dev/shm don't count: what is tested so makes
 * none, and the files of this tier, which run side by side, make theirs.
 */
export async function expectNoProcessLeft(before: Snapshot): Promise<void> {
  await expectNothingLeft(before, { belongs: () => false });
}

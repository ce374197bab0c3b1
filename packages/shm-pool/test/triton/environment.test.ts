import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeTier, sharedTriton, withSmallSharedMemory } from '@zerohop/test-support';
import { expect, test } from 'vitest';

const opener = fileURLToPath(new URL('../fixtures/opener.mjs', import.meta.url));

interface Outcome {
  readonly transport?: string;
  readonly reason?: string;
  readonly code?: string;
  readonly message?: string;
  readonly left: readonly string[];
}

/** Opens a pool in a process that has a /dev/shm of 1 MiB of its own, which the server does not see. */
async function openElsewhere(options: object): Promise<Outcome> {
  const [command = '', ...before] = withSmallSharedMemory(1);
  const { grpcUrl } = sharedTriton();
  const args = [...before, process.execPath, opener, grpcUrl, JSON.stringify(options)];
  const { stdout } = await promisify(execFile)(command, args);
  return JSON.parse(stdout) as Outcome;
}

describeTier(
  'triton',
  "a /dev/shm that is small, and not the server's",
  () => {
    test('too small for the slots: needed and free bytes, the remedy, and nothing left', async () => {
      const large = {
        model: 'identity',
        slots: 1,
        transport: 'system',
        shapes: { INPUT0: [512, 512], OUTPUT0: [512, 512] },
      };
      const full = await openElsewhere(large);
      expect(full).toMatchObject({ code: 'ERR_SHM_FULL', left: [] });
      expect(full.message).toMatch(/2097152.*--shm-size/s);
    });

    test('not shared with the server: said so, and nothing left', async () => {
      const outcome = await openElsewhere({ model: 'identity_64', slots: 2, transport: 'system' });
      expect(outcome).toMatchObject({ code: 'ERR_SHM_NAMESPACE', left: [] });
      expect(outcome.message).toContain('--ipc=host');
    });

    test("'auto' goes on to messages, and says why", async () => {
      const outcome = await openElsewhere({ model: 'identity_64', slots: 2 });
      expect(outcome).toMatchObject({ transport: 'bytes', left: [] });
      expect(outcome.reason).toMatch(/not system: The server does not see our \/dev\/shm/);
    });
  },
  { needs: ['mount'] },
);

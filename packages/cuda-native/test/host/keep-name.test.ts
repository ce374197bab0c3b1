import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { describeTier } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { SharedMemory } from '../../src/index.js';

const entry = new URL('../../dist/index.js', import.meta.url).href;

/** Makes a region in another process, runs `then` there, and waits for the end of that process. */
async function makeElsewhere(key: string, options: object, then: string): Promise<void> {
  const script = `
    const { SharedMemory } = await import('${entry}');
    const memory = await SharedMemory.create('${key}', 4096, ${JSON.stringify(options)});
    ${then}`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]).catch(() => undefined);
}

describeTier(
  'host',
  'a name that is to be kept',
  () => {
    const key = (name: string) => `/zerohop-test-keep-${process.pid}-${name}`;

    test.for([
      ['exit', 'process.exit();'],
      ['uncaught', 'throw new Error("Nobody catches this");'],
      ['kill', 'process.kill(process.pid, "SIGKILL");'],
    ] as const)('outlives its process, unlocked: %s', async ([name, then]) => {
      await makeElsewhere(key(name), { keepName: true }, then);
      expect(SharedMemory.tryRemove(key(name))).toBe('removed');
      expect(existsSync(`/dev/shm${key(name)}`)).toBe(false);
    });

    test.for([
      ['close', 'memory.close();'],
      ['unlink', 'memory.unlink(); process.exit();'],
    ] as const)('goes when it is told to: %s', async ([name, then]) => {
      await makeElsewhere(key(name), { keepName: true }, then);
      expect(SharedMemory.tryRemove(key(name))).toBe('absent');
    });

    test('goes with its process unless it is to be kept', async () => {
      await makeElsewhere(key('plain'), {}, 'process.exit();');
      expect(SharedMemory.tryRemove(key('plain'))).toBe('absent');
    });

    test('is locked while its maker lives; a wrong option makes nothing', async () => {
      const memory = await SharedMemory.create(key('here'), 4096, { keepName: true });
      expect(SharedMemory.tryRemove(key('here'))).toBe('locked');
      memory.close();
      expect(SharedMemory.tryRemove(key('here'))).toBe('absent');
      await expect(SharedMemory.create(key('wrong'), 16, { keepName: 1 as never })).rejects.toThrow(TypeError);
      expect(SharedMemory.tryRemove(key('wrong'))).toBe('absent');
    });
  },
  { needs: ['addon'] },
);

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describeTier } from '@zerohop/test-support';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { describeTwoGpus, type VisibleServer } from '../support/two-gpus-suite.js';

const fixture = fileURLToPath(new URL('../fixtures/visible-server.mjs', import.meta.url));
const env = { ZEROHOP_LIBCUDA: buildFakeLibcuda() };

async function startServer(visible: string): Promise<VisibleServer> {
  const child = fork(fixture, { env: { ...process.env, ...env, CUDA_VISIBLE_DEVICES: visible }, execArgv: [] });
  const exit = once(child, 'exit');
  const ended = exit.then(([code]) => {
    throw new Error(`The server ended with ${String(code)}`);
  });
  const [addresses] = (await Promise.race([once(child, 'message'), ended])) as [Omit<VisibleServer, 'end'>];
  ended.catch(() => undefined);
  return {
    ...addresses,
    end: async () => {
      child.disconnect();
      await exit;
    },
  };
}

describeTier('driver', 'two GPUs of the fake driver, seen in different orders', () => {
  describeTwoGpus({ startServer, env, hostShowsGpus: false });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describeTier, expectNothingLeft, repositoryRoot, takeSnapshot, tied } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { freePorts } from '../../src/ports.js';

const script = `
  const { serve } = await import(${JSON.stringify(join(repositoryRoot, 'scripts', 'triton.mjs'))});
  process.exitCode = await serve(process.argv.slice(1));
`;

/** `npm run triton` after set-up. */
function serve(...args: string[]) {
  const child = spawn(...tied(process.execPath, ['--input-type=module', '-e', script, '--', ...args]), {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  return { child, closed: once(child, 'close'), stderr: () => stderr };
}

describeTier('triton', 'npm run triton', () => {
  test('prints its addresses, serves, and leaves nothing after Ctrl-C', async () => {
    const before = takeSnapshot();
    const [http, grpc, metrics] = await freePorts(3);
    const { child, closed } = serve('--ports', `${http},${grpc},${metrics}`);
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    expect(said.toString()).toBe(
      `gRPC     grpc://127.0.0.1:${grpc}\nHTTP     http://127.0.0.1:${http}\nmetrics  http://127.0.0.1:${metrics}/metrics\n`,
    );
    for (const model of ['identity_64', 'defects']) {
      expect((await fetch(`http://127.0.0.1:${http}/v2/models/${model}/ready`)).status).toBe(200);
    }
    // From the terminal, and once more from npm.
    child.kill('SIGINT');
    child.kill('SIGINT');
    expect(await closed).toEqual([0, null]);
    await expectNothingLeft(before, { belongs: (name) => name.startsWith(`zerohop-triton-${child.pid}-`) });
  });

  test('a port that is taken ends it with a sentence', async () => {
    const [http, grpc] = await freePorts(2);
    const occupant = createServer();
    await new Promise<void>((resolve) => occupant.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void occupant.close());
    const { port } = occupant.address() as AddressInfo;
    const { closed, stderr } = serve(`--ports=${http},${grpc},${port}`);
    expect(await closed).toEqual([1, null]);
    expect(stderr()).toMatch(/^Port \d+ of 127\.0\.0\.1 is already in use: .* \(--ports HTTP,GRPC,METRICS\)\n$/);
  });

  test.each([
    ['--port'],
    ['--ports'],
    ['--ports', '1,2'],
    ['--ports', '1,1,2'],
    ['--ports', '1,2,70000'],
    ['--ports=a,b,c'],
  ])('wrong usage: %s %s', async (...args) => {
    const { closed, stderr } = serve(...args);
    expect(await closed).toEqual([2, null]);
    expect(stderr()).toContain('Use: npm run triton');
  });
});

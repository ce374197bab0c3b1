import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

const run = (...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, [cli, ...args], (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });

const BATCHED = `\
/** Of \`client.model<Batched>('batched')\`. Made from the server's metadata; -1: a dimension that varies. */
export interface Batched {
  inputs: {
    /** FP16 [-1, 3, 2] */
    IMAGE: 'FP16';
    /** BYTES [-1, 1] */
    LABEL?: 'BYTES';
  };
  outputs: {
    /** FP16 [-1, 3, 2] */
    COPY: 'FP16';
    /** FP32 [-1, 1] */
    SUM: 'FP32';
    /** BYTES [-1, 1] */
    TEXT: 'BYTES';
  };
}
`;

describeTier('triton', 'the types command', () => {
  test('writes the interface of a model, by both transports, to standard output or a file', async () => {
    const { grpcUrl, httpUrl } = sharedTriton();
    for (const url of [grpcUrl, httpUrl]) {
      expect(await run('types', '--url', url, '--model', 'batched')).toEqual({ code: 0, stdout: BATCHED, stderr: '' });
    }
    const folder = await mkdtemp(join(tmpdir(), 'zerohop-types-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const out = join(folder, 'model.d.ts');
    const args = ['--url', grpcUrl, '--model', 'batched', '--version', '1', '--name', 'Mine', '--out', out];
    expect(await run('types', ...args)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await readFile(out, 'utf8')).toBe(BATCHED.replaceAll('Batched', 'Mine'));
  });

  test('what cannot be done ends with 1 and says why', async () => {
    const unknown = await run('types', '--url', sharedTriton().grpcUrl, '--model', 'no-such-model');
    expect(unknown).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('no-such-model') });
    const nobody = await run('types', '--url', 'grpc://127.0.0.1:1', '--model', 'm');
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('No Triton server answers') });
  });

  test.each([
    [[]],
    [['fetch']],
    [['types', '--model', 'm']],
    [['types', '--url', 'ftp://x', '--model', 'm']],
    [['types', '--url', 'grpc://x:1', '--model', 'm', '--name', 'a b']],
    [['types', '--wrong']],
  ])('a wrong command line ends with 2: %s', async (args) => {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: triton-client types --url URL --model NAME');
  });

  test('--help', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--out FILE') });
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { expect, it, onTestFinished } from 'vitest';
import type { DetectReport } from '../../src/report.js';
import { differences } from '../support/boxes.js';
import { runCli } from '../support/cli.js';
import { foundOnCpu, samplePaths } from '../support/samples.js';

/** The development server as a program, with the models of this repository. */
async function devServer() {
  const program = join(repositoryRoot, 'packages/triton-devserver/dist/cli.js');
  const ports = ['--grpc-port=0', '--http-port=0', '--metrics-port=0'];
  const child = spawn(process.execPath, [program, '--model-repository', join(repositoryRoot, 'models'), ...ports]);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    said.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.err += chunk;
  });
  await expect.poll(() => said.out, { timeout: 30_000 }).toMatch(/^model +defects 1 READY\nready\n/m);
  const url = /^grpc +(\S+)$/m.exec(said.out)?.[1] ?? '';
  const end = async () => {
    child.kill('SIGTERM');
    const [code] = await once(child, 'close');
    return { code, stderr: said.err };
  };
  return { url, end };
}

describeTier('driver', 'zerohop detect against triton-devserver, which runs the ONNX file', () => {
  // Messages of 100 MB take their time.
  const runs = [
    { transport: 'system', pictures: samplePaths },
    { transport: 'bytes', pictures: samplePaths.slice(0, 1) },
  ];
  it.each(runs)('finds what a real server found, by $transport', async ({ transport, pictures }) => {
    const { url, end } = await devServer();
    const { code, stdout } = await runCli(['detect', ...pictures, '--url', url, '--transport', transport, '--json']);
    expect(code).toBe(0);
    const { results, failures } = JSON.parse(stdout) as DetectReport;
    expect(failures).toBeUndefined();
    expect(results.map((each) => each.transport)).toEqual(pictures.map(() => transport));
    for (const [index, { image, detections }] of results.entries()) {
      const recorded = foundOnCpu.results[index]?.detections ?? [];
      expect(recorded.length).toBeGreaterThan(0);
      expect({ image: image.path, apart: differences(detections, recorded) }).toEqual({ image: image.path, apart: [] });
    }
    expect(await end()).toEqual({ code: 0, stderr: '' });
  });
});

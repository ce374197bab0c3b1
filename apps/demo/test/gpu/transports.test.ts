import { describeTier, sharedTriton, takeSnapshot } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { expect, it } from 'vitest';
import type { DetectReport, DetectResult } from '../../src/report.js';
import { differences } from '../support/boxes.js';
import { expectNothingLeftOfCli, runCli } from '../support/cli.js';
import { foundOnCpu, groundTruth, samplePaths } from '../support/samples.js';

async function detect(transport: string): Promise<readonly DetectResult[]> {
  const { grpcUrl, metricsUrl } = sharedTriton();
  const words = ['detect', ...samplePaths, '--url', grpcUrl, '--metrics-url', metricsUrl, '--transport', transport];
  const { code, stdout, stderr } = await runCli([...words, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'Checking the pipeline with a known picture\n' });
  return (JSON.parse(stdout) as DetectReport).results;
}

describeTier('gpu', 'zerohop detect on a GPU', () => {
  it('runs on GPU 0, which the model folder does not name', async () => {
    await using client = new TritonClient(sharedTriton().grpcUrl);
    const { instanceGroups } = await client.modelConfig('defects');
    expect(instanceGroups.map(({ kind, gpus }) => ({ kind, gpus }))).toEqual([{ kind: 'KIND_GPU', gpus: [0] }]);
  });

  it('finds the same over CUDA shared memory, system shared memory, in the message, and on a CPU', async () => {
    const before = takeSnapshot();
    const cuda = await detect('cuda');
    expect(cuda.map(({ transport }) => transport)).toEqual(groundTruth.images.map(() => 'cuda'));
    expect(cuda.flatMap(({ detections }) => detections).length).toBeGreaterThan(0);
    const others = { system: await detect('system'), bytes: await detect('bytes'), cpu: foundOnCpu.results };
    for (const [name, results] of Object.entries(others)) {
      for (const [i, { image, detections }] of cuda.entries()) {
        expect({ name, image, differences: differences(detections, results[i]?.detections ?? []) }).toEqual({
          name,
          image,
          differences: [],
        });
      }
    }
    await expectNothingLeftOfCli(before);
  });

  it('chooses CUDA shared memory by itself', async () => {
    const [first] = await detect('auto');
    expect(first?.transport).toBe('cuda');
  });
});

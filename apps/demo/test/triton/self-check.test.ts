import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier, privateTriton, type Snapshot, takeSnapshot } from '@zerohop/test-support';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { expectNothingLeftOfCli, runCli } from '../support/cli.js';
import { samplePaths } from '../support/samples.js';

/** A detector [1, 3, 32, 32] → [1, 5, 20] that finds one object, [12, 8, 20, 24] with score 0.75, in any picture. */
const modelPy = `
import json

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self._answer = numpy.zeros((1, 5, 20), numpy.float32)
        self._answer[0, :, 7] = [16, 16, 8, 16, 0.75]
        if "unwritten" in parameters:
            self._answer[0, 2, 11] = numpy.nan

    def execute(self, requests):
        if int(numpy.__version__.split(".")[0]) >= 2:
            make = pb_utils.Tensor.from_dlpack
        else:
            make = pb_utils.Tensor
        return [pb_utils.InferenceResponse([make("out", self._answer.copy())]) for _ in requests]
`;

const models = {
  right: { self_check: '0 0.75 12 8 20 24' },
  unchecked: {},
  other_answer: { self_check: '0 0.75 12 8 20 24; 0 0.5 1 1 9 9' },
  unwritten: { unwritten: 'yes' },
  malformed: { self_check: '0 0.75 12 8' },
} as const;

let repository: string;
let before: Snapshot;
beforeEach(() => {
  before = takeSnapshot();
  repository = mkdtempSync(join(tmpdir(), 'zerohop-self-check-'));
  for (const [name, parameters] of Object.entries(models)) {
    mkdirSync(join(repository, name, '1'), { recursive: true });
    writeFileSync(join(repository, name, '1', 'model.py'), modelPy);
    const config = [
      'backend: "python"',
      'max_batch_size: 0',
      // As a model exported with an open batch has it.
      'input [ { name: "in" data_type: TYPE_FP32 dims: [ -1, 3, 32, 32 ] } ]',
      'output [ { name: "out" data_type: TYPE_FP32 dims: [ -1, 5, 20 ] } ]',
      'instance_group [ { kind: KIND_CPU } ]',
      ...Object.entries(parameters).map(
        ([key, value]) => `parameters: { key: "${key}" value: { string_value: "${value}" } }`,
      ),
    ];
    writeFileSync(join(repository, name, 'config.pbtxt'), `${config.join('\n')}\n`);
  }
});
afterEach(async () => {
  rmSync(repository, { recursive: true });
  await expectNothingLeftOfCli(before);
});

describeTier('triton', 'the start-up self-check', () => {
  it('lets a model pass that answers as its configuration says, and stops every other', async () => {
    const server = await privateTriton({ modelRepository: repository, models: Object.keys(models) });
    try {
      const outcome = async (model: string): Promise<{ code: number | null; results: boolean; told: string }> => {
        const words = ['detect', samplePaths[0] as string, '--url', server.grpcUrl, '--model', model, '--json'];
        const { code, stdout, stderr } = await runCli(words, { env: { ZEROHOP_DEBUG: '1' } });
        return { code, results: stdout !== '', told: stderr };
      };
      const passed = { code: 0, results: true, told: 'Checking the pipeline with a known picture\n' };
      const stopped = (told: RegExp) => ({ code: 1, results: false, told: expect.stringMatching(told) });
      expect(await outcome('right')).toEqual(passed);
      expect(await outcome('unchecked')).toEqual(passed);
      expect(await outcome('unwritten')).toEqual(
        stopped(/^zerohop: Model "unwritten" .*1 of 20 anchors hold no number/m),
      );
      expect(await outcome('malformed')).toEqual(stopped(/self_check can't be read at "0 0\.75 12 8"/));
      expect(await outcome('other_answer')).toEqual(
        stopped(
          /class 0 with score 0\.5 at \[1, 1, 9, 9\] is missing[\s\S]*The answer was "0 0\.750 12\.0 8\.0 20\.0 24\.0"/,
        ),
      );
    } finally {
      await server.stop();
    }
  });
});

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/index.js';

const sample = (rest: string, input = 'data_type: TYPE_FP32 dims: [ 2 ] zero_data: true', name = 'A') =>
  `model_warmup [ { name: "w" ${rest} inputs { key: "${name}" value { ${input} } } } ]\n`;
const ofFile = (name: string) => `data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "${name}"`;
const BATCH = 'max_batch_size: 4\n';
const SEQUENCE =
  'sequence_batching { control_input [ { name: "START" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] } ] }\n';
const START = 'inputs { key: "START" value { data_type: TYPE_FP32 dims: [ 1 ] zero_data: true } }';

/**
 * What a configuration has beside its tensors, by the model's name. */
const CASES: Readonly<Record<string, string>> = {
  runs: sample('batch_size: 1'),
  runs_often: sample('batch_size: 1 count: 3'),
  runs_together: BATCH + sample('batch_size: 3 count: 2'),
  runs_on_each: `instance_group [ { kind: KIND_CPU count: 2 } ]\n${sample('batch_size: 1')}`,

  runs_decoupled: `model_transaction_policy { decoupled: true }\n${sample('batch_size: 1')}`,
  without_size: sample(''),
  runs_two: sample('batch_size: 1', ofFile('data')).replace(
    ' } ]\n',
    ' }, { name: "v" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: [ 2 ] zero_data: true } } } ]\n',
  ),
  zeros: sample('batch_size: 1'),
  file: sample('batch_size: 1', ofFile('data')),
  long_file: BATCH + sample('batch_size: 2', ofFile('long')),
  short_file: sample('batch_size: 1', ofFile('short')),
  text: sample('batch_size: 1', 'data_type: TYPE_STRING dims: [ 2 ] zero_data: true'),
  random_text: sample('batch_size: 1', 'data_type: TYPE_STRING dims: [ 2 ] random_data: true'),
  start: SEQUENCE + sample('batch_size: 1').replace(' } ]\n', ` ${START} } ]\n`),
  no_start: SEQUENCE + sample('batch_size: 1'),
  too_many: BATCH + sample('batch_size: 5'),
  no_batch: sample('batch_size: 2'),
  nothing: sample('batch_size: 1', 'data_type: TYPE_FP32 dims: [ 2 ]'),
  type: sample('batch_size: 1', 'data_type: TYPE_INT32 dims: [ 2 ] zero_data: true'),
  shape: sample('batch_size: 1', 'data_type: TYPE_FP32 dims: [ 3 ] zero_data: true'),
  variable: sample('batch_size: 1', 'data_type: TYPE_FP32 dims: [ -1 ] zero_data: true'),
  unknown: sample('batch_size: 1', 'data_type: TYPE_FP32 dims: [ 2 ] zero_data: true', 'Q'),
  no_file: sample('batch_size: 1', ofFile('nope')),
};

const config = (name: string, rest: string) => {
  const type = name.includes('text') ? 'TYPE_STRING' : 'TYPE_FP32';
  const tensor = (end: string, tensorName: string) =>
    `${end} [ { name: "${tensorName}" data_type: ${type} dims: [ 2 ] } ]\n`;
  const group = rest.includes('instance_group') ? '' : 'instance_group [ { kind: KIND_CPU } ]\n';
  return `backend: "python"\n${tensor('input', 'A')}${tensor('output', 'B')}${group}${rest}`;
};

const PYTHON = `import json
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        self.path = args["model_repository"]
        self.decoupled = json.loads(args["model_config"]).get("model_transaction_policy", {}).get("decoupled", False)

    def execute(self, requests):
        answers = []
        for request in requests:
            values = lambda t: ",".join(str(len(v)) if isinstance(v, bytes) else str(int(v)) for v in t.as_numpy().flatten())
            inputs = sorted(request.inputs(), key=lambda t: t.name())
            with open(self.path + "/python.log", "a") as log:
                log.write(" ".join(t.name() + str(list(t.shape())).replace(" ", "") + values(t) for t in inputs) + "\\n")
            answer = pb_utils.InferenceResponse([pb_utils.Tensor("B", [t for t in inputs if t.name() == "A"][0].as_numpy())])
            if self.decoupled:
                sender = request.get_response_sender()
                sender.send(answer)
                sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
            else:
                answers.append(answer)
        return None if self.decoupled else answers
`;
const JAVASCRIPT = `import { appendFileSync } from 'node:fs';
const values = (data) => Array.from(data, (value) => (typeof value === 'number' ? value : value.byteLength)).join();
const execute = ({ inputs }) => {
  const texts = Object.keys(inputs).sort().map((key) => \`\${key}[\${inputs[key].shape}]\${values(inputs[key].data)}\`);
  appendFileSync(\`\${import.meta.dirname}/../javascript.log\`, \`\${texts.join(' ')}\\n\`);
  return { B: inputs.A };
};
export const create = ({ model_transaction_policy: policy }) =>
  policy?.decoupled ? { executeDecoupled: (request) => [{ outputs: execute(request) }] } : { execute };
`;

/** What the model says that it ran; random numbers are left out. */
function ran(folder: string, language: string): string {
  const path = join(folder, `${language}.log`);
  return existsSync(path) ? readFileSync(path, 'utf8').replace(/-?\d{6,}/g, '…') : '';
}

/** What a load answers, and what the version has counted then. */
async function seen(httpUrl: string, name: string): Promise<string[]> {
  const load = await fetch(`${httpUrl}/v2/repository/models/${name}/load`, { method: 'POST' });
  const answer = `${load.status} ${await load.text()}`;
  if (!load.ok) return [answer];
  const statistics = await (await fetch(`${httpUrl}/v2/models/${name}/stats`)).text();
  const counts = statistics.matchAll(/"(inference_count|execution_count|batch_size|success":\{"count)":\d+/g);
  return [answer, ...Array.from(counts, ([count]) => count)];
}

describeTier('triton', 'model_warmup, here and on a real 2.51', () => {
  test('the same executions, counts and texts', async () => {
    const repository = mkdtempSync(join(tmpdir(), 'zerohop-warm-up-'));
    onTestFinished(() => rmSync(repository, { recursive: true }));
    for (const [name, rest] of Object.entries(CASES)) {
      for (const folder of ['1', 'warmup']) mkdirSync(join(repository, name, folder), { recursive: true });
      writeFileSync(join(repository, name, 'config.pbtxt'), config(name, rest));
      writeFileSync(join(repository, name, '1', 'model.py'), PYTHON);
      writeFileSync(join(repository, name, '1', 'model.mjs'), JAVASCRIPT);
      for (const [file, values] of Object.entries({ data: [5, 6], short: [5], long: [5, 6, 7] })) {
        writeFileSync(join(repository, name, 'warmup', file), Float32Array.from(values));
      }
    }
    let triton = await privateTriton({ modelRepository: repository, modelControl: 'explicit' });
    onTestFinished(() => triton.stop());
    /** A load that fails kills the real server now and then; the next one is asked again. */
    const real = async (name: string): Promise<string[]> => {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return [...(await seen(triton.httpUrl, name)), ran(join(repository, name), 'python')];
        } catch (error) {
          if (attempt === 3) throw error;
          await triton.stop();
          rmSync(join(repository, name, 'python.log'), { force: true });
          triton = await privateTriton({ modelRepository: repository, modelControl: 'explicit' });
        }
      }
    };
    const server = await DevServer.start({ modelRepository: repository, modelControl: 'explicit' });
    onTestFinished(() => server.stop());
    const differences: unknown[] = [];
    for (const name of Object.keys(CASES)) {
      const there = await real(name);
      const here = [...(await seen(server.httpUrl, name)), ran(join(repository, name), 'javascript')];
      if (JSON.stringify(there) !== JSON.stringify(here)) differences.push({ name, there, here });
    }
    expect(differences).toEqual([]);
  }, 200_000);
});

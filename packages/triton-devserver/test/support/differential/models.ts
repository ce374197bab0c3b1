import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Datatype } from '../../../src/datatype.js';
import { JAVASCRIPT, PYTHON } from './model-code.js';
import type { Random } from './random.js';

export interface GeneratedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** Without the batch dimension; -1 for any. */
  readonly dims: readonly number[];
  readonly optional: boolean;
}

export interface GeneratedModel {
  readonly name: string;
  readonly kind: 'plain' | 'dynamic' | 'sequence' | 'decoupled' | 'ensemble';
  /** max_batch_size. */
  readonly batch: number;
  readonly inputs: readonly GeneratedTensor[];
  /** OUT_x for each input IN_x, with the same tensor or zeros, and TOLD: what the model was told. */
  readonly outputs: readonly Omit<GeneratedTensor, 'optional'>[];
  readonly config: string;
}

/** BF16 is left out: no Python model can read it, and with 2.48 the request hangs. */
const DATATYPES: readonly Datatype[] = [
  'BOOL',
  'UINT8',
  'UINT16',
  'UINT32',
  'UINT64',
  'INT8',
  'INT16',
  'INT32',
  'INT64',
  'FP16',
  'FP32',
  'FP64',
  'BYTES',
];

/** As many places as there are ids: one more sequence would wait until another one has been idle for long enough. */
const PLACES = 64;

/** One of every kind, and more. Every kind of scheduler is there in each repository. */
const KINDS = ['plain', 'plain', 'plain', 'dynamic', 'sequence', 'decoupled', 'decoupled'] as const;

export function generateModels(random: Random): GeneratedModel[] {
  const models = KINDS.map((kind, index) => {
    const batch =
      kind === 'dynamic' || (kind === 'sequence' ? random.chance(0.5) : random.chance(0.4))
        ? random.pick(kind === 'sequence' ? [1, 8, PLACES] : [1, 2, 4, 8])
        : 0;
    const inputs = random.times(
      random.pick([1, 1, 2, 2, 3, 4]),
      (number): GeneratedTensor => ({
        name: `IN_${random.pick(['a', 'b', 'Z', 'é', ''])}${number}`,
        datatype: random.pick(DATATYPES),
        dims: random.times(random.pick([1, 1, 1, 2, 2, 3]), () => random.pick([-1, -1, 1, 2, 3])),
        optional: kind !== 'sequence' && index > 0 && number > 0 && random.chance(0.4),
      }),
    );
    const outputs = [
      ...inputs.map(({ name, datatype, dims }) => ({ name: outputOf(name), datatype, dims })),
      { name: 'TOLD', datatype: 'BYTES' as const, dims: [1] },
    ];
    const model = { name: `${kind}_${index}`, kind, batch, inputs, outputs };
    return { ...model, config: configOf(model, random) };
  });
  return [...models, ensembleOf(models[0] as GeneratedModel)];
}

interface EnsembleStep {
  readonly model_name: string;
  readonly model_version: number;
  readonly input_map: Readonly<Record<string, string>>;
  readonly output_map: Readonly<Record<string, string>>;
}

/** The first model twice, the second time with the outputs of the first; that has no optional inputs. */
function stepsOf(part: string, inputs: GeneratedModel['inputs'], outputs: GeneratedModel['outputs']): EnsembleStep[] {
  const names = inputs.map(({ name }) => name);
  const between = (name: string) => `BETWEEN_${name}`;
  const map = (list: readonly string[], key: (name: string) => string, value: (name: string) => string) =>
    Object.fromEntries(list.map((name) => [key(name), value(name)]));
  const same = (name: string) => name;
  return [
    [map(names, same, same), map(names, outputOf, between)] as const,
    [
      map(names, same, between),
      map(
        outputs.map(({ name }) => name),
        same,
        same,
      ),
    ] as const,
  ].map(([input_map, output_map]) => ({ model_name: part, model_version: -1, input_map, output_map }));
}

function ensembleOf(part: GeneratedModel): GeneratedModel {
  const { batch, inputs, outputs } = part;
  const map = (kind: 'input' | 'output', pairs: Readonly<Record<string, string>>) =>
    Object.entries(pairs).map(([key, value]) => `${kind}_map { key: "${key}" value: "${value}" }`);
  const steps = stepsOf(part.name, inputs, outputs).map(({ model_name, model_version, input_map, output_map }) =>
    [
      `step { model_name: "${model_name}" model_version: ${model_version}`,
      ...map('input', input_map),
      ...map('output', output_map),
      '}',
    ].join(' '),
  );
  const config = [
    'platform: "ensemble"',
    `max_batch_size: ${batch}`,
    ...tensorLines(inputs, outputs, () => false),
    'ensemble_scheduling {',
    ...steps,
    '}',
  ];
  return { name: 'ensemble_7', kind: 'ensemble', batch, inputs, outputs, config: `${config.join('\n')}\n` };
}

export const outputOf = (input: string): string => input.replace('IN_', 'OUT_');

const typeOf = (datatype: Datatype) => `TYPE_${datatype === 'BYTES' ? 'STRING' : datatype}`;

function tensorLines(
  inputs: GeneratedModel['inputs'],
  outputs: GeneratedModel['outputs'],
  hasLabels: () => boolean,
): string[] {
  const tensor = ({ name, datatype, dims }: GeneratedModel['outputs'][number]) =>
    `name: "${name}" data_type: ${typeOf(datatype)} dims: [ ${dims.join(', ')} ]`;
  return [
    ...inputs.map((input) => `input [ { ${tensor(input)}${input.optional ? ' optional: true' : ''} } ]`),
    ...outputs.map((output) => {
      const labels = output.datatype !== 'BYTES' && hasLabels() ? ' label_filename: "labels.txt"' : '';
      return `output [ { ${tensor(output)}${labels} } ]`;
    }),
  ];
}

function configOf({ kind, batch, inputs, outputs }: Omit<GeneratedModel, 'config'>, random: Random): string {
  const lines = ['backend: "python"', `max_batch_size: ${batch}`, 'instance_group [ { kind: KIND_CPU } ]'];
  lines.push(...tensorLines(inputs, outputs, () => random.chance(0.4)));
  if (kind === 'dynamic') {
    lines.push(
      random.pick([
        'dynamic_batching {}',
        'dynamic_batching { priority_levels: 3 default_priority_level: 2 }',
        'dynamic_batching { max_queue_delay_microseconds: 100 preserve_ordering: true }',
      ]),
    );
  }
  if (kind === 'sequence') {
    lines.push(`sequence_batching {
  max_sequence_idle_microseconds: 600000000
  ${batch === PLACES ? 'direct {}' : `oldest { max_candidate_sequences: ${PLACES} }`}
  control_input [
    { name: "START" control [ { kind: CONTROL_SEQUENCE_START ${random.pick(['int32_false_true: [ 0, 1 ]', 'fp32_false_true: [ -1, 3 ]', 'bool_false_true: [ false, true ]'])} } ] },
    { name: "END" control [ { kind: CONTROL_SEQUENCE_END int32_false_true: [ 5, 6 ] } ] },
    { name: "READY" control [ { kind: CONTROL_SEQUENCE_READY fp32_false_true: [ 0, 1 ] } ] },
    { name: "CORRID" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: ${random.pick(['TYPE_UINT64', 'TYPE_INT64', 'TYPE_UINT32', 'TYPE_INT32'])} } ] }
  ]
}`);
  }
  if (kind === 'decoupled') lines.push('model_transaction_policy { decoupled: true }');
  return `${lines.join('\n')}\n`;
}

/** The same models twice: in Python, for the real servers, and in JavaScript. */
export class GeneratedRepository {
  readonly models: readonly GeneratedModel[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'zerohop-differential-'));

  constructor(models: readonly GeneratedModel[]) {
    this.models = models;
    for (const { name, kind, inputs, config } of models) {
      const spec = JSON.stringify(inputs.map((input) => ({ ...input, output: outputOf(input.name) })));
      const decoupled = kind === 'decoupled';
      for (const [path, file, code] of [
        [this.python, 'model.py', PYTHON],
        [this.javascript, 'model.mjs', JAVASCRIPT],
      ] as const) {
        mkdirSync(join(path, name, '1'), { recursive: true });
        writeFileSync(join(path, name, 'config.pbtxt'), config);
        writeFileSync(join(path, name, 'labels.txt'), 'zero\none\n\nthree é\n');
        if (kind === 'ensemble') continue;
        // A file, so that Python leaves nothing in its place: that counts as a change, and the next load would start it anew.
        writeFileSync(join(path, name, '1', '__pycache__'), '');
        writeFileSync(join(path, name, '1', file), code({ spec, decoupled, sequence: kind === 'sequence' }));
      }
    }
  }

  get python(): string {
    return join(this.#folder, 'python');
  }

  get javascript(): string {
    return join(this.#folder, 'javascript');
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A model's configuration as JSON that comes with a load: the same, or with something changed. */
export function configJson(
  { batch, kind, inputs, outputs }: GeneratedModel,
  models: readonly GeneratedModel[],
  random: Random,
): string {
  const tensor = ({ name, datatype, dims }: GeneratedModel['outputs'][number]) => ({
    name,
    data_type: typeOf(datatype),
    dims,
  });
  const changed = random.pick<object>([
    {},
    {},
    { max_batch_size: random.pick([0, 1, 3]) },
    { parameters: { key: { string_value: 'é' } } },
    { version_policy: { specific: { versions: [2] } } },
    { version_policy: { all: {} } },
    { output: outputs.slice(0, -1).map(tensor) },
    { name: 'another' },
    kind === 'ensemble'
      ? { ensemble_scheduling: { step: stepsOf(random.pick(['nowhere', 'ensemble_7']), inputs, outputs) } }
      : { instance_group: [{ kind: 'KIND_CPU', count: 2 }] },
  ]);
  const own =
    kind === 'ensemble'
      ? { platform: 'ensemble', ensemble_scheduling: { step: stepsOf(models[0]?.name ?? '', inputs, outputs) } }
      : { backend: 'python', instance_group: [{ kind: 'KIND_CPU' }] };
  return JSON.stringify({
    ...own,
    max_batch_size: batch,
    input: inputs.map((input) => ({ ...tensor(input), ...(input.optional ? { optional: true } : {}) })),
    output: outputs.map(tensor),
    ...(kind === 'dynamic' ? { dynamic_batching: {} } : {}),
    ...changed,
  });
}

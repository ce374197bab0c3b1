import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';
import type { ModelConfig, ModelMetadata } from '../../src/index.js';
import { modelTypes } from '../../src/model-types.js';

const METADATA: ModelMetadata = {
  name: 'my-model_2',
  versions: ['1'],
  platform: '',
  inputs: [
    { name: 'images', datatype: 'FP32', shape: [-1, 3] },
    { name: 'size:0', datatype: 'INT64', shape: [] },
  ],
  outputs: [{ name: "it's", datatype: 'BYTES', shape: [1] }],
};

test('names, datatypes and shapes as an interface', () => {
  const config = { optionalInputs: ['size:0'] } as unknown as ModelConfig;
  expect(modelTypes(METADATA, config)).toBe(`\
/** Of \`client.model<MyModel2>('my-model_2')\`. Made from the server's metadata; -1: a dimension that varies. */
export interface MyModel2 {
  inputs: {
    /** FP32 [-1, 3] */
    images: 'FP32';
    /** INT64 [] */
    "size:0"?: 'INT64';
  };
  outputs: {
    /** BYTES [1] */
    "it's": 'BYTES';
  };
}
`);
});

test.each([
  ['yolo', 'Yolo'],
  ['défauts.v1', 'DéfautsV1'],
  ['2x', 'Model2x'],
  ['---', 'Model'],
  ['a*/b', 'AB'],
])('a model %s gives %s', (name, expected) => {
  const text = modelTypes({ ...METADATA, name }, undefined);
  expect(text).toContain(`\nexport interface ${expected} {\n`);
  expect(text.split('\n')[0]?.indexOf('*/')).toBe((text.split('\n')[0]?.length ?? 0) - 2);
});

test('without a configuration no input is optional; the name may be given', () => {
  const text = modelTypes(METADATA, undefined, 'Mine');
  expect(text).toContain('export interface Mine {');
  expect(text).not.toContain('?:');
});

/** What the compiler says to a program, a text for each line that is wrong. */
function compile(lines: readonly string[]): string[] {
  const config = fileURLToPath(new URL('../../../../tsconfig.base.json', import.meta.url));
  const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(config, ts.sys.readFile).config, ts.sys, '.');
  const file = fileURLToPath(new URL('program.ts', import.meta.url));
  const text = lines.join('\n');
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, version) =>
    name === file ? ts.createSourceFile(name, text, version) : getSourceFile(name, version);
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], options, host))
    .map(({ file: source, start = 0, messageText }) => {
      const line = source?.getLineAndCharacterOfPosition(start).line ?? 0;
      return `${source?.fileName === file ? lines[line]?.trim() : source?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
}

const USE = `
import { region, tensor, TritonClient } from '../../src/index.js';
const client = new TritonClient('grpc://localhost:8001');
const model = await client.model<Mine>('my-model_2');
const images = tensor('FP32', [1, 3], [1, 2, 3]);
const size = region('r', { datatype: 'INT64', shape: [] });
`;

test('with the interface the compiler finds wrong names and datatypes, and what is right passes', {
  timeout: 60_000,
}, () => {
  const types = modelTypes(
    { ...METADATA, outputs: [...METADATA.outputs, { name: 'mask', datatype: 'FP16', shape: [1] }] },
    { optionalInputs: ['size:0'] } as unknown as ModelConfig,
    'Mine',
  );
  const right = `
const result = await model.infer({ inputs: { images, 'size:0': size }, outputs: { mask: {} } });
const mask: Uint16Array = result.output('mask').data;
const words: string[] = result.output("it's").strings();
await model.prepare({ inputs: { images } }).infer();
for await (const answer of model.stream([{ inputs: { images } }])) answer.output('mask').data.fill(0);
const any = await client.model('other');
(await any.infer({ inputs: { a: size, b: images } })).output('x').float32();
const open = await client.model<{ inputs: { a: unknown }; outputs: { b: unknown } }>('other');
(await open.infer({ inputs: { a: size } })).output('b').float32();
export { mask, words };
`;
  expect(compile([...types.split('\n'), ...USE.split('\n'), ...right.split('\n')])).toEqual([]);

  const wrong = [
    "await model.infer({ inputs: { images: tensor('FP64', [1], [1]) } });",
    "await model.infer({ inputs: { images: region('r', { datatype: 'FP16', shape: [1, 3] }) } });",
    'await model.infer({ inputs: { image: images } });',
    'await model.infer({ inputs: { images, size } });',
    "await model.infer({ inputs: { 'size:0': size } });",
    'await model.infer({ inputs: { images }, outputs: { masks: {} } });',
    "(await model.infer({ inputs: { images } })).output('masks');",
    "const data: Float32Array = (await model.prepare({ inputs: { images } }).infer()).output('mask').data;",
    "for await (const answer of model.stream([{ inputs: { images } }])) answer.output('masks');",
    'model.stream([{ inputs: { images: size } }]);',
    "(await client.model<{ inputs: { a: 'FP31' }; outputs: {} }>('m')).infer({ inputs: { a: images } });",
  ];
  const errors = compile([...types.split('\n'), ...USE.split('\n'), ...wrong, 'export { data };']);
  expect(errors.map((error) => error.slice(0, error.indexOf(';: ') + 1))).toEqual(wrong);
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseConfigJson } from '../../src/config/from-json.js';
import { enumNames, type Field, fieldsOf } from '../../src/config/schema.js';
import { parseTextFormat } from '../../src/config/text-format.js';
import { configToJson } from '../../src/config/to-json.js';

const parse = (text: string) => parseTextFormat(text, '2.68.0');

test('comments, both brackets, lists, separators, numbers of all bases, joined strings and escapes', () => {
  const config = parse(`
    # A comment; then a name that is written in two parts.
    backend : 'py' "thon";
    max_batch_size: 0x10,
    input < name: "A", data_type: 11; dims: -1 dims: 010 dims: [ 3, - 4 ] >, # more
    input: { name: 'B' data_type: TYPE_STRING optional: t }
    output [ { name: "C" data_type: TYPE_BOOL dims: [] }, < name: "D" is_shape_tensor: 1 > ]
    parameters { key: "k" value: { string_value: "x\\n\\"\\303\\251\\x41\\u00e9\\U0001F600\\'\\?\\\\" } }
    parameters: [ { key: 'l', value { } }, { key: 'k' value { string_value: 'again' } } ];
    metric_tags { value: "w" }
    dynamic_batching { priority_queue_policy { key: 3 value { default_timeout_microseconds: 18446744073709551615 } } }
    optimization { graph { level: -2147483648 } }
    model_metrics { metric_control { histogram_options { buckets: [ 1, 2.5, 1e3, .5f, -inf, nan ] } } }
  `);
  expect(config).toMatchObject({
    backend: 'python',
    max_batch_size: 16,
    input: [
      { name: 'A', data_type: 'TYPE_FP32', dims: [-1n, 8n, 3n, -4n] },
      { name: 'B', data_type: 'TYPE_STRING', optional: true },
    ],
    output: [
      { name: 'C', dims: [] },
      { name: 'D', is_shape_tensor: true },
    ],
    parameters: { k: { string_value: 'again' }, l: { string_value: '' } },
    metric_tags: { '': 'w' },
    optimization: { graph: { level: -2147483648 } },
  });
  expect(config.dynamic_batching?.priority_queue_policy.get(3n)?.default_timeout_microseconds).toBe(2n ** 64n - 1n);
  const buckets = config.model_metrics?.metric_control[0]?.histogram_options?.buckets;
  expect(buckets).toEqual([1, 2.5, 1000, 0.5, Number.NEGATIVE_INFINITY, Number.NaN]);
  expect(parse(String.raw`name: "x\n\"\303\251\x41\u00e9\U0001F600\'\?\\"`).name).toBe('x\n"éAé😀\'?\\');
});

test.each([
  ['foo: 1', '1:1: Message type "inference.ModelConfig" has no field named "foo".'],
  ['\n  input { dims: 1\n nam: "x" }', '3:2: Message type "inference.ModelInput" has no field named "nam".'],
  ['max_batch_size: [', '1:17: Expected integer, got: ['],
  ['max_batch_size: "1"', '1:17: Expected integer, got: 1'],
  ['max_batch_size: 1.5', '1:17: Expected integer, got: 1.5'],
  ['max_batch_size: 08', '1:17: Expected integer, got: 08'],
  ['max_batch_size: 2147483648', '1:17: Integer out of range (2147483648)'],
  ['optimization { gather_kernel_buffer_threshold: -1 }', '1:48: Integer out of range (-1)'],
  ['max_batch_size 4', '1:16: Expected ":", found "4".'],
  ['max_batch_size: 4x', '1:17: Need space between number and identifier.'],
  ['backend: python', '1:10: Expected string, got: python'],
  ['backend: "py', '1:10: String literals cannot cross line boundaries.'],
  ['backend: "\\q"', '1:10: Invalid escape sequence in string literal.'],
  ['backend: "\\377"', '1:10: A string is not valid UTF-8.'],
  ['backend: "a"\nbackend: "b"', '2:1: Non-repeated field "backend" is specified multiple times.'],
  [
    'dynamic_batching {}\nsequence_batching {}',
    '2:1: Field "sequence_batching" is specified along with field "dynamic_batching", another member of oneof "scheduling_choice".',
  ],
  ['input { data_type: TYPE_FOO }', '1:20: Unknown enumeration value of "TYPE_FOO" for "inference.DataType".'],
  ['input { data_type: 99 }', '1:20: Unknown enumeration value of "99" for "inference.DataType".'],
  ['input { optional: yes }', '1:19: Expected "true" or "false", found "yes".'],
  ['input { ', '1:9: Expected identifier, got: '],
  ['input [ { name: "a" } { name: "b" } ]', '1:23: Expected "]", found "{".'],
  ['parameters { kee: "a" }', '1:14: Expected "key" or "value" of an entry of "parameters", found "kee".'],
  ['@', '1:1: Expected identifier, got: @'],
])('%j is refused with line and column', (text, message) => {
  expect(() => parse(text)).toThrow(message);
});

test('a server knows its own fields only', () => {
  expect(() => parseTextFormat('model_metrics {}', '2.51.0')).toThrow('has no field named "model_metrics"');
  expect(() => parseTextFormat('input { is_non_linear_format_io: true }', '2.48.0')).toThrow('has no field named');
  expect(configToJson(parseTextFormat('input {}', '2.48.0'), '2.48.0')).not.toContain('is_non_linear_format_io');
  expect(parseTextFormat('model_metrics {}', '2.53.0').model_metrics).toEqual({ metric_control: [] });
});

test('every config.pbtxt of the tests is read, and its JSON says the same', () => {
  const roots = ['../../../../tests/models', '../../../triton-client/test/conformance/models', '../../../../models'];
  const files = roots
    .map((root) => join(import.meta.dirname, root))
    .flatMap((root) => readdirSync(root).map((name) => join(root, name, 'config.pbtxt')))
    .filter((path) => !path.includes('README'));
  expect(files.length).toBeGreaterThan(14);
  for (const file of files) {
    const config = parse(readFileSync(file, 'utf8'));
    expect(config.input.length, file).toBeGreaterThan(0);
    expect(parseConfigJson(configToJson(config, '2.68.0'), '2.68.0'), file).toEqual(config);
  }
});

/** A generator of numbers below `limit` that a seed decides. */
function random(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** A message in text format and in JSON that say the same. */
function write(type: string, next: (limit: number) => number, depth: number): { text: string; json: string } {
  const groups = new Set<string>();
  const parts = [...(fieldsOf(type)?.values() ?? [])].filter((field) => {
    const wanted = next(3) > depth / 3 && !groups.has(field.oneof ?? '-');
    if (wanted && field.oneof !== undefined) groups.add(field.oneof);
    return wanted;
  });
  const written = parts.map((field) => writeField(field, next, depth));
  return {
    text: written.map(({ text }) => text).join(next(2) === 0 ? ' ' : '\n'),
    json: `{${written.map(({ json }) => json).join(',')}}`,
  };
}

function writeField(field: Field, next: (limit: number) => number, depth: number): { text: string; json: string } {
  const message = fieldsOf(field.type) !== undefined;
  const single = () => {
    if (!message) return scalar(field.type, next);
    const inner = write(field.type, next, depth + 1);
    return { text: next(2) === 0 ? `{ ${inner.text} }` : `<${inner.text}>`, json: inner.json };
  };
  const colon = message && next(2) === 0 ? ' ' : ': ';
  if (field.key !== undefined) {
    const entries = Array.from({ length: next(3) }, (_, index) => {
      const value = single();
      const key = field.key === 'string' ? `"k${index}"` : `${index}`;
      return {
        text: `${field.name} { key: ${key} value${colon}${value.text} }`,
        json: `"${key.replaceAll('"', '')}":${value.json}`,
      };
    });
    return {
      text: entries.map(({ text }) => text).join(' '),
      json: `"${field.name}":{${entries.map(({ json }) => json).join(',')}}`,
    };
  }
  if (!field.repeated) {
    const value = single();
    return { text: `${field.name}${colon}${value.text}`, json: `"${field.name}":${value.json}` };
  }
  const values = Array.from({ length: next(4) }, single);
  const json = `"${field.name}":[${values.map((value) => value.json).join(',')}]`;
  const list = `${field.name}${colon}[ ${values.map(({ text }) => text).join(', ')} ]`;
  return { text: next(2) === 0 ? list : values.map(({ text }) => `${field.name}${colon}${text};`).join('\n'), json };
}

function scalar(type: string, next: (limit: number) => number): { text: string; json: string } {
  const names = enumNames(type);
  if (names !== undefined) {
    const name = names[next(names.length)] ?? '';
    return { text: name, json: `"${name}"` };
  }
  if (type === 'bool') {
    const value = next(2) === 0;
    return { text: value ? 'true' : 'False', json: String(value) };
  }
  if (type === 'string') {
    const value = ['', 'plain', 'é"\\\n', "it's", '😀\u0001'][next(5)] ?? '';
    return { text: JSON.stringify(value).replace('\\u0001', '\\001'), json: JSON.stringify(value) };
  }
  if (type === 'float' || type === 'double') {
    const value = (next(2000) - 1000) / 8;
    return { text: String(value), json: String(value) };
  }
  const large = type.endsWith('64') && next(2) === 0;
  const signed = !type.startsWith('u') && next(2) === 0;
  const digits = large ? `9${'0123456789'.repeat(2).slice(0, 17)}` : String(next(100_000));
  return { text: `${signed ? '-' : ''}${digits}`, json: `${signed ? '-' : ''}${digits}` };
}

test('text format and JSON that say the same are read as the same, and JSON survives a round trip', () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const next = random(seed);
  for (let index = 0; index < 300; index++) {
    const { text, json } = write('ModelConfig', next, 0);
    const config = parse(text);
    expect(config, `seed ${seed}, number ${index}`).toEqual(parseConfigJson(json, '2.68.0'));
    expect(parseConfigJson(configToJson(config, '2.68.0'), '2.68.0'), `seed ${seed}, number ${index}`).toEqual(config);
  }
});

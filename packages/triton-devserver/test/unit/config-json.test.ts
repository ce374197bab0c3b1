import { expect, test } from 'vitest';
import { configFromJson, parseConfigJson } from '../../src/config/from-json.js';
import type { ModelConfigJson } from '../../src/config/model-config-json.js';
import { configToJson } from '../../src/config/to-json.js';

const parse = (text: string) => parseConfigJson(text, '2.51.0');

test("protobuf's rules: camelCase, numbers as text, enums by number, null is nothing, 64 bits exact", () => {
  const config = parse(`{
    "maxBatchSize": "3", "backend": null, "input": [{ "name": "A", "dataType": 11, "dims": [ "-1", 9007199254740993, 2.0 ] }],
    "model_transaction_policy": { "decoupled": "true" },
    "dynamic_batching": { "priority_queue_policy": { "1": { "default_timeout_microseconds": 18446744073709551615 } } },
    "parameters": { "k": { "string_value": "1234567890123456789 and \\"1234567890123456789\\"" } }
  }`);
  expect(config).toMatchObject({
    max_batch_size: 3,
    backend: '',
    input: [{ name: 'A', data_type: 'TYPE_FP32', dims: [-1n, 9007199254740993n, 2n] }],
    model_transaction_policy: { decoupled: true },
    parameters: { k: { string_value: '1234567890123456789 and "1234567890123456789"' } },
  });
  expect(config.dynamic_batching?.priority_queue_policy.get(1n)?.default_timeout_microseconds).toBe(2n ** 64n - 1n);
});

test.each([
  ['', /JSON/],
  ['{', /JSON/],
  ['5', 'expected an object, found 5'],
  ['[]', 'expected an object, found []'],
  ['null', 'expected an object, found null'],
  ['{"foo":1}', 'foo: there is no such field in ModelConfig'],
  ['{"input":[{"name":"A"},{"nam":"B"}]}', 'input[1].nam: there is no such field in ModelInput'],
  ['{"model_metrics":{}}', 'model_metrics: there is no such field in ModelConfig'],
  ['{"max_batch_size":3.5}', 'max_batch_size: expected a number of type int32, found 3.5'],
  ['{"max_batch_size":2147483648}', 'max_batch_size: expected a number of type int32, found 2147483648'],
  ['{"max_batch_size":true}', 'max_batch_size: expected a number of type int32, found true'],
  ['{"backend":1}', 'backend: expected a string, found 1'],
  ['{"input":{}}', 'input: expected a list, found {}'],
  ['{"parameters":[]}', 'parameters: expected an object, found []'],
  ['{"input":[{"data_type":"X"}]}', /^input\[0\]\.data_type: expected one of TYPE_INVALID, .*, found "X"$/],
  ['{"response_cache":{"enable":1}}', 'response_cache.enable: expected true or false, found 1'],
  ['{"dynamic_batching":{},"sequence_batching":{}}', "sequence_batching: can't be together with dynamic_batching"],
])('%j is refused', (text, message) => {
  expect(() => parse(text)).toThrow(message);
});

test('single quotes and a comma after the last element are let pass', () => {
  const text = `{'backend': 'it\\'s "so"\\n, ]', "input": [{"dims": [1, 2 , ],},], "runtime": "a', ]",}`;
  expect(parse(text)).toMatchObject({ backend: 'it\'s "so"\n, ]', runtime: "a', ]", input: [{ dims: [1n, 2n] }] });
  for (const wrong of ['{,}', '{"input":[,]}', '{"input":[{},,]}', "{'backend: 1}"])
    expect(() => parse(wrong)).toThrow();
});

test('numbers with many digits after the point stay numbers', () => {
  const text = '{"sequence_batching":{"direct":{"minimum_slot_utilization":0.12345678901234567890}}}';
  expect(parse(text).sequence_batching?.direct?.minimum_slot_utilization).toBeCloseTo(0.1234567);
});

test('a configuration in code', () => {
  const given: ModelConfigJson = {
    max_batch_size: 2,
    input: [{ name: 'A', data_type: 'TYPE_INT64', dims: [-1, 2n, '3'] }],
    dynamic_batching: { priority_queue_policy: { 2: { max_queue_size: 1 } } },
    parameters: { k: { string_value: 'v' } },
  };
  const config = configFromJson(given, '2.51.0');
  expect(config.input[0]?.dims).toEqual([-1n, 2n, 3n]);
  expect(config.dynamic_batching?.priority_queue_policy.get(2n)?.max_queue_size).toBe(1);
});

test('to JSON: text stays as it is but for what JSON must escape', () => {
  const config = configFromJson({ name: 'é<>/"\\\n\u001f', metric_tags: { '1': 'x' } }, '2.51.0');
  const json = configToJson(config, '2.51.0');
  expect(json).toContain('"name":"é<>/\\"\\\\\\n\\u001F","platform":""');
  expect(json).toContain('"metric_tags":{"1":"x"}');
});

test('to JSON: floats of 32 bits with no more digits than they need', () => {
  const values = [0.3, 1, -2.5, 16777217, 1 / 3, 1e-7, Number.NaN, Number.POSITIVE_INFINITY];
  const config = configFromJson(
    { sequence_batching: { control_input: [{ control: [{ fp32_false_true: values }] }] } },
    '2.51.0',
  );
  const text = '[0.3,1,-2.5,16777216,0.33333334,1e-7,"NaN","Infinity"]';
  expect(configToJson(config, '2.51.0')).toContain(`"fp32_false_true":${text}`);
});

test('texts of megabytes are read', () => {
  const name = 'x'.repeat(10_000_000);
  expect(parse(JSON.stringify({ name })).name === name).toBe(true);
  expect(parse(`{ 'name': '${name}' }`).name === name).toBe(true);
});

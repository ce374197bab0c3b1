import { expect, test } from 'vitest';
import { parseMetrics } from '../../src/prometheus.js';

test('names, types, labels and values', () => {
  const text = [
    '# HELP requests Number of them',
    '# TYPE requests counter',
    'requests{model="a",version="1"} 12.000000',
    'requests{model="quo\\"te",reason="back\\\\slash, comma",line="a\\nb"} 1e3 1700000000000',
    '# TYPE latency summary',
    'latency{quantile="0.5"} Nan',
    'latency_sum 7',
    'latency_count{} 0',
    'plain -Inf\r',
    'up +Inf',
    '',
  ].join('\n');
  expect(parseMetrics(text)).toEqual([
    { name: 'requests', type: 'counter', labels: { model: 'a', version: '1' }, value: 12 },
    {
      name: 'requests',
      type: 'counter',
      labels: { model: 'quo"te', reason: 'back\\slash, comma', line: 'a\nb' },
      value: 1000,
    },
    { name: 'latency', type: 'summary', labels: { quantile: '0.5' }, value: Number.NaN },
    { name: 'latency_sum', type: 'summary', labels: {}, value: 7 },
    { name: 'latency_count', type: 'summary', labels: {}, value: 0 },
    { name: 'plain', type: 'untyped', labels: {}, value: Number.NEGATIVE_INFINITY },
    { name: 'up', type: 'untyped', labels: {}, value: Number.POSITIVE_INFINITY },
  ]);
});

test.each(['<html>', 'name', 'name{a="1" 2', 'name{a=1} 2', 'name{a="1"x="2"} 3', 'name two', '1name 2'])(
  '%s is no sample',
  (line) => {
    expect(parseMetrics(`${line}\n`)).toBeUndefined();
  },
);

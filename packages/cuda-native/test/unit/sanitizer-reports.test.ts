import { expect, test } from 'vitest';

interface Reports {
  findingsIn(text: string, libraries: string[]): string[];
}

const { findingsIn } = (await import(new URL('../../scripts/sanitizer-reports.mjs', import.meta.url).href)) as Reports;

const OURS = '/clone/cuda-native.glibc.node';

function leak(kind: string, ...modules: string[]): string {
  const frames = modules.map((module, index) => `    #${index} 0x7f in some(thing) file.cc:1 (${module})`);
  return [`${kind} leak of 16 byte(s) in 1 object(s) allocated from:`, ...frames].join('\n');
}

function leaks(...blocks: string[]): string {
  return [
    '=====',
    '==1==ERROR: LeakSanitizer: detected memory leaks',
    '',
    blocks.join('\n\n'),
    '',
    'SUMMARY: 16 byte(s)',
  ].join('\n');
}

test('a leak counts by who asked for the memory, not by who called that one', () => {
  const ours = leak('Direct', '/usr/lib/libasan.so.8.0.0', '/usr/lib/libstdc++.so.6', OURS, '/usr/bin/node');
  const indirect = leak('Indirect', '/usr/lib/libasan.so.8.0.0', OURS);
  const nodes = leak('Direct', '/usr/lib/libasan.so.8.0.0', '/usr/bin/node', OURS);
  expect(findingsIn(leaks(nodes, ours, indirect), [OURS])).toEqual([ours, indirect]);
  expect(findingsIn(leaks(nodes), [OURS])).toEqual([]);
});

test('every other error is a finding', () => {
  const address = '==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n';
  const undefinedBehaviour = 'src/a.cc:1:2: runtime error: signed integer overflow\n';
  expect(findingsIn(address, [OURS])).toEqual([address]);
  expect(findingsIn(undefinedBehaviour, [])).toEqual([undefinedBehaviour]);
});

test('a list of suppressions and a check that gave up are none', () => {
  const line = '-----------------------------------------------------';
  const suppressions = `\n\n${line}\nSuppressions used:\n  count      bytes template\n      1         32 *tls_get_addr*\n${line}\n\n`;
  expect(findingsIn(suppressions, [])).toEqual([]);
  expect(findingsIn('==1==LeakSanitizer has encountered a fatal error.\n==1==HINT: …\n', [])).toEqual([]);
});

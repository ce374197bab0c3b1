import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import type { DetectResult } from '../../src/report.js';
import { describeResult, describeServer } from '../../src/summary.js';

const plain = pc.createColors(false);
const result: DetectResult = {
  transport: 'system',
  reason: 'no GPU here',
  server: { name: 'triton', version: '2.51.0' },
  model: 'defects',
  image: { path: 'a.jpg', width: 3840, height: 2160 },
  detections: [
    { label: 'scratch', classId: 0, score: 0.934, box: [1203.2, 88, 1400, 96] },
    { label: 'pit', classId: 1, score: 0.5, box: [1, 2, 3, 4] },
  ],
  timings: { decode: 62.4, preprocess: 41.1, infer: 2104, postprocess: 5.52, total: 2213.02 },
};

describe('summary', () => {
  it('says who answers and why over this transport', () => {
    expect(describeServer(result, plain)).toBe(
      'server     triton 2.51.0, model defects\ntransport  system shared memory\n           no GPU here\n',
    );
  });

  it('lists what was found', () => {
    expect(describeResult({ ...result, annotated: 'out/a.annotated.jpg' }, plain).split('\n')).toEqual([
      'a.jpg  3840 x 2160, 2 objects',
      '  label    score    x1  y1    x2  y2',
      '  scratch  0.934  1203  88  1400  96',
      '  pit      0.500     1   2     3   4',
      '  decode 62 + preprocess 41 + infer 2104 + postprocess 5.5 = 2213 ms',
      '  annotated: out/a.annotated.jpg',
      '',
    ]);
    expect(describeResult({ ...result, truncated: true }, plain)).toMatch(/, 2 objects, the best of more\n/);
    expect(describeResult({ ...result, detections: [] }, plain)).toMatch(/, 0 objects\n {2}decode/);
    expect(describeResult({ ...result, detections: result.detections.slice(1) }, plain)).toMatch(/, 1 object\n/);
  });

  it('gives parts of pixels for a picture that has few', () => {
    const image = { path: 'a.png', width: 1, height: 1 };
    const [, , row] = describeResult(
      { ...result, image, detections: [{ label: 'stain', classId: 3, score: 0.4, box: [0.02, 0.55, 0.31, 1] }] },
      plain,
    ).split('\n');
    expect(row).toBe('  stain  0.400  0.02  0.55  0.31  1.00');
  });

  it('lets no name steer the terminal', () => {
    const text = describeResult({ ...result, image: { ...result.image, path: 'a\u001b[2J.jpg' } }, plain);
    expect(text).not.toContain('\u001b');
  });
});

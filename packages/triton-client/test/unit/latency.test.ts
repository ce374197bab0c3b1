import { seeded } from '@zerohop/test-support';
import { describe, expect, test } from 'vitest';
import { LatencyRecorder } from '../../src/latency.js';

function recorderOf(values: readonly number[]): LatencyRecorder {
  const recorder = new LatencyRecorder();
  for (const value of values) recorder.record(value);
  return recorder;
}

describe('the histogram of latencies', () => {
  test('is empty at first', () => {
    const { count, sumMs, maxMs, ...rest } = new LatencyRecorder().snapshot();
    expect([count, sumMs, maxMs]).toEqual([0, 0, 0]);
    expect(Object.keys(rest)).toEqual([]);
    expect(new LatencyRecorder().snapshot().percentile(50)).toBe(0);
  });

  test('percentiles are at most 3.2 % and a microsecond too high, never too low', () => {
    const random = seeded(7);
    const values = Array.from({ length: 20_000 }, () => 10 ** (random.next() * 9 - 3));
    const snapshot = recorderOf(values).snapshot();
    const sorted = [...values].sort((a, b) => a - b);
    for (const p of [0, 0.1, 1, 10, 50, 90, 99, 99.9, 100]) {
      const exact = sorted[Math.max(0, Math.ceil((p / 100) * values.length) - 1)] as number;
      expect(snapshot.percentile(p)).toBeGreaterThanOrEqual(exact);
      expect(snapshot.percentile(p)).toBeLessThanOrEqual(exact * 1.032 + 0.001);
    }
    expect(snapshot.count).toBe(values.length);
    expect(snapshot.maxMs).toBe(sorted.at(-1));
    expect(snapshot.percentile(100)).toBe(snapshot.maxMs);
    expect(snapshot.sumMs).toBeCloseTo(
      values.reduce((sum, value) => sum + value, 0),
      0,
    );
  });

  test('the edges of buckets and of the range', () => {
    for (const us of [0, 1, 63, 64, 65, 127, 128, 4095, 4096, 2 ** 30 - 1, 2 ** 30, 2 ** 31 - 1]) {
      const high =
        recorderOf([us / 1000, 1e9])
          .snapshot()
          .percentile(50) * 1000;
      expect(high).toBeGreaterThan(us);
      expect(high).toBeLessThanOrEqual(Math.max(us * (1 + 1 / 32), us + 1));
    }
    const beyond = recorderOf([1e12]).snapshot();
    expect(beyond.count).toBe(1);
    expect(beyond.maxMs).toBe(1e12);
  });

  test('a snapshot stays as it is', () => {
    const recorder = recorderOf([1]);
    const before = recorder.snapshot();
    recorder.record(100);
    expect([before.count, before.percentile(100)]).toEqual([1, 1]);
    expect(recorder.snapshot().count).toBe(2);
  });

  test.each([-1, 101, Number.NaN, '50'])('there is no percentile %s', (p) => {
    expect(() =>
      recorderOf([1])
        .snapshot()
        .percentile(p as number),
    ).toThrow('Expected a number from 0 to 100 for p');
  });
});

import { expect, onTestFinished, test, vi } from 'vitest';
import { warn } from '../../src/warnings.js';

/** What is said while `work` runs. */
function said(work: () => void): unknown[] {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => emitted.mockRestore());
  emitted.mockClear();
  work();
  return emitted.mock.calls.map(([message]) => message);
}

test('a sentence is said once, with its code', () => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => emitted.mockRestore());
  for (let time = 0; time < 3; time += 1) warn('ZEROHOP_RETIRED', 'once');
  expect(emitted.mock.calls).toEqual([['once', { type: 'ZerohopWarning', code: 'ZEROHOP_RETIRED' }]]);
});

test('what is wanted again and again stays said once; what was said long ago is forgotten', () => {
  const numbers = Array.from({ length: 10_000 }, (_, index) => `sentence ${index}`);
  const all = said(() => {
    warn('ZEROHOP_RETIRED', 'often');
    for (const sentence of numbers) {
      warn('ZEROHOP_RETIRED', sentence);
      warn('ZEROHOP_RETIRED', 'often');
    }
  });
  expect(all).toEqual(['often', ...numbers]);
  // Nothing but a memory with an end lets the first be said again.
  expect(said(() => warn('ZEROHOP_RETIRED', 'sentence 0'))).toEqual(['sentence 0']);
  expect(said(() => warn('ZEROHOP_RETIRED', 'sentence 9999'))).toEqual([]);
});

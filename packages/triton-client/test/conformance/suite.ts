import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TritonClient } from '../../src/index.js';
import { systemKind } from '../support/qa-kinds.js';
import { appliesTo } from './case.js';
import { CASES } from './cases/all.js';
import { Context, type SeenErrors } from './context.js';
import { QA_CASES } from './qa.js';
import type { ConformanceTarget } from './target.js';

/** The models that a target's main server has loaded; it knows `identity_64`, `chain` and `slow` too. */
export const MODELS = [
  'add_sub',
  'hold',
  'request_info',
  'identity',
  'echo_bytes',
  'fail',
  'repeat',
  'sequence',
  'text',
  'parameters',
] as const;

/**
 * Registers every case that applies to `target` as a test, and one more at the end: no error of the run was one that the
 * client has no code for.
 */
export function conformanceSuite(target: ConformanceTarget): void {
  describe(`${target.name} over ${target.transport}`, () => {
    const seen: SeenErrors = new Map();
    let client: TritonClient;

    beforeAll(() => {
      const { grpcUrl, httpUrl, metricsUrl } = target.servers('main');
      client = new TritonClient(target.transport === 'grpc' ? grpcUrl : httpUrl, { metricsUrl });
    });

    afterAll(() => client.close());

    for (const { row, use, title, run, ...scope } of CASES) {
      if (!appliesTo(scope, target.transport, target.version)) continue;
      test(`${row}, ${use}: ${title}`, () => run(new Context(target, client, seen)));
    }

    for (const { number, what, run } of QA_CASES) {
      test(`QA ${number}: ${what}`, async () => {
        const context = new Context(target, client, seen);
        await client.systemSharedMemory.unregisterAll();
        await run(context, systemKind(context));
      });
    }

    test('every error had a code of its own', () => {
      expect([...seen.values()].flat().length).toBeGreaterThan(20);
      expect(seen.get('TRITON_UNKNOWN') ?? []).toEqual([]);
    });
  });
}

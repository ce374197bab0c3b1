/**
 * One measurement of one Node client in a process of its own, so that neither its CPU time nor its code's state is
 * shared with another row: `node measure.js SPEC`, a MeasureSpec in JSON; prints a Measurement in JSON.
 */
import { measurePool } from './clients/pool.js';
import { measureUnary } from './clients/unary.js';
import type { MeasureSpec } from './measure-spec.js';

const spec = JSON.parse(process.argv[2] ?? '') as MeasureSpec;
try {
  const measurement = await (spec.client === 'pool' ? measurePool(spec) : measureUnary(spec));
  process.stdout.write(`${JSON.stringify(measurement)}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

// `npm run triton`: a Triton server with this clone's models that stays up until it is interrupted, for your own program.
//
//   npm run triton                            on 8000 (HTTP), 8001 (gRPC) and 8002 (metrics) of 127.0.0.1
//   npm run triton -- --ports 9000,9001,9002  on others
import { join } from 'node:path';
import { root } from './setup/paths.mjs';

const MIB = 2 ** 20;
const USE = 'Use: npm run triton [-- --ports HTTP,GRPC,METRICS]';

/** @returns {{ http: number, grpc: number, metrics: number } | undefined} undefined when the words make no sense */
export function portsFrom(args) {
  if (args.length === 0) return { http: 8000, grpc: 8001, metrics: 8002 };
  const value = args[0] === '--ports' ? args[1] : args[0].replace(/^--ports=/, '');
  if (args.length !== (args[0] === '--ports' ? 2 : 1) || !/^\d+,\d+,\d+$/.test(value)) return undefined;
  const numbers = value.split(',').map(Number);
  const different = new Set(numbers).size === 3;
  if (!different || numbers.some((port) => port < 1 || port > 65_535)) return undefined;
  const [http, grpc, metrics] = numbers;
  return { http, grpc, metrics };
}

/** Resolves, with what the process should end with, when the server has ended. */
export async function serve(args) {
  const ports = portsFrom(args);
  if (ports === undefined) {
    console.error(USE);
    return 2;
  }
  const { LocalTritonError, startTriton } = await import('../tools/local-triton/dist/index.js');
  const interrupt = new AbortController();
  // It ends within seconds; a signal that comes twice, as npm's Ctrl-C does, changes nothing.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupt.abort());
  try {
    const triton = await startTriton({
      modelRepository: [join(root, 'models'), join(root, 'tests', 'models')],
      ports,
      shmByteLength: 224 * MIB,
      signal: interrupt.signal,
      onProgress: (line) => console.error(line),
    });
    console.log(`gRPC     ${triton.grpcUrl}\nHTTP     ${triton.httpUrl}\nmetrics  ${triton.metricsUrl}`);
    console.error('Ctrl-C ends it.');
    interrupt.signal.addEventListener('abort', () => {
      console.error('Ending the Triton server');
      triton.stop();
    });
    await triton.whenEnded();
    if (!interrupt.signal.aborted) console.error(`${triton.logTail()}\n\nThe Triton server has ended by itself.`);
    await triton.stop();
    return interrupt.signal.aborted ? 0 : 1;
  } catch (error) {
    if (interrupt.signal.aborted) return 0;
    if (!(error instanceof LocalTritonError)) throw error;
    const hint = error.message.startsWith('Port ') ? ' (--ports HTTP,GRPC,METRICS)' : '';
    console.error(`${error.message}${hint}`);
    return error.code === 'ERR_TRITON_START' ? 1 : 3;
  }
}

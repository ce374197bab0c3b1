#!/usr/bin/env node
import { readArguments } from './cli/arguments.js';
import { USAGE, UsageError } from './cli/usage.js';
import { DevServer } from './dev-server.js';
import type { DevServerOptions } from './options.js';

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(USAGE);
    return;
  }
  const { options, ignored } = readArguments(args);
  if (ignored.length > 0) process.stderr.write(`triton-devserver: without effect here: ${ignored.join(', ')}\n`);
  const server = await started(options);
  const models = server.models().filter(({ state }) => state !== undefined);
  for (const [signal, number] of Object.entries(SIGNALS)) {
    // Another signal while it ends is nothing, as with the real server.
    process.on(signal, () => {
      process.stdout.write(`Signal (${number}) received.\n`);
      // A timer or a socket of a model's own must not keep the process.
      void server
        .stop()
        .catch(complain)
        .finally(() => process.exit());
    });
  }
  const lines = [
    ['grpc', server.grpcUrl],
    ['http', server.httpUrl],
    ...(options.metrics === false ? [] : [['metrics', server.metricsUrl]]),
    ...(server.controlUrl === undefined ? [] : [['control', server.controlUrl]]),
    ...(models.length === 0 ? [['model', 'none is loaded']] : []),
    ...models.map(({ name, version = '', state, reason = '' }) => [
      'model',
      `${name} ${version} ${state} ${reason.replace(/\s+/g, ' ')}`.trimEnd(),
    ]),
  ];
  process.stdout.write(`${lines.map(([what = '', text]) => `${what.padEnd(8)} ${text}\n`).join('')}ready\n`);
}

async function started(options: DevServerOptions): Promise<DevServer> {
  try {
    return await DevServer.start(options);
  } catch (error) {
    const { code, address, port } = error as { code?: string; address?: string; port?: number };
    if (code !== 'EADDRINUSE') throw error;
    throw new Error(`${port === undefined ? address : `Port ${port} of ${address}`} is taken`, { cause: error });
  }
}

function complain(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`triton-devserver: ${text}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

// Who reads the output may end first.
process.stdout.on('error', () => undefined);
main(process.argv.slice(2)).catch(complain);

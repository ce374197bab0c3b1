import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const fixture = fileURLToPath(new URL('../fixtures/tensor-server.mjs', import.meta.url));

export interface TensorServer {
  readonly grpcUrl: string;
  end(): Promise<void>;
}

/**
 * Starts a devserver in a process of its own, since no driver opens a CUDA handle of its own process.
 * @param options the server's, beside its models
 */
export async function startTensorServer(options: object = {}): Promise<TensorServer> {
  const child = fork(fixture, [JSON.stringify(options)], { execArgv: [] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The server ended with ${String(code)}`);
  });
  const [{ grpcUrl }] = (await Promise.race([once(child, 'message'), ended])) as [{ grpcUrl: string }];
  ended.catch(() => undefined);
  return {
    grpcUrl,
    end: async () => {
      const exit = once(child, 'exit');
      child.disconnect();
      await exit;
    },
  };
}

import { join } from 'node:path';
import { root } from '../setup/paths.mjs';

/** The server of the examples: that at TRITON_URL, else one started here. `stop` ends only the latter. */
export async function exampleServer() {
  if (process.env.TRITON_URL) return { env: {}, stop: async () => undefined };
  const { startTriton } = await import('../../tools/local-triton/dist/index.js');
  const triton = await startTriton({ modelRepository: [join(root, 'tests', 'models'), join(root, 'models')] });
  return {
    env: { TRITON_URL: triton.grpcUrl, TRITON_HTTP_URL: triton.httpUrl, TRITON_METRICS_URL: triton.metricsUrl },
    stop: () => triton.stop(),
  };
}

import { Agent, request } from 'node:http';
import { byteLength } from './cases.js';
import { ones, type Requester } from './ours.js';
import type { ClientSpec } from './spec.js';

/**
 * The least that a Node program can do: node:http, the header written once, the tensor's own bytes after it, the answer
 * collected and its first output's head looked at. Nothing is checked.
 */
export async function makeNodeHttp({ httpUrl, work, inFlight }: ClientSpec): Promise<Requester> {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  const { hostname, port } = new URL(httpUrl);
  const data = Buffer.from(ones(work.inputShape).buffer);
  const shape = work.inputShape;
  const header = Buffer.from(
    JSON.stringify({
      inputs: [{ name: 'INPUT0', datatype: 'FP32', shape, parameters: { binary_data_size: data.byteLength } }],
      parameters: { binary_data_output: true },
    }),
  );
  const headers = {
    'inference-header-content-length': header.byteLength,
    'content-length': header.byteLength + data.byteLength,
  };
  const path = `/v2/models/${work.model}/infer`;
  const once = () =>
    new Promise<void>((resolve, reject) => {
      const call = request({ hostname, port, path, method: 'POST', agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(chunks);
          const length = Number(response.headers['inference-header-content-length']);
          const { outputs } = JSON.parse(body.toString('utf8', 0, length)) as { outputs: { name: string }[] };
          const isWhole = body.byteLength === length + byteLength(work.outputShape);
          if (outputs[0]?.name === 'OUTPUT0' && isWhole) resolve();
          else reject(new Error(`HTTP ${response.statusCode}`));
        });
      });
      call.on('error', reject);
      call.write(header);
      call.end(data);
    });
  return { requests: Array.from({ length: inFlight }, () => once), close: async () => agent.destroy() };
}

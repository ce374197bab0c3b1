import { connect } from '../clients/unary.js';
import { ones, type Requester } from './ours.js';
import type { ClientSpec } from './spec.js';

interface Answer {
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[] }[];
  readonly raw_output_contents: readonly Buffer[];
}

/** grpc-js with a proto-loader stub: the message built and encoded for every request, the answer decoded and looked at. */
export async function makeProtoLoader({ grpcUrl, work, inFlight }: ClientSpec): Promise<Requester> {
  const stub = connect<Answer>(grpcUrl);
  const data = Buffer.from(ones(work.inputShape).buffer);
  const once = () =>
    new Promise<void>((resolve, reject) => {
      const message = {
        model_name: work.model,
        inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: work.inputShape }],
        raw_input_contents: [data],
      };
      stub.ModelInfer(message, (error, answer) => {
        const output = answer?.outputs[0];
        if (error !== null) reject(error);
        else if (output?.name !== 'OUTPUT0' || output.datatype !== 'FP32') reject(new Error('another answer'));
        else if (answer?.raw_output_contents[0]?.[3] === 0) reject(new Error('the output holds zeros'));
        else resolve();
      });
    });
  return { requests: Array.from({ length: inFlight }, () => once), close: async () => stub.close() };
}

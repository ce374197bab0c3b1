import { describeTier, privateTriton } from '@zerohop/test-support';
import { describeTwoGpus } from '../support/two-gpus-suite.js';

describeTier(
  'gpu',
  'two real GPUs, seen in different orders by the client and a real server',
  () => {
    describeTwoGpus({
      hostShowsGpus: true,
      startServer: async (visible) => {
        const env = { CUDA_VISIBLE_DEVICES: visible };
        const server = await privateTriton({ models: ['identity_64'], env });
        const { grpcUrl, metricsUrl } = server;
        return { grpcUrl, metricsUrl, end: () => server.stop() };
      },
    });
  },
  { needs: ['gpus'] },
);

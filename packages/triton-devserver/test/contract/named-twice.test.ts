import { afterAll, describe } from 'vitest';
import { DevServer } from '../../src/dev-server.js';
import { namedTwiceSuite } from '../support/named-twice-suite.js';

describe.each(['2.48', '2.51', '2.53', '2.68'] as const)('outputs named several times, version %s', (version) => {
  let server: Promise<DevServer> | undefined;
  afterAll(async () => (await server)?.stop());

  namedTwiceSuite(() => {
    server ??= DevServer.start({
      version,
      allowClientShm: true,
      models: {
        identity: {
          config: {
            input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1n, -1n] }],
            output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1n, -1n] }],
          },
          execute: ({ inputs }) => ({ OUTPUT0: inputs.INPUT0 as never }),
        },
      },
    });
    return server;
  });
});

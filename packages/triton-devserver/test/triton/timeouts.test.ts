import { join } from 'node:path';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/index.js';
import { TELLING_MODEL, toldTimeouts } from '../support/timeouts.js';
import { TwinRepository } from '../support/twin-repository.js';

const REAL_MODELS = join(import.meta.dirname, '../../../triton-client/test/conformance/models');

describeTier('triton', 'the timeout of a request', () => {
  test('is told to a model as by a real 2.51, whatever it is', async () => {
    const twins = new TwinRepository([TELLING_MODEL]);
    onTestFinished(() => twins.remove());
    const real = await privateTriton({ modelRepository: REAL_MODELS, models: [TELLING_MODEL] });
    onTestFinished(() => real.stop());
    const own = await DevServer.start({ modelRepository: twins.path });
    onTestFinished(() => own.stop());
    expect(await toldTimeouts(own)).toEqual(await toldTimeouts(real));
  });
});

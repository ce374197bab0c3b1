import { type FakeModel, FakeTriton } from '../support/fake-triton.js';
import { describeResize } from '../support/resize-suite.js';

const makeServer = (models?: Readonly<Record<string, FakeModel>>) => new FakeTriton(models);

describeResize({ transport: 'system', makeServer });
describeResize({ transport: 'bytes', makeServer });

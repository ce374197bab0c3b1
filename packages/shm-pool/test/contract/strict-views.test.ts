import { type FakeModel, FakeTriton } from '../support/fake-triton.js';
import { describeViews } from '../support/views-suite.js';

const makeServer = (models?: Readonly<Record<string, FakeModel>>) => new FakeTriton(models);

describeViews({ transport: 'system', makeServer });
describeViews({ transport: 'bytes', makeServer });

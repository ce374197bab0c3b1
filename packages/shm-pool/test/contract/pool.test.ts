import { type FakeModel, FakeTriton } from '../support/fake-triton.js';
import { describePool } from '../support/pool-suite.js';
import { describeRegions } from '../support/region-suite.js';

const makeServer = (models?: Readonly<Record<string, FakeModel>>) => new FakeTriton(models);

describePool({ transport: 'system', makeServer });
describePool({ transport: 'bytes', makeServer });
describeRegions({ transport: 'system', makeServer });
describePool({ transport: 'system', makeServer, options: { strictViews: true } });
describePool({ transport: 'bytes', makeServer, options: { strictViews: true } });
describeRegions({ transport: 'system', makeServer, options: { strictViews: true } });

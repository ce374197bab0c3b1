import { describe } from 'vitest';
import { describeGrowth, growsAndReleases } from '../support/growth-suite.js';

describeGrowth({ transport: 'system' });
describeGrowth({ transport: 'bytes' });

// Servers before 2.50 don't count the users of a region; those from 2.53 on defer an unregister.
describe.for(['2.48', '2.53', '2.68'])('server %s', (version) => {
  growsAndReleases({ transport: 'system', server: { version, allowClientShm: true } });
});

import { afterAll, describe } from 'vitest';
import { removeOurEntries } from '../support/names.js';
import { fakeTarget } from '../support/schedule/targets.js';
import { describeSeededBugs } from '../support/seeded-bugs-suite.js';

afterAll(removeOurEntries);

describe('bugs put into the pool', () => {
  describeSeededBugs('system', (version) => fakeTarget(version));
});

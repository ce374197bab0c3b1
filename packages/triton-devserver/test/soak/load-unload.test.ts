import { compareLoads } from '../support/loads/comparison.js';
import { ENSEMBLES } from '../support/loads/ensemble-steps.js';
import { LONG } from '../support/loads/steps.js';

for (const version of ['2.51', '2.48'] as const) compareLoads([...LONG, ...ENSEMBLES], version);

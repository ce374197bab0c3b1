import { compareLoads } from '../support/loads/comparison.js';
import { ENSEMBLES } from '../support/loads/ensemble-steps.js';

compareLoads(ENSEMBLES, '2.51');
compareLoads(ENSEMBLES, '2.48');

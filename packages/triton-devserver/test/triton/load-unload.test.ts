import { compareLoads } from '../support/loads/comparison.js';
import { SHORT } from '../support/loads/steps.js';

compareLoads(SHORT, '2.51');

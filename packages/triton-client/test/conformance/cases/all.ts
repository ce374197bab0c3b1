import type { ConformanceCase } from '../case.js';
import { httpCases } from './http.js';
import { modelCases } from './models.js';
import { optionCases } from './options.js';
import { regionCases } from './regions.js';
import { serverCases } from './server.js';
import { streamCases } from './streams.js';
import { transportCases } from './transport.js';
import { wordCases } from './words.js';

export const CASES: readonly ConformanceCase[] = [
  ...serverCases,
  ...modelCases,
  ...regionCases,
  ...optionCases,
  ...streamCases,
  ...httpCases,
  ...wordCases,
  ...transportCases,
];

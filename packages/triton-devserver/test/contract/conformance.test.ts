import { conformanceOf } from '../support/conformance-target.js';

// A file for each version: they run side by side.
conformanceOf('2.51');

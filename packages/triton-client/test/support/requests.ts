import { type InferRequest, region, tensor } from '../../src/index.js';

/** What tests send where it does not matter what is sent: a server double looks at no tensor. */
export const IN_MESSAGE: InferRequest = { inputs: { a: tensor('UINT8', [1], Uint8Array.of(1)) } };
export const IN_REGION: InferRequest = { inputs: { a: region('r', { datatype: 'FP32', shape: [4] }) } };

/** For the models `identity`, `slow` and `fail` of a real server. */
export const ONE_FLOAT: InferRequest = { inputs: { INPUT0: tensor('FP32', [1, 1], Float32Array.of(3)) } };

/** With them a request is a unary call. */
export const HEADERS = { 'x-token': 'secret' };

/** The reason of a caller's signal. */
export const REASON = new Error('the user left');

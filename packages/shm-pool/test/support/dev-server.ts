import type { DevServerOptions } from '@zerohop/triton-devserver';

type Models = NonNullable<DevServerOptions['models']>;

/** The devserver's counterpart of `identity`. */
export const echoModel: Models[string] = {
  config: {
    input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4, 64] }],
    output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4, 64] }],
  },
  execute({ inputs: { IN } }) {
    if (IN === undefined) throw new Error('No input');
    return { OUT: { shape: IN.shape, data: IN.data } };
  },
};

import { expect, test } from 'vitest';
import { checkFlow } from '../../src/config/ensemble-flow.js';
import { ModelConfig } from '../../src/grpc/gen/model_config.js';

type Step = readonly [takes: string, ...makes: string[]];

function flow(inputs: readonly string[], outputs: readonly string[], ...steps: readonly Step[]) {
  return () =>
    checkFlow(
      ModelConfig.fromPartial({
        name: 'e',
        input: inputs.map((name) => ({ name })),
        output: outputs.map((name) => ({ name })),
        ensemble_scheduling: {
          step: steps.map(([takes, ...makes]) => ({
            input_map: { IN: takes },
            output_map: Object.fromEntries(makes.map((tensor, index) => [`OUT${index}`, tensor])),
          })),
        },
      }),
    );
}

test('a flow from the inputs to the outputs is taken, in any order of the steps, and an input may be an output', () => {
  flow(['A'], ['Z', 'Y'], ['A', 'M'], ['M', 'Z', 'Y'])();
  flow(['A'], ['Z'], ['M', 'Z'], ['A', 'M'])();
  flow(['A'], ['Z', 'A'], ['A', 'Z'])();
});

// The words are those in the logs of 2.51 and 2.48.
test.for([
  ['an output left over', flow(['A'], ['Z'], ['A', 'Z', 'T']), "ensemble tensor 'T' is unused in ensemble 'e'"],
  ['a step left over', flow(['A'], ['Z'], ['A', 'X'], ['A', 'Z']), "ensemble tensor 'X' is unused in ensemble 'e'"],
  ['a loop', flow(['A'], ['Z'], ['L', 'L'], ['A', 'Z']), "ensemble tensor 'L' is unused in ensemble 'e'"],
  ['only the input', flow(['A'], ['A'], ['A', 'Z']), "ensemble tensor 'Z' is unused in ensemble 'e'"],
  ['an idle input', flow(['A', 'B'], ['Z'], ['A', 'Z', 'T']), "ensemble input 'B' for ensemble e' is not used"],
  ['an unknown output', flow(['A'], ['Z', 'N'], ['A', 'Z', 'T']), "ensemble output 'N' for ensemble e' is not used"],
  [
    'a tensor from nowhere',
    flow(['A'], ['Z', 'Y'], ['A', 'Z', 'T'], ['NOWHERE', 'M'], ['M', 'Y']),
    "output 'Y' for ensemble 'e' is not written: at least one of its depending tensors, 'NOWHERE', is not connected",
  ],
] as const)('%s is refused in the words of a server', ([, check, text]) => {
  expect(check).toThrow(text);
});

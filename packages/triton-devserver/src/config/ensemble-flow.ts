import type { ModelConfig } from '../grpc/gen/model_config.js';
import { ConfigError } from './config-error.js';

/**
 * Holds an ensemble's tensors to be a flow from its inputs to its outputs in which none is left over, in the order and
 * the words of 2.51 and 2.48, the stray quotation marks included. Of several tensors left over a server names any.
 *
 * @throws ConfigError
 */
export function checkFlow({ name, input, output, ensemble_scheduling: scheduling }: ModelConfig): void {
  const steps = (scheduling?.step ?? []).map(({ input_map, output_map }) => ({
    takes: Object.values(input_map),
    makes: Object.values(output_map),
  }));
  const inputs = input.map((each) => each.name);
  const outputs = output.map((each) => each.name);
  const wrong = (message: string) => new ConfigError('', message);

  const named = new Set(steps.flatMap(({ takes, makes }) => [...takes, ...makes]));
  const idle = (role: string, tensor: string) =>
    wrong(`ensemble ${role} '${tensor}' for ensemble ${name}' is not used`);
  for (const tensor of inputs) if (!named.has(tensor)) throw idle('input', tensor);
  for (const tensor of outputs) if (!named.has(tensor)) throw idle('output', tensor);

  const written = reached(inputs, (tensors) => {
    return steps.filter(({ takes }) => takes.every((tensor) => tensors.has(tensor))).flatMap(({ makes }) => makes);
  });
  /** What the outputs in question are made of. */
  const behind = (wanted: readonly string[]) =>
    reached(wanted, (tensors) => {
      return steps.filter(({ makes }) => makes.some((tensor) => tensors.has(tensor))).flatMap(({ takes }) => takes);
    });
  for (const tensor of outputs) {
    if (written.has(tensor)) continue;
    const loose = [...behind([tensor])].reverse().find((each) => !written.has(each));
    const why = `at least one of its depending tensors, '${loose}', is not connected`;
    throw wrong(`output '${tensor}' for ensemble '${name}' is not written: ${why}`);
  }
  // What a step makes beside what is wanted of it would be in no answer: each of its tensors has to be used.
  const used = behind(outputs);
  const unused = [...named].find((tensor) => !used.has(tensor));
  if (unused !== undefined) throw wrong(`ensemble tensor '${unused}' is unused in ensemble '${name}'`);
}

/** The tensors to which one gets from some, round by round until there are no more. */
function reached(from: readonly string[], next: (tensors: ReadonlySet<string>) => readonly string[]): Set<string> {
  const tensors = new Set(from);
  for (let before = -1; before < tensors.size; ) {
    before = tensors.size;
    for (const tensor of next(tensors)) tensors.add(tensor);
  }
  return tensors;
}

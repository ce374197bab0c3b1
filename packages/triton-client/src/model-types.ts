import type { ModelConfig, ModelMetadata, TensorMetadata } from './types/server.js';

/**
 * A model's tensors and their datatypes as a TypeScript interface, for `client.model<…>()`.
 *
 * @param config - undefined where it is not known; every input then counts as required
 * @param name - of the interface. @defaultValue the model's, in PascalCase
 */
export function modelTypes(
  metadata: ModelMetadata,
  config: ModelConfig | undefined,
  name = pascalCase(metadata.name),
): string {
  const optional = new Set(config?.optionalInputs);
  // A server's name must not end the comment.
  const model = metadata.name.replaceAll('*/', '* /');
  return [
    `/** Of \`client.model<${name}>('${model}')\`. Made from the server's metadata; -1: a dimension that varies. */`,
    `export interface ${name} {`,
    '  inputs: {',
    ...metadata.inputs.flatMap((tensor) => property(tensor, optional.has(tensor.name))),
    '  };',
    '  outputs: {',
    ...metadata.outputs.flatMap((tensor) => property(tensor, false)),
    '  };',
    '}',
    '',
  ].join('\n');
}

function property({ name, datatype, shape }: TensorMetadata, optional: boolean): string[] {
  const key = isIdentifier(name) ? name : JSON.stringify(name);
  return [`    /** ${datatype} [${shape.join(', ')}] */`, `    ${key}${optional ? '?' : ''}: '${datatype}';`];
}

export function isIdentifier(name: string): boolean {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name);
}

function pascalCase(name: string): string {
  const words = name.split(/[^\p{ID_Continue}]+|_/u).filter((word) => word !== '');
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return isIdentifier(joined) ? joined : `Model${joined}`;
}

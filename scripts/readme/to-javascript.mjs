import ts from 'typescript';

/** An example in TypeScript as JavaScript: Node 20 has no `using`; everything else in the examples is what node runs. */
export function toJavaScript(code) {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(code, { compilerOptions }).outputText;
}

#!/usr/bin/env node
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { TritonClient } from './client.js';
import { isIdentifier, modelTypes } from './model-types.js';

const USAGE = `Usage: triton-client types --url URL --model NAME [options]

Writes a model's tensors and their datatypes as a TypeScript interface, for client.model<…>().

  --url URL        grpc://host:8001, grpcs://…, unix:/path, http://host:8000 or https://…
  --model NAME     the model
  --version N      its version; the server's choice without it
  --name NAME      of the interface; the model's in PascalCase without it
  --out FILE       where to write it; standard output without it
`;

/** A wrong command line. */
class UsageError extends Error {}

async function types(args: readonly string[]): Promise<void> {
  const { url, model, version, name, out } = read(args);
  if (url === undefined || model === undefined) throw new UsageError('--url and --model are needed');
  if (name !== undefined && !isIdentifier(name)) throw new UsageError(`'${name}' is no name for an interface`);
  const client = clientOf(url);
  try {
    const { metadata, config } = await client.model(model, version === undefined ? {} : { version });
    const text = modelTypes(metadata, config, name);
    if (out === undefined) process.stdout.write(text);
    else await writeFile(out, text);
  } finally {
    await client.close();
  }
}

function read(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    const options = { url: text, model: text, version: text, name: text, out: text };
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function clientOf(url: string): TritonClient {
  try {
    return new TritonClient(url);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function main([command, ...args]: readonly string[]): Promise<void> {
  if (command === '--help' || args.includes('--help')) process.stdout.write(USAGE);
  else if (command === 'types') await types(args);
  else throw new UsageError(command === undefined ? 'a command is needed' : `there is no command '${command}'`);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const wrong = error instanceof UsageError;
  process.stderr.write(`triton-client: ${error instanceof Error ? error.message : String(error)}\n`);
  if (wrong) process.stderr.write(`\n${USAGE}`);
  process.exitCode = wrong ? 2 : 1;
});

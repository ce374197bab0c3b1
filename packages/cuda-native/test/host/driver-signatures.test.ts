/**
 * Our declarations of the driver against NVIDIA's cuda.h (from PyPI, only here): the compiler compares every function of
 * the table, every struct field and every constant.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cudaHeaders, describeTier } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { comparer, core } from '../support/signatures.js';

const types = readFileSync(join(core, 'driver_types.h'), 'utf8');
const table = readFileSync(join(core, 'driver_functions.h'), 'utf8');

const functions = Array.from(table.matchAll(/X\((\w+), "(\w+)", k\w+,/g), ([, name, symbol]) => ({ name, symbol }));

/** `{ struct: fields }` of the structs whose fields we name. */
const structs = Array.from(types.matchAll(/^struct (\w+) \{\n([\s\S]*?)^\};/gm), ([, struct = '', body = '']) => ({
  struct,
  // The union in CUlaunchAttribute is compared by its place and size.
  fields: Array.from(body.matchAll(/^ {2}(?:\S+ )+\*?(\w+)(?:\[\d+\])?;$/gm), ([, field = '']) => field),
}));

/** Enumerators, and the constants that the header has as macros, which are pointers there. */
const constants = Array.from(types.matchAll(/^ {2}(CU\w+) = \d+,$/gm), ([, name = '']) => name);
const macros = Array.from(types.matchAll(/^constexpr uintptr_t (\w+) = /gm), ([, name = '']) => name);

/** Fields that the header names otherwise, or does not show. */
const NAMELESS = new Set(['CUuuid.bytes', 'CUlaunchAttribute.value', 'CUlaunchAttribute.pad']);
function program(extra = ''): string {
  const lines = ['#include "driver_api.h"', 'namespace zerohop {', 'namespace ours {'];
  // The header's macros of the same names come later: values are taken before.
  for (const name of macros) lines.push(`constexpr uintptr_t k${name} = ${name};`);
  for (const name of constants) lines.push(`constexpr long long k${name} = ${name};`);
  // Some functions are macros in the header, too: types are taken by their place in the table before.
  for (const { name } of functions) lines.push(`using f_${name}_ = decltype(driver.${name});`);
  lines.push('}', '}', '#include <cuda.h>', '#include "same_abi.h"', '#include <cstddef>');
  for (const { name, symbol } of functions) {
    lines.push(
      `static_assert(zerohop::SameFunction<zerohop::ours::f_${name}_, decltype(&::${symbol})>::value, "${symbol}");`,
    );
  }
  for (const { struct, fields } of structs) {
    lines.push(`static_assert(sizeof(zerohop::${struct}) == sizeof(::${struct}), "size of ${struct}");`);
    for (const field of fields.filter((each) => !NAMELESS.has(`${struct}.${each}`))) {
      lines.push(
        `static_assert(offsetof(zerohop::${struct}, ${field}) == offsetof(::${struct}, ${field}), "${struct}.${field}");`,
        `static_assert(sizeof(zerohop::${struct}::${field}) == sizeof(::${struct}::${field}), "${struct}.${field}");`,
      );
    }
  }
  lines.push(
    'static_assert(offsetof(zerohop::CUlaunchAttribute, value) == offsetof(::CUlaunchAttribute, value), "value");',
  );
  for (const name of constants) {
    lines.push(`static_assert(zerohop::ours::k${name} == static_cast<long long>(${name}), "${name}");`);
  }
  lines.push('int main() {');
  for (const name of macros)
    lines.push(`if (zerohop::ours::k${name} != reinterpret_cast<uintptr_t>(${name})) return 1;`);
  lines.push(extra, 'return 0; }');
  return lines.join('\n');
}

describeTier(
  'host',
  "our declarations and NVIDIA's cuda.h",
  () => {
    const compile = comparer(
      () => [cudaHeaders()],
      '#include "driver_api.h"\nnamespace zerohop { DriverApi driver; }\n',
    );

    it('agree on every function, struct and constant', () => {
      expect(functions.length).toBeGreaterThan(60);
      expect(structs.map(({ struct }) => struct)).toEqual(
        expect.arrayContaining(['CUDA_MEMCPY2D', 'CUlaunchConfig', 'CUlaunchAttribute', 'CUuuid', 'CUipcMemHandle']),
      );
      expect(structs.find(({ struct }) => struct === 'CUDA_MEMCPY2D')?.fields).toHaveLength(16);
      expect(constants.length).toBeGreaterThan(30);
      expect(macros).toHaveLength(3);
      const { ok, output } = compile(program());
      expect(output).toBe('');
      expect(ok).toBe(true);
    });

    it.each([
      ['one parameter less', 'CUresult (*)(CUdeviceptr)', '::cuMemAlloc_v2'],
      ['another size', 'CUresult (*)(unsigned int)', '::cuMemFree_v2'],
      ['another struct', 'CUresult (*)(zerohop::CUuuid*, ::CUdeviceptr)', '::cuIpcGetMemHandle'],
      ['a value for a pointer', 'CUresult (*)(unsigned long long)', '::cuDeviceGetCount'],
    ])('would be found to differ by %s', (_, wrong, symbol) => {
      const { output } = compile(
        program(`static_assert(zerohop::SameFunction<${wrong}, decltype(&${symbol})>::value, "differs");`),
      );
      expect(output).toContain('differs');
    });
  },
  { needs: ['g++', 'cuda-headers'] },
);

/**
 * Our declarations of nvJPEG against NVIDIA's nvjpeg.h (from PyPI, only here): the compiler compares every function of the
 * table, the one struct, and every number that C++ or TypeScript has of the header's.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cudaHeaders, describeTier, nvjpegHeader } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { formatNumber, subsamplingNumber } from '../../src/jpeg-format.js';
import { type JpegError, nvjpegFailure } from '../../src/nvjpeg-errors.js';
import { comparer, core } from '../support/signatures.js';

const table = readFileSync(join(core, 'nvjpeg_functions.h'), 'utf8');
const functions = Array.from(table.matchAll(/^ {2}X\((\w+), k\w+,/gm), ([, name = '']) => name);
const constants = Array.from(table.matchAll(/^ {2}(NVJPEG_\w+) = \d+,$/gm), ([, name = '']) => name);

/** As the runtime declares it: compared below. */
const STREAM = 'typedef struct CUstream_st *cudaStream_t;';

/** Its allocators are structs, which we never give and leave opaque. */
const OPAQUE = 'nvjpegCreateEx';

/** The header's names for the numbers of TypeScript. */
const FORMATS = { RGB8: 'RGBI', BGR8: 'BGRI', RGB8P: 'RGB', BGR8P: 'BGR', GRAY8: 'Y' };
const SUBSAMPLINGS = { '4:4:4': '444', '4:2:2': '422', '4:2:0': '420', gray: 'GRAY' };

function statusName(status: number): string {
  const failure = {
    source: 'nvjpeg',
    call: 'nvjpegDestroy',
    reason: '',
    detail: '',
    device: 0,
    name: '',
    text: '',
  } as const;
  const error = nvjpegFailure({ ...failure, status, sticky: false, refused: false });
  return (error as JpegError).statusName ?? '';
}

/** Lines that hold where `number` is what the header has under that name. */
const numbers = [
  ...Object.entries(FORMATS).map(([name, theirs]) => [`NVJPEG_OUTPUT_${theirs}`, formatNumber(name)] as const),
  // Only GRAY8 is never an input.
  ...Object.entries(FORMATS)
    .filter(([name]) => name !== 'GRAY8')
    .map(([name, theirs]) => [`NVJPEG_INPUT_${theirs}`, formatNumber(name)] as const),
  ...Object.entries(SUBSAMPLINGS).map(([name, theirs]) => [`NVJPEG_CSS_${theirs}`, subsamplingNumber(name)] as const),
  ...Array.from({ length: 11 }, (_, status) => [statusName(status), status] as const),
  // nvjpegGetProperty is asked for them in this order.
  ...['MAJOR_VERSION', 'MINOR_VERSION', 'PATCH_LEVEL'].map((name, i) => [name, i] as const),
];

/**
 * The table is compared twice: as the addon has it, for what a call passes; and with its types taken for the header's of
 * the same names, since two kinds of handles are passed the same way.
 */
function program(extra = ''): string {
  return [
    '#include "nvjpeg_api.h"',
    '#include <cstddef>',
    // The header wants the runtime's for this type alone, and that one needs further packages.
    '#include <cuda.h>',
    '#define __CUDA_RUNTIME_API_H__',
    STREAM,
    '#include <nvjpeg.h>',
    '#include "same_abi.h"',
    'template <typename Ours, typename Theirs> constexpr bool Same() {',
    '  return std::is_same_v<Ours, Theirs> ||',
    '         (std::is_same_v<Ours, int> && std::is_enum_v<Theirs> && sizeof(Theirs) == sizeof(int));',
    '}',
    'template <typename Ours, typename Theirs> struct Exactly;',
    'template <typename R, typename... A, typename... B> struct Exactly<R (*)(A...), R (*)(B...)> {',
    '  static constexpr bool Compare() {',
    '    if constexpr (sizeof...(A) != sizeof...(B)) return false;',
    '    else return (Same<A, B>() && ...);',
    '  }',
    '  static constexpr bool value = Compare();',
    '};',
    '#define COMPARE(name, call_class, parameters)                                            \\',
    '  static_assert(Exactly<nvjpegStatus_t(*) parameters, decltype(&::name)>::value, #name);',
    'ZEROHOP_NVJPEG_FUNCTIONS(COMPARE)',
    ...functions
      .filter((name) => name !== OPAQUE)
      .map(
        (name) =>
          `static_assert(zerohop::SameFunction<decltype(zerohop::nvjpeg.${name}), decltype(&::${name})>::value, "${name}");`,
      ),
    'static_assert(sizeof(zerohop::nvjpegImage_t) == sizeof(::nvjpegImage_t), "size of nvjpegImage_t");',
    ...['channel', 'pitch'].flatMap((field) => [
      `static_assert(offsetof(zerohop::nvjpegImage_t, ${field}) == offsetof(::nvjpegImage_t, ${field}), "${field}");`,
      `static_assert(std::is_same_v<decltype(zerohop::nvjpegImage_t::${field}), decltype(::nvjpegImage_t::${field})>);`,
    ]),
    ...constants.map((name) => `static_assert(zerohop::${name} == static_cast<int>(::${name}), "${name}");`),
    ...numbers.map(([name, number]) => `static_assert(static_cast<int>(::${name}) == ${number}, "${name}");`),
    extra,
    'int main() {}',
  ].join('\n');
}

describeTier(
  'host',
  "our declarations and NVIDIA's nvjpeg.h",
  () => {
    const compile = comparer(
      () => [nvjpegHeader(), cudaHeaders()],
      '#include "nvjpeg_api.h"\nnamespace zerohop { NvjpegApi nvjpeg; }\n',
    );

    it('agree on every function, number and the struct', () => {
      expect(functions.length).toBeGreaterThan(13);
      expect(constants.length).toBeGreaterThan(15);
      expect(numbers.length).toBe(27);
      const { ok, output } = compile(program());
      expect(output).toBe('');
      expect(ok).toBe(true);
    });

    it("take the runtime's streams for the driver's, as the runtime does", () => {
      const runtime = readFileSync(join(cudaHeaders(), 'driver_types.h'), 'utf8');
      expect(runtime.replaceAll(' __device_builtin__', '').split('\n')).toContain(STREAM);
      expect(readFileSync(join(cudaHeaders(), 'cuda.h'), 'utf8')).toContain('typedef struct CUstream_st *CUstream; ');
    });

    it('agree on which statuses there are', () => {
      const header = readFileSync(join(nvjpegHeader(), 'nvjpeg.h'), 'utf8');
      const names = Array.from(header.matchAll(/^ *(NVJPEG_STATUS_\w+) += (\d+)/gm), ([, name, value]) => [
        name,
        Number(value),
      ]);
      expect(names).toEqual(names.map((_, status) => [statusName(status), status]));
      expect(names.length).toBe(11);
    });

    it.each([
      ['one parameter less', '(nvjpegHandle_t, nvjpegJpegState_t*, int)', 'nvjpegJpegStateCreate'],
      ['another handle', '(nvjpegJpegState_t)', 'nvjpegDestroy'],
      ['a value for a pointer', '(int, int)', 'nvjpegGetProperty'],
      [
        'a smaller number',
        '(nvjpegHandle_t, nvjpegEncoderState_t, unsigned char*, unsigned*, CUstream)',
        'nvjpegEncodeRetrieveBitstream',
      ],
    ])('would be found to differ by %s', (_, wrong, name) => {
      const same = `static_assert(Exactly<nvjpegStatus_t (*)${wrong}, decltype(&::${name})>::value, "differs");`;
      expect(compile(program(same)).output).toContain('differs');
    });

    it.each([
      ['NVJPEG_CSS_420', 3],
      ['NVJPEG_STATUS_BAD_JPEG', 4],
    ])('would be found to differ in %s', (name, number) => {
      expect(compile(program(`static_assert(::${name} == ${number}, "differs");`)).output).toContain('differs');
    });
  },
  { needs: ['g++', 'cuda-headers', 'nvjpeg-header'] },
);

/**
 * What each sanitizer adds for the compiler and the linker; its reports want frames and lines. Every library carries its
 * own runtime for undefined behaviour: beside AddressSanitizer's, a shared one of GCC 12 writes to no report file.
 */
export const SANITIZERS = {
  address: [
    '-fsanitize=address,undefined',
    '-fno-sanitize-recover=undefined',
    '-static-libubsan',
    '-Wl,--exclude-libs,libubsan.a',
    '-fno-omit-frame-pointer',
    '-g',
  ],
};

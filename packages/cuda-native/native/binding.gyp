{
  "targets": [
    {
      "target_name": "cuda_native",
      "sources": ["<!@(ls src/core/*.cc src/binding/*.cc)"],
      "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": [
        "NAPI_VERSION=8",
        "NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS",
        "NODE_ADDON_API_DISABLE_DEPRECATED",
        "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS",
      ],
      "cflags!": ["-O3"],
      # Small rather than unrolled: what it does is call the driver. Nothing unwinds: there are no exceptions.
      "cflags": ["-Os", "-ffunction-sections", "-fdata-sections", "-fno-asynchronous-unwind-tables"],
      "cflags_cc!": ["-fno-rtti", "-std=gnu++17", "-std=gnu++20"],
      "cflags_cc": [
        "-std=c++17",
        "-fno-exceptions",
        "-fvisibility=hidden",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-include",
        # make runs in build/. Paths from there: gyp quotes no absolute one, and a clone may lie in a folder with a space.
        "../src/core/glibc_compat.h",
      ],
      "ldflags": [
        "-Wl,--version-script=../exports.map",
        "-Wl,-Bsymbolic",
        "-Wl,--gc-sections",
        # Lazy, also where the compiler's default is not: finding all 200 symbols at once takes a millisecond of the JS thread.
        "-Wl,-z,relro,-z,lazy",
        # Node unloads an addon with the last worker that used it; the addon's threads outlive every worker.
        "-Wl,-z,nodelete",
        "-Wl,--no-as-needed",
        "-l:libdl.so.2",
        "-l:librt.so.1",
        "-l:libpthread.so.0",
        "-Wl,--as-needed",
      ],
    },
  ],
}

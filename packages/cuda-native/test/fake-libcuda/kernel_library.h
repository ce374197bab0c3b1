// Kernels that the fake driver runs: its own (kernels.c), and those of a library that ZEROHOP_FAKE_KERNELS names, which
// is written against this header, in C or C++, and exports fakeKernel().
//
// That library is loaded when the first kernel is looked up that is not the driver's own, and then stays. What it gives
// lives as long as the process. Its functions are called from several threads.
#pragma once

#include <stddef.h>

#define MAX_PARAMETERS 12
// CUDA's limit up to 12.0.
#define MAX_ARGUMENT_BYTES 4096

struct Kernel;

struct Launch {
  const struct Kernel* kernel;
  unsigned grid[3];
  unsigned block[3];
  unsigned cluster[3];
  unsigned shared;
  // As the kernel sees them.
  __attribute__((aligned(8))) unsigned char arguments[MAX_ARGUMENT_BYTES];
};

// Takes the parts of memory that a launch reads or writes; at most 10, and empty ones do not count.
struct Uses {
  void (*add)(const struct Uses* uses, const void* start, size_t bytes);
};

struct Kernel {
  const char* name;
  int parameter_count;
  struct {
    unsigned short offset;
    unsigned short size;
  } parameters[MAX_PARAMETERS];
  // Names exactly what the launch will use. Called as it is enqueued, and must not touch that memory: what is not live
  // memory of the device loses the context when the kernel would run, and what is freed while it waits does so at once.
  // Null when it uses no memory.
  void (*ranges)(const struct Launch* launch, const struct Uses* uses);
  // Does what the kernel does, all threads of it; gives a CUresult, 0 for success.
  int (*run)(const struct Launch* launch);
};

// What a library exports as `fakeKernel`: the kernel of this name, or null.
typedef const struct Kernel* FakeKernel(const char* name);

// The test kernels of ../fixtures in C, by name, with the layout of their parameters; and those of another library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

#define PARAMETER(type, offset) {offset, sizeof(type)}

// The argument at an offset.
#define ARGUMENT(type, launch, offset) (*(type*)((launch)->arguments + (offset)))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// The threads of a launch along x: those kernels that use more than one count them so.
static u64 threads_x(const struct Launch* launch) { return (u64)launch->grid[0] * launch->block[0]; }

static u64 fewer(u64 a, u64 b) { return a < b ? a : b; }

static void add(const struct Uses* uses, u64 address, u64 bytes) { uses->add(uses, (const void*)address, bytes); }

// fill_u32(data, value, count)
static u64 fill_count(const struct Launch* launch) { return fewer(ARGUMENT(u32, launch, 12), threads_x(launch)); }

static void fill_ranges(const struct Launch* launch, const struct Uses* uses) {
  add(uses, ARGUMENT(u64, launch, 0), fill_count(launch) * 4);
}

static CUresult fill_run(const struct Launch* launch) {
  u32* data = ARGUMENT(u32*, launch, 0);
  for (u64 i = 0; i < fill_count(launch); ++i) data[i] = ARGUMENT(u32, launch, 8);
  return SUCCESS;
}

// saxpy(a, x, y, n)
static u64 saxpy_count(const struct Launch* launch) { return fewer(ARGUMENT(u32, launch, 24), threads_x(launch)); }

static void saxpy_ranges(const struct Launch* launch, const struct Uses* uses) {
  add(uses, ARGUMENT(u64, launch, 8), saxpy_count(launch) * 4);
  add(uses, ARGUMENT(u64, launch, 16), saxpy_count(launch) * 4);
}

static CUresult saxpy_run(const struct Launch* launch) {
  const float a = ARGUMENT(float, launch, 0);
  const float* x = ARGUMENT(float*, launch, 8);
  float* y = ARGUMENT(float*, launch, 16);
  for (u64 i = 0; i < saxpy_count(launch); ++i) {
    // Rounded, not fused.
    const volatile float product = a * x[i];
    y[i] = product + y[i];
  }
  return SUCCESS;
}

// scale_f64(factor, data, n)
static u64 scale_count(const struct Launch* launch) {
  const long long n = ARGUMENT(long long, launch, 16);
  return n <= 0 ? 0 : fewer((u64)n, threads_x(launch));
}

static void scale_ranges(const struct Launch* launch, const struct Uses* uses) {
  add(uses, ARGUMENT(u64, launch, 8), scale_count(launch) * 8);
}

static CUresult scale_run(const struct Launch* launch) {
  double* data = ARGUMENT(double*, launch, 8);
  for (u64 i = 0; i < scale_count(launch); ++i) data[i] *= ARGUMENT(double, launch, 0);
  return SUCCESS;
}

// mixed(a, b, c, d, e, f, out)
static void mixed_ranges(const struct Launch* launch, const struct Uses* uses) {
  add(uses, ARGUMENT(u64, launch, 32), 48);
}

static CUresult mixed_run(const struct Launch* launch) {
  u64* out = ARGUMENT(u64*, launch, 32);
  out[0] = ARGUMENT(u8, launch, 0);
  out[1] = ARGUMENT(u16, launch, 2);
  out[2] = ARGUMENT(u32, launch, 4);
  out[3] = ARGUMENT(u64, launch, 8);
  out[4] = ARGUMENT(u32, launch, 16);
  out[5] = ARGUMENT(u64, launch, 24);
  return SUCCESS;
}

// struct_arg(sample, out)
struct Sample {
  float x, y;
  int n;
  long long big;
};

static void struct_ranges(const struct Launch* launch, const struct Uses* uses) {
  add(uses, ARGUMENT(u64, launch, 24), sizeof(struct Sample));
}

static CUresult struct_run(const struct Launch* launch) {
  const struct Sample sample = ARGUMENT(struct Sample, launch, 0);
  struct Sample* out = ARGUMENT(struct Sample*, launch, 24);
  out->x = sample.x;
  out->y = sample.y;
  out->n = sample.n;
  out->big = sample.big;
  return SUCCESS;
}

// spin(nanoseconds): the processors have other things to do here.
static CUresult spin_run(const struct Launch* launch) {
  sleep_us((long)(ARGUMENT(u64, launch, 0) / 1000));
  const char* held = env_text("ZEROHOP_FAKE_SPIN_HELD");
  while (held != NULL && access(held, F_OK) == 0) sleep_us(1000);
  return SUCCESS;
}

// touch(address)
static void touch_ranges(const struct Launch* launch, const struct Uses* uses) { add(uses, ARGUMENT(u64, launch, 0), 4); }

static CUresult touch_run(const struct Launch* launch) {
  *ARGUMENT(u32*, launch, 0) = 1;
  return SUCCESS;
}

// dynamic_shared(out, bytes)
static void shared_ranges(const struct Launch* launch, const struct Uses* uses) {
  add(uses, ARGUMENT(u64, launch, 0), 8);
}

static CUresult shared_run(const struct Launch* launch) {
  u32* out = ARGUMENT(u32*, launch, 0);
  const u32 bytes = ARGUMENT(u32, launch, 8);
  if (bytes > launch->shared) return ILLEGAL_ADDRESS;
  u32 sum = 0;
  for (u32 i = 0; i < bytes; ++i) sum += i & 255;
  out[0] = launch->shared;
  out[1] = sum;
  return SUCCESS;
}

// cluster_rank(out)
static void cluster_ranges(const struct Launch* launch, const struct Uses* uses) {
  add(uses, ARGUMENT(u64, launch, 0), (u64)launch->grid[0] * launch->grid[1] * launch->grid[2] * 4);
}

static CUresult cluster_run(const struct Launch* launch) {
  u32* out = ARGUMENT(u32*, launch, 0);
  const unsigned* size = launch->cluster;
  for (u32 z = 0; z < launch->grid[2]; ++z) {
    for (u32 y = 0; y < launch->grid[1]; ++y) {
      for (u32 x = 0; x < launch->grid[0]; ++x) {
        *out++ = x % size[0] + (y % size[1] + z % size[2] * size[1]) * size[0];
      }
    }
  }
  return SUCCESS;
}

static const struct Kernel kKernels[] = {
    {"fill_u32", 3, {PARAMETER(u64, 0), PARAMETER(u32, 8), PARAMETER(u32, 12)}, fill_ranges, fill_run},
    {"saxpy",
     4,
     {PARAMETER(float, 0), PARAMETER(u64, 8), PARAMETER(u64, 16), PARAMETER(u32, 24)},
     saxpy_ranges,
     saxpy_run},
    {"scale_f64", 3, {PARAMETER(double, 0), PARAMETER(u64, 8), PARAMETER(u64, 16)}, scale_ranges, scale_run},
    {"mixed",
     7,
     {PARAMETER(u8, 0), PARAMETER(u16, 2), PARAMETER(u32, 4), PARAMETER(u64, 8), PARAMETER(float, 16),
      PARAMETER(double, 24), PARAMETER(u64, 32)},
     mixed_ranges,
     mixed_run},
    {"struct_arg", 2, {PARAMETER(struct Sample, 0), PARAMETER(u64, 24)}, struct_ranges, struct_run},
    {"spin", 1, {PARAMETER(u64, 0)}, NULL, spin_run},
    {"touch", 1, {PARAMETER(u64, 0)}, touch_ranges, touch_run},
    {"dynamic_shared", 2, {PARAMETER(u64, 0), PARAMETER(u32, 8)}, shared_ranges, shared_run},
    {"cluster_rank", 1, {PARAMETER(u64, 0)}, cluster_ranges, cluster_run},
};

// With the mutex. Null when there is no library; one that cannot be loaded is a mistake of the test.
static FakeKernel* library(void) {
  static FakeKernel* loaded;
  const char* path = env_text("ZEROHOP_FAKE_KERNELS");
  if (loaded != NULL || path == NULL) return loaded;
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle != NULL) loaded = (FakeKernel*)dlsym(handle, "fakeKernel");
  if (loaded == NULL) {
    fprintf(stderr, "ZEROHOP_FAKE_KERNELS: %s\n", dlerror());
    abort();
  }
  return loaded;
}

const struct Kernel* find_kernel(const char* name) {
  for (size_t i = 0; i < sizeof kKernels / sizeof *kKernels; ++i) {
    if (strcmp(kKernels[i].name, name) == 0) return &kKernels[i];
  }
  FakeKernel* further = library();
  return further == NULL ? NULL : further(name);
}

size_t argument_bytes(const struct Kernel* kernel) {
  if (kernel->parameter_count == 0) return 0;
  const int last = kernel->parameter_count - 1;
  return (size_t)kernel->parameters[last].offset + kernel->parameters[last].size;
}

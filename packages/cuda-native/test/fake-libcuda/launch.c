// Launches: their limits, and their arguments.
#include <string.h>

#include "state.h"

// How `extra` gives the arguments in one buffer.
#define LAUNCH_PARAM_END ((void*)0)
#define LAUNCH_PARAM_BUFFER ((void*)1)
#define LAUNCH_PARAM_BUFFER_SIZE ((void*)2)

static CUresult packed_arguments(struct Launch* launch, size_t wanted, void** extra) {
  const void* buffer = NULL;
  size_t bytes = 0;
  for (; *extra != LAUNCH_PARAM_END; extra += 2) {
    if (*extra == LAUNCH_PARAM_BUFFER) {
      buffer = extra[1];
    } else if (*extra == LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = *(const size_t*)extra[1];
    } else {
      return INVALID_VALUE;
    }
  }
  // Rounding up to 8 bytes is fine.
  if (buffer == NULL || bytes < wanted || bytes > (wanted + 7) / 8 * 8) return INVALID_VALUE;
  memcpy(launch->arguments, buffer, wanted);
  return SUCCESS;
}

static CUresult read_arguments(struct Launch* launch, void** parameters, void** extra) {
  const struct Kernel* kernel = launch->kernel;
  if (parameters != NULL && extra != NULL) return INVALID_VALUE;
  if (extra != NULL) return packed_arguments(launch, argument_bytes(kernel), extra);
  if (parameters == NULL && kernel->parameter_count > 0) return INVALID_VALUE;
  for (int i = 0; i < kernel->parameter_count; ++i) {
    memcpy(launch->arguments + kernel->parameters[i].offset, parameters[i], kernel->parameters[i].size);
  }
  return SUCCESS;
}

static CUresult check_cluster(const struct Launch* launch, CUfunction function) {
  const unsigned long long blocks = (unsigned long long)launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
  if (blocks == 1) return SUCCESS;
  if (COMPUTE_MAJOR < 9) return NOT_SUPPORTED;
  if (blocks == 0) return INVALID_VALUE;
  if (blocks > (function->large_clusters ? 16 : 8)) return INVALID_CLUSTER_SIZE;
  for (int i = 0; i < 3; ++i) {
    if (launch->grid[i] % launch->cluster[i] != 0) return INVALID_VALUE;
  }
  return SUCCESS;
}

static CUresult check_limits(const struct Launch* launch, CUfunction function) {
  const unsigned* grid = launch->grid;
  const unsigned* block = launch->block;
  if (grid[0] < 1 || grid[0] > 2147483647 || grid[1] < 1 || grid[1] > 65535 || grid[2] < 1 || grid[2] > 65535) {
    return INVALID_VALUE;
  }
  if (block[0] < 1 || block[0] > 1024 || block[1] < 1 || block[1] > 1024 || block[2] < 1 || block[2] > 64) {
    return INVALID_VALUE;
  }
  if (block[0] * block[1] * block[2] > 1024) return INVALID_VALUE;
  if (launch->shared > (unsigned)function->max_dynamic_shared) return INVALID_VALUE;
  return check_cluster(launch, function);
}

struct WorkUses {
  struct Uses uses;
  struct Work* work;
};

static void add_use(const struct Uses* uses, const void* start, size_t bytes) {
  struct Work* work = ((const struct WorkUses*)uses)->work;
  add_range(work, start, bytes, ANYWHERE, work->context);
}

// With the mutex.
static CUresult enqueue_launch(CUcontext context, CUstream stream, CUfunction function, struct Launch launch,
                               void** parameters, void** extra) {
  RETURN_IF_FAILED(check_stream(context, stream));
  if (!is_object(function, FUNCTION) || function->object.context != context) return INVALID_HANDLE;
  RETURN_IF_FAILED(check_limits(&launch, function));
  launch.kernel = function->kernel;
  if (launch.kernel == NULL) return NOT_SUPPORTED;
  RETURN_IF_FAILED(read_arguments(&launch, parameters, extra));
  struct Work work = {
      .kind = KERNEL, .context = context, .kernel = {function, function->object.serial, launch}};
  const struct WorkUses uses = {{add_use}, &work};
  if (launch.kernel->ranges != NULL) launch.kernel->ranges(&launch, &uses.uses);
  // An address that is none shows when the kernel runs.
  resolve(&work);
  return enqueue(stream, &work);
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                               unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                               CUstream stream, void** parameters, void** extra) {
  CUcontext context;
  ENTER_CONTEXT("cuLaunchKernel", context);
  const struct Launch launch = {
      .grid = {grid_x, grid_y, grid_z},
      .block = {block_x, block_y, block_z},
      .cluster = {1, 1, 1},
      .shared = shared,
  };
  lock();
  return unlocked(enqueue_launch(context, stream, function, launch, parameters, extra));
}

#ifndef OLD_DRIVER
// The driver's CUlaunchAttribute and CUlaunchConfig.
struct Attribute {
  int id;
  char pad[4];
  union {
    unsigned int cluster[3];
    char size[64];
  };
};

struct Config {
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared;
  CUstream stream;
  const struct Attribute* attributes;
  unsigned int attribute_count;
};

enum { ATTRIBUTE_IGNORE = 0, ATTRIBUTE_CLUSTER = 4 };

EXPORT CUresult cuLaunchKernelEx(const struct Config* config, CUfunction function, void** parameters, void** extra) {
  CUcontext context;
  ENTER_CONTEXT("cuLaunchKernelEx", context);
  struct Launch launch = {.cluster = {1, 1, 1}, .shared = config->shared};
  memcpy(launch.grid, config->grid, sizeof launch.grid);
  memcpy(launch.block, config->block, sizeof launch.block);
  for (unsigned int i = 0; i < config->attribute_count; ++i) {
    if (config->attributes[i].id == ATTRIBUTE_CLUSTER) {
      memcpy(launch.cluster, config->attributes[i].cluster, sizeof launch.cluster);
    } else if (config->attributes[i].id != ATTRIBUTE_IGNORE) {
      return NOT_SUPPORTED;
    }
  }
  lock();
  return unlocked(enqueue_launch(context, config->stream, function, launch, parameters, extra));
}
#endif

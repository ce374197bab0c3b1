// Modules and their functions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

// CUjit_option.
enum { INFO_LOG = 3, INFO_LOG_BYTES = 4, ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };

// Hands out the log of a failure, and how long the logs are.
static void give_log(const char* log, unsigned int count, const int* options, void** values) {
  char* buffer = NULL;
  size_t bytes = 0;
  for (unsigned int i = 0; i < count; ++i) {
    if (options[i] == ERROR_LOG) buffer = values[i];
    if (options[i] == ERROR_LOG_BYTES) bytes = (unsigned int)(uintptr_t)values[i];
  }
  size_t given = 0;
  if (buffer != NULL && bytes > 0) {
    snprintf(buffer, bytes, "%s", log);
    given = *log != '\0' ? strlen(buffer) + 1 : 0;
  }
  for (unsigned int i = 0; i < count; ++i) {
    if (options[i] == ERROR_LOG_BYTES) values[i] = (void*)given;
    if (options[i] == INFO_LOG_BYTES) values[i] = NULL;
  }
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* data, unsigned int count, int* options,
                                    void** values) {
  CUcontext context;
  ENTER_CONTEXT("cuModuleLoadDataEx", context);
  struct Image image;
  RETURN_IF_FAILED(read_image(data, &image));
  char log[256] = "";
  const CUresult result = image.ptx ? check_ptx(image.code, log, sizeof log) : SUCCESS;
  give_log(log, count, options, values);
  struct Module* made = result == SUCCESS ? calloc(1, sizeof *made) : NULL;
  if (made == NULL) {
    free(image.code);
    return result != SUCCESS ? result : OUT_OF_MEMORY;
  }
  made->image = image;
  lock();
  add_object(&made->object, MODULE, context);
  unlock();
  *module = made;
  return SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUmodule module) {
  CUcontext context;
  CUresult late;
  ENTER_DESTROY("cuModuleUnload", context, late);
  lock();
  if (!is_object(module, MODULE)) return unlocked(INVALID_HANDLE);
  if (module->object.context != context) return unlocked(INVALID_CONTEXT);
  // As with memory: the code of pending launches is gone.
  if (module->users > 0) return unlocked(sticky(context, ILLEGAL_ADDRESS));
  while (module->functions != NULL) {
    struct Function* function = module->functions;
    module->functions = function->next;
    remove_object(&function->object);
    free(function);
  }
  remove_object(&module->object);
  free(module->image.code);
  free(module);
  return unlocked(late);
}

EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  CUcontext context;
  ENTER_CONTEXT("cuModuleGetFunction", context);
  lock();
  if (!is_object(module, MODULE)) return unlocked(INVALID_HANDLE);
  if (module->object.context != context) return unlocked(INVALID_CONTEXT);
  if (!has_entry(&module->image, name)) return unlocked(NOT_FOUND);
  struct Function* found = module->functions;
  while (found != NULL && strcmp(found->name, name) != 0) found = found->next;
  if (found == NULL) {
    found = calloc(1, sizeof *found + strlen(name) + 1);
    if (found == NULL) return unlocked(OUT_OF_MEMORY);
    strcpy(found->name, name);
    found->module = module;
    found->kernel = find_kernel(name);
    found->max_dynamic_shared = 49152;
    found->next = module->functions;
    module->functions = found;
    add_object(&found->object, FUNCTION, context);
  }
  *function = found;
  return unlocked(SUCCESS);
}

static CUresult check(CUfunction function, CUcontext context) {
  if (!is_object(function, FUNCTION)) return INVALID_HANDLE;
  return function->object.context == context ? SUCCESS : INVALID_CONTEXT;
}

EXPORT CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  CUcontext context;
  ENTER_CONTEXT("cuFuncGetAttribute", context);
  lock();
  const CUresult result = check(function, context);
  if (result != SUCCESS) return unlocked(result);
  switch (attribute) {
    case 0:  // threads per block
      *value = 1024;
      break;
    case 1:  // static shared memory, constant memory, local memory
    case 2:
    case 3:
    case 7:   // how it was compiled to cache
    case 10:  // whether it must be launched in clusters
      *value = 0;
      break;
    case 4:  // registers
      *value = 16;
      break;
    case 5:  // architecture of the PTX, of the code
    case 6:
      *value = COMPUTE_MAJOR * 10;
      break;
    case 8:
      *value = function->max_dynamic_shared;
      break;
    case 9:  // carveout
      *value = -1;
      break;
    case 14:
      *value = function->large_clusters;
      break;
    default:
      return unlocked(INVALID_VALUE);
  }
  return unlocked(SUCCESS);
}

EXPORT CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  CUcontext context;
  ENTER_CONTEXT("cuFuncSetAttribute", context);
  lock();
  const CUresult result = check(function, context);
  if (result != SUCCESS) return unlocked(result);
  if (attribute == 8 && value >= 0 && value <= 232448) {
    function->max_dynamic_shared = value;
  } else if (attribute == 14 && (value == 0 || value == 1)) {
    function->large_clusters = value;
  } else {
    return unlocked(INVALID_VALUE);
  }
  return unlocked(SUCCESS);
}

#ifndef OLD_DRIVER
EXPORT CUresult cuFuncLoad(CUfunction function) {
  CUcontext context;
  ENTER_CONTEXT("cuFuncLoad", context);
  lock();
  return unlocked(check(function, context));
}

EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  CUcontext context;
  ENTER_CONTEXT("cuFuncGetParamInfo", context);
  lock();
  const CUresult result = check(function, context);
  if (result != SUCCESS) return unlocked(result);
  if (function->kernel == NULL) return unlocked(NOT_SUPPORTED);
  if (index >= (size_t)function->kernel->parameter_count) return unlocked(INVALID_VALUE);
  *offset = function->kernel->parameters[index].offset;
  if (size != NULL) *size = function->kernel->parameters[index].size;
  return unlocked(SUCCESS);
}
#endif

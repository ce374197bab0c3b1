// Initialisation, devices, contexts, and the switches of the environment.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"

static atomic_bool initialised;
static atomic_int lost;
static struct Context contexts[MAX_DEVICES];
static _Thread_local CUcontext current;

long env_number(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text != NULL && *text != '\0' ? strtol(text, NULL, 10) : otherwise;
}

static void sleep_us(long us) {
  if (us <= 0) return;
  struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

// The code that ZEROHOP_FAKE_FAIL asks for.
static CUresult injected(const char* function) {
  const char* list = getenv("ZEROHOP_FAKE_FAIL");
  const size_t length = strlen(function);
  while (list != NULL && *list != '\0') {
    if (strncmp(list, function, length) == 0 && list[length] == '=') return atoi(list + length + 1);
    list = strchr(list, ',');
    if (list != NULL) ++list;
  }
  return SUCCESS;
}

CUresult sticky(CUresult code) {
  if (code >= 700 && code <= 720 && code != 701 && code != 704 && code != 705) atomic_store(&lost, code);
  return code;
}

// The driver goes while the process exits, after the functions that were given to atexit() later than it was loaded.
static atomic_bool gone;
static __attribute__((destructor)) void leave(void) {
  atomic_store(&gone, true);
  sleep_us(env_number("ZEROHOP_FAKE_EXIT_DELAY_US", 0));
}

CUresult enter(const char* function) {
  const char* log = getenv("ZEROHOP_FAKE_LOG");
  if (log != NULL && *log != '\0') {
    const int fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    char line[128];
    const int length = snprintf(line, sizeof line, "%s%s\n", atomic_load(&gone) ? "gone " : "", function);
    if (fd >= 0 && write(fd, line, (size_t)length) != length) abort();
    if (fd >= 0) close(fd);
  }
  sleep_us(env_number("ZEROHOP_FAKE_CALL_DELAY_US", 0));
  if (!atomic_load(&initialised) && strcmp(function, "cuInit") != 0) return NOT_INITIALIZED;
  return sticky(injected(function));
}

CUresult enter_context(const char* function, CUcontext* context) {
  ENTER(function);
  *context = current;
  if (current == NULL) return INVALID_CONTEXT;
  return atomic_load(&lost);
}

EXPORT CUresult cuInit(unsigned int flags) {
  ENTER("cuInit");
  if (flags != 0) return INVALID_VALUE;
  if (env_number("ZEROHOP_FAKE_DEVICES", 2) == 0) return NO_DEVICE;
  atomic_store(&initialised, true);
  return SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int* version) {
  ENTER("cuDriverGetVersion");
  *version = 13000;
  return SUCCESS;
}

static const struct {
  CUresult code;
  const char* name;
  const char* text;
} kErrors[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
};

static CUresult describe(CUresult error, const char** text, bool name) {
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i) {
    if (kErrors[i].code != error) continue;
    *text = name ? kErrors[i].name : kErrors[i].text;
    return SUCCESS;
  }
  *text = NULL;
  return INVALID_VALUE;
}

EXPORT CUresult cuGetErrorName(CUresult error, const char** text) { return describe(error, text, true); }

EXPORT CUresult cuGetErrorString(CUresult error, const char** text) { return describe(error, text, false); }

static int device_count(void) {
  const long count = env_number("ZEROHOP_FAKE_DEVICES", 2);
  return count > MAX_DEVICES ? MAX_DEVICES : (int)count;
}

static size_t device_memory(void) { return (size_t)env_number("ZEROHOP_FAKE_MEMORY_MIB", 1024) << 20; }

EXPORT CUresult cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = device_count();
  return SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= device_count()) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  ENTER("cuDeviceGetName");
  snprintf(name, (size_t)length, "Fake GPU %d", device);
  return SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  (void)device;
  ENTER("cuDeviceGetAttribute");
  switch (attribute) {
    case 18:  // integrated
      *value = 0;
      return SUCCESS;
    case 41:  // unified addressing
      *value = 1;
      return SUCCESS;
    case 75:  // compute capability, major and minor
      *value = 9;
      return SUCCESS;
    case 76:
      *value = 0;
      return SUCCESS;
    default:
      return INVALID_VALUE;
  }
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  (void)device;
  ENTER("cuDeviceTotalMem");
  *bytes = device_memory();
  return SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  ENTER("cuDeviceGetUuid");
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = (unsigned char)(0xf0 - i);
  uuid->bytes[15] = (unsigned char)device;
  return SUCCESS;
}

EXPORT CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  ENTER("cuDeviceGetPCIBusId");
  snprintf(id, (size_t)length, "0000:%02X:00.0", 0x10 + device);
  return SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER("cuDevicePrimaryCtxRetain");
  if (device < 0 || device >= device_count()) return INVALID_DEVICE;
  contexts[device].ordinal = device;
  *context = &contexts[device];
  return SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  ENTER("cuCtxGetCurrent");
  *context = current;
  return SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER("cuCtxSetCurrent");
  current = context;
  return SUCCESS;
}

EXPORT CUresult cuCtxSynchronize(void) {
  CUcontext context;
  ENTER_CONTEXT("cuCtxSynchronize", context);
  drain_streams();
  return atomic_load(&lost);
}

EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  CUcontext context;
  ENTER_CONTEXT("cuMemGetInfo", context);
  *total = device_memory();
  *free = *total - __atomic_load_n(&context->used, __ATOMIC_RELAXED);
  return SUCCESS;
}

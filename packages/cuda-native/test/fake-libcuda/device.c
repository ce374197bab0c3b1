// Initialisation, devices, and what holds for a whole context.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

int driver_version(void) { return (int)env_number("ZEROHOP_FAKE_VERSION", DRIVER_VERSION); }

int device_count(void) {
  const long wanted = env_number("ZEROHOP_FAKE_DEVICES", 2);
  return wanted > MAX_DEVICES ? MAX_DEVICES : (int)wanted;
}

size_t device_memory(void) { return (size_t)env_number("ZEROHOP_FAKE_MEMORY_MIB", 1024) << 20; }

static bool mig(void) { return env_number("ZEROHOP_FAKE_MIG", 0) != 0; }

// A CUdevice is a device of the machine; ordinals count those that CUDA_VISIBLE_DEVICES lists, in its order.
static bool exists(CUdevice device) { return device >= 0 && device < device_count(); }

// The device that an ordinal stands for, or -1. As the real driver, the list ends at the first entry that is no device.
static CUdevice visible(int ordinal) {
  const char* list = env_text("CUDA_VISIBLE_DEVICES");
  if (list == NULL) return exists(ordinal) ? ordinal : -1;
  for (int i = 0; i <= ordinal; ++i) {
    char* end;
    const long device = strtol(list, &end, 10);
    if (end == list || !exists((CUdevice)device)) return -1;
    if (i == ordinal) return (CUdevice)device;
    if (*end != ',') return -1;
    list = end + 1;
  }
  return -1;
}

static int visible_count(void) {
  int count = 0;
  while (count < MAX_DEVICES && visible(count) >= 0) ++count;
  return count;
}

EXPORT CUresult cuInit(unsigned int flags) {
  ENTER("cuInit");
  if (flags != 0) return INVALID_VALUE;
  if (visible_count() == 0) return NO_DEVICE;
  set_initialised();
  return SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int* version) {
  ENTER("cuDriverGetVersion");
  *version = driver_version();
  return SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int* number) {
  ENTER("cuDeviceGetCount");
  *number = visible_count();
  return SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER("cuDeviceGet");
  const CUdevice found = ordinal < 0 ? -1 : visible(ordinal);
  if (found < 0) return INVALID_DEVICE;
  *device = found;
  return SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  ENTER("cuDeviceGetName");
  if (!exists(device)) return INVALID_DEVICE;
  snprintf(name, (size_t)length, "Fake GPU %d%s", device, mig() ? " MIG 1g.18gb" : "");
  return SUCCESS;
}

static int attribute_value(int attribute) {
  switch (attribute) {
    case 1:  // threads per block
    case 2:  // block x
    case 3:  // block y
      return 1024;
    case 4:  // block z
      return 64;
    case 5:  // grid x
      return 2147483647;
    case 6:  // grid y
    case 7:  // grid z
      return 65535;
    case 8:  // shared memory per block
      return 49152;
    case 10:  // warp size
      return 32;
    case 16:  // multiprocessors
      return mig() ? 16 : 132;
    case 18:  // integrated
      return env_number("ZEROHOP_FAKE_INTEGRATED", 0) != 0;
    case 41:   // unified addressing
    case 78:   // stream priorities
    case 83:   // managed memory
    case 91:   // host pointers of registered memory
    case 99:   // host registration
      return 1;
    case 75:  // compute capability, major and minor
      return COMPUTE_MAJOR;
    case 76:
      return 0;
    case 97:  // shared memory per block when asked for
      return 232448;
    case 120:  // clusters
      return COMPUTE_MAJOR >= 9;
    case 125:  // IPC events
      return env_number("ZEROHOP_FAKE_INTEGRATED", 0) == 0;
    default:
      return -1;
  }
}

EXPORT CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  ENTER("cuDeviceGetAttribute");
  if (!exists(device)) return INVALID_DEVICE;
  const int found = attribute_value(attribute);
  if (found < 0) return INVALID_VALUE;
  *value = found;
  return SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  ENTER("cuDeviceTotalMem");
  if (!exists(device)) return INVALID_DEVICE;
  *bytes = device_memory();
  return SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  ENTER("cuDeviceGetUuid");
  if (!exists(device)) return INVALID_DEVICE;
  // A MIG slice has a UUID of its own.
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = (unsigned char)((mig() ? 0xe0 : 0xf0) - i);
  uuid->bytes[15] = (unsigned char)device;
  return SUCCESS;
}

EXPORT CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  ENTER("cuDeviceGetPCIBusId");
  if (!exists(device)) return INVALID_DEVICE;
  snprintf(id, (size_t)length, "0000:%02X:00.0", 0x10 + device);
  return SUCCESS;
}

EXPORT CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  ENTER("cuDeviceCanAccessPeer");
  if (!exists(device) || !exists(peer)) return INVALID_DEVICE;
  *can = device != peer && !mig();
  return SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER("cuDevicePrimaryCtxRetain");
  if (!exists(device)) return INVALID_DEVICE;
  lock();
  contexts[device].ordinal = device;
  *context = &contexts[device];
  return unlocked(SUCCESS);
}

EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  CUcontext context;
  ENTER_CONTEXT("cuCtxEnablePeerAccess", context);
  if (flags != 0) return INVALID_VALUE;
  if (peer < contexts || peer >= contexts + MAX_DEVICES) return INVALID_CONTEXT;
  if (peer == context) return INVALID_DEVICE;
  if (mig()) return PEER_ACCESS_UNSUPPORTED;
  lock();
  const bool enabled = context->peers[peer->ordinal];
  context->peers[peer->ordinal] = true;
  return unlocked(enabled ? PEER_ACCESS_ALREADY_ENABLED : SUCCESS);
}

EXPORT CUresult cuCtxSynchronize(void) {
  CUcontext context;
  ENTER_UNSAFE("cuCtxSynchronize", context);
  lock();
  while (context->pending > 0) pthread_cond_wait(&driver_changed, &driver_mutex);
  return unlocked(context->failed);
}

EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  CUcontext context;
  ENTER_CONTEXT("cuCtxGetStreamPriorityRange", context);
  if (least != NULL) *least = 0;
  if (greatest != NULL) *greatest = -5;
  return SUCCESS;
}

EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  CUcontext context;
  ENTER_CONTEXT("cuMemGetInfo", context);
  lock();
  *total = device_memory();
  *free = *total - context->used;
  return unlocked(SUCCESS);
}

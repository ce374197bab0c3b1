// Device memory, page-locked memory, and what is known of an address.
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "state.h"

#define SHARED_BYTES ((size_t)2 << 20)

static char* map(size_t bytes) {
  char* base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return base == MAP_FAILED ? NULL : base;
}

CUresult take_block(CUcontext context, void* address, enum Kind kind, CUresult unknown, CUresult late) {
  lock();
  struct Block* block = find_block(address);
  if (block == NULL || block->base != address || block->kind != kind) return unlocked(unknown);
  if (block->context != context) return unlocked(INVALID_CONTEXT);
  if (block->users > 0) return unlocked(sticky(context, ILLEGAL_ADDRESS));
  const struct Block taken = *block;
  // Before the mapping goes, after which another thread may get the same addresses.
  remove_block(block);
  unlock();
  if (kind != REGISTERED) munmap(taken.base, taken.bytes);
  if (taken.fd >= 0) close(taken.fd);
  return late;
}

// Device memory. From 2 MiB on it may be exported at once; a memfd for each small one would make allocating it several
// times as slow.
static bool map_device(struct Block* block) {
  if (block->bytes < SHARED_BYTES) {
    block->base = map(block->bytes);
    return block->base != NULL;
  }
  block->fd = make_memfd(&block->nonce);
  if (block->fd < 0) return false;
  if (ftruncate(block->fd, (off_t)block->bytes) == 0) {
    block->base = mmap(NULL, block->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, block->fd, 0);
    if (block->base != MAP_FAILED) return true;
  }
  close(block->fd);
  return false;
}

static CUresult add_mapped(struct Block block, void* out) {
  memcpy(out, &block.base, sizeof block.base);
  lock();
  const bool added = add_block(block);
  unlock();
  if (added) return SUCCESS;
  munmap(block.base, block.bytes);
  if (block.fd >= 0) close(block.fd);
  return OUT_OF_MEMORY;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  struct Block block = {.kind = MEMORY, .bytes = bytes, .fd = -1};
  ENTER_UNSAFE("cuMemAlloc", block.context);
  if (bytes == 0) return INVALID_VALUE;
  lock();
  const size_t used = block.context->used;
  unlock();
  if (bytes > device_memory() || used + bytes > device_memory()) return OUT_OF_MEMORY;
  if (!map_device(&block)) return OUT_OF_MEMORY;
  // Fresh device memory holds what was there before.
  memset(block.base, 0xa5, bytes < 4096 ? bytes : 4096);
  return add_mapped(block, address);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  CUcontext context;
  CUresult late;
  ENTER_UNSAFE_DESTROY("cuMemFree", context, late);
  return take_block(context, (void*)address, MEMORY, INVALID_VALUE, late);
}

EXPORT CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int flags) {
  struct Block block = {.kind = PINNED, .bytes = bytes, .fd = -1};
  ENTER_UNSAFE("cuMemHostAlloc", block.context);
  if (bytes == 0 || flags > 7) return INVALID_VALUE;
  block.base = map(bytes);
  if (block.base == NULL) return OUT_OF_MEMORY;
  return add_mapped(block, memory);
}

EXPORT CUresult cuMemFreeHost(void* memory) {
  CUcontext context;
  CUresult late;
  ENTER_UNSAFE_DESTROY("cuMemFreeHost", context, late);
  return take_block(context, memory, PINNED, INVALID_VALUE, late);
}

bool is_mapped(const void* memory, size_t bytes) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t start = (uintptr_t)memory / page * page;
  return msync((void*)start, (uintptr_t)memory + bytes - start, MS_ASYNC) == 0;
}

EXPORT CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned int flags) {
  struct Block block = {.kind = REGISTERED, .base = memory, .bytes = bytes, .fd = -1};
  ENTER_UNSAFE("cuMemHostRegister", block.context);
  if (memory == NULL || bytes == 0 || flags > 15 || !is_mapped(memory, bytes)) return INVALID_VALUE;
  lock();
  if (find_overlap(memory, bytes) != NULL) return unlocked(HOST_MEMORY_ALREADY_REGISTERED);
  return unlocked(add_block(block) ? SUCCESS : OUT_OF_MEMORY);
}

EXPORT CUresult cuMemHostUnregister(void* memory) {
  CUcontext context;
  CUresult late;
  ENTER_UNSAFE_DESTROY("cuMemHostUnregister", context, late);
  return take_block(context, memory, REGISTERED, HOST_MEMORY_NOT_REGISTERED, late);
}

static bool on_host(const struct Block* block) { return block->kind == PINNED || block->kind == REGISTERED; }

EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* memory, unsigned int flags) {
  CUcontext context;
  ENTER_CONTEXT("cuMemHostGetDevicePointer", context);
  lock();
  const struct Block* block = find_block(memory);
  if (flags != 0 || block == NULL || !on_host(block)) return unlocked(INVALID_VALUE);
  // Unified addressing.
  *address = (CUdeviceptr)memory;
  return unlocked(SUCCESS);
}

EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  CUcontext context;
  ENTER_CONTEXT("cuMemGetAddressRange", context);
  lock();
  const struct Block* block = find_block((const char*)address);
  if (block == NULL) return unlocked(NOT_FOUND);
  if (base != NULL) *base = (CUdeviceptr)block->base;
  if (size != NULL) *size = block->bytes;
  return unlocked(SUCCESS);
}

EXPORT CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr address) {
  ENTER("cuPointerGetAttribute");
  lock();
  const struct Block* block = find_block((const char*)address);
  if (block == NULL) return unlocked(INVALID_VALUE);
  switch (attribute) {
    case 1:  // context
      memcpy(value, &block->context, sizeof block->context);
      break;
    case 2:  // memory type: host or device
      *(unsigned int*)value = on_host(block) ? 1 : 2;
      break;
    case 4:  // host pointer
      if (!on_host(block)) return unlocked(INVALID_VALUE);
      // fall through
    case 3:  // device pointer
      memcpy(value, &address, sizeof address);
      break;
    case 7:  // id of the allocation
      *(unsigned long long*)value = block->serial;
      break;
    case 8:  // managed
      *(unsigned int*)value = 0;
      break;
    case 9:  // device
      *(int*)value = block->context->ordinal;
      break;
    case 11:  // where it begins
      memcpy(value, &block->base, sizeof block->base);
      break;
    case 12:
      memcpy(value, &block->bytes, sizeof block->bytes);
      break;
    default:
      return unlocked(INVALID_VALUE);
  }
  return unlocked(SUCCESS);
}

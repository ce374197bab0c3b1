// Device memory, page-locked memory and IPC handles.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_cuda.h"

enum Kind { ALLOCATED, OPENED, PINNED };

struct Block {
  struct Block* next;
  enum Kind kind;
  char* base;
  size_t bytes;
  int fd;
  unsigned long long nonce;
  CUcontext context;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct Block* blocks;

// What a CUipcMemHandle of ours holds.
struct Handle {
  char magic[8];
  int pid;
  int fd;
  int ordinal;
  unsigned long long nonce;
  size_t bytes;
};

static const char kMagic[8] = "FAKEIPC";

static CUresult add(struct Block block) {
  struct Block* made = malloc(sizeof *made);
  if (made == NULL) return OUT_OF_MEMORY;
  *made = block;
  pthread_mutex_lock(&mutex);
  made->next = blocks;
  blocks = made;
  pthread_mutex_unlock(&mutex);
  return SUCCESS;
}

// The block that holds an address, or begins at it.
static struct Block* find(const char* address, bool at_base) {
  for (struct Block* block = blocks; block != NULL; block = block->next) {
    if (at_base ? address == block->base : address >= block->base && address < block->base + block->bytes) return block;
  }
  return NULL;
}

bool is_live(const void* address, size_t bytes, bool device) {
  pthread_mutex_lock(&mutex);
  const struct Block* block = find(address, false);
  const bool live = block != NULL && (const char*)address + bytes <= block->base + block->bytes &&
                    (block->kind != PINNED) == device;
  pthread_mutex_unlock(&mutex);
  return live;
}

// Removes a block of this kind. Freeing what queued work still uses is what a test must notice.
static CUresult take(void* address, enum Kind kind) {
  pthread_mutex_lock(&mutex);
  struct Block* block = find(address, true);
  if (block == NULL || block->kind != kind) {
    pthread_mutex_unlock(&mutex);
    return INVALID_VALUE;
  }
  if (in_flight(block->base, block->bytes)) {
    pthread_mutex_unlock(&mutex);
    return sticky(ILLEGAL_ADDRESS);
  }
  struct Block** link = &blocks;
  while (*link != block) link = &(*link)->next;
  *link = block->next;
  pthread_mutex_unlock(&mutex);
  munmap(block->base, block->bytes);
  if (block->fd >= 0) close(block->fd);
  if (kind == ALLOCATED) __atomic_sub_fetch(&block->context->used, block->bytes, __ATOMIC_RELAXED);
  free(block);
  return SUCCESS;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  struct Block block = {.kind = ALLOCATED, .bytes = bytes};
  ENTER_CONTEXT("cuMemAlloc", block.context);
  if (bytes == 0) return INVALID_VALUE;
  const size_t limit = (size_t)env_number("ZEROHOP_FAKE_MEMORY_MIB", 1024) << 20;
  if (__atomic_add_fetch(&block.context->used, bytes, __ATOMIC_RELAXED) > limit) {
    __atomic_sub_fetch(&block.context->used, bytes, __ATOMIC_RELAXED);
    return OUT_OF_MEMORY;
  }
  if (getrandom(&block.nonce, sizeof block.nonce, 0) != sizeof block.nonce) return OUT_OF_MEMORY;
  char name[64];
  snprintf(name, sizeof name, "zerohop-fake-%016llx", block.nonce);
  block.fd = memfd_create(name, MFD_CLOEXEC);
  if (block.fd < 0 || ftruncate(block.fd, (off_t)bytes) != 0) return OUT_OF_MEMORY;
  block.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, block.fd, 0);
  if (block.base == MAP_FAILED) return OUT_OF_MEMORY;
  // Fresh device memory holds what was there before.
  memset(block.base, 0xa5, bytes < 4096 ? bytes : 4096);
  *address = (CUdeviceptr)block.base;
  return add(block);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  CUcontext context;
  ENTER_CONTEXT("cuMemFree", context);
  return take((void*)address, ALLOCATED);
}

EXPORT CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int flags) {
  struct Block block = {.kind = PINNED, .bytes = bytes, .fd = -1};
  (void)flags;
  ENTER_CONTEXT("cuMemHostAlloc", block.context);
  block.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block.base == MAP_FAILED) return OUT_OF_MEMORY;
  *memory = block.base;
  return add(block);
}

EXPORT CUresult cuMemFreeHost(void* memory) {
  CUcontext context;
  ENTER_CONTEXT("cuMemFreeHost", context);
  return take(memory, PINNED);
}

EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  CUcontext context;
  ENTER_CONTEXT("cuMemGetAddressRange", context);
  pthread_mutex_lock(&mutex);
  const struct Block* block = find((const char*)address, false);
  if (block != NULL) {
    *base = (CUdeviceptr)block->base;
    *size = block->bytes;
  }
  pthread_mutex_unlock(&mutex);
  return block != NULL ? SUCCESS : INVALID_VALUE;
}

EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  CUcontext context;
  ENTER_CONTEXT("cuIpcGetMemHandle", context);
  struct Handle inside = {.pid = getpid(), .ordinal = context->ordinal};
  memcpy(inside.magic, kMagic, sizeof kMagic);
  pthread_mutex_lock(&mutex);
  const struct Block* block = find((const char*)address, false);
  const bool found = block != NULL && block->kind == ALLOCATED;
  if (found) {
    inside.fd = block->fd;
    inside.nonce = block->nonce;
    inside.bytes = block->bytes;
  }
  pthread_mutex_unlock(&mutex);
  if (!found) return INVALID_VALUE;
  memset(handle, 0, sizeof *handle);
  memcpy(handle->reserved, &inside, sizeof inside);
  return SUCCESS;
}

EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned int flags) {
  struct Block block = {.kind = OPENED};
  ENTER_CONTEXT("cuIpcOpenMemHandle", block.context);
  struct Handle inside;
  memcpy(&inside, handle.reserved, sizeof inside);
  if (flags != 1 || memcmp(inside.magic, kMagic, sizeof kMagic) != 0) return INVALID_VALUE;
  if (inside.ordinal != block.context->ordinal) return INVALID_HANDLE;
  // The real driver, too, opens handles of other processes only.
  if (inside.pid == getpid()) return INVALID_CONTEXT;
  char path[64];
  char expected[64];
  char target[128] = {0};
  snprintf(path, sizeof path, "/proc/%d/fd/%d", inside.pid, inside.fd);
  snprintf(expected, sizeof expected, "/memfd:zerohop-fake-%016llx (deleted)", inside.nonce);
  if (readlink(path, target, sizeof target - 1) < 0 || strcmp(target, expected) != 0) return INVALID_HANDLE;
  block.fd = open(path, O_RDWR | O_CLOEXEC);
  if (block.fd < 0) return INVALID_HANDLE;
  block.bytes = (size_t)lseek(block.fd, 0, SEEK_END);
  block.base = mmap(NULL, block.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, block.fd, 0);
  if (block.base == MAP_FAILED) return OUT_OF_MEMORY;
  *address = (CUdeviceptr)block.base;
  return add(block);
}

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  CUcontext context;
  ENTER_CONTEXT("cuIpcCloseMemHandle", context);
  return take((void*)address, OPENED);
}

// IPC handles: a memfd that another process opens through /proc.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "state.h"

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

static bool write_all(int fd, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = write(fd, bytes, count);
    if (written <= 0) return false;
    bytes += written;
    count -= (size_t)written;
  }
  return true;
}

int make_memfd(unsigned long long* nonce) {
  if (getrandom(nonce, sizeof *nonce, 0) != sizeof *nonce) return -1;
  char name[64];
  snprintf(name, sizeof name, "zerohop-fake-%016llx", *nonce);
  return memfd_create(name, MFD_CLOEXEC);
}

// Moves the contents of a small block into a memfd at the same addresses. Nothing may be using the block.
static bool move_to_memfd(struct Block* block) {
  const int fd = make_memfd(&block->nonce);
  if (fd < 0) return false;
  if (!write_all(fd, block->base, block->bytes) ||
      mmap(block->base, block->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    close(fd);
    return false;
  }
  block->fd = fd;
  return true;
}

EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  CUcontext context;
  ENTER_CONTEXT("cuIpcGetMemHandle", context);
  if (env_number("ZEROHOP_FAKE_INTEGRATED", 0) != 0) return NOT_SUPPORTED;
  lock();
  struct Block* block = find_block((const char*)address);
  while (block != NULL && block->users > 0) {
    pthread_cond_wait(&driver_changed, &driver_mutex);
    block = find_block((const char*)address);
  }
  if (block == NULL || block->kind != MEMORY || block->context != context) return unlocked(INVALID_VALUE);
  if (block->fd < 0 && !move_to_memfd(block)) return unlocked(OUT_OF_MEMORY);
  struct Handle inside = {.pid = getpid(), .fd = block->fd, .ordinal = context->ordinal, .nonce = block->nonce};
  inside.bytes = block->bytes;
  unlock();
  memcpy(inside.magic, kMagic, sizeof kMagic);
  memset(handle, 0, sizeof *handle);
  memcpy(handle->reserved, &inside, sizeof inside);
  return SUCCESS;
}

// What an opened handle shows: the exporter's memory, unless the environment asks for a driver that only seems to work.
static void* map_opened(int fd, size_t bytes) {
  const char* broken = env_text("ZEROHOP_FAKE_IPC");
  int sharing = MAP_SHARED;
  if (broken != NULL && strcmp(broken, "copy") == 0) sharing = MAP_PRIVATE;
  if (broken != NULL && strcmp(broken, "zeros") == 0) sharing = MAP_PRIVATE | MAP_ANONYMOUS;
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, sharing, (sharing & MAP_ANONYMOUS) != 0 ? -1 : fd, 0);
}

EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned int flags) {
  struct Block block = {.kind = IPC};
  ENTER_UNSAFE("cuIpcOpenMemHandle", block.context);
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
  block.base = map_opened(block.fd, block.bytes);
  if (block.base == MAP_FAILED) {
    close(block.fd);
    return OUT_OF_MEMORY;
  }
  *address = (CUdeviceptr)block.base;
  lock();
  return unlocked(add_block(block) ? SUCCESS : OUT_OF_MEMORY);
}

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  CUcontext context;
  CUresult late;
  ENTER_UNSAFE_DESTROY("cuIpcCloseMemHandle", context, late);
  return take_block(context, (void*)address, IPC, INVALID_VALUE, late);
}

// Regions of POSIX shared memory: files under /dev/shm, locked by their maker for as long as they are named.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "external_buffer.h"
#include "mapping.h"
#include "status.h"
#include "wrap.h"

namespace zerohop {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  void Reset() { *this = FileDescriptor(); }

 private:
  int fd_;
};

// One region as this process holds it. The maker's has a name and the lock; an opener's has only the mapping. The order
// on the way out is name, memory, lock: a name that can be locked has no live owner.
struct Region {
  std::string path;
  FileDescriptor lock;
  std::shared_ptr<Mapping> mapping;
  std::shared_ptr<BufferOwner> buffer;
  bool named = false;

  ~Region() { Close(); }

  void Unlink();
  void Close();
};

// The path of a key: a slash and a file name.
std::string PathOf(const std::string& key);

// A region of `size` bytes, all of them reserved; 0 bytes make a locked name without a mapping. May wait.
Status CreateRegion(const std::string& path, uint64_t size, mode_t mode, Region* region);

// A part of an existing region, up to its end if `to_end`. May wait.
Status OpenRegion(const std::string& path, uint64_t offset, uint64_t size, bool to_end, Region* region);

enum class NameState { kAbandoned, kLocked, kAbsent };

// A name whose owner is gone, locked by this process.
struct AbandonedName {
  std::string path;
  FileDescriptor lock;

  // Removes the name while the lock is held: nobody else may have.
  Status Remove();
};

// Locks a name whose owner is gone. The lock proves it: the kernel drops it with the owner's last descriptor.
Status TryLockName(const std::string& path, AbandonedName* name, NameState* state);

// Removes all names that this process has made and not yet removed, and makes no more: the process is ending.
void UnlinkAllNames();

constexpr uint64_t kUnlimited = UINT64_MAX;

// Free bytes in /dev/shm, or kUnlimited.
Status FreeBytes(uint64_t* bytes);

template <>
struct TypeTag<Region> {
  static constexpr napi_type_tag value = {0x5a65726f686f7001, 0x9c1f4be27a3d4401};
};

template <>
struct TypeTag<AbandonedName> {
  static constexpr napi_type_tag value = {0x5a65726f686f7006, 0xb2d94c0f6e1a8806};
};

}  // namespace zerohop

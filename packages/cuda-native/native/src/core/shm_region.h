// Regions of POSIX shared memory: files under /dev/shm, locked by their maker for as long as they are named.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "file_descriptor.h"
#include "mapping.h"
#include "shm_names.h"
#include "status.h"

namespace zerohop {

// One region as this process holds it. The maker's has a name and the lock; an opener's has only the mapping. The order
// on the way out is name, memory, lock: a name that can be locked has no live owner.
struct Region {
  std::string path;
  FileDescriptor lock;
  std::shared_ptr<Mapping> mapping;
  bool named = false;
  // The name goes with Unlink() or Close() only: not with a region that is dropped, nor with the process.
  bool kept = false;

  ~Region() {
    if (kept) named = false;
    Close();
  }

  void Keep();

  void Unlink();
  void Close();
  // The same, but a large mapping and the lock go on the addon's threads. The name is gone at once.
  void CloseInBackground();
};

// The path of a key: a slash and a file name.
std::string PathOf(const std::string& key);

// A region of `size` bytes, all of them reserved, of which `mapped` bytes from `offset` are mapped; 0 bytes make a locked
// name without a mapping. The name appears last, and a process killed before leaves nothing; on systems that can't name
// a file later, it appears first. May wait.
Status CreateRegion(const std::string& path, uint64_t size, mode_t mode, uint64_t offset, uint64_t mapped,
                    Region* region);

// A part of an existing region, up to its end if `to_end`. May wait.
Status OpenRegion(const std::string& path, uint64_t offset, uint64_t size, bool to_end, Region* region);

enum class NameState { kAbandoned, kLocked, kAbsent };

// A name whose owner is gone, locked by this process.
struct AbandonedName {
  std::string path;
  FileDescriptor lock;

  // Removes the name while the lock is held, if it is still the name of that file.
  Status Remove();
};

// Locks a name whose owner is gone. The lock proves it: the kernel drops it with the owner's last descriptor.
Status TryLockName(const std::string& path, AbandonedName* name, NameState* state);

constexpr uint64_t kUnlimited = UINT64_MAX;

// Free bytes in /dev/shm, or kUnlimited.
Status FreeBytes(uint64_t* bytes);

}  // namespace zerohop

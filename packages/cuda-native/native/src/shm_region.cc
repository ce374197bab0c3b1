#include "shm_region.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <mutex>
#include <set>

namespace zerohop {

namespace {

// What shm_open uses on Linux. Paths rather than shm_open, because renaming needs them.
constexpr const char* kDirectory = "/dev/shm";

// The names this process has made and not yet removed; they go when it exits. Never destroyed: threads may be in here
// while the process exits.
class Names {
 public:
  static Names& Instance() {
    static Names* names = new Names;
    return *names;
  }

  // Makes an empty file, locked by `fd`, under `path`. It appears there already locked: it is made under a name that
  // nobody knows, and renamed. 0 or an errno, with the function that failed.
  int Make(const std::string& path, mode_t mode, FileDescriptor* fd, const char** call) {
    *call = "getrandom";
    uint64_t nonce = 0;
    if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) return errno;
    char temporary[64];
    // The pid is for people. Containers that share /dev/shm each count their own, so it makes no name unique.
    snprintf(temporary, sizeof temporary, "%s/.zerohop-%d-%016" PRIx64 ".tmp", kDirectory, getpid(), nonce);

    // Under the lock from beginning to end, so that an orderly exit finds no file half made; nothing in here waits.
    std::lock_guard<std::mutex> lock(mutex_);
    *call = "open";
    // Nobody would remove it any more.
    if (ended_) return ECANCELED;
    *fd = FileDescriptor(open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode));
    if (fd->get() < 0) return errno;
    const int error = Publish(temporary, path, mode, fd->get(), call);
    if (error != 0) unlink(temporary);
    return error;
  }

  // Removes the name if it is still one of ours, exactly once.
  void Unlink(const std::string& path) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (paths_.erase(path) != 0) unlink(path.c_str());
  }

  void UnlinkAll() {
    std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    for (const std::string& path : paths_) unlink(path.c_str());
    paths_.clear();
  }

 private:
  int Publish(const char* temporary, const std::string& path, mode_t mode, int fd, const char** call) {
    // The umask must not decide who may share the region.
    *call = "fchmod";
    if (fchmod(fd, mode) != 0) return errno;
    *call = "flock";
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno;
    *call = "renameat2";
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) return errno;
    paths_.insert(path);
    return 0;
  }

  std::mutex mutex_;
  std::set<std::string> paths_;
  bool ended_ = false;
};

Status Full(const char* call, const std::string& path, uint64_t needed) {
  uint64_t free = 0;
  Status status = FreeBytes(&free);
  if (!status.ok()) return status;
  return Status::SharedMemory(call, ENOSPC, "full",
                              path + " needs " + std::to_string(needed) + " bytes, " + std::to_string(free) +
                                  " are free in " + kDirectory);
}

Status Map(int fd, uint64_t offset, uint64_t size, const std::string& path, std::shared_ptr<Mapping>* mapping) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t start = offset - offset % page;
  const size_t length = static_cast<size_t>(offset - start + size);
  void* base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(start));
  if (base == MAP_FAILED) return Status::System("mmap", errno, path);
  *mapping = std::make_shared<Mapping>(base, length, static_cast<char*>(base) + (offset - start), size);
  return Status::Ok();
}

}  // namespace

void Region::Unlink() {
  if (std::exchange(named, false)) Names::Instance().Unlink(path);
}

void Region::Close() {
  Unlink();
  mapping.reset();
  lock.Reset();
}

std::string PathOf(const std::string& key) { return kDirectory + key; }

void UnlinkAllNames() { Names::Instance().UnlinkAll(); }

Status FreeBytes(uint64_t* bytes) {
  struct statvfs stats;
  if (statvfs(kDirectory, &stats) != 0) return Status::System("statvfs", errno, kDirectory);
  // A tmpfs mounted with size=0 has no limit of its own and reports no blocks.
  *bytes = stats.f_blocks == 0 ? kUnlimited : static_cast<uint64_t>(stats.f_bavail) * stats.f_frsize;
  return Status::Ok();
}

// A process killed before the file has its name leaves at most an empty, unlocked file under another.
Status CreateRegion(const std::string& path, uint64_t size, mode_t mode, Region* region) {
  uint64_t free = 0;
  const Status known = FreeBytes(&free);
  if (!known.ok()) return known;
  if (size > free) return Full("statvfs", path, size);

  FileDescriptor fd;
  const char* call = "";
  int error = Names::Instance().Make(path, mode, &fd, &call);
  if (error == ENOSPC) return Full(call, path, size);
  if (error == EEXIST) return Status::SharedMemory(call, error, "exists", path + " exists");
  if (error != 0) return Status::System(call, error, path);

  region->path = path;
  region->lock = std::move(fd);
  region->named = true;
  if (size == 0) return Status::Ok();

  // Reserves every page now. With ftruncate a full /dev/shm would show itself as SIGBUS at the first write.
  do {
    error = posix_fallocate(region->lock.get(), 0, static_cast<off_t>(size));
  } while (error == EINTR);
  if (error == ENOSPC) {
    region->Close();
    return Full("posix_fallocate", path, size);
  }
  if (error != 0) return Status::System("posix_fallocate", error, path);
  return Map(region->lock.get(), 0, size, path, &region->mapping);
}

Status OpenRegion(const std::string& path, uint64_t offset, uint64_t size, bool to_end, Region* region) {
  FileDescriptor fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (fd.get() < 0) {
    if (errno == ENOENT) return Status::SharedMemory("open", errno, "absent", path + " does not exist");
    return Status::System("open", errno, path);
  }
  const off_t end = lseek(fd.get(), 0, SEEK_END);
  if (end < 0) return Status::System("lseek", errno, path);
  const uint64_t available = static_cast<uint64_t>(end);
  if (to_end && offset <= available) size = available - offset;
  if (offset > available || size > available - offset) {
    return Status::SharedMemory("open", EINVAL, "range",
                                path + " has " + std::to_string(available) + " bytes; asked for " +
                                    (to_end ? "all" : std::to_string(size)) + " from byte " + std::to_string(offset));
  }
  region->path = path;
  if (size == 0) return Status::Ok();
  return Map(fd.get(), offset, size, path, &region->mapping);
}

Status TryLockName(const std::string& path, AbandonedName* name, NameState* state) {
  for (;;) {
    FileDescriptor fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (fd.get() < 0) {
      if (errno != ENOENT) return Status::System("open", errno, path);
      *state = NameState::kAbsent;
      return Status::Ok();
    }
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return Status::System("flock", errno, path);
      *state = NameState::kLocked;
      return Status::Ok();
    }
    // Another process may have replaced the name since it was opened; only the file that is locked may lose its name.
    // statx, because fstat is GLIBC_2.33.
    struct statx ours;
    struct statx named;
    if (statx(fd.get(), "", AT_EMPTY_PATH, STATX_INO, &ours) != 0) return Status::System("statx", errno, path);
    if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO, &named) != 0) {
      if (errno == ENOENT) continue;
      return Status::System("statx", errno, path);
    }
    if (ours.stx_ino != named.stx_ino) continue;
    name->path = path;
    name->lock = std::move(fd);
    *state = NameState::kAbandoned;
    return Status::Ok();
  }
}

Status AbandonedName::Remove() {
  // Without the lock the name may be somebody else's by now.
  if (lock.get() < 0) return Status::Ok();
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Status::System("unlink", errno, path);
  lock.Reset();
  return Status::Ok();
}

}  // namespace zerohop

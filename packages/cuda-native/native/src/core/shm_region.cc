#include "shm_region.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <mutex>
#include <shared_mutex>
#include <utility>

#include "shm_closing.h"

namespace zerohop {

namespace {

Status Full(const char* call, const std::string& path, uint64_t needed) {
  uint64_t free = 0;
  Status status = FreeBytes(&free);
  if (!status.ok()) return status;
  return Status::SharedMemory(call, ENOSPC, "full",
                              path + " needs " + std::to_string(needed) + " bytes, " + std::to_string(free) +
                                  " are free in " + kShmDirectory);
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

Status NotMade(const char* call, int error, const std::string& path, uint64_t size) {
  if (error == ENOSPC) return Full(call, path, size);
  if (error == EEXIST) return Status::SharedMemory(call, error, "exists", path + " exists");
  return Status::System(call, error, path);
}

// What is to be mapped of a file, and how large that is.
struct Part {
  uint64_t size;
  uint64_t offset;
  uint64_t mapped;
};

int Fallocate(int fd, uint64_t size) {
  int error = 0;
  do {
    error = posix_fallocate(fd, 0, static_cast<off_t>(size));
  } while (error == EINTR);
  return error;
}

// Reserves every page of a file. Where there is room for one of two, each may take half of it while both are at it, and
// none gets enough; who got too little therefore tries again when no other reservation of this process is under way.
int Reserve(int fd, uint64_t size) {
  // Never destroyed: threads may be in here while the process exits.
  static std::shared_mutex& reserving = *new std::shared_mutex;
  int error = 0;
  {
    std::shared_lock<std::shared_mutex> together(reserving);
    error = Fallocate(fd, size);
  }
  if (error != ENOSPC) return error;
  std::unique_lock<std::shared_mutex> alone(reserving);
  do {
    error = Fallocate(fd, size);
  } while (error == ENOSPC && FinishClosing());
  return error;
}

// Reserves the region's file and maps a part. With ftruncate a full /dev/shm would show itself as SIGBUS at the first
// write.
Status Fill(const std::string& path, const Part& part, Region* region) {
  if (part.size == 0) return Status::Ok();
  const int error = Reserve(region->lock.get(), part.size);
  if (error == 0) return Map(region->lock.get(), part.offset, part.mapped, path, &region->mapping);
  // Others may have the room that it had got.
  if (error == ENOSPC) region->Close();
  return NotMade("posix_fallocate", error, path, part.size);
}

// Names the file when all else is done. `refused` when this system can't: /dev/shm knows no unnamed files, or there is no
// /proc to link them from. What else is wrong the other way meets too, and tells.
Status CreateUnnamed(const std::string& path, const Part& part, mode_t mode, Region* region, bool* refused) {
  region->lock = FileDescriptor(open(kShmDirectory, O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  *refused = region->lock.get() < 0 || access(UnnamedPath(region->lock.get()).c_str(), F_OK) != 0;
  if (*refused) return Status::Ok();
  const char* call = "";
  int error = OwnFile(region->lock.get(), mode, &call);
  if (error != 0) return NotMade(call, error, path, part.size);
  Status status = Fill(path, part, region);
  if (!status.ok()) return status;
  error = LinkName(region->lock.get(), path, &call);
  *refused = error != 0 && error != EEXIST && error != ECANCELED;
  if (error != 0) return NotMade(call, error, path, part.size);
  region->path = path;
  region->named = true;
  return Status::Ok();
}

// Names the file first: a process killed before it has its name leaves at most an empty, unlocked file under another.
Status CreateNamed(const std::string& path, const Part& part, mode_t mode, Region* region) {
  const char* call = "";
  const int error = MakeName(path, mode, &region->lock, &call);
  if (error != 0) return NotMade(call, error, path, part.size);
  region->path = path;
  region->named = true;
  return Fill(path, part, region);
}

}  // namespace

void Region::Keep() {
  if (!named) return;
  kept = true;
  KeepName(path, lock.get());
}

void Region::Unlink() {
  if (std::exchange(named, false)) UnmakeName(path, lock.get());
}

void Region::CloseInBackground() {
  // What the kernel does at once needs no thread.
  constexpr size_t kQuickBytes = size_t{1} << 20;
  if (mapping == nullptr || mapping->size() < kQuickBytes) {
    Close();
    return;
  }
  Unlink();
  CloseLater(std::move(mapping), std::move(lock));
}

void Region::Close() {
  Unlink();
  mapping.reset();
  lock.Reset();
}

std::string PathOf(const std::string& key) { return kShmDirectory + key; }

Status FreeBytes(uint64_t* bytes) {
  struct statvfs stats;
  if (statvfs(kShmDirectory, &stats) != 0) return Status::System("statvfs", errno, kShmDirectory);
  // A tmpfs mounted with size=0 has no limit of its own and reports no blocks.
  *bytes = stats.f_blocks == 0 ? kUnlimited : static_cast<uint64_t>(stats.f_bavail) * stats.f_frsize;
  return Status::Ok();
}

Status CreateRegion(const std::string& path, uint64_t size, mode_t mode, uint64_t offset, uint64_t mapped,
                    Region* region) {
  uint64_t free = 0;
  const Status known = FreeBytes(&free);
  if (!known.ok()) return known;
  if (size > free) {
    const bool any = FinishClosing();
    const Status again = FreeBytes(&free);
    if (!again.ok()) return again;
    if (!any || size > free) return Full("statvfs", path, size);
  }
  // Where the name comes last, this saves the work.
  FileId taken;
  if (IdentifyName(path, &taken) == 0) return NotMade("statx", EEXIST, path, size);

  const Part part{size, offset, mapped};
  bool refused = false;
  const Status status = CreateUnnamed(path, part, mode, region, &refused);
  if (!refused) {
    if (!status.ok()) region->Close();
    return status;
  }
  region->Close();
  return CreateNamed(path, part, mode, region);
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
    FileId ours;
    FileId named;
    int error = IdentifyFile(fd.get(), &ours);
    if (error == 0) error = IdentifyName(path, &named);
    if (error == ENOENT) continue;
    if (error != 0) return Status::System("statx", error, path);
    if (!(ours == named)) continue;
    name->path = path;
    name->lock = std::move(fd);
    *state = NameState::kAbandoned;
    return Status::Ok();
  }
}

Status AbandonedName::Remove() {
  // Without the lock the file may be in use by now.
  if (lock.get() < 0) return Status::Ok();
  FileId id;
  const char* call = "statx";
  int error = IdentifyFile(lock.get(), &id);
  if (error == 0) error = RemoveName(path, id, &call);
  if (error != 0) return Status::System(call, error, path);
  lock.Reset();
  return Status::Ok();
}

}  // namespace zerohop

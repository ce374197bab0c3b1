#include "shm_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace zerohop {

namespace {

// statx, because fstat is GLIBC_2.33.
int Identify(int directory, const char* path, int flags, FileId* id) {
  struct statx found;
  if (statx(directory, path, flags, STATX_INO, &found) != 0) return errno;
  *id = FileId{found.stx_dev_major, found.stx_dev_minor, found.stx_ino};
  return 0;
}

struct Name {
  std::string path;
  FileId id;
  bool kept = false;
};

// Never destroyed: threads may be in here while the process exits. The lock is held while a name is made and entered, so
// that an orderly exit leaves none; nothing in here waits.
struct Names {
  std::mutex mutex;
  std::vector<Name> made;
  bool ended = false;
};

Names& TheNames() {
  static Names* names = new Names;
  return *names;
}

// With the lock held. What cannot be removed stays: nobody could do more about it.
void Remove(const Name& name) {
  const char* call = "";
  RemoveName(name.path, name.id, &call);
}

// Moves a file that this process owns to its name, if that is free.
int Rename(Names& names, const char* temporary, const std::string& path, int fd, const char** call) {
  Name name{path, {}, false};
  *call = "statx";
  const int error = IdentifyFile(fd, &name.id);
  if (error != 0) return error;
  *call = "renameat2";
  if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) return errno;
  names.made.push_back(std::move(name));
  return 0;
}

std::vector<Name>::iterator Find(Names& names, const std::string& path, const FileId& id) {
  return std::find_if(names.made.begin(), names.made.end(),
                      [&](const Name& name) { return name.id == id && name.path == path; });
}

}  // namespace

int IdentifyFile(int fd, FileId* id) { return Identify(fd, "", AT_EMPTY_PATH, id); }

int IdentifyName(const std::string& path, FileId* id) {
  return Identify(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, id);
}

int RemoveName(const std::string& path, const FileId& id, const char** call) {
  FileId named;
  *call = "statx";
  const int error = IdentifyName(path, &named);
  if (error != 0) return error == ENOENT ? 0 : error;
  if (!(named == id)) return 0;
  *call = "unlink";
  return unlink(path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

int OwnFile(int fd, mode_t mode, const char** call) {
  *call = "fchmod";
  if (fchmod(fd, mode) != 0) return errno;
  *call = "flock";
  return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

std::string UnnamedPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

int LinkName(int fd, const std::string& path, const char** call) {
  Name name{path, {}, false};
  *call = "statx";
  const int error = IdentifyFile(fd, &name.id);
  if (error != 0) return error;
  *call = "linkat";
  Names& names = TheNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  // Nobody would remove it any more.
  if (names.ended) return ECANCELED;
  if (linkat(AT_FDCWD, UnnamedPath(fd).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0) return errno;
  names.made.push_back(std::move(name));
  return 0;
}

int MakeName(const std::string& path, mode_t mode, FileDescriptor* fd, const char** call) {
  *call = "getrandom";
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) return errno;
  char temporary[64];
  // The pid is for people. Containers that share /dev/shm each count their own, so it makes no name unique.
  snprintf(temporary, sizeof temporary, "%s/.zerohop-%d-%016" PRIx64 ".tmp", kShmDirectory, getpid(), nonce);

  *call = "open";
  Names& names = TheNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  if (names.ended) return ECANCELED;
  *fd = FileDescriptor(open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode));
  if (fd->get() < 0) return errno;
  int error = OwnFile(fd->get(), mode, call);
  if (error == 0) error = Rename(names, temporary, path, fd->get(), call);
  if (error != 0) unlink(temporary);
  return error;
}

void KeepName(const std::string& path, int fd) {
  FileId id;
  if (IdentifyFile(fd, &id) != 0) return;
  Names& names = TheNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  const auto found = Find(names, path, id);
  if (found != names.made.end()) found->kept = true;
}

void UnmakeName(const std::string& path, int fd) {
  FileId id;
  if (IdentifyFile(fd, &id) != 0) return;
  Names& names = TheNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  const auto found = Find(names, path, id);
  // None is left when the process is ending.
  if (found == names.made.end()) return;
  Remove(*found);
  names.made.erase(found);
}

void UnmakeAllNames() {
  Names& names = TheNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  names.ended = true;
  for (const Name& name : names.made) {
    if (!name.kept) Remove(name);
  }
  names.made.clear();
}

}  // namespace zerohop

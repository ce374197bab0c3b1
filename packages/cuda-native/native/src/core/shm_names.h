// The names in /dev/shm that this process has made. Anybody who may write there can remove a name and make it again for
// another file, so a name is only ever removed while it stands for the file that was meant.
//
// What fails gives an errno; `call` is then the function that failed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "file_descriptor.h"

namespace zerohop {

// What shm_open uses on Linux. Paths rather than shm_open, because linking and renaming need them.
constexpr const char* kShmDirectory = "/dev/shm";

// Tells a file from every other one, for as long as somebody holds it open.
struct FileId {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint64_t inode = 0;

  bool operator==(const FileId& other) const {
    return major == other.major && minor == other.minor && inode == other.inode;
  }
};

int IdentifyFile(int fd, FileId* id);
// Of what the name itself stands for: a symbolic link is not followed.
int IdentifyName(const std::string& path, FileId* id);

// Removes the name if it stands for `id`; else there is nothing to do. Between the look and the removal somebody could put
// another file there, but nobody who leaves locked names alone.
int RemoveName(const std::string& path, const FileId& id, const char** call);

// Sets the mode, whatever the umask, and takes the lock that marks the owner.
int OwnFile(int fd, mode_t mode, const char** call);

// The path of an open file that has no name.
std::string UnnamedPath(int fd);

// Gives a file that has no name this one, if it is free. The name is removed when the process exits.
int LinkName(int fd, const std::string& path, const char** call);

// Makes an empty file of that name and owns it; for where a file must have a name from the beginning. It appears there
// already locked: it is made under a name that nobody knows, and renamed. The name is removed when the process exits.
int MakeName(const std::string& path, mode_t mode, FileDescriptor* fd, const char** call);

// Removes a name that the file was given here, exactly once.
void UnmakeName(const std::string& path, int fd);

// Lets a name that the file was given here outlive the process, as a kill would.
void KeepName(const std::string& path, int fd);

// Removes all names that this process has made and neither removed nor kept, and makes no more: the process is ending.
void UnmakeAllNames();

}  // namespace zerohop

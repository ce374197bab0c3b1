// Unmapping large regions. The kernel frees their pages in the call that lets go of them last, some 40 ms for 512 MiB: the
// JS thread leaves that to the addon's threads.
#pragma once

#include <memory>

#include "mapping.h"
#include "shm_region.h"

namespace zerohop {

// Lets go of a mapping, and then of the lock, on the addon's threads.
void CloseLater(std::shared_ptr<Mapping> mapping, FileDescriptor lock);

// Lets go of all that waits for it, on this thread: for when there is no room. Whether there was any.
bool FinishClosing();

}  // namespace zerohop

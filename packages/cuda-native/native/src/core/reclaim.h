// Giving back what nobody closed: collected by GC, or its environment has ended.
#pragma once

#include <functional>

#include "context.h"
#include "status.h"

namespace zerohop {

// Runs `release` on a thread of its own, with the context current, and reports its failure (see unasked.h). Where nobody
// knows any more what uses it, `after_all_work` of the process. When that can't be found out, or the context not be made
// current, it is tried again with the next thing that is reclaimed. Not at all once the process exits.
void Reclaim(const Context* context, bool after_all_work, std::function<Status()> release);

}  // namespace zerohop

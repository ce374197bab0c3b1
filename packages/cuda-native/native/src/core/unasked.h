// Failures that no caller waits for: of freeing what was collected, of putting a thread's context back.
#pragma once

#include "status.h"

namespace zerohop {

// Hands a failure to the listener; success is none. A context that was lost before says nothing new, and while the
// process exits nobody is left to hear.
void ReportUnasked(Status status);

// Who hears of them, on any thread. Set once, before there can be any.
void ListenUnasked(void (*listener)(Status status));

}  // namespace zerohop

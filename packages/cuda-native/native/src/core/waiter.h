// Waiting for the device without libuv's pool and without blocking a driver call that has no time limit.
#pragma once

#include <functional>

#include "context.h"
#include "driver_types.h"
#include "status.h"

namespace zerohop {

// Calls `done` on the waiter's thread once `event` is over, however it went. One thread of the process polls for all:
// it spins for up to 50 us after the newest wait began or ended, then sleeps in growing steps; without spinning when the
// environment variable ZEROHOP_WAIT_SPIN is 0. `done` must not wait; it holds what the event needs. Where the thread
// can't be started, `done` is called at once with the reason.
void AwaitEvent(const Context& context, CUevent event, std::function<void(Status)> done);

// Polls on the calling thread, in the same rhythm, until `event` is over; its outcome.
CUresult PollEvent(CUevent event);

}  // namespace zerohop

// Waiting for the device without libuv's pool and without blocking a driver call that has no time limit.
#pragma once

#include <memory>

#include "driver_types.h"
#include "environment.h"
#include "stream.h"

namespace zerohop {

// Settles `task` once `event`, which lies on `stream`, is over, and gives the event back to the stream. One thread of
// the process polls for all: it spins for up to 50 us after the newest wait began, then sleeps in growing steps.
void AwaitEvent(std::shared_ptr<Stream> stream, CUevent event, std::unique_ptr<Task> task,
                std::shared_ptr<Channel> channel);

// Polls on the calling thread, in the same rhythm, until `event` is over; its outcome.
CUresult PollEvent(CUevent event);

}  // namespace zerohop

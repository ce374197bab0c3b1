// The addon's own threads for everything that can wait. libuv's pool is left to the user: its four threads serve files
// and DNS, and process.exit() waits for them.
#pragma once

#include <functional>

namespace zerohop {

// Runs `work` on one of at most eight threads shared by all environments of the process. They are started when needed,
// block all signals, and are never joined: they hold nothing that must be released at exit.
void Execute(std::function<void()> work);

// Starts a detached thread with all signals blocked.
bool StartThread(void* (*body)(void*), void* argument);

}  // namespace zerohop

// Native memory as an ArrayBuffer, without a copy.
#pragma once

#include <node_api.h>

#include <cstddef>
#include <memory>

namespace zerohop {

// What keeps the memory behind one ArrayBuffer alive.
struct BufferOwner {
  std::shared_ptr<void> memory;
};

// Makes the ArrayBuffer over `size` bytes at `data`; `memory` lives at least as long as it. Null, with an exception
// pending, where the host refuses external buffers or the size.
napi_value MakeExternalBuffer(napi_env env, void* data, size_t size, std::shared_ptr<void> memory,
                              std::shared_ptr<BufferOwner>* owner);

// Detaches `buffer`, so that every view of it has length 0, and lets go of the memory at once. A buffer whose memory
// was moved elsewhere by transfer() is left alone: its finalizer lets go.
void DetachExternalBuffer(napi_env env, napi_value buffer, const std::shared_ptr<BufferOwner>& owner);

}  // namespace zerohop

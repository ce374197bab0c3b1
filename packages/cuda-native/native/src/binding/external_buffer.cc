#include "external_buffer.h"

#include <utility>

namespace zerohop {

napi_value MakeExternalBuffer(napi_env env, void* data, size_t size, std::shared_ptr<void> memory,
                              std::shared_ptr<BufferOwner>* owner) {
  napi_value buffer = nullptr;
  if (size == 0) {
    napi_create_arraybuffer(env, 0, nullptr, &buffer);
    return buffer;
  }
  auto made = std::make_shared<BufferOwner>();
  made->memory = std::move(memory);
  auto* hint = new std::shared_ptr<BufferOwner>(made);
  const auto release = [](napi_env, void*, void* held) { delete static_cast<std::shared_ptr<BufferOwner>*>(held); };
  const napi_status status = napi_create_external_arraybuffer(env, data, size, release, hint, &buffer);
  if (status != napi_ok) {
    // No buffer shows the memory, whatever becomes of the hint.
    made->memory.reset();
    bool pending = false;
    napi_is_exception_pending(env, &pending);
    // An environment that is being ended, and a host without such buffers, refuse without an exception and before they
    // take the hint. In any other case Node may already have run the finalizer: the hint is not ours any more.
    const bool untouched = status == napi_pending_exception || status == napi_cannot_run_js ||
                           status == napi_no_external_buffers_allowed;
    if (!pending && untouched) delete hint;
    if (!pending && status == napi_no_external_buffers_allowed) {
      napi_throw_error(env, "ERR_NO_EXTERNAL_BUFFERS",
                       "This host allows no ArrayBuffers over native memory: use a plain Node.js process");
    } else if (!pending) {
      napi_throw_range_error(env, "ERR_BUFFER_TOO_LARGE",
                             "The memory is larger than an ArrayBuffer can be here: map a part of it");
    }
    return nullptr;
  }
  *owner = std::move(made);
  return buffer;
}

void DetachExternalBuffer(napi_env env, napi_value buffer, const std::shared_ptr<BufferOwner>& owner) {
  if (owner == nullptr) return;
  bool detached = false;
  if (napi_is_detached_arraybuffer(env, buffer, &detached) != napi_ok || detached) return;
  if (napi_detach_arraybuffer(env, buffer) == napi_ok) owner->memory.reset();
}

}  // namespace zerohop

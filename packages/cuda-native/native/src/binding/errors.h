// A failed Status as the JS error that users see.
#pragma once

#include <node_api.h>

#include "../core/status.h"

namespace zerohop {

// The JS error for a failed status, made by the factory that the JS side registered. Never leaves an exception pending.
napi_value MakeError(napi_env env, const Status& status);

// Throws the JS error for a failed status.
void Throw(napi_env env, const Status& status);

}  // namespace zerohop

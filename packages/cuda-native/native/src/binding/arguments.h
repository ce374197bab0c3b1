// Numbers out of JS values. The JS side has checked them.
#pragma once

#include <node_api.h>

#include <cstddef>
#include <cstdint>

namespace zerohop {

inline uint64_t ToUint64(napi_env env, napi_value value) {
  int64_t number = 0;
  napi_get_value_int64(env, value, &number);
  return static_cast<uint64_t>(number);
}

inline size_t ToSize(napi_env env, napi_value value) { return static_cast<size_t>(ToUint64(env, value)); }

inline int ToInt(napi_env env, napi_value value) {
  int32_t number = 0;
  napi_get_value_int32(env, value, &number);
  return number;
}

}  // namespace zerohop

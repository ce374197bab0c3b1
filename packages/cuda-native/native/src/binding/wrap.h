// Native objects as JS values: a plain object that holds a shared_ptr, tagged with its type. The JS classes keep it in
// a private field; a value of another kind is refused instead of misread.
#pragma once

#include <node_api.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "type_tags.h"

namespace zerohop {

template <typename T>
struct Box {
  // First in the box of every type and ABI: what a quick look can tell them apart by.
  napi_type_tag tag;
  std::shared_ptr<T> object;
  // What V8 was told of the memory behind the object, in bytes.
  int64_t external = 0;
};

// `external` bytes count as the value's until it is collected or ReleaseExternal is called.
template <typename T>
napi_value Wrap(napi_env env, std::shared_ptr<T> object, int64_t external = 0) {
  napi_value value = nullptr;
  if (napi_create_object(env, &value) != napi_ok) return nullptr;
  auto* box = new Box<T>{TypeTag<T>::value, std::move(object), external};
  const auto destroy = [](napi_env env, void* data, void*) {
    auto* box = static_cast<Box<T>*>(data);
    int64_t total = 0;
    if (box->external != 0) napi_adjust_external_memory(env, -box->external, &total);
    delete box;
  };
  if (napi_wrap(env, value, box, destroy, nullptr, nullptr) != napi_ok) {
    delete box;
    return nullptr;
  }
  napi_type_tag_object(env, value, &TypeTag<T>::value);
  int64_t total = 0;
  if (external != 0) napi_adjust_external_memory(env, external, &total);
  return value;
}

// The box behind `value`, or null with a TypeError pending. It lives as long as the value.
template <typename T>
Box<T>* UnwrapBox(napi_env env, napi_value value) {
  bool matches = false;
  void* box = nullptr;
  if (napi_check_object_type_tag(env, value, &TypeTag<T>::value, &matches) == napi_ok && matches &&
      napi_unwrap(env, value, &box) == napi_ok) {
    return static_cast<Box<T>*>(box);
  }
  napi_throw_type_error(env, nullptr, "Not a handle of this addon");
  return nullptr;
}

// The object behind `value`, or null with a TypeError pending.
template <typename T>
std::shared_ptr<T> Unwrap(napi_env env, napi_value value) {
  Box<T>* box = UnwrapBox<T>(env, value);
  return box == nullptr ? nullptr : box->object;
}

// The same without sharing it: valid during the call. For calls that are made once for each piece of work: asking V8 for
// the tag takes longer than most of them, so the box is asked. What the JS side passes here are handles of this package.
template <typename T>
T* Peek(napi_env env, napi_value value) {
  void* data = nullptr;
  if (napi_unwrap(env, value, &data) == napi_ok) {
    auto* box = static_cast<Box<T>*>(data);
    if (box->tag.lower == TypeTag<T>::value.lower && box->tag.upper == TypeTag<T>::value.upper) return box->object.get();
  }
  napi_throw_type_error(env, nullptr, "Not a handle of this addon");
  return nullptr;
}

// The memory is given back now, not when the value is collected.
template <typename T>
void ReleaseExternal(napi_env env, napi_value value) {
  Box<T>* box = UnwrapBox<T>(env, value);
  int64_t total = 0;
  if (box != nullptr && box->external != 0) napi_adjust_external_memory(env, -std::exchange(box->external, 0), &total);
}

}  // namespace zerohop

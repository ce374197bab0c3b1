// Native objects as JS values: a plain object that holds a shared_ptr, tagged with its type. The JS classes keep it in
// a private field; a value of another kind is refused instead of misread.
#pragma once

#include <node_api.h>

#include <memory>
#include <utility>

namespace zerohop {

// Specialised by each wrapped type: `static constexpr napi_type_tag value`.
template <typename T>
struct TypeTag;

template <typename T>
napi_value Wrap(napi_env env, std::shared_ptr<T> object) {
  napi_value value = nullptr;
  if (napi_create_object(env, &value) != napi_ok) return nullptr;
  auto* box = new std::shared_ptr<T>(std::move(object));
  const auto destroy = [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<T>*>(data); };
  if (napi_wrap(env, value, box, destroy, nullptr, nullptr) != napi_ok) {
    delete box;
    return nullptr;
  }
  napi_type_tag_object(env, value, &TypeTag<T>::value);
  return value;
}

// The object behind `value`, or null with a TypeError pending.
template <typename T>
std::shared_ptr<T> Unwrap(napi_env env, napi_value value) {
  bool matches = false;
  void* box = nullptr;
  if (napi_check_object_type_tag(env, value, &TypeTag<T>::value, &matches) == napi_ok && matches &&
      napi_unwrap(env, value, &box) == napi_ok) {
    return *static_cast<std::shared_ptr<T>*>(box);
  }
  napi_throw_type_error(env, nullptr, "Not a handle of this addon");
  return nullptr;
}

}  // namespace zerohop

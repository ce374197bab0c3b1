// Whether two C types are passed the same way: the driver's as NVIDIA's header declares it, and as we do.
#pragma once

#include <type_traits>

namespace zerohop {

template <typename Ours, typename Theirs>
constexpr bool SameAbi();

// Memory behind a pointer: opaque, a struct of the same size, or again something that is the same. `const` of one side
// only does not matter to a caller.
template <typename Ours, typename Theirs>
constexpr bool SamePointee() {
  using A = std::remove_cv_t<Ours>;
  using B = std::remove_cv_t<Theirs>;
  if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return std::is_void_v<A> && std::is_void_v<B>;
  } else if constexpr (std::is_function_v<A> || std::is_function_v<B>) {
    return false;
  } else {
    return SameAbi<A, B>();
  }
}

template <typename T, typename = void>
struct IsComplete : std::false_type {};
template <typename T>
struct IsComplete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

template <typename Ours, typename Theirs>
constexpr bool SameAbi() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    return SamePointee<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
  } else if constexpr (std::is_class_v<Ours> || std::is_class_v<Theirs>) {
    if constexpr (!std::is_class_v<Ours> || !std::is_class_v<Theirs>) {
      return false;
    } else if constexpr (IsComplete<Ours>::value && IsComplete<Theirs>::value) {
      return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
    } else {
      // Opaque on both sides: a handle of the driver.
      return !IsComplete<Ours>::value && !IsComplete<Theirs>::value;
    }
  } else if constexpr ((std::is_integral_v<Ours> || std::is_enum_v<Ours>) &&
                       (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>)) {
    // An enum of the header is an int or an unsigned of ours.
    if (sizeof(Ours) != sizeof(Theirs)) return false;
    if constexpr (std::is_enum_v<Theirs> || std::is_enum_v<Ours>) {
      return true;
    } else {
      return std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
    }
  } else {
    return std::is_same_v<Ours, Theirs>;
  }
}

template <typename Ours, typename Theirs>
struct SameFunction;
template <typename RA, typename... A, typename RB, typename... B>
struct SameFunction<RA (*)(A...), RB (*)(B...)> {
  static constexpr bool Compare() {
    if constexpr (sizeof...(A) != sizeof...(B)) {
      return false;
    } else {
      return SameAbi<RA, RB>() && (SameAbi<A, B>() && ...);
    }
  }
  static constexpr bool value = Compare();
};

}  // namespace zerohop

#include <cstdlib>

// libstdc++'s shared_ptr reads this flag, which only glibc >= 2.32 exports. A hidden definition of our own, saying
// "threads exist", takes its place.
extern "C" {
extern char __libc_single_threaded __attribute__((visibility("hidden")));
char __libc_single_threaded = 0;
}

// Containers call this on an impossible size; libstdc++ exports it since GCC 11 only (GLIBCXX_3.4.29). Without
// exceptions, throwing was never an option.
namespace std {
__attribute__((visibility("hidden"), noreturn)) void __throw_bad_array_new_length();
void __throw_bad_array_new_length() { std::abort(); }
}  // namespace std

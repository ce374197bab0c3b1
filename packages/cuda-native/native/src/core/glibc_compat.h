// Included ahead of every source file. Building on a new glibc would bind these functions to their newest symbol
// versions (2.34 moved them into libc.so.6); the old versions are still there and are the same functions, so naming
// them keeps the binary loadable wherever Node itself loads.
#pragma once

#ifdef __linux__
#if defined(__x86_64__)
#define ZEROHOP_GLIBC_BASE "GLIBC_2.2.5"
#define ZEROHOP_GLIBC_SETCLOCK "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define ZEROHOP_GLIBC_BASE "GLIBC_2.17"
#define ZEROHOP_GLIBC_SETCLOCK "GLIBC_2.17"
#endif
#endif

#ifdef ZEROHOP_GLIBC_BASE
#define ZEROHOP_SYMVER(name) __asm__(".symver " #name "," #name "@" ZEROHOP_GLIBC_BASE)
ZEROHOP_SYMVER(dlopen);
ZEROHOP_SYMVER(dlsym);
ZEROHOP_SYMVER(dlerror);
ZEROHOP_SYMVER(dladdr);
ZEROHOP_SYMVER(pthread_create);
ZEROHOP_SYMVER(pthread_detach);
ZEROHOP_SYMVER(pthread_once);
ZEROHOP_SYMVER(pthread_key_create);
ZEROHOP_SYMVER(__pthread_key_create);
ZEROHOP_SYMVER(pthread_sigmask);
ZEROHOP_SYMVER(pthread_rwlock_rdlock);
ZEROHOP_SYMVER(pthread_rwlock_wrlock);
ZEROHOP_SYMVER(pthread_rwlock_unlock);
__asm__(".symver pthread_condattr_setclock,pthread_condattr_setclock@" ZEROHOP_GLIBC_SETCLOCK);
#undef ZEROHOP_SYMVER
#undef ZEROHOP_GLIBC_BASE
#undef ZEROHOP_GLIBC_SETCLOCK
#endif

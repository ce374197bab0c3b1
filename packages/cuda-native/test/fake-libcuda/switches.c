// The switches of the environment, which tests change while any thread may read them.
#define _GNU_SOURCE
#include <stdlib.h>

#include "state.h"

static const char* const kNames[] = {
    "ZEROHOP_FAKE_DEVICES",   "ZEROHOP_FAKE_MEMORY_MIB",    "ZEROHOP_FAKE_VERSION",       "ZEROHOP_FAKE_MIG",
    "ZEROHOP_FAKE_INTEGRATED", "ZEROHOP_FAKE_IPC",           "ZEROHOP_FAKE_FAIL",          "ZEROHOP_FAKE_EPOCH",
    "ZEROHOP_FAKE_WORK_FAIL", "ZEROHOP_FAKE_WORK_DELAY_US", "ZEROHOP_FAKE_SPIN_HELD",     "ZEROHOP_FAKE_CALL_DELAY_US",
    "ZEROHOP_FAKE_EXIT_DELAY_US", "ZEROHOP_FAKE_LOG",        "ZEROHOP_FAKE_REPORT",           "ZEROHOP_FAKE_KERNELS",
    "ZEROHOP_FAKE_JPEG_ENGINES",
};

// All names are there from the start, if empty. glibc's setenv() frees the table of the environment, under getenv() on
// another thread, when a name is new and the table has to grow; the value of a name that is there it only swaps.
static __attribute__((constructor)) void declare(void) {
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) setenv(kNames[i], "", 0);
}

const char* env_text(const char* name) {
  const char* text = getenv(name);
  return text != NULL && *text != '\0' ? text : NULL;
}

long env_number(const char* name, long otherwise) {
  const char* text = env_text(name);
  return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

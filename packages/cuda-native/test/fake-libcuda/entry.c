// What every call begins with: the switches of the environment, and the thread's context.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "state.h"

static atomic_bool initialised;
static _Thread_local CUcontext current;
// The driver goes while the process exits, after the functions that were given to atexit() later than it was loaded.
static atomic_bool gone;

pthread_mutex_t driver_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t driver_changed = PTHREAD_COND_INITIALIZER;
struct Context contexts[MAX_DEVICES];

void sleep_us(long us) {
  if (us <= 0) return;
  struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

static __attribute__((destructor)) void leave(void) {
  atomic_store(&gone, true);
  sleep_us(env_number("ZEROHOP_FAKE_EXIT_DELAY_US", 0));
}

// Calls of each function, for "#n" of ZEROHOP_FAKE_FAIL.
static struct {
  const char* name;
  long calls;
} counters[128];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static char epoch[64];

static long count_call(const char* function) {
  const char* wanted = env_text("ZEROHOP_FAKE_EPOCH");
  if (wanted == NULL) wanted = "";
  pthread_mutex_lock(&counting);
  if (strncmp(wanted, epoch, sizeof epoch - 1) != 0) {
    strncpy(epoch, wanted, sizeof epoch - 1);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; ++i) counters[i].calls = 0;
  }
  size_t i = 0;
  while (counters[i].name != NULL && strcmp(counters[i].name, function) != 0) {
    if (++i == sizeof counters / sizeof *counters) abort();
  }
  counters[i].name = function;
  const long calls = ++counters[i].calls;
  pthread_mutex_unlock(&counting);
  return calls;
}

// The code that ZEROHOP_FAKE_FAIL asks for.
static CUresult injected(const char* function) {
  const long calls = count_call(function);
  const size_t length = strlen(function);
  const char* list = env_text("ZEROHOP_FAKE_FAIL");
  while (list != NULL && *list != '\0') {
    if (strncmp(list, function, length) == 0 && (list[length] == '=' || list[length] == '#')) {
      char* end = (char*)list + length;
      const bool chosen = *end == '=' || strtol(end + 1, &end, 10) == calls;
      if (chosen && *end == '=') return atoi(end + 1);
    }
    list = strchr(list, ',');
    if (list != NULL) ++list;
  }
  return SUCCESS;
}

static void delay(const char* function) {
  const char* text = env_text("ZEROHOP_FAKE_CALL_DELAY_US");
  if (text == NULL) return;
  if (strchr(text, '=') == NULL) {
    sleep_us(strtol(text, NULL, 10));
    return;
  }
  const size_t length = strlen(function);
  while (text != NULL && *text != '\0') {
    if (strncmp(text, function, length) == 0 && text[length] == '=') {
      sleep_us(strtol(text + length + 1, NULL, 10));
      return;
    }
    text = strchr(text, ',');
    if (text != NULL) ++text;
  }
}

// Appends "WHAT tid", and `more` behind it when there is some.
static void log_line(const char* what, const char* more) {
  const char* log = env_text("ZEROHOP_FAKE_LOG");
  if (log == NULL) return;
  const int fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  char line[128];
  const int length = snprintf(line, sizeof line, "%s%s %d%s%s\n", atomic_load(&gone) ? "gone " : "", what, gettid(),
                              *more != '\0' ? " " : "", more);
  if (fd < 0) return;
  if (write(fd, line, (size_t)length) != length) abort();
  close(fd);
}

bool loses_context(CUresult code) {
  switch (code) {
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 226:  // CONTAINED
    case ILLEGAL_ADDRESS:
    case 702:  // LAUNCH_TIMEOUT
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
    case 810:  // MPS_CLIENT_TERMINATED
      return true;
    default:
      return false;
  }
}

CUresult sticky(CUcontext context, CUresult code) {
  int none = SUCCESS;
  if (context != NULL && loses_context(code) && atomic_compare_exchange_strong(&context->lost, &none, code)) {
    write_report();
  }
  return code;
}

void set_initialised(void) { atomic_store(&initialised, true); }

CUcontext current_context(void) { return current; }

int observe(const char* function) {
  log_line(function, "");
  delay(function);
  const int code = injected(function);
  if (code != SUCCESS) log_line("failed", function);
  return code;
}

static CUresult begin(const char* function) {
  const CUresult code = observe(function);
  if (!loses_context(code)) return code;
  lock();
  return unlocked(sticky(current, code));
}

static bool needs_init(const char* function) {
  return strcmp(function, "cuInit") != 0 && strcmp(function, "cuDriverGetVersion") != 0 &&
         strncmp(function, "cuGetError", 10) != 0;
}

CUresult enter(const char* function) {
  const CUresult failure = begin(function);
  if (!atomic_load(&initialised) && needs_init(function)) return NOT_INITIALIZED;
  return failure;
}

CUresult enter_context(const char* function, CUcontext* context) {
  ENTER(function);
  *context = current;
  if (current == NULL) return INVALID_CONTEXT;
  return atomic_load(&current->lost);
}

CUresult enter_unsafe(const char* function, CUcontext* context) {
  RETURN_IF_FAILED(enter_context(function, context));
  return forbid_captures();
}

CUresult enter_destroy(const char* function, CUcontext* context, CUresult* late) {
  *late = begin(function);
  *context = current;
  if (!atomic_load(&initialised)) return NOT_INITIALIZED;
  if (current == NULL) return INVALID_CONTEXT;
  return atomic_load(&current->lost);
}

CUresult enter_unsafe_destroy(const char* function, CUcontext* context, CUresult* late) {
  RETURN_IF_FAILED(enter_destroy(function, context, late));
  return forbid_captures();
}

EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  ENTER("cuCtxGetCurrent");
  *context = current;
  return SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER("cuCtxSetCurrent");
  bool known = context == NULL;
  for (int i = 0; i < MAX_DEVICES; ++i) known |= context == &contexts[i];
  if (!known) return INVALID_CONTEXT;
  current = context;
  char device[16] = "none";
  if (context != NULL) snprintf(device, sizeof device, "%d", context->ordinal);
  log_line("current", device);
  return SUCCESS;
}

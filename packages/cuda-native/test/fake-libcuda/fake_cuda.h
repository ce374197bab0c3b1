// A CUDA driver for machines without a GPU: the functions that the addon calls, on host memory. Each stream's work is
// run by a thread of its own, so that enqueued work really is still to come. Exported device memory is a memfd, so that
// an IPC handle really is opened by another process and nothing is left when a process is killed. Misuse that a GPU
// would answer with silent corruption is an error here.
//
// Environment, read at every call so that a test can change it between calls, also while others are in progress. Set to
// nothing, a switch is off; deleting it may hide the others for a moment from calls in progress.
//   ZEROHOP_FAKE_DEVICES       number of devices (2); 0 makes cuInit fail with CUDA_ERROR_NO_DEVICE
//   CUDA_VISIBLE_DEVICES       as the real driver, but numbers only: which of them the ordinals stand for
//   ZEROHOP_FAKE_MEMORY_MIB    memory of each device (1024)
//   ZEROHOP_FAKE_VERSION       what cuDriverGetVersion says (13000); decides which PTX versions load
//   ZEROHOP_FAKE_MIG=1         the devices are MIG slices by name, and have no peer access
//   ZEROHOP_FAKE_INTEGRATED=1  the devices are integrated, and have no IPC
//   ZEROHOP_FAKE_IPC           "zeros": opened handles show zeros, as under WSL2; "copy": a copy of the memory
//   ZEROHOP_FAKE_FAIL          "function[#n]=CUresult[,…]": the calls of this function fail, or only the n-th one,
//                              counted from 1 since the library was loaded; function as in our table, without "_v2"
//   ZEROHOP_FAKE_EPOCH         when it changes, the calls are counted from 1 again
//   ZEROHOP_FAKE_WORK_FAIL     a CUresult: the work that a stream runs fails with it
//   ZEROHOP_FAKE_WORK_DELAY_US each piece of work on a stream takes this much longer; records and waits do not
//   ZEROHOP_FAKE_KERNELS       a library of further kernels that modules may name (kernel_library.h)
//   ZEROHOP_FAKE_SPIN_HELD     a file: the kernel `spin` goes on for as long as it exists
//   ZEROHOP_FAKE_CALL_DELAY_US each call takes this much longer: a number for all, or "function=us[,…]"
//   ZEROHOP_FAKE_EXIT_DELAY_US the driver's own end, as the process exits, takes this long
//   ZEROHOP_FAKE_LOG           a file to which every call appends "name tid", after "gone " once the driver ended; then
//                              "failed tid name" when it was made to fail, and "current tid device" when it made a
//                              context current, with "none" for none
//   ZEROHOP_FAKE_REPORT        a file that always holds, as JSON, how many objects of each kind are alive (objects.c)
//
// A call that is made to fail does nothing: no object, nothing enqueued. The exception is what destroys: as documented,
// such a call may report the error of earlier work after it has done its own, so the object is gone, unless the error
// loses the context. Errors that lose a context (700 and the like) stay with that one context: every later call that
// needs it fails the same way, its pending work is skipped, and its objects are no longer counted.
//
// buildFakeLibcuda({ old: true }) gives the driver of CUDA 11.4 with compute capability 8.0: it has no cuFuncLoad,
// cuFuncGetParamInfo, cuLaunchKernelEx and cuEventElapsedTime_v2.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct Context* CUcontext;
typedef struct Stream* CUstream;
typedef struct Event* CUevent;
typedef struct Module* CUmodule;
typedef struct Function* CUfunction;
typedef struct Graph* CUgraph;
typedef struct Exec* CUgraphExec;
typedef struct {
  unsigned char bytes[16];
} CUuuid;
typedef struct {
  unsigned char reserved[64];
} CUipcMemHandle;

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209,
  PEER_ACCESS_UNSUPPORTED = 217,
  INVALID_PTX = 218,
  UNSUPPORTED_PTX_VERSION = 222,
  INVALID_HANDLE = 400,
  ILLEGAL_STATE = 401,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  PEER_ACCESS_ALREADY_ENABLED = 704,
  HOST_MEMORY_ALREADY_REGISTERED = 712,
  HOST_MEMORY_NOT_REGISTERED = 713,
  NOT_SUPPORTED = 801,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_MERGE = 902,
  CAPTURE_UNMATCHED = 903,
  CAPTURE_UNJOINED = 904,
  CAPTURE_ISOLATION = 905,
  CAPTURED_EVENT = 907,
  CAPTURE_WRONG_THREAD = 908,
  INVALID_CLUSTER_SIZE = 912,
};

#define MAX_DEVICES 8
#define EXPORT __attribute__((visibility("default")))

#ifdef OLD_DRIVER
#define DRIVER_VERSION 11040
#define COMPUTE_MAJOR 8
#else
#define DRIVER_VERSION 13000
#define COMPUTE_MAJOR 9
#endif

// The value of a switch; NULL when it is unset or empty.
const char* env_text(const char* name);
// The value of a switch that holds a number.
long env_number(const char* name, long otherwise);
int driver_version(void);
int device_count(void);
// Bytes of each device.
size_t device_memory(void);

// The calling thread's context.
CUcontext current_context(void);
// Whether this error loses a context.
bool loses_context(CUresult code);
// Marks the context, which may be null, lost when `code` is such an error; gives `code` back. With the mutex of
// state.h.
CUresult sticky(CUcontext context, CUresult code);
// Where cuInit leaves that it was called.
void set_initialised(void);

// Logs, delays, and gives the code that the environment asks for, whatever it means.
int observe(const char* function);
// What every function begins with: logs, delays, and gives the error that the environment asks for.
CUresult enter(const char* function);
// The same for functions that need a current context, which is stored.
CUresult enter_context(const char* function, CUcontext* context);
// The same for functions that a capture of this thread forbids; such a call invalidates the capture.
CUresult enter_unsafe(const char* function, CUcontext* context);
// The same for functions that destroy; `late` is the error to give after the object is gone.
CUresult enter_destroy(const char* function, CUcontext* context, CUresult* late);
// One that a capture of this thread forbids as well.
CUresult enter_unsafe_destroy(const char* function, CUcontext* context, CUresult* late);

#define RETURN_IF_FAILED(expression)     \
  do {                                   \
    const CUresult failed = (expression); \
    if (failed != SUCCESS) return failed; \
  } while (0)

#define ENTER(function) RETURN_IF_FAILED(enter(function))
#define ENTER_CONTEXT(function, context) RETURN_IF_FAILED(enter_context(function, &(context)))
#define ENTER_UNSAFE(function, context) RETURN_IF_FAILED(enter_unsafe(function, &(context)))
#define ENTER_DESTROY(function, context, late) RETURN_IF_FAILED(enter_destroy(function, &(context), &(late)))
#define ENTER_UNSAFE_DESTROY(function, context, late) \
  RETURN_IF_FAILED(enter_unsafe_destroy(function, &(context), &(late)))

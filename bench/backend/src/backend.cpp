// The entry points that Triton looks up, and the life of one request.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "engine.h"

#define ZH_EXPORT extern "C" __attribute__((visibility("default")))

namespace zerohop_bench {

Error MakeError(int code, const char* format, ...) {
  char message[512];
  int prefix = std::snprintf(message, sizeof message, "zerohop_bench: ");
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message + prefix, sizeof message - static_cast<size_t>(prefix), format, arguments);
  va_end(arguments);
  return TRITONSERVER_ErrorNew(code, message);
}

namespace {

constexpr char kOutputName[] = "OUTPUT0";

struct Instance {
  Operation operation;
  std::unique_ptr<Engine> engine;
};

// The model's name says what it does: "identity…" or "reduce…". The configuration has nothing else to say.
Error OperationOf(const char* model, Operation* operation) {
  if (std::strncmp(model, "identity", 8) == 0) {
    *operation = Operation::kIdentity;
  } else if (std::strncmp(model, "reduce", 6) == 0) {
    *operation = Operation::kReduce;
  } else {
    return MakeError(kErrorInvalidArgument, "a model's name begins with 'identity' or 'reduce', not '%s'", model);
  }
  return nullptr;
}

Error CheckReducible(int datatype, const int64_t* shape, uint32_t dims, uint64_t byte_length) {
  if (datatype != kDatatypeFp32) return MakeError(kErrorInvalidArgument, "reduce takes FP32");
  uint64_t elements = 1;
  for (uint32_t i = 0; i < dims; ++i) {
    if (shape[i] <= 0 || elements > kMaxElements / static_cast<uint64_t>(shape[i])) {
      return MakeError(kErrorInvalidArgument, "dimension %u of the input is %ld", i, shape[i]);
    }
    elements *= static_cast<uint64_t>(shape[i]);
  }
  if (elements * sizeof(float) != byte_length) {
    return MakeError(kErrorInvalidArgument, "the input has %lu bytes, its shape needs %lu", byte_length,
                     elements * sizeof(float));
  }
  return nullptr;
}

Error Serve(
    const Instance& instance, TRITONBACKEND_Request* request, TRITONBACKEND_Response* response, Times* times) {
  uint32_t input_count = 0;
  ZH_RETURN_IF_ERROR(TRITONBACKEND_RequestInputCount(request, &input_count));
  if (input_count != 1) return MakeError(kErrorInvalidArgument, "expected one input but received %u", input_count);

  TRITONBACKEND_Input* input = nullptr;
  ZH_RETURN_IF_ERROR(TRITONBACKEND_RequestInputByIndex(request, 0, &input));
  const char* name = nullptr;
  int datatype = 0;
  const int64_t* shape = nullptr;
  uint32_t dims = 0;
  uint64_t byte_length = 0;
  uint32_t buffer_count = 0;
  ZH_RETURN_IF_ERROR(
      TRITONBACKEND_InputProperties(input, &name, &datatype, &shape, &dims, &byte_length, &buffer_count));

  Output output{};
  output.byte_length = byte_length;
  if (instance.operation == Operation::kReduce) {
    ZH_RETURN_IF_ERROR(CheckReducible(datatype, shape, dims, byte_length));
    output.byte_length = kWindows * sizeof(float);
    shape = kReduceShape;
    dims = 2;
  }
  TRITONBACKEND_Output* destination = nullptr;
  ZH_RETURN_IF_ERROR(TRITONBACKEND_ResponseOutput(response, &destination, kOutputName, datatype, shape, dims));
  output.memory_type = instance.engine->PreferredMemoryType();
  output.memory_type_id = instance.engine->PreferredMemoryTypeId();
  ZH_RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(
      destination, &output.data, output.byte_length, &output.memory_type, &output.memory_type_id));
  return instance.engine->Run(instance.operation, input, byte_length, buffer_count, output, times);
}

// There is nobody left to tell: the response is gone or could not be made.
void Drop(Error error) {
  if (error) TRITONSERVER_ErrorDelete(error);
}

}  // namespace
}  // namespace zerohop_bench

using namespace zerohop_bench;

ZH_EXPORT TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend*) {
  uint32_t major = 0;
  uint32_t minor = 0;
  ZH_RETURN_IF_ERROR(TRITONBACKEND_ApiVersion(&major, &minor));
  if (major != 1) return MakeError(kErrorUnsupported, "written for backend API 1.x, the server has %u.%u", major, minor);
  return nullptr;
}

ZH_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  TRITONBACKEND_Model* model = nullptr;
  const char* model_name = nullptr;
  int kind = kInstanceCpu;
  int32_t device = 0;
  ZH_RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceModel(instance, &model));
  ZH_RETURN_IF_ERROR(TRITONBACKEND_ModelName(model, &model_name));
  ZH_RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceKind(instance, &kind));
  ZH_RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceDeviceId(instance, &device));

  auto state = std::make_unique<Instance>();
  ZH_RETURN_IF_ERROR(OperationOf(model_name, &state->operation));
  if (kind == kInstanceGpu) {
    ZH_RETURN_IF_ERROR(MakeGpuEngine(device, &state->engine));
  } else {
    state->engine = MakeCpuEngine();
  }
  ZH_RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceSetState(instance, state.get()));
  state.release();
  return nullptr;
}

ZH_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  void* state = nullptr;
  ZH_RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceState(instance, &state));
  delete static_cast<Instance*>(state);
  return nullptr;
}

// Requests of one call are served one after the other: each is answered as soon as its own output is complete.
// Returning null means that this function owned and released every request.
ZH_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const uint32_t request_count) {
  void* state = nullptr;
  ZH_RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceState(instance, &state));
  for (uint32_t i = 0; i < request_count; ++i) {
    TRITONBACKEND_Request* request = requests[i];
    Times times;
    times.exec_start = NowNs();
    bool success = false;
    TRITONBACKEND_Response* response = nullptr;
    if (Error error = TRITONBACKEND_ResponseNew(&response, request)) {
      Drop(error);
    } else {
      Error failure = Serve(*static_cast<Instance*>(state), request, response, &times);
      success = failure == nullptr;
      Drop(TRITONBACKEND_ResponseSend(response, kResponseFinal, failure));
      Drop(failure);
    }
    times.exec_end = NowNs();
    if (times.compute_start == 0) times.compute_start = times.exec_end;
    if (times.compute_end == 0) times.compute_end = times.exec_end;
    Drop(TRITONBACKEND_ModelInstanceReportStatistics(
        instance, request, success, times.exec_start, times.compute_start, times.compute_end, times.exec_end));
    if (success) {
      Drop(TRITONBACKEND_ModelInstanceReportBatchStatistics(
          instance, 1, times.exec_start, times.compute_start, times.compute_end, times.exec_end));
    }
    Drop(TRITONBACKEND_RequestRelease(request, kRequestReleaseAll));
  }
  return nullptr;
}

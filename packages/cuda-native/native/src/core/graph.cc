#include "graph.h"

#include <utility>

#include "driver_api.h"
#include "reclaim.h"

namespace zerohop {

namespace {

// With the context current.
Status Release(const Context& context, CUgraph graph, CUgraphExec executable) {
  Status first;
  if (executable != nullptr) {
    KeepFirst(&first, FreeStatus(driver.cuGraphExecDestroy(executable), "cuGraphExecDestroy", context.ordinal));
  }
  if (graph != nullptr) {
    KeepFirst(&first, FreeStatus(driver.cuGraphDestroy(graph), "cuGraphDestroy", context.ordinal));
  }
  return first;
}

}  // namespace

Graph::~Graph() {
  if (graph_ == nullptr && executable_ == nullptr) return;
  Reclaim(context_, true, [context = context_, graph = graph_, executable = executable_] {
    return Release(*context, graph, executable);
  });
}

Status Graph::Begin(CUstream stream) {
  return CudaStatus(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture",
                    context_->ordinal);
}

Status Graph::End(CUstream stream) {
  const CUresult result = driver.cuStreamEndCapture(stream, &graph_);
  if (result != CUDA_SUCCESS) graph_ = nullptr;
  return CudaStatus(result, "cuStreamEndCapture", context_->ordinal);
}

Status Graph::Instantiate() {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  const int ordinal = context_->ordinal;
  CUresult result = driver.cuGraphInstantiateWithFlags(&executable_, graph_, 0);
  if (result != CUDA_SUCCESS) executable_ = nullptr;
  Status status = CudaStatus(result, "cuGraphInstantiateWithFlags", ordinal);
  // Otherwise the first launch would do it.
  if (status.ok()) status = CudaStatus(driver.cuGraphUpload(executable_, context_->service), "cuGraphUpload", ordinal);
  if (status.ok()) {
    status = CudaStatus(driver.cuStreamSynchronize(context_->service), "cuStreamSynchronize", ordinal);
  }
  return status;
}

Status Graph::Launch(CUstream stream) const {
  return CudaStatus(driver.cuGraphLaunch(executable_, stream), "cuGraphLaunch", context_->ordinal);
}

Status Graph::Destroy() {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return Release(*context_, std::exchange(graph_, nullptr), std::exchange(executable_, nullptr));
}

}  // namespace zerohop

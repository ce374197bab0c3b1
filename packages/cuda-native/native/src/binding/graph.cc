#include "graph.h"

#include "../core/graph.h"
#include "../core/stream.h"
#include "environment.h"
#include "errors.h"
#include "napi_setup.h"
#include "wrap.h"

namespace zerohop {

namespace {

// captureBegin(stream): the graph that what follows goes into
Napi::Value CaptureBegin(const Napi::CallbackInfo& info) {
  const auto* stream = Peek<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  auto graph = std::make_shared<Graph>(&stream->context());
  ContextScope scope(stream->context());
  const Status status = scope.status().ok() ? graph->Begin(stream->get()) : scope.status();
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  return Napi::Value(info.Env(), Wrap(info.Env(), graph));
}

// captureEnd(stream, graph)
Napi::Value CaptureEnd(const Napi::CallbackInfo& info) {
  const auto* stream = Peek<Stream>(info.Env(), info[0]);
  auto* graph = Peek<Graph>(info.Env(), info[1]);
  if (stream == nullptr || graph == nullptr) return Napi::Value();
  ContextScope scope(stream->context());
  const Status status = scope.status().ok() ? graph->End(stream->get()) : scope.status();
  if (!status.ok()) Throw(info.Env(), status);
  return Napi::Value();
}

// graphInstantiate(graph)
Napi::Value GraphInstantiate(const Napi::CallbackInfo& info) {
  auto graph = Unwrap<Graph>(info.Env(), info[0]);
  if (graph == nullptr) return Napi::Value();
  return Napi::Value(info.Env(), Async(info.Env(), [graph] { return graph->Instantiate(); }));
}

// graphDestroy(graph)
Napi::Value GraphDestroy(const Napi::CallbackInfo& info) {
  auto graph = Unwrap<Graph>(info.Env(), info[0]);
  if (graph == nullptr) return Napi::Value();
  return Napi::Value(info.Env(), Async(info.Env(), [graph] { return graph->Destroy(); }));
}

}  // namespace

void ExportGraph(Napi::Env env, Napi::Object exports) {
  exports.Set("captureBegin", Napi::Function::New<CaptureBegin>(env, "captureBegin"));
  exports.Set("captureEnd", Napi::Function::New<CaptureEnd>(env, "captureEnd"));
  exports.Set("graphInstantiate", Napi::Function::New<GraphInstantiate>(env, "graphInstantiate"));
  exports.Set("graphDestroy", Napi::Function::New<GraphDestroy>(env, "graphDestroy"));
}

}  // namespace zerohop

// Graphs: work that was captured from a stream once and is enqueued as a whole.
#pragma once

#include "context.h"
#include "status.h"

namespace zerohop {

// As with memory: dropped without Destroy(), it is destroyed on the addon's threads.
class Graph {
 public:
  explicit Graph(const Context* context) : context_(context) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  // What this thread enqueues on `stream` from here on goes into the graph; nothing runs. The context is current.
  Status Begin(CUstream stream);
  // On the thread that began. When the capture failed there is no graph, and the stream can be used again.
  Status End(CUstream stream);
  // Makes the graph ready to be launched. May wait.
  Status Instantiate();
  // The context is current.
  Status Launch(CUstream stream) const;
  // Its launches must be over.
  Status Destroy();

  const Context& context() const { return *context_; }

 private:
  const Context* context_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

}  // namespace zerohop

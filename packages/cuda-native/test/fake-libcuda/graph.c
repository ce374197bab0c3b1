// Graphs and what is made of them to be launched.
#include <stdlib.h>

#include "state.h"

struct Exec {
  struct Object object;
  struct Work* nodes;
  // The end of the last launch: the next one, on whichever stream, comes after it.
  struct Record* last;
};

static CUresult check(const void* handle, enum Kind kind, CUcontext context) {
  if (!is_object(handle, kind)) return INVALID_VALUE;
  return ((const struct Object*)handle)->context == context ? SUCCESS : INVALID_CONTEXT;
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  CUcontext context;
  ENTER_CONTEXT("cuGraphInstantiateWithFlags", context);
  if (flags != 0) return INVALID_VALUE;
  lock();
  const CUresult result = check(graph, GRAPH, context);
  if (result != SUCCESS) return unlocked(result);
  struct Exec* made = calloc(1, sizeof *made);
  if (made == NULL) return unlocked(OUT_OF_MEMORY);
  made->nodes = clone_all(graph->nodes);
  if (made->nodes == NULL && graph->nodes != NULL) {
    free(made);
    return unlocked(OUT_OF_MEMORY);
  }
  add_object(&made->object, EXEC, context);
  *exec = made;
  return unlocked(SUCCESS);
}

EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  CUcontext context;
  CUresult late;
  ENTER_DESTROY("cuGraphDestroy", context, late);
  lock();
  const CUresult result = check(graph, GRAPH, context);
  if (result != SUCCESS) return unlocked(result);
  remove_object(&graph->object);
  free_all(graph->nodes);
  free(graph);
  return unlocked(late);
}

// Launches that are still to be run have their own copy of the nodes.
EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  CUcontext context;
  CUresult late;
  ENTER_DESTROY("cuGraphExecDestroy", context, late);
  lock();
  const CUresult result = check(exec, EXEC, context);
  if (result != SUCCESS) return unlocked(result);
  remove_object(&exec->object);
  free_all(exec->nodes);
  release_record(exec->last);
  free(exec);
  return unlocked(late);
}

// There is nothing to prepare; what is checked is checked.
EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuGraphUpload", context);
  lock();
  const CUresult result = check(exec, EXEC, context);
  return unlocked(result != SUCCESS ? result : check_stream(context, stream));
}

EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuGraphLaunch", context);
  lock();
  CUresult result = check(exec, EXEC, context);
  if (result == SUCCESS) result = check_stream(context, stream);
  if (result != SUCCESS) return unlocked(result);
  if (stream->capture != NULL) {
    return unlocked(capture_work(stream, &(struct Work){.kind = LAUNCH, .graph = {.nodes = exec->nodes}}));
  }
  struct Record* done = new_record();
  struct Work* nodes = clone_all(exec->nodes);
  if (done == NULL || (nodes == NULL && exec->nodes != NULL)) {
    release_record(done);
    free_all(nodes);
    return unlocked(OUT_OF_MEMORY);
  }
  // Memory that has gone since shows when the launch is run.
  for (struct Work* node = nodes; node != NULL; node = node->next) resolve(node);
  struct Work work = {.kind = LAUNCH, .context = context, .graph = {nodes, exec->last, done}};
  ++done->references;
  result = enqueue(stream, &work);
  if (result != SUCCESS) {
    // The queue took nodes, `previous` and one `done` over, and let them go.
    exec->last = NULL;
    release_record(done);
    return unlocked(result);
  }
  // The launch keeps what was `last`.
  exec->last = done;
  return unlocked(SUCCESS);
}

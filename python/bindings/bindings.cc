// The extension graphnet_ir._core. Users import the package in python/graphnet_ir.
#include <string>

#include "graphnet/base/remark.h"
#include "graphnet/command/messages.h"
#include "nanobind/nanobind.h"
#include "python/bindings/arguments.h"
#include "python/bindings/corpus.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"
#include "python/bindings/long_call.h"
#include "python/bindings/sample.h"

NB_MODULE(_core, m) {
  // The interpreter ends without destroying all objects, so leak warnings would be wrong.
  graphnet::nb::set_leak_warnings(false);
  graphnet::SetWarningHandler([](const std::string& text) { graphnet::PrintWarning(text); });
  graphnet::BindErrors(m);
  graphnet::BindLongCalls(m);
  graphnet::BindConstants(m);
  graphnet::BindMetas(m);
  graphnet::BindNode(m);
  graphnet::BindGraph(m);
  graphnet::BindModule(m);
  graphnet::BindTensor(m);
  graphnet::BindSample(m);
  graphnet::BindOperations(m);
  graphnet::BindRuns(m);
  graphnet::BindCommands(m);
  graphnet::BindCorpus(m);
  graphnet::SimplifyTypeErrors(m);
}

#include "graphnet/formats/libtorch.h"

#include <string>

#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/interp/shapes.h"

namespace graphnet {
namespace {

class Linked final : public TorchFunctions {
 public:
  absl::StatusOr<Sample> ImportTorchScript(const SharedBytes& bytes, const std::string& name,
                                           const std::string& method, bool trust,
                                           bool weights) const override {
    return graphnet::ImportTorchScript(bytes, name,
                                       {.trust = trust, .method = method, .weights = weights});
  }
  absl::StatusOr<std::string> ExportTorchScript(const Sample& sample,
                                                std::vector<std::string>* notes) const override {
    return ExportTorchScriptToString(sample, notes);
  }
  absl::Status CheckTorchScript(const Sample& sample, MissingCalls* missing) const override {
    return graphnet::CheckTorchScript(sample, missing);
  }
  absl::Status InferShapes(Sample* sample) const override {
    DrawOptions draw;
    draw.max_elements = kMaxElementsWithData;
    ASSIGN_OR_RETURN(const auto values, DrawInputs(*sample, draw));
    return graphnet::InferShapes(sample->module.get(), values).status();
  }
};

}  // namespace

const TorchFunctions& LinkedTorchFunctions() {
  static const Linked* const functions = new Linked;
  return *functions;
}

void UseLibTorch() {
  SetTorchFunctions(
      []() -> absl::StatusOr<const TorchFunctions*> { return &LinkedTorchFunctions(); });
}

}  // namespace graphnet

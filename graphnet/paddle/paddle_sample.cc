#include "graphnet/paddle/paddle_sample.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/lift_attributes.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/types.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

// Returns Paddle's name for the annotation of an argument.
absl::string_view PaddleAnnotation(absl::string_view annotation) {
  if (annotation == kParameterAnnotation) return "paddle.base.framework.EagerParamBase";
  if (annotation == "torch.Tensor") return "paddle.Tensor";
  if (const std::optional<DType> number = NumberDType(annotation)) {
    return *number == DType::kBool ? "bool" : *number == DType::kInt64 ? "int" : "float";
  }
  return absl::StartsWith(annotation, "torch.") ? absl::string_view() : annotation;
}

Sample CopyOf(const Sample& sample) {
  Sample copy;
  copy.name = sample.name;
  copy.module = sample.module->Clone();
  copy.graph_net_json = sample.graph_net_json;
  copy.graph_hash = sample.graph_hash;
  copy.has_constraints = sample.has_constraints;
  copy.constraint_order = sample.constraint_order;
  copy.extra_files = sample.extra_files;
  copy.provenance = sample.provenance;
  return copy;
}

}  // namespace

absl::StatusOr<PaddleSample> MakePaddleSample(const Sample& sample) {
  PaddleSample made;
  made.sample = CopyOf(sample);
  ASSIGN_OR_RETURN(const Framework framework,
                   FrameworkOf(Json::Parse(sample.graph_net_json), "graph_net.json"));
  if (framework == Framework::kPaddle) return made;
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(kPassesBeforePaddle));
  RETURN_IF_ERROR(RunPipeline(pipeline, &made.sample).status());
  Module* const module = made.sample.module.get();
  // A folder has no attributes, so the remaining ones become arguments.
  RETURN_IF_ERROR(LiftAttributes(module).status());
  ASSIGN_OR_RETURN(made.coverage, ConvertCallsToPaddle(module));
  for (Node* node : module->main()->placeholders())
    node->set_annotation(PaddleAnnotation(node->annotation()));
  if (made.sample.graph_net_json.empty()) {
    made.sample.graph_net_json = MakeGraphNetJson(sample.name, !module->symbols().empty());
  }
  made.sample.graph_net_json = WithFramework(made.sample.graph_net_json, Framework::kPaddle);
  made.sample.graph_hash = CanonicalHash(*module);
  RETURN_IF_ERROR(Annotate(Verify(*module), "after the passes"));
  return made;
}

std::string LeftCalls(const PaddleCoverage& coverage) {
  return absl::StrJoin(coverage.left, ", ", [](std::string* out, const auto& left) {
    absl::StrAppend(out, Printable(left.first.first), " (", Printable(left.first.second), ")");
    if (left.second > 1) absl::StrAppend(out, " ", left.second, " times");
  });
}

}  // namespace graphnet

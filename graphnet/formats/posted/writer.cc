#include "graphnet/formats/posted/writer.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/posted_writer.h"
#include "graphnet/formats/posted/annotation.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet::posted {
namespace {

// Returns `: "f32[2, s0]cpu"`; empty if nothing is known.
std::string AnnotationOf(const Module& module, const Node& node) {
  if (const TensorMeta* const meta = node.tensor_meta();
      meta != nullptr && meta->has_shape && !AbbreviationOf(meta->dtype).empty()) {
    const auto print = [](std::string* out, const Dim& dim) {
      if (dim.is_static()) {
        absl::StrAppend(out, dim.value);
      } else {
        AppendSymExpr(*dim.expr, out);
      }
    };
    return absl::StrCat(": \"", AbbreviationOf(meta->dtype), "[",
                        absl::StrJoin(meta->shape, ", ", print), "]",
                        meta->has_device ? DeviceName(meta->device) : "", "\"");
  }
  if (!node.is_placeholder() || node.annotation().empty()) return "";
  if (NumberDType(node.annotation()) == DType::kInt64 &&
      module.FindSymbol(node.target()) != nullptr) {
    return absl::StrCat(": \"Sym(", node.target(), ")\"");
  }
  if (absl::StrContains(node.annotation(), '[')) return "";
  return absl::StrCat(" : ", node.annotation());
}

}  // namespace

absl::StatusOr<std::string> PrintReadable(const Module& module) {
  return WritePostedModule(
      module, {.annotation = [&](const Node& node) { return AnnotationOf(module, node); },
               .file = [](absl::string_view file) { return Printable(file, 1000); }});
}

}  // namespace graphnet::posted

// Internal: constants and types of the IR in LibTorch's terms.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_TYPES_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_TYPES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/types.h"
#include "torch/csrc/jit/api/compilation_unit.h"

namespace graphnet::torchscript {

// Whether LibTorch writes the constant so that it reads another, or none: floats
// such as 1e12 come back as ints, -0.0 as 0.0; "\r" is no escape that it knows.
bool IsGarbled(const c10::IValue& constant);

// `type` without None, if it is an Optional.
c10::TypePtr WithoutOptional(const c10::TypePtr& type);

// Classes whose instances the program makes, and annotations that name them.
class TypeTable {
 public:
  explicit TypeTable(std::shared_ptr<torch::jit::CompilationUnit> unit) : unit_(std::move(unit)) {}

  // The class of that name ("__torch__.Point"), made without attributes when
  // first asked for.
  c10::ClassTypePtr AddClass(const std::string& name);
  // Null when there is none.
  c10::TypePtr FindClass(const std::string& name) const;

  // "Optional[Tensor]", "torch.SymInt", … .
  absl::StatusOr<c10::TypePtr> Parse(absl::string_view annotation) const;

 private:
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  std::map<std::string, c10::ClassTypePtr> classes_;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_TYPES_H_

// Internal: converts constants and types of the IR to LibTorch's.
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

// Returns whether the constant changes, or cannot be read, when LibTorch writes it:
// floats such as 1e12 come back as ints, -0.0 as 0.0; LibTorch does not know "\r".
bool IsGarbled(const c10::IValue& constant);

// Returns the element type of an Optional; `type` itself if it is not one.
c10::TypePtr WithoutOptional(const c10::TypePtr& type);

// Returns the type with elements that are never None, also within lists of lists: List[int] for
// List[Optional[int]].
c10::TypePtr WithNumbers(const c10::TypePtr& type);

// Holds the classes that the program instantiates, and parses annotations that name them.
class TypeTable {
 public:
  explicit TypeTable(std::shared_ptr<torch::jit::CompilationUnit> unit) : unit_(std::move(unit)) {}

  // Returns the class of that name ("__torch__.Point"). The first call creates it,
  // without attributes.
  c10::ClassTypePtr AddClass(const std::string& name);
  // Returns the class that AddClass made; nullptr if there is none.
  c10::TypePtr FindClass(const std::string& name) const;
  // Gives classes without attributes one, since LibTorch cannot read what it writes of such a class.
  void FillEmptyClasses();

  // Parses an annotation, such as "Optional[Tensor]" or "torch.SymInt".
  absl::StatusOr<c10::TypePtr> Parse(absl::string_view annotation) const;

 private:
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  std::map<std::string, c10::ClassTypePtr> classes_;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_TYPES_H_

// Between the values of a running program and ValueTrees.
#ifndef GRAPHNET_EXTRACT_VALUE_TREE_H_
#define GRAPHNET_EXTRACT_VALUE_TREE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type_base.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graphnet/extract/manifest.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet::extract {

// Of a tensor, or of an object whose class is written in C++.
using ValueNumber = absl::FunctionRef<absl::StatusOr<int64_t>(const c10::IValue&)>;

// Unimplemented for objects of other classes and other values that a manifest cannot hold, and
// beyond 64 levels of structure. Each value in `value`, once for each place that it stands at, is
// charged to `parts`; Unimplemented where that is spent.
absl::StatusOr<ValueTree> ToTree(const c10::IValue& value, ValueNumber number, Budget* parts,
                                 int depth = 0);

TensorGuard GuardOf(const at::Tensor& tensor);

// The tensors, objects and numbers of a run, by their numbers in the manifest.
class TensorTable {
 public:
  explicit TensorTable(const StitchManifest& manifest);

  // Forgets tensors, objects, numbers and sizes.
  void Clear();
  const at::Tensor& Get(int64_t number) const { return tensors_[static_cast<size_t>(number)]; }
  void Set(int64_t number, at::Tensor tensor) {
    tensors_[static_cast<size_t>(number)] = std::move(tensor);
  }
  // A tensor, or a number that this run has read.
  c10::IValue Value(int64_t number) const;
  // No effect if there is one already.
  void SetObject(int64_t number, const c10::IValue& object) {
    objects_.try_emplace(number, object);
  }

  // The value that `tree` describes; for a number that the run has not read, the example. Throws c10::Error for types that there are not.
  c10::IValue Make(const ValueTree& tree) const;
  // Lets the lists and dicts in `value` hold what `tree` says.
  void Assign(const ValueTree& tree, const c10::IValue& value) const;
  // The size that a symbol has met; throws for one that has met none.
  int64_t SizeOf(const std::string& symbol) const;
  // Whether the relations hold of the symbols.
  bool CheckRelations(const StitchManifest& manifest, std::string* why) const;
  // Whether `value` fits; its tensors are kept. If not, `why` (may be null) says what
  // of `name` does not.
  bool Match(const ValueTree& pattern, const c10::IValue& value, absl::string_view name,
             std::string* why);

 private:
  struct Guard {
    bool is_set = false;
    c10::ScalarType dtype = c10::ScalarType::Undefined;
    c10::Device device = c10::Device(c10::kCPU);
    std::vector<int64_t> sizes;
    std::vector<const SymExpr*> symbolic;  // by dimension, or null; may be empty
  };
  bool MatchTensor(int64_t number, const at::Tensor& tensor, absl::string_view name,
                   std::string* why);

  void ReadSymbols(const StitchManifest& manifest);
  bool MatchSize(const Guard& guard, size_t dim, int64_t size, int64_t* expected);
  int64_t Evaluate(const SymExpr& expr) const;
  static c10::TypePtr ElementOf(const std::string& list);

  std::vector<at::Tensor> tensors_;
  std::map<int64_t, c10::IValue> objects_;  // and numbers
  std::vector<Guard> guards_;
  // The symbols, whose examples are the sizes that they have met, and the relations.
  std::unique_ptr<Module> symbols_;
  std::vector<const SymExpr*> relations_;
  std::map<std::string, const SymExpr*> expressions_;
};

// How many conditions Match checks: structures, constants, and of each tensor its
// dtype, device, rank, sizes and that no gradient is asked for.
size_t NumGuards(const ValueTree& pattern, const StitchManifest& manifest);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_VALUE_TREE_H_

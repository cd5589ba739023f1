// Converts values of a running program to ValueTrees and back.
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

// Returns the number of a tensor, or of an object whose class is written in C++.
using ValueNumber = absl::FunctionRef<absl::StatusOr<int64_t>(const c10::IValue&)>;

// Converts a value to a tree. Unimplemented for objects of other classes and other values that a
// manifest cannot hold, and beyond 64 levels of structure. Each value in `value` is charged to
// `parts` once for each place where it occurs; Unimplemented if `parts` runs out.
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
  // Returns a tensor, or a number that this run has read.
  c10::IValue Value(int64_t number) const;
  // Sets an object; no effect if the number has one already.
  void SetObject(int64_t number, const c10::IValue& object) {
    objects_.try_emplace(number, object);
  }

  // Makes the value that `tree` describes. A number that the run has not read has its example
  // value. Throws c10::Error for unknown types.
  c10::IValue Make(const ValueTree& tree) const;
  // Fills the lists and dicts in `value` with the elements that `tree` describes.
  void Assign(const ValueTree& tree, const c10::IValue& value) const;
  // Returns the size that a symbol has; throws if it has none yet.
  int64_t SizeOf(const std::string& symbol) const;
  // Returns true if the relations hold for the sizes of the symbols; if not, `why` names one.
  bool CheckRelations(const StitchManifest& manifest, std::string* why) const;
  // Returns true if `value` fits the pattern, and keeps its tensors. If it does not fit, `why`
  // (which may be null) says what is wrong with `name`.
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
  // The symbols, whose examples are the sizes that they have in this run, and the relations.
  std::unique_ptr<Module> symbols_;
  std::vector<const SymExpr*> relations_;
  std::map<std::string, const SymExpr*> expressions_;
};

// Returns the number of conditions that Match checks: structures, constants, and for each tensor
// the dtype, device, rank, sizes, and that it requires no gradient.
size_t NumGuards(const ValueTree& pattern, const StitchManifest& manifest);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_VALUE_TREE_H_

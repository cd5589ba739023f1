// What the importer reads: a TorchScript graph with every call inlined, and
// what must be known of its values before one node is translated.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_PROGRAM_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "torch/csrc/jit/ir/ir.h"

namespace graphnet::torchscript {

// Bounds what inlining may yield: calls that call twice what calls twice …
// double with each level.
inline constexpr size_t kMaxInlinedNodes = size_t{1} << 18;

// Where a node comes from in the program that was scripted or traced, else in
// the code inside the archive. Lines and columns count from 1; 0: unknown.
struct Place {
  std::string file;
  size_t line = 0;
  size_t column = 0;
};
Place PlaceOf(const torch::jit::Node& node);
// The node, or the first before it in its block that has a place: structures and
// assignments have none of their own.
const torch::jit::Node& NearestWithPlace(const torch::jit::Node& node);

// "<file>:<line>:<column>: cannot represent <prim::Kind>: <why>"
absl::Status CannotRepresent(const torch::jit::Node& node, absl::string_view why);
absl::Status ErrorAtNode(const torch::jit::Node& node, absl::string_view message);

// Whether the type, or one within it, is of one of these kinds.
bool Holds(const c10::Type& type, absl::Span<const c10::TypeKind> kinds);

// The tensor, if `value` is one that the program's text holds.
std::optional<at::Tensor> ConstantTensor(const torch::jit::Value* value);
// Makes the numbers of `block` numbers again: tracing writes `x * 1.5` as a product of two
// tensors, and dtypes depend on it. As LibTorch's CanonicalizeOps, which sees every graph
// before it runs: only the second operand of add, sub, mul and div, only constants of rank 0.
void RestoreNumbers(torch::jit::Block* block);

class Program {
 public:
  // A module, or an instance of a script class, that exists before the program
  // runs.
  struct Object {
    c10::intrusive_ptr<c10::ivalue::Object> object;
    const std::string* path;  // "layer1.0"; "" for the module itself
  };

  // Copies `graph` and inlines calls of functions, methods (of interfaces too),
  // context managers and forks. A fork runs where it stands, which is one of
  // the orders that TorchScript allows; a future is its value and a wait is
  // nothing. `self` is the object of the first input, or null.
  static absl::StatusOr<std::unique_ptr<Program>> Make(
      torch::jit::Graph& graph, c10::intrusive_ptr<c10::ivalue::Object> self);

  torch::jit::Graph& graph() const { return *graph_; }

  // Null when `value` is no object, or not always the same one.
  const Object* FindObject(const torch::jit::Value* value) const;
  // What reads an attribute that the program may write to in place, or null.
  const torch::jit::Node* FindWrittenAttribute() const;
  // The path of the module whose method `node` was written in.
  std::string ModulePath(const torch::jit::Node* node) const;

  // --- Identity of lists and dicts ---------------------------------------------
  // True if some operation may change the list, dict or object `value` in place,
  // or asks whether it is the same as another: then it has to be a value with
  // an identity. Flow-insensitive: one class of values for all that may hold or
  // be each other, told apart only by where they come from.
  bool HasIdentity(const torch::jit::Value* value) const;
  // True if the attribute is assigned, or its list or dict is changed in place.
  bool IsState(const c10::ivalue::Object* object, const std::string& name) const;

 private:
  struct Info {
    const std::string* path;
    int call_depth;
  };
  using AttributeKey = std::pair<const c10::ivalue::Object*, std::string>;

  Program() = default;
  // Inlines what `block` calls.
  absl::Status Flatten(torch::jit::Block* block, int depth);
  // Handles one node; `next` is where to go on.
  absl::Status FlattenNode(torch::jit::Node* node, int depth, torch::jit::Node** next);
  absl::Status InlineCall(torch::jit::Node* node, torch::jit::Function* function,
                          at::ArrayRef<torch::jit::Value*> inputs, const std::string* path,
                          torch::jit::Node** next);
  absl::Status InlineGraph(torch::jit::Node* node, torch::jit::Graph& callee,
                           at::ArrayRef<torch::jit::Value*> inputs, const std::string* path,
                           torch::jit::Node** next);
  void SetInfo(torch::jit::Node* node, const Info& info);
  Info InfoOf(const torch::jit::Node* node) const;
  // Records the object that a GetAttr or the like yields.
  void FindObjectOf(torch::jit::Node* node);
  const std::string* InternPath(std::string path);

  // Union-find over values and attributes.
  template <typename Key>
  int ClassIn(absl::flat_hash_map<Key, int>& classes, const Key& key);
  int ClassOf(const torch::jit::Value* value);
  int ClassOf(const AttributeKey& key);
  int Find(int c) const;
  void Unite(int a, int b);
  // Ditto, for those of `values` that hold something with identity.
  void UniteAll(at::ArrayRef<const torch::jit::Value*> values);
  void MarkChanged(const torch::jit::Value* value);
  void FindIdentity(const torch::jit::Block* block);
  void FindIdentityOfNode(const torch::jit::Node* node);
  void FindIdentityOfCall(const torch::jit::Node* node);

  std::shared_ptr<torch::jit::Graph> graph_;
  size_t num_nodes_ = 0;
  std::deque<std::string> paths_;
  absl::flat_hash_map<const torch::jit::Node*, Info> info_;
  absl::flat_hash_map<const torch::jit::Value*, Object> objects_;

  mutable std::vector<int> parent_;  // of the union-find
  std::vector<bool> changed_;        // by representative
  absl::flat_hash_map<const torch::jit::Value*, int> value_class_;
  absl::flat_hash_map<AttributeKey, int> attribute_class_;
  absl::flat_hash_set<AttributeKey> assigned_;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_PROGRAM_H_

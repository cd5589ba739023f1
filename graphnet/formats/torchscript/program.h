// Internal: the importer's input, a TorchScript graph with every call inlined, and
// facts about its values that must be known before any node is translated.
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

// The most nodes that inlining may produce. Functions that each call the next one
// twice would double the graph with each level.
inline constexpr size_t kMaxInlinedNodes = size_t{1} << 18;

// The source position of a node in the program that was scripted or traced; if that
// is unknown, in the archive's code. Lines and columns count from 1; 0 is unknown.
struct Place {
  std::string file;
  size_t line = 0;
  size_t column = 0;
};
// Returns the position of a node; empty if there is none.
Place PlaceOf(const torch::jit::Node& node);
// Returns the node, or the nearest one before it in its block that has a place:
// structures and assignments have none of their own.
const torch::jit::Node& NearestWithPlace(const torch::jit::Node& node);

// Returns the error "<file>:<line>:<column>: cannot represent <prim::Kind>: <why>".
absl::Status CannotRepresent(const torch::jit::Node& node, absl::string_view why);
// Returns InvalidArgument with `message` after the node's position.
absl::Status ErrorAtNode(const torch::jit::Node& node, absl::string_view message);

// Returns whether the type, or a type within it, is of one of these kinds.
bool Holds(const c10::Type& type, absl::Span<const c10::TypeKind> kinds);

// Returns the tensor if `value` is a constant tensor of the program.
std::optional<at::Tensor> ConstantTensor(const torch::jit::Value* value);
// Turns constant tensors of rank 0 back into numbers: tracing writes `x * 1.5` as a product of
// two tensors, and dtypes depend on it. Only the second operand of add, sub, mul and div changes,
// as in CanonicalizeOps, which LibTorch applies to every graph before it runs.
void RestoreNumbers(torch::jit::Block* block);

// A graph with its calls inlined.
class Program {
 public:
  // A module, or an instance of a script class, that exists before the program
  // runs.
  struct Object {
    c10::intrusive_ptr<c10::ivalue::Object> object;
    const std::string* path;  // "layer1.0"; empty for the module itself
  };

  // Copies `graph` and inlines calls of functions, methods (of interfaces too),
  // context managers and forks. A fork runs immediately, which is one of the
  // orders that TorchScript allows; a future becomes its value, and waits are
  // removed. `self` is the object of the first input, or null.
  static absl::StatusOr<std::unique_ptr<Program>> Make(
      torch::jit::Graph& graph, c10::intrusive_ptr<c10::ivalue::Object> self);

  torch::jit::Graph& graph() const { return *graph_; }

  // Returns the object that `value` always is; null if there is no single one.
  const Object* FindObject(const torch::jit::Value* value) const;
  // Returns a read of a tensor attribute that the program may write to in place; null if
  // there is none.
  const torch::jit::Node* FindWrittenAttribute() const;
  // Returns the path of the module whose method contains `node`.
  std::string ModulePath(const torch::jit::Node* node) const;

  // --- Identity of lists and dicts ---------------------------------------------
  // Returns true if some operation may change the list, dict or object `value` in
  // place, or compares its identity: then it must be a value with an identity of
  // its own. The analysis is flow-insensitive: all values that may alias or contain
  // each other form one class.
  bool HasIdentity(const torch::jit::Value* value) const;
  // Returns true if the attribute is assigned, or its list or dict is changed in place.
  bool IsState(const c10::ivalue::Object* object, const std::string& name) const;

 private:
  // The module path and call depth of a node.
  struct Info {
    const std::string* path;
    int call_depth;
  };
  using AttributeKey = std::pair<const c10::ivalue::Object*, std::string>;

  Program() = default;
  // Inlines the calls in `block`.
  absl::Status Flatten(torch::jit::Block* block, int depth);
  // Handles one node, and sets `next` to the node to go on with.
  absl::Status FlattenNode(torch::jit::Node* node, int depth, torch::jit::Node** next);
  absl::Status InlineCall(torch::jit::Node* node, torch::jit::Function* function,
                          at::ArrayRef<torch::jit::Value*> inputs, const std::string* path,
                          torch::jit::Node** next);
  absl::Status InlineGraph(torch::jit::Node* node, torch::jit::Graph& callee,
                           at::ArrayRef<torch::jit::Value*> inputs, const std::string* path,
                           torch::jit::Node** next);
  void SetInfo(torch::jit::Node* node, const Info& info);
  Info InfoOf(const torch::jit::Node* node) const;
  // Records the object that a node such as a GetAttr returns.
  void FindObjectOf(torch::jit::Node* node);
  const std::string* InternPath(std::string path);

  // Union-find over values and attributes.
  template <typename Key>
  int ClassIn(absl::flat_hash_map<Key, int>& classes, const Key& key);
  int ClassOf(const torch::jit::Value* value);
  int ClassOf(const AttributeKey& key);
  int Find(int c) const;
  void Unite(int a, int b);
  // Unites the classes of those `values` that can hold something with an identity.
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

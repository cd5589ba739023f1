// Internal: builds a tree of modules from the paths of attributes ("layer1.0.weight"),
// with names that TorchScript's printer does not garble.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_ATTRIBUTES_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_ATTRIBUTES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet::torchscript {

// Returns `text` as an identifier that is no keyword and no builtin. The printer does
// not escape the names of attributes and inputs, so this keeps code out of them.
std::string Identifier(absl::string_view text);

// The attributes of a module and its submodules.
class AttributeTree {
 public:
  enum class Kind { kParameter, kBuffer, kOther };
  // The position of an attribute in the tree.
  struct Place {
    std::vector<std::string> modules;  // from the root down
    std::string name;
    torch::jit::Module owner;
  };

  explicit AttributeTree(torch::jit::Module root) : root_(std::move(root)) {}

  // Keeps a name of the root from attributes that get another name than their own.
  void Reserve(absl::string_view name) { reserved_.emplace(name); }
  // Adds an attribute. If the path is taken, or is not made of identifiers and numbers,
  // the attribute goes to the root under a similar name.
  const Place& Add(absl::string_view path, const c10::TypePtr& type, c10::IValue value, Kind kind);
  // Returns the place of an attribute that was added; nullptr if there is none.
  const Place* Find(absl::string_view path) const;

 private:
  // Finds or creates the modules on the path. Returns false if a name is taken or not allowed.
  bool FindPlace(absl::string_view path, bool identifier, Place* place);

  torch::jit::Module root_;
  absl::flat_hash_map<std::string, torch::jit::Module> modules_;  // by path
  std::map<std::string, Place> places_;
  absl::flat_hash_map<std::string, int> next_suffix_;  // by name in the root
  absl::flat_hash_set<std::string> reserved_;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_ATTRIBUTES_H_

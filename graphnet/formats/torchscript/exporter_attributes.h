// Internal: attributes by their paths ("layer1.0.weight") as a tree of modules,
// and names that TorchScript's printer does not garble.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_ATTRIBUTES_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_ATTRIBUTES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet::torchscript {

// `text` as an identifier that means nothing yet. The printer escapes nothing
// in the names of attributes and inputs: this keeps code out of them.
std::string Identifier(absl::string_view text);

class AttributeTree {
 public:
  enum class Kind { kParameter, kBuffer, kOther };
  struct Place {
    std::vector<std::string> modules;  // from the root down
    std::string name;
    torch::jit::Module owner;
  };

  explicit AttributeTree(torch::jit::Module root) : root_(std::move(root)) {}

  // Adds an attribute. Where the path is taken, or no path of identifiers and
  // numbers, the attribute goes to the root under a name alike.
  const Place& Add(absl::string_view path, const c10::TypePtr& type, c10::IValue value, Kind kind);
  // Null when there is none of that path.
  const Place* Find(absl::string_view path) const;

 private:
  // False if a name on the way is taken.
  bool FindPlace(absl::string_view path, bool identifier, Place* place);

  torch::jit::Module root_;
  absl::flat_hash_map<std::string, torch::jit::Module> modules_;  // by path
  std::map<std::string, Place> places_;
  absl::flat_hash_map<std::string, int> next_suffix_;  // by name, at the root
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_ATTRIBUTES_H_

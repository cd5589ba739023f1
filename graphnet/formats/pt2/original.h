// The program that a sample was read from, as far as what is written of the sample is like it:
// strides, stack traces, the structure of inputs and others of which the IR says nothing.
#ifndef GRAPHNET_FORMATS_PT2_ORIGINAL_H_
#define GRAPHNET_FORMATS_PT2_ORIGINAL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/ir/sample.h"

namespace graphnet::pt2 {

class Original {
 public:
  // A graph by its values' names.
  struct Tables {
    absl::flat_hash_map<absl::string_view, Json> tensors, ints, floats, bools;
    absl::flat_hash_map<absl::string_view, Json> nodes;   // by what they yield
    absl::flat_hash_map<absl::string_view, Json> graphs;  // of higher-order calls
  };

  // One without a program if the sample has none that can be read.
  static Original Of(const Sample& sample);

  bool is_there() const { return document_ != nullptr; }
  const Tables& main() const { return main_; }
  static Tables TablesOf(Json graph);

  // How the signature has an attribute, a union such as {"buffer": …}; not there: it has none.
  Json AttributeSpec(absl::string_view name) const;
  // How the tensor of an attribute was stored, PayloadMeta; not there: it was not.
  Json Payload(absl::string_view name) const;
  // The user's inputs as the signature has them: user_input or constant_input.
  const std::vector<Json>& user_inputs() const { return user_inputs_; }
  // The call of the whole, ModuleCallSignature.
  Json call() const { return call_; }
  // Those of the modules inside: their names.
  const std::vector<std::string>& modules() const { return modules_; }
  Json ranges() const { return ranges_; }
  Json guards() const { return guards_; }
  Json named_tuples() const { return named_tuples_; }
  // "Symbol('s77', positive=True, integer=True)", as the program has it; empty: it has none.
  std::string SymbolText(absl::string_view name) const;

 private:
  void Read(Json root);

  std::string text_;
  std::vector<std::unique_ptr<JsonDocument>> configs_;
  std::unique_ptr<JsonDocument> document_;
  Tables main_;
  absl::flat_hash_map<absl::string_view, Json> specs_, payloads_;
  std::vector<Json> user_inputs_;
  std::vector<std::string> modules_;
  Json call_, ranges_, guards_, named_tuples_;
};

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_ORIGINAL_H_

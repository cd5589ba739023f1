// The program from which a sample was read. It supplies facts that the IR does not hold, such as
// strides, stack traces and the structure of inputs, for parts of the sample that still agree.
#ifndef GRAPHNET_FORMATS_PT2_ORIGINAL_H_
#define GRAPHNET_FORMATS_PT2_ORIGINAL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/ir/sample.h"

namespace graphnet::pt2 {

// Index of the original program's JSON, which it owns.
class Original {
 public:
  // The parts of a graph by name.
  struct Tables {
    absl::flat_hash_map<absl::string_view, Json> tensors, ints, floats, bools;
    absl::flat_hash_map<absl::string_view, Json> nodes;   // by the value they return
    absl::flat_hash_map<absl::string_view, Json> graphs;  // the bodies of higher-order calls
  };

  // Reads the program of a sample; is_there() is false if there is none that can be read.
  static Original Of(const Sample& sample);

  // True if a program was read.
  bool is_there() const { return document_ != nullptr; }
  const Tables& main() const { return main_; }
  // Returns the tables of a graph's JSON.
  static Tables TablesOf(Json graph);

  // Returns the attribute's union in the signature, such as {"buffer": …}; absent if there is none.
  Json AttributeSpec(absl::string_view name) const;
  // Returns the PayloadMeta of an attribute's tensor; absent if it was not stored.
  Json Payload(absl::string_view name) const;
  // The user's inputs in the signature: user_input or constant_input.
  const std::vector<Json>& user_inputs() const { return user_inputs_; }
  // The ModuleCallSignature of the whole program.
  Json call() const { return call_; }
  // Names of the inner modules in module_call_graph.
  const std::vector<std::string>& modules() const { return modules_; }
  Json ranges() const { return ranges_; }
  Json guards() const { return guards_; }
  Json named_tuples() const { return named_tuples_; }
  // Returns the symbol as written in the program, "Symbol('s77', positive=True, integer=True)";
  // empty if the program does not have it.
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

// Returns how many guards the program has from which a sample was read.
size_t NumGuards(const Sample& sample);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_ORIGINAL_H_

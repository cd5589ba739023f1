#include "graphnet/formats/posted/signature.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/annotation.h"

namespace graphnet::posted {
namespace {

// A line of the signature.
struct Entry {
  absl::string_view value;
  absl::string_view kind;
  absl::string_view target;
  size_t line = 0;  // from 0
};

// Reads "p_weight: PARAMETER target='weight' persistent=True"; nullopt for other lines.
std::optional<Entry> ReadEntry(absl::string_view words, size_t line) {
  Entry entry{.line = line};
  const size_t colon = words.find(": ");
  if (colon == absl::string_view::npos) return std::nullopt;
  entry.value = words.substr(0, colon);
  absl::string_view rest = words.substr(colon + 2);
  const size_t end = rest.find(' ');
  entry.kind = rest.substr(0, end);
  if (end == absl::string_view::npos) return entry;
  rest.remove_prefix(end + 1);
  if (!absl::ConsumePrefix(&rest, "target='")) return entry;
  const size_t quote = rest.find('\'');
  if (quote == absl::string_view::npos) return std::nullopt;
  entry.target = rest.substr(0, quote);
  return entry;
}

absl::Status Fail(const Lines& lines, const Entry& entry, absl::string_view what) {
  const Line& line = lines[entry.line];
  return absl::InvalidArgumentError(
      absl::StrCat(entry.line + 1, ":", line.offset + line.indent() + 1, ": signature: ", what));
}

class Signature {
 public:
  Signature(const Lines& lines, Module* module)
      : lines_(lines), module_(*module), graph_(*module->main()) {}

  absl::Status Run(const Range& range, std::vector<std::string>* notes) {
    size_t unknown = 0;
    bool is_output = false;
    for (size_t i = range.begin; i < range.end; ++i) {
      const absl::string_view words = lines_[i].words();
      if (words.empty()) continue;
      if (words == "# inputs" || words == "# outputs") {
        is_output = words == "# outputs";
      } else if (const auto entry = ReadEntry(words, i)) {
        (is_output ? outputs_ : inputs_).push_back(*entry);
      } else {
        ++unknown;
      }
    }
    if (unknown > 0)
      notes->push_back(absl::StrCat("lines of the graph signature that are left out: ", unknown));
    for (Node* node : graph_.nodes()) {
      if (node->is_placeholder()) placeholders_.emplace(std::string(node->target()), node);
    }
    for (const Entry& entry : inputs_) RETURN_IF_ERROR(AddInput(entry));
    RETURN_IF_ERROR(AddOutputs());
    for (Node* node : made_) {
      if (!node->has_uses()) graph_.EraseNode(node);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status AddInput(const Entry& entry) {
    const auto it = placeholders_.find(entry.value);
    if (it == placeholders_.end()) {
      return Fail(lines_, entry, absl::StrCat("the graph has no input ", Printable(entry.value)));
    }
    Node* const input = it->second;
    if (input == nullptr)
      return Fail(lines_, entry, absl::StrCat("a second line of ", Printable(entry.value)));
    if (entry.kind == "USER_INPUT" || entry.kind == "TOKEN") {
      // A constant such as None, which callers pass: no value of the graph is known so little.
      if (input->meta() == nullptr && input->annotation().empty() && !input->has_uses()) {
        it->second = nullptr;
        graph_.EraseNode(input);
      }
      return absl::OkStatus();
    }
    const bool is_object = entry.kind == "CUSTOM_OBJ";
    if (entry.kind != "PARAMETER" && entry.kind != "BUFFER" && entry.kind != "CONSTANT_TENSOR" &&
        !is_object) {
      return Fail(lines_, entry, absl::StrCat("unknown kind of input: ", Printable(entry.kind)));
    }
    if (entry.target.empty() || entry.target.size() > kMaxNameBytes)
      return Fail(lines_, entry, "it names no target");
    const absl::string_view annotation = entry.kind == "PARAMETER" ? kParameterAnnotation
                                         : is_object               ? "torch.ScriptObject"
                                                                   : "torch.Tensor";
    Node*& attribute = attributes_[entry.target];
    const bool is_new = attribute == nullptr;
    if (is_new) {
      std::string name(entry.target);
      while (module_.FindAttribute(name) != nullptr) name += '_';
      module_.AddAttribute({.name = name, .meta = input->tensor_meta(), .annotation = annotation});
      attribute = graph_.GetAttr(name);
      graph_.MoveBefore(attribute, first_call());
      attribute->set_meta(input->meta());
      made_.push_back(attribute);
    }
    input->ReplaceAllUsesWith(attribute);
    const std::string name(input->name());
    it->second = nullptr;
    graph_.EraseNode(input);
    if (is_new) attribute->set_name(name);  // The name was the input's until now.
    return absl::OkStatus();
  }

  // Returns the first node that no input of the signature is.
  Node* first_call() {
    if (first_call_ == nullptr) {
      for (Node* node : graph_.nodes()) {
        if (node->is_placeholder()) continue;
        first_call_ = node;
        break;
      }
    }
    return first_call_;
  }

  absl::Status AddOutputs() {
    Node* const output = graph_.output();
    if (output == nullptr || outputs_.empty()) return absl::OkStatus();
    const Argument value = output->args()[0];
    if (!value.is_aggregate() || value.elements().size() != outputs_.size()) {
      return Fail(lines_, outputs_[0],
                  absl::StrCat("it has ", outputs_.size(), " outputs, and the graph has others"));
    }
    std::vector<Argument> returned;
    absl::flat_hash_map<Node*, Node*> copies;
    graph_.set_insertion_point(output);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Entry& entry = outputs_[i];
      const Argument& element = value.elements()[i];
      if (!absl::EndsWith(entry.kind, "_MUTATION")) {
        if (entry.kind != "TOKEN") returned.push_back(element);
        continue;
      }
      Node* to = nullptr;
      if (entry.kind == "USER_INPUT_MUTATION") {
        const auto it = placeholders_.find(entry.target);
        if (it != placeholders_.end()) to = it->second;
      } else if (const auto it = attributes_.find(entry.target); it != attributes_.end()) {
        to = it->second;
      }
      if (to == nullptr || !element.is_node()) {
        return Fail(lines_, entry,
                    absl::StrCat("a mutation writes to ", Printable(entry.target),
                                 ", which does not exist"));
      }
      Node* const copy = graph_.CallFunction("aten.copy_.default", {to, element});
      copy->set_meta(to->meta());
      copies[element.node()] = copy;
    }
    for (Argument& element : returned) {
      if (!element.is_node()) continue;
      if (const auto it = copies.find(element.node()); it != copies.end()) element = it->second;
    }
    graph_.set_insertion_point(nullptr);
    output->set_arg(0, Argument::Tuple(returned));
    return absl::OkStatus();
  }

  const Lines& lines_;
  Module& module_;
  graphnet::Graph& graph_;
  std::vector<Entry> inputs_;
  std::vector<Entry> outputs_;
  absl::flat_hash_map<std::string, Node*> placeholders_;      // null once it is an attribute
  absl::flat_hash_map<absl::string_view, Node*> attributes_;  // by target
  std::vector<Node*> made_;
  Node* first_call_ = nullptr;
};

}  // namespace

absl::Status ApplySignature(const Lines& lines, const Range& range, Module* module,
                            std::vector<std::string>* notes) {
  return Signature(lines, module).Run(range, notes);
}

void AddRanges(absl::string_view words, Module* module) {
  // s0: VR[2, 100] with int_oo for no bound.
  while (true) {
    const size_t at = words.find(": VR[");
    if (at == absl::string_view::npos) return;
    absl::string_view name = words.substr(0, at);
    const size_t begin = name.find_last_of(" {,");
    if (begin != absl::string_view::npos) name.remove_prefix(begin + 1);
    words.remove_prefix(at + 5);
    const size_t comma = words.find(", ");
    const size_t end = words.find(']');
    if (comma == absl::string_view::npos || end == absl::string_view::npos || comma > end) return;
    if (module->FindSymbol(name) == nullptr) continue;
    const auto relate = [&](SymExpr::Kind kind, absl::string_view bound) {
      int64_t number = 0;
      if (!absl::SimpleAtoi(bound, &number)) return;
      module->AddRelation(module->SymBinary(kind, module->SymSymbol(name), module->SymInt(number)));
    };
    relate(SymExpr::Kind::kGe, words.substr(0, comma));
    relate(SymExpr::Kind::kLe, words.substr(comma + 2, end - comma - 2));
  }
}

}  // namespace graphnet::posted

#include "graphnet/validate/structure.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/ports.h"
#include "graphnet/interp/inputs/compare_weights.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/validate/structure_checks.h"

namespace graphnet {

using validate_internal::CheckComposition;
using validate_internal::CheckOperators;
using validate_internal::IsSaidLater;
using validate_internal::OperatorsOf;
using validate_internal::PieceOperator;

namespace {

std::string MetaText(const ValueMeta* meta) {
  return meta == nullptr ? "unknown" : Printable(PrintMeta(*meta));
}

// Returns the values that a graph returns, in order, however they are packed.
std::vector<const Node*> Returned(const Graph& graph) {
  std::vector<const Node*> out;
  graph.output()->ForEachOperand([&](const Node* node) { out.push_back(node); });
  return out;
}

class StructureCheck {
 public:
  StructureCheck(const Sample& original, absl::Span<const Sample> pieces,
                 const StructureOptions& options)
      : original_(original), pieces_(pieces), options_(options), equality_(options.equality) {
    if (options.foreign) equality_.names = equality_.metas = equality_.locations = false;
  }

  ValidationReport Run() {
    CheckLayout();
    if (!report_.ok()) return std::move(report_);
    Count();
    CheckRanges();
    CheckOperators(original_operators_, piece_operators_, options_.foreign, &report_);
    CheckPorts();
    // If ports agree by name, each piece takes only values that exist already.
    const bool by_position = options_.foreign && options_.cut.style == Style::kChain;
    if (!by_position && (!report_.ok() || !equality_.names)) CheckOrder();
    if (!report_.ok()) return std::move(report_);
    CheckComposition(original_, inputs_, pieces_, options_.cut.style, equality_, options_.foreign,
                     &report_);
    if (options_.weights) CheckWeights();
    return std::move(report_);
  }

 private:
  const Graph& GraphOf(size_t piece) const { return *pieces_[piece].module->main(); }
  void Add(ErrorClass error, size_t piece, absl::string_view where, std::string message) {
    report_.Add(error, static_cast<int>(piece), where, std::move(message));
  }

  // --- E1 ----------------------------------------------------------------------
  void CheckLayout() {
    constexpr ErrorClass kError = ErrorClass::kLayout;
    const auto verify = [](const Sample& sample) {
      return sample.module == nullptr ? absl::FailedPreconditionError("has no module")
                                      : Verify(*sample.module);
    };
    if (const absl::Status status = verify(original_); !status.ok()) {
      report_.Add(kError, -1, "", absl::StrCat("the original: ", status.message()));
    }
    if (pieces_.empty()) report_.Add(kError, -1, "", "there are no pieces");
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (const absl::Status status = verify(pieces_[i]); !status.ok()) {
        Add(kError, i, "", std::string(status.message()));
      }
    }
  }

  void Count() {
    original_operators_ = OperatorsOf(*original_.module->main());
    report_.original_operators = static_cast<int64_t>(original_operators_.size());
    const std::vector<Node*> inputs = original_.module->main()->placeholders();
    inputs_.reserve(inputs.size());
    for (const Node* node : inputs) inputs_.try_emplace(node->name(), node);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const std::vector<const Node*> operators = OperatorsOf(GraphOf(i));
      report_.piece_operators.push_back(static_cast<int64_t>(operators.size()));
      for (const Node* node : operators) piece_operators_.push_back({node, static_cast<int>(i)});
    }
  }

  // --- E2 ----------------------------------------------------------------------
  void CheckRanges() {
    constexpr ErrorClass kError = ErrorClass::kConfig;
    bool any = false;
    for (const Sample& piece : pieces_) any |= !piece.provenance.empty();
    if (!any) return;
    const std::string hash = options_.foreign ? "" : CanonicalHash(*original_.module);
    int64_t next = 0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].provenance.size() != 1) {
        Add(kError, i, "", "does not say which range of the original it is");
        continue;
      }
      const Provenance& from = pieces_[i].provenance[0];
      const std::string range = absl::StrCat("range [", from.start, ", ", from.end, ")");
      if (!options_.foreign && (from.parent != original_.name || from.parent_hash != hash)) {
        Add(kError, i, "",
            absl::StrCat(
                "was cut from ", Printable(from.parent),
                from.parent == original_.name ? ", but another graph than this one" : ", not from ",
                from.parent == original_.name ? "" : Printable(original_.name)));
      }
      if (from.start != next) {
        Add(kError, i, "",
            absl::StrCat(range,
                         from.start < next ? " overlaps or comes before" : " leaves a gap after",
                         " what precedes it, which ends at ", next, OperatorAt(next)));
      }
      if (from.end - from.start != report_.piece_operators[i]) {
        Add(kError, i, "",
            absl::StrCat(range, " has ", from.end - from.start, " operators, the piece ",
                         report_.piece_operators[i]));
      }
      next = from.end;
    }
    if (next != report_.original_operators) {
      Add(kError, pieces_.size() - 1, "",
          absl::StrCat("the last range ends at ", next, OperatorAt(next), ", the original at ",
                       report_.original_operators));
    }
  }

  std::string OperatorAt(int64_t i) const {
    if (i < 0 || i >= report_.original_operators) return "";
    return absl::StrCat(" (", ValueName(original_operators_[static_cast<size_t>(i)]->name()), ")");
  }

  // --- E4 ----------------------------------------------------------------------
  void CheckPorts() {
    const bool chain = options_.cut.style == Style::kChain;
    // The values that the piece should take.
    std::vector<const Node*> given =
        options_.foreign && chain ? GivenToFirst() : std::vector<const Node*>();
    for (const Node* node : original_.module->main()->placeholders()) {
      if (options_.foreign && chain) break;
      if (options_.cut.all_inputs || !chain || node->has_uses()) given.push_back(node);
    }
    const size_t num_inputs = given.size();
    Values values;
    std::vector<absl::string_view> returned_names;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (chain) {
        CheckInputs(i, given);
        given = Returned(GraphOf(i));
        continue;
      }
      CheckInputsByName(i, &values);
      given = Returned(GraphOf(i));
      if (i + 1 == pieces_.size()) break;
      for (const Node* node : given) {
        Given& value = values[node->name()];
        if (value.node != nullptr) CheckTaken(value);
        if (value.node == nullptr) returned_names.push_back(node->name());
        value = {node, static_cast<int>(i), false};
      }
    }
    for (const absl::string_view name : returned_names) CheckTaken(values.at(name));
    if (!chain && !options_.foreign && options_.cut.all_inputs &&
        GraphOf(0).placeholders().size() < num_inputs)
      CheckFirstTakes(/*unused=*/true);
    const std::vector<const Node*> returned = Returned(*original_.module->main());
    const size_t last = pieces_.size() - 1;
    if (given.size() != returned.size()) {
      Add(ErrorClass::kPort, last, "",
          absl::StrCat("returns ", given.size(), " values, the original ", returned.size()));
      return;
    }
    for (size_t k = 0; k < given.size(); ++k) {
      if (given[k]->name() == returned[k]->name() || !equality_.names) continue;
      Add(ErrorClass::kPort, last, given[k]->name(),
          absl::StrCat("output ", k, " is ", ValueName(given[k]->name()), ", of the original ",
                       ValueName(returned[k]->name())));
    }
  }

  // Returns the inputs of the original that the first piece of a chain takes, in its order.
  std::vector<const Node*> GivenToFirst() {
    std::vector<const Node*> given;
    for (const Node* port : GraphOf(0).placeholders()) {
      const auto it = inputs_.find(port->name());
      if (it == inputs_.end()) {
        Add(ErrorClass::kPort, 0, port->name(),
            absl::StrCat("takes ", ValueName(port->name()),
                         ", which is not an input of the original"));
      }
      given.push_back(it == inputs_.end() ? port : it->second);
    }
    CheckFirstTakes(/*unused=*/false);
    return given;
  }

  // A value that a piece of a DAG returns and that others may take by name.
  struct Given {
    const Node* node = nullptr;
    int giver = 0;  // the piece that returns it
    bool taken = false;
  };
  using Values = absl::flat_hash_map<absl::string_view, Given>;

  // Reports a value that no later piece takes.
  void CheckTaken(const Given& value) {
    if (value.taken) return;
    Add(ErrorClass::kPort, static_cast<size_t>(value.giver), value.node->name(),
        absl::StrCat("returns ", ValueName(value.node->name()), ", which no later piece takes"));
  }

  // Checks that the first piece takes all inputs of the original, or those that are used.
  void CheckFirstTakes(bool unused) {
    absl::flat_hash_set<absl::string_view> first;
    for (const Node* node : GraphOf(0).placeholders()) first.insert(node->name());
    for (const Node* node : original_.module->main()->placeholders()) {
      if (first.contains(node->name()) || !(unused || node->has_uses())) continue;
      Add(ErrorClass::kPort, 0, node->name(),
          absl::StrCat("does not take ", ValueName(node->name()), ", an input of the original"));
    }
  }

  void CheckInputsByName(size_t i, Values* values) {
    const std::vector<Node*> inputs = GraphOf(i).placeholders();
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (const auto it = values->find(inputs[k]->name()); it != values->end()) {
        it->second.taken = true;
        CheckPort(i, k, *inputs[k], *it->second.node, absl::StrCat("piece ", it->second.giver),
                  InputOf(*inputs[k]));
        continue;
      }
      const Node* input = InputOf(*inputs[k]);
      if (input == nullptr) {
        Add(ErrorClass::kPort, i, inputs[k]->name(),
            absl::StrCat("takes ", ValueName(inputs[k]->name()),
                         ", which neither the original takes nor a piece before it returns"));
        continue;
      }
      CheckPort(i, k, *inputs[k], *input, "the original", input);
    }
  }

  // Returns the input of the original that has the port's name; null if there is none.
  const Node* InputOf(const Node& port) const {
    const auto it = inputs_.find(port.name());
    return it == inputs_.end() ? nullptr : it->second;
  }

  void CheckInputs(size_t i, absl::Span<const Node* const> given) {
    const std::vector<Node*> inputs = GraphOf(i).placeholders();
    const std::string giver = i == 0 ? "the original" : absl::StrCat("piece ", i - 1);
    if (inputs.size() != given.size()) {
      // Names the first value that the other side does not have.
      const auto first_of = [](const auto& from, const auto& others) {
        absl::flat_hash_set<absl::string_view> names;
        for (const Node* node : others) names.insert(node->name());
        for (const Node* node : from) {
          if (!names.contains(node->name()))
            return absl::StrCat(" (", ValueName(node->name()), ")");
        }
        return std::string();
      };
      Add(ErrorClass::kPort, i, "",
          absl::StrCat("takes ", inputs.size(), " values", first_of(inputs, given), ", ", giver,
                       i == 0 ? " takes " : " returns ", given.size(), first_of(given, inputs)));
      return;
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      CheckPort(i, k, *inputs[k], *given[k], giver,
                i == 0 && given[k]->name() == inputs[k]->name() ? given[k] : InputOf(*inputs[k]));
    }
  }

  // Compares a port with the value that it takes. `original` is the input of the original that the
  // port is, or null.
  void CheckPort(size_t i, size_t k, const Node& port, const Node& given, absl::string_view giver,
                 const Node* original) {
    const auto differ = [&](absl::string_view what, absl::string_view here,
                            absl::string_view there) {
      Add(ErrorClass::kPort, i, port.name(),
          absl::StrCat("input ", k, " (", ValueName(port.name()), "): ", what, " is ", here,
                       ", in ", giver, " ", there));
    };
    const EqualityOptions& equality = equality_;
    if (equality.names && port.name() != given.name()) {
      return differ("name", ValueName(port.name()), ValueName(given.name()));
    }
    if (equality.metas ? !EqualPointees(port.meta(), given.meta()) && !MaySayMore(port, given)
                       : Contradict(port, given)) {
      differ("meta", MetaText(port.meta()), MetaText(given.meta()));
    } else if (const std::string wrong = ContradictionOf(port, given); !wrong.empty()) {
      Add(ErrorClass::kPort, i, port.name(),
          absl::StrCat("input ", k, " (", ValueName(port.name()), "): ", wrong, " as in ", giver));
    } else if (options_.foreign && IsElsewhere(port, original)) {
      Add(ErrorClass::kPort, i, port.name(),
          absl::StrCat("input ", k, " (", ValueName(port.name()), "): is on ",
                       DeviceName(port.tensor_meta()->device), ", other inputs are not"));
    }
    if (!equality.names) return;
    if (original == nullptr) {
      if (equality.metas) CheckMadePort(i, k, port);
      return;
    }
    const Node& input = *original;
    if (equality.attribute_names && port.target() != input.target())
      AddNotThatOf("input", "target", i, k, port);
    if (!equality.metas) return;
    if (port.annotation() != input.annotation()) AddNotThatOf("input", "annotation", i, k, port);
    if (!IsSaidLater(input) && !EqualPointees(port.draw_spec(), input.draw_spec()))
      AddNotThatOf("input", "draw spec", i, k, port);
  }

  // Returns how a port contradicts a value whose meta is not stated, but follows from others.
  std::string ContradictionOf(const Node& port, const Node& given) {
    if (port.tensor_meta() == nullptr || given.meta() != nullptr) return "";
    const Module* const module = given.graph()->module();
    auto it = facts_.find(module);
    if (it == facts_.end()) it = facts_.emplace(module, PieceFacts(*module)).first;
    TensorFacts facts = it->second.Of(given);
    facts.device.reset();  // pieces may be cut elsewhere
    return PortContradiction(port, facts);
  }

  // Returns whether a port's meta agrees with the original's although it may be written
  // differently: only one of them may have a device, and a size may be a different expression for
  // the same number. A size that depends on data may be any number.
  bool SaySame(const ValueMeta* port, const ValueMeta* known) const {
    if (EqualPointees(port, known)) return true;
    const TensorMeta* const a = port->tensor;
    const TensorMeta* const b = known->tensor;
    if (a == nullptr || b == nullptr || a->dtype != b->dtype) return false;
    if (a->has_device && b->has_device && a->device != b->device) return false;
    if (!a->has_shape || !b->has_shape) return DependsOnData(*known);
    return std::equal(a->shape.begin(), a->shape.end(), b->shape.begin(), b->shape.end(),
                      [&](const Dim& x, const Dim& y) {
                        if (x == y) return true;
                        const std::optional<int64_t> known_size = SizeOf(*original_.module, y);
                        if (!known_size.has_value()) return x.is_static();
                        return known_size == SizeOf(*original_.module, x);
                      });
  }

  // Returns whether some size is known only at run time.
  bool DependsOnData(const ValueMeta& meta) const {
    if (meta.tensor != nullptr && meta.tensor->has_shape) {
      return absl::c_any_of(meta.tensor->shape, [&](const Dim& dim) {
        return !SizeOf(*original_.module, dim).has_value();
      });
    }
    return absl::c_any_of(meta.elements,
                          [&](const ValueMeta* element) { return DependsOnData(*element); });
  }

  // Evaluates a size with the examples of its symbols.
  static std::optional<int64_t> SizeOf(const Module& module, const Dim& dim) {
    return dim.is_static() ? std::optional<int64_t>(dim.value)
                           : EvaluateWithExamples(module, *dim.expr);
  }

  // Returns whether both have a dtype or a shape, and they differ. One may write a size with
  // symbols and the other as the number that it is in the examples; the report mentions that.
  bool Contradict(const Node& port, const Node& given) {
    const TensorMeta* const here = port.tensor_meta();
    const TensorMeta* const there = given.tensor_meta();
    if (here == nullptr || there == nullptr) return false;
    if (here->dtype != there->dtype) return true;
    if (!here->has_shape || !there->has_shape) return false;
    if (here->shape.size() != there->shape.size()) return true;
    for (size_t d = 0; d < here->shape.size(); ++d) {
      const Dim& x = there->shape[d];
      const Dim& y = here->shape[d];
      if (x == y) continue;
      const std::optional<int64_t> size = SizeOf(*given.graph()->module(), x);
      if (!size.has_value() || size != SizeOf(*port.graph()->module(), y)) return true;
      report_.ReadAsEqual("size", TextOf(x), TextOf(y));
    }
    return false;
  }

  // Returns whether a port's device contradicts those of other ports. Values that the original has
  // on one device are on one device in the pieces, but it may be another one, as pieces can be cut
  // elsewhere.
  bool IsElsewhere(const Node& port, const Node* original) {
    const TensorMeta* const here = port.tensor_meta();
    if (here == nullptr || !here->has_device) return false;
    const TensorMeta* const there = original != nullptr ? original->tensor_meta() : nullptr;
    if (there == nullptr || !there->has_device)
      return !devices_.empty() && absl::c_none_of(devices_, [&](const auto& entry) {
        return entry.second == here->device;
      });
    const auto it =
        absl::c_find_if(devices_, [&](const auto& entry) { return entry.first == there->device; });
    if (it == devices_.end()) {
      devices_.emplace_back(there->device, here->device);
    } else if (!(it->second == here->device)) {
      return true;
    }
    if (!(there->device == here->device))
      report_.ReadAsEqual("device", DeviceName(there->device), DeviceName(here->device));
    return false;
  }

  static std::string TextOf(const Dim& dim) {
    return dim.is_static() ? absl::StrCat(dim.value) : PrintSymExpr(*dim.expr);
  }

  // Returns whether a port may have a meta that its giver lacks. It may have the original's meta
  // or, if there is none, the one that was found out when the graph was cut, which is the same at
  // all ports. It may have no meta if the original has none.
  bool MaySayMore(const Node& port, const Node& given) {
    const Graph& known = options_.known != nullptr ? *options_.known : *original_.module->main();
    const Node* value = known.FindNode(port.name());
    const bool is_known = value != nullptr && value->meta() != nullptr;
    if (port.meta() == nullptr) return !is_known || DependsOnData(*value->meta());
    if (given.meta() != nullptr)
      return DependsOnData(*given.meta()) && SaySame(port.meta(), given.meta());
    if (is_known) return SaySame(port.meta(), value->meta());
    const Node* first = says_more_.try_emplace(port.name(), &port).first->second;
    return EqualPointees(first->meta(), port.meta());
  }

  // Checks the annotation and draw spec of a port whose value operators made. If the value is an
  // attribute, they are the attribute's.
  void CheckMadePort(size_t i, size_t k, const Node& port) {
    const Node* value = original_.module->main()->FindNode(port.name());
    const Attribute* attribute = value != nullptr && value->op() == Op::kGetAttr
                                     ? original_.module->FindAttribute(value->target())
                                     : nullptr;
    absl::string_view annotation = value == nullptr ? "" : value->annotation();
    const DrawSpec spec = port.draw_spec() != nullptr ? *port.draw_spec() : DrawSpec();
    DrawSpec expected = spec;  // may have been found out when the graph was cut
    if (attribute != nullptr) {
      if (annotation.empty()) annotation = attribute->annotation;
      const TensorMeta* meta = value->tensor_meta();
      const bool same =
          meta == nullptr || (attribute->meta != nullptr && *attribute->meta == *meta);
      if (attribute->draw_spec != nullptr) expected = same ? *attribute->draw_spec : DrawSpec();
      if (expected.original_name.empty()) expected.original_name = value->target();
    }
    const bool told_number =
        annotation.empty() && (NumberDType(port.annotation()) || port.annotation() == "List[int]");
    if (port.annotation() != annotation && !told_number)
      AddNotThatOf("value", "annotation", i, k, port);
    if (!(spec == expected)) AddNotThatOf("value", "draw spec", i, k, port);
  }

  void AddNotThatOf(absl::string_view owner, absl::string_view what, size_t i, size_t k,
                    const Node& port) {
    Add(ErrorClass::kPort, i, port.name(),
        absl::StrCat("input ", k, " (", ValueName(port.name()), "): ", what,
                     " is not that of the original's ", owner));
  }

  // --- E5 ----------------------------------------------------------------------
  void CheckOrder() {
    absl::flat_hash_map<absl::string_view, int> piece_of;
    for (const PieceOperator& op : piece_operators_)
      piece_of.try_emplace(op.node->name(), op.piece);
    absl::flat_hash_set<absl::string_view> given;
    for (const auto& [name, node] : inputs_) given.insert(name);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      for (const Node* node : GraphOf(i).nodes()) {
        if (!node->is_placeholder()) break;
        const auto it = piece_of.find(node->name());
        if (it == piece_of.end() || it->second < static_cast<int>(i) ||
            given.contains(node->name())) {
          continue;
        }
        Add(ErrorClass::kOrder, i, node->name(),
            absl::StrCat("takes ", ValueName(node->name()), ", which piece ", it->second,
                         " computes"));
      }
      if (options_.cut.style == Style::kChain) given.clear();
      for (const Node* node : Returned(GraphOf(i))) given.insert(node->name());
    }
  }

  // --- E8 ----------------------------------------------------------------------
  // Returns whether a name is "x", "x.0" or "x.key" for an input x of the original.
  bool IsOfInput(absl::string_view name) const {
    return absl::c_any_of(inputs_, [&](const auto& input) {
      absl::string_view rest = name;
      return absl::ConsumePrefix(&rest, input.second->target()) &&
             (rest.empty() || rest.front() == '.');
    });
  }

  void CheckWeights() {
    absl::flat_hash_set<absl::string_view> present;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      for (const auto& [name, data] : pieces_[i].weights) {
        const auto it = original_.weights.find(name);
        // Example values of an input may be added when it is cut.
        if (it == original_.weights.end() && IsOfInput(name) &&
            original_.module->FindAttribute(name) == nullptr)
          continue;
        if (it == original_.weights.end()) {
          Add(ErrorClass::kGraph, i, name,
              absl::StrCat("the weights of ", Printable(name), " are not the original's"));
        } else if (!SameData(it->second, data)) {
          Add(ErrorClass::kGraph, i, name,
              absl::StrCat(
                  "the weights of ", Printable(name), " are not the original's: ",
                  DescribeDifference(it->second, data, LargestDifference(it->second, data))));
        } else {
          present.insert(it->first);
        }
      }
    }
    for (const auto& [name, data] : original_.weights) {
      if (present.contains(name)) continue;
      report_.Add(ErrorClass::kGraph, -1, name,
                  absl::StrCat("no piece has the weights of ", Printable(name)));
    }
  }

  const Sample& original_;
  absl::Span<const Sample> pieces_;
  const StructureOptions& options_;
  EqualityOptions equality_;
  // The first port of each value, by name, that has a meta although its giver has none.
  absl::flat_hash_map<absl::string_view, const Node*> says_more_;
  // Devices of the original and the devices of the same values in pieces of other tools.
  std::vector<std::pair<Device, Device>> devices_;
  std::map<const Module*, PieceFacts> facts_;  // of the givers
  ValidationReport report_;
  std::vector<const Node*> original_operators_;
  std::vector<PieceOperator> piece_operators_;
  absl::flat_hash_map<absl::string_view, const Node*> inputs_;  // of the original, by name
};

}  // namespace

ValidationReport ValidateStructure(const Sample& original, absl::Span<const Sample> pieces,
                                   const StructureOptions& options) {
  return StructureCheck(original, pieces, options).Run();
}

}  // namespace graphnet

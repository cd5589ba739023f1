#include "graphnet/decompose/join_models.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/base/unique_names.h"
#include "graphnet/decompose/ports.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/graph_copier.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet {
namespace {

// What an output is called in messages.
std::string OutputName(const std::vector<const Node*>& outputs, size_t i) {
  return outputs[i] == nullptr ? absl::StrCat("o", i) : std::string(outputs[i]->name());
}

std::optional<size_t> FindOutput(const std::vector<const Node*>& outputs, absl::string_view name) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != nullptr && outputs[i]->name() == name) return i;
  }
  size_t place = 0;
  if (absl::ConsumePrefix(&name, "o") && absl::SimpleAtoi(name, &place) && place < outputs.size())
    return place;
  return std::nullopt;
}

class Joiner {
 public:
  Joiner(std::vector<Sample> models, const std::vector<Connection>& connections)
      : models_(std::move(models)), connections_(connections) {}

  absl::StatusOr<Joined> Run() {
    if (models_.empty()) return absl::InvalidArgumentError("expected at least one model");
    UniqueNames names;
    for (const Sample& model : models_) {
      if (model.module == nullptr || model.module->main() == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("the model ", Printable(model.name), " has no graph"));
      }
      outputs_.push_back(OutputsOfModel(model));
      const std::string base = model.name.empty() ? "model" : model.name;
      std::string name = base;
      for (int copy = 2; !names.Insert(name); ++copy) name = absl::StrCat(base, "_", copy);
      names_.push_back(std::move(name));
    }
    RETURN_IF_ERROR(Resolve());
    joined_.sample.module = std::make_unique<Module>();
    module_ = joined_.sample.module.get();
    graph_ = module_->AddGraph(models_[0].module->main()->name());
    for (size_t i = 0; i < models_.size(); ++i) AddInputs(i);
    for (size_t i = 0; i < models_.size(); ++i) RETURN_IF_ERROR(Append(i));
    joined_.sample.name = absl::StrJoin(names_, "_");
    for (size_t i = 0; i + 1 < models_.size(); ++i) {
      for (size_t k = 0; k < outputs_[i].size(); ++k) {
        if (outputs_[i][k] == nullptr || !taken_.contains(outputs_[i][k]))
          joined_.unused.push_back(absl::StrCat(names_[i], ".", OutputName(outputs_[i], k)));
      }
    }
    return std::move(joined_);
  }

 private:
  // Finds the nodes that the connections name.
  absl::Status Resolve() {
    for (const Connection& one : connections_) {
      if (one.from >= models_.size() || one.to >= models_.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "there is no model ", std::max(one.from, one.to) + 1, " of ", models_.size()));
      }
      if (one.from >= one.to) {
        return absl::InvalidArgumentError(absl::StrCat(
            names_[one.from], ".", Printable(one.output), " cannot be an input of ", names_[one.to],
            ", which runs ", one.from == one.to ? "at the same time" : "before"));
      }
      const std::vector<const Node*>& outputs = outputs_[one.from];
      const std::optional<size_t> place = FindOutput(outputs, one.output);
      const Node* const input = InputOfModel(models_[one.to], one.input);
      if (!place.has_value()) {
        std::vector<std::string> known;
        for (size_t i = 0; i < outputs.size(); ++i) known.push_back(OutputName(outputs, i));
        return absl::InvalidArgumentError(absl::StrCat(names_[one.from], " returns no ",
                                                       Printable(one.output), "; it returns ",
                                                       absl::StrJoin(known, ", ")));
      }
      if (outputs[*place] == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("output ", *place, " of ", names_[one.from],
                                                       " is a constant or a nested value"));
      }
      if (input == nullptr) {
        std::vector<absl::string_view> known;
        for (const Node* other : models_[one.to].module->main()->placeholders())
          known.push_back(other->target());
        return absl::InvalidArgumentError(absl::StrCat(
            names_[one.to], " takes no ", Printable(one.input), NearMissHint(one.input, known)));
      }
      if (!givers_.try_emplace(input, Giver{one.from, outputs[*place]}).second) {
        return absl::InvalidArgumentError(
            absl::StrCat(names_[one.to], ".", Printable(one.input), " is connected twice"));
      }
      taken_.insert(outputs[*place]);
      RETURN_IF_ERROR(CheckPort(one, *input, *outputs[*place]));
    }
    return absl::OkStatus();
  }

  absl::Status CheckPort(const Connection& one, const Node& input, const Node& output) {
    auto facts = facts_.find(one.from);
    if (facts == facts_.end())
      facts = facts_.emplace(one.from, PieceFacts(*models_[one.from].module)).first;
    const std::string wrong = PortContradiction(input, facts->second.Of(output));
    if (wrong.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(names_[one.to], ".", Printable(input.target()), " cannot take ",
                     names_[one.from], ".", Printable(output.name()), ": its ", wrong));
  }

  // Makes the inputs of a model that stay inputs. They stand before all calls.
  void AddInputs(size_t i) {
    for (Node* input : models_[i].module->main()->placeholders()) {
      if (givers_.contains(input)) continue;
      Node* const made = graph_->CopyNodeFrom(*input, [](Node* operand) { return operand; });
      const std::string target(input->target());
      const std::string name = targets_.Reserve(target);
      made->set_target(name);
      if (const auto value = models_[i].weights.find(target); value != models_[i].weights.end())
        joined_.sample.weights[name] = std::move(value->second);
      map_[input] = made;
    }
  }

  absl::Status Append(size_t i) {
    Module& module = *models_[i].module;
    const Graph& main = *module.main();
    const bool is_last = i + 1 == models_.size();
    for (const Node* input : main.placeholders()) {
      if (const auto giver = givers_.find(input); giver != givers_.end())
        map_[input] = map_.at(giver->second.output);
    }
    FindSymbols(i);
    std::vector<Node*> made;
    for (const Node* input : main.placeholders()) {
      if (!givers_.contains(input)) made.push_back(map_.at(input));
    }
    GraphCopier copier(module_);
    for (const Node* node : main.nodes()) {
      if (node->is_placeholder() || (node->is_output() && !is_last)) continue;
      Node* const copy = graph_->CopyNodeFrom(
          *node, [this](Node* operand) { return map_.at(operand); },
          [&](Graph* body) { return copier.CopyOf(body); });
      map_[node] = copy;
      made.push_back(copy);
    }
    copier.Finish();
    for (const auto& [body, copy] : copier.copied()) {
      for (Node* node : copy->nodes()) made.push_back(node);
    }
    for (Node* node : made) Adopt(i, node);
    for (const Attribute& attribute : module.attributes()) {
      Attribute named = attribute;
      const std::string name = InModel(i, attribute.name);
      named.name = name;
      module_->AddAttribute(named);
      const auto value = models_[i].weights.find(std::string(attribute.name));
      if (value != models_[i].weights.end())
        joined_.sample.weights[name] = std::move(value->second);
    }
    for (const SymExpr* relation : module.relations()) module_->AddRelation(Renamed(relation));
    return absl::OkStatus();
  }

  std::string InModel(size_t i, absl::string_view name) const {
    return name.empty() ? names_[i] : absl::StrCat(names_[i], ".", name);
  }

  // Gives a copied node the names that its model has in the whole.
  void Adopt(size_t i, Node* node) {
    if (node->op() == Op::kGetAttr) node->set_target(InModel(i, node->target()));
    if (node->is_call()) node->set_module_path(InModel(i, node->module_path()));
    if (symbols_.empty()) return;
    if (node->meta() != nullptr) node->set_meta(Renamed(*node->meta()));
    node->MapArguments([this](const Argument& argument) {
      return argument.kind() == Argument::Kind::kSymInt ? Argument(Renamed(argument.sym()))
                                                        : argument;
    });
  }

  // Declares the symbols of a model, and finds what each of them is in the whole.
  void FindSymbols(size_t i) {
    symbols_.clear();
    renamed_.clear();
    Module& module = *models_[i].module;
    for (const Node* input : module.main()->placeholders()) {
      const auto giver = givers_.find(input);
      if (giver == givers_.end() || input->tensor_meta() == nullptr) continue;
      // The copy in the whole has its sizes in the symbols of the whole already.
      const TensorMeta* const given = map_.at(giver->second.output)->tensor_meta();
      if (given == nullptr || !given->has_shape || !input->tensor_meta()->has_shape) continue;
      const absl::Span<const Dim> shape = input->tensor_meta()->shape;
      for (size_t d = 0; d < shape.size() && d < given->shape.size(); ++d) {
        const SymExpr* const symbol = shape[d].expr;
        if (shape[d].is_static() || symbol->kind != SymExpr::Kind::kSymbol) continue;
        const Dim& size = given->shape[d];
        symbols_.try_emplace(std::string(symbol->name),
                             size.is_static() ? module_->SymInt(size.value) : size.expr);
      }
    }
    for (const Symbol& symbol : module.symbols()) {
      const std::string name(symbol.name);
      if (symbols_.contains(name)) continue;
      std::string free = name;
      for (int copy = 1; module_->FindSymbol(free) != nullptr; ++copy)
        free = absl::StrCat(name, "_", copy);
      module_->AddSymbol(free, symbol.example);
      symbols_[name] = module_->SymSymbol(free);
    }
  }

  const SymExpr* Renamed(const SymExpr* expr) {
    SharedWalk<const SymExpr*> walk;
    // An expression of a module that verifies does not contain itself.
    const bool is_finite = walk.Run(expr, SymParts(), [this](const SymExpr* e) {
      if (renamed_.contains(e)) return;
      const SymExpr* made = nullptr;
      if (e->kind == SymExpr::Kind::kSymbol) {
        const auto it = symbols_.find(std::string(e->name));
        made = it == symbols_.end() ? module_->SymSymbol(e->name) : it->second;
      } else if (e->kind == SymExpr::Kind::kInt) {
        made = module_->SymInt(e->value);
      } else if (e->kind == SymExpr::Kind::kNeg) {
        made = module_->SymNeg(renamed_.at(e->lhs));
      } else {
        made = module_->SymBinary(e->kind, renamed_.at(e->lhs), renamed_.at(e->rhs));
      }
      renamed_[e] = made;
    });
    return is_finite ? renamed_.at(expr) : expr;
  }

  const ValueMeta* Renamed(const ValueMeta& meta) {
    if (meta.is_tuple) {
      std::vector<const ValueMeta*> elements;
      for (const ValueMeta* element : meta.elements)
        elements.push_back(element == nullptr ? nullptr : Renamed(*element));
      return module_->InternTupleMeta(elements);
    }
    if (meta.tensor == nullptr) return &meta;
    TensorMeta tensor = *meta.tensor;
    std::vector<Dim> shape(tensor.shape.begin(), tensor.shape.end());
    for (Dim& dim : shape) {
      if (dim.is_static()) continue;
      const SymExpr* const expr = Renamed(dim.expr);
      dim = expr->kind == SymExpr::Kind::kInt ? Dim(expr->value) : Dim(expr);
    }
    tensor.shape = shape;
    return module_->InternValueMeta(tensor);
  }

  // The model and the node that an input takes its value from.
  struct Giver {
    size_t model;
    const Node* output;
  };

  std::vector<Sample> models_;
  const std::vector<Connection>& connections_;
  std::vector<std::string> names_;
  std::vector<std::vector<const Node*>> outputs_;
  absl::flat_hash_map<const Node*, Giver> givers_;  // by the input
  absl::flat_hash_set<const Node*> taken_;          // outputs
  absl::flat_hash_map<size_t, PieceFacts> facts_;
  Joined joined_;
  Module* module_ = nullptr;
  Graph* graph_ = nullptr;
  UniqueNames targets_;                          // of inputs
  absl::flat_hash_map<const Node*, Node*> map_;  // from the models to the whole
  // Of the current model: what its symbols are in the whole, and expressions with these.
  absl::flat_hash_map<std::string, const SymExpr*> symbols_;
  absl::flat_hash_map<const SymExpr*, const SymExpr*> renamed_;
};

}  // namespace

std::vector<const Node*> OutputsOfModel(const Sample& model) {
  std::vector<const Node*> outputs;
  const Node* const output = model.module->main()->output();
  if (output == nullptr || output->args().empty()) return outputs;
  const Argument& value = output->args()[0];
  const auto add = [&](const Argument& one) {
    outputs.push_back(one.is_node() ? one.node() : nullptr);
  };
  if (value.is_tuple() || value.is_list()) {
    for (const Argument& element : value.elements()) add(element);
  } else {
    add(value);
  }
  return outputs;
}

const Node* InputOfModel(const Sample& model, absl::string_view name) {
  const std::vector<Node*> inputs = model.module->main()->placeholders();
  for (const Node* input : inputs) {
    if (input->target() == name) return input;
  }
  for (const Node* input : inputs) {
    if (input->name() == name) return input;
  }
  return nullptr;
}

absl::StatusOr<Joined> JoinModels(std::vector<Sample> models,
                                  const std::vector<Connection>& connections) {
  return Joiner(std::move(models), connections).Run();
}

}  // namespace graphnet

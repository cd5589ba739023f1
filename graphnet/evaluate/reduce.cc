#include "graphnet/evaluate/reduce.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/time/clock.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/compose.h"
#include "graphnet/decompose/gather.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/dead_code.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

// Cuts pieces that take only the values that they use.
constexpr CutOptions kCut = {.style = Style::kDag, .all_inputs = false, .keep_unused = false};

// The passes that make sizes and numbers from inputs part of the graph, so that pieces of it are
// independent.
constexpr char kPreparation[] = "specialize,fold-constants";

Sample CopyOf(const Sample& sample) {
  Sample copy;
  copy.name = sample.name;
  copy.module = sample.module->Clone();
  copy.graph_net_json = sample.graph_net_json;
  copy.has_constraints = sample.has_constraints;
  copy.weights = sample.weights;
  return copy;
}

// Returns the number of elements of an input or attribute whose sizes are numbers.
std::optional<int64_t> ElementsOf(const TensorMeta* meta) {
  if (meta == nullptr || !meta->has_shape || !meta->is_static()) return std::nullopt;
  int64_t elements = 1;
  for (const Dim& dim : meta->shape) elements *= dim.value;
  return elements;
}

// A value that a graph takes by name: an input or an attribute.
struct Port {
  std::string name;
  Node* input = nullptr;  // null: an attribute
  const TensorMeta* meta = nullptr;
  const DrawSpec* draw_spec = nullptr;
  absl::string_view annotation;
};

std::vector<Port> PortsOf(const Module& module) {
  std::vector<Port> ports;
  for (Node* node : module.main()->placeholders()) {
    ports.push_back({std::string(node->target()), node, node->tensor_meta(), node->draw_spec(),
                     node->annotation()});
  }
  for (const Attribute& attribute : module.attributes()) {
    ports.push_back({std::string(attribute.name), nullptr, attribute.meta, attribute.draw_spec,
                     attribute.annotation});
  }
  return ports;
}

void SetPort(const Port& port, const TensorMeta& meta, const DrawSpec* spec, Sample* sample) {
  Module& module = *sample->module;
  sample->weights.erase(port.name);
  if (port.input == nullptr) {
    module.AddAttribute({port.name, module.InternMeta(meta), port.annotation, spec});
    return;
  }
  port.input->set_meta(module.InternValueMeta(meta));
  if (spec != nullptr) {
    port.input->set_draw_spec(*spec);
  } else {
    port.input->clear_draw_spec();
  }
}

// Returns the draw spec of a tensor of which only dtype and sizes matter.
DrawSpec PlainSpec(const Port& port) {
  DrawSpec plain;
  if (port.draw_spec != nullptr) {
    plain.in_input_meta = port.draw_spec->in_input_meta;
    plain.original_name = port.draw_spec->original_name;
  }
  const DType dtype = port.meta->dtype;
  if (IsFloatingPoint(dtype) || dtype == DType::kComplex64 || dtype == DType::kComplex128) {
    plain.has_mean = plain.has_std = true;
    plain.std = 1;
  } else if (dtype != DType::kBool) {
    plain.min = plain.max = Argument(0);
  }
  return plain;
}

bool IsPlain(const Port& port, const Sample& sample) {
  if (port.meta == nullptr || NumberDType(port.annotation).has_value()) return true;
  if (sample.weights.contains(port.name)) return false;
  return port.draw_spec == nullptr || *port.draw_spec == PlainSpec(port);
}

bool IsSimpleNumber(const Argument& argument) {
  if (argument.is_int()) return argument.integer() >= -1 && argument.integer() <= 1;
  if (argument.is_float()) return argument.real() == 0 || argument.real() == 1;
  return true;
}

// The numbers that change with a size.
enum class Follow { kNothing, kEqual, kMultiples };

struct Resizing {
  int64_t from = 0;
  int64_t to = 0;
  Follow follow = Follow::kNothing;

  int64_t Of(int64_t number) const {
    if (number == from) return to;
    return follow == Follow::kMultiples && number % from == 0 ? number / from * to : number;
  }
};

class Reducer {
 public:
  Reducer(const Sample& sample, const ReduceOptions& options)
      : options_(options), best_(CopyOf(sample)) {
    reduction_.before = SizeOfSample(sample);
  }

  absl::StatusOr<Reduction> Run() {
    RETURN_IF_ERROR(CheckModule(best_));
    returns_values_ = !best_.module->main()->output()->operands().empty();
    ASSIGN_OR_RETURN(const bool is_interesting, Ask(best_));
    if (!is_interesting)
      return absl::FailedPreconditionError(
          "the sample does not have the property that is to be kept");
    absl::Status done = RunAll();
    if (!done.ok() && !is_late_) return done;
    reduction_.is_minimal = done.ok();
    reduction_.after = SizeOfSample(best_);
    reduction_.sample = std::move(best_);
    return std::move(reduction_);
  }

 private:
  absl::Status RunAll() {
    RETURN_IF_ERROR(Prepare());
    do {
      has_changed_ = false;
      if (options_.observe.measure) {
        observed_ = {};
        options_.observe.measure(best_, options_.seed, &observed_).IgnoreError();
      }
      RETURN_IF_ERROR(DropOutputs());
      RETURN_IF_ERROR(DropOperators());
      RETURN_IF_ERROR(MakePlain());
      if (!options_.observe.infer) continue;
      RETURN_IF_ERROR(ShrinkSizes());
      RETURN_IF_ERROR(SimplifyNumbers());
      RETURN_IF_ERROR(DropKeywords());
    } while (has_changed_);
    return absl::OkStatus();
  }

  // --- Tries -------------------------------------------------------------------
  absl::StatusOr<bool> Ask(const Sample& candidate) {
    if (reduction_.tries > 0 && absl::Now() > options_.deadline) {
      is_late_ = true;
      return absl::DeadlineExceededError("");
    }
    if (options_.on_try) options_.on_try(SizeOfSample(best_), reduction_.tries);
    ++reduction_.tries;
    return options_.is_interesting(candidate);
  }

  // Returns whether a candidate, if there is one, is interesting; it is the best sample then.
  absl::StatusOr<bool> Try(absl::StatusOr<Sample> candidate) {
    if (!candidate.ok() || !Verify(*candidate->module).ok()) return false;
    if (returns_values_ && candidate->module->main()->output()->operands().empty()) return false;
    std::string text = PrintModule(*candidate->module);
    for (const auto& [name, data] : candidate->weights) text += name;
    if (!tried_.insert(absl::HashOf(text)).second) return false;
    ASSIGN_OR_RETURN(const bool is_interesting, Ask(*candidate));
    if (!is_interesting) return false;
    candidate->name = best_.name;
    candidate->provenance.clear();  // It is not a range of another graph.
    best_ = *std::move(candidate);
    has_changed_ = true;
    return true;
  }

  // Tries a candidate whose values may have other shapes than before.
  absl::StatusOr<bool> TryAnew(Sample candidate) {
    ObservedValues found;
    if (!Verify(*candidate.module).ok() || !options_.observe.infer(candidate, &found).ok())
      return false;
    candidate.module = std::move(found.module);
    return Try(std::move(candidate));
  }

  // Removes dead code and unused inputs, unless these matter.
  absl::StatusOr<Sample> Trimmed(Sample sample) {
    if (!trims_) return sample;
    EliminateDeadCode(sample.module.get());
    ASSIGN_OR_RETURN(std::vector<Sample> pieces,
                     CutRanges(sample, {{0, NumOperators(*sample.module->main())}}, kCut));
    return std::move(pieces[0]);
  }

  // Removes as many of `count()` things as it can, the last ones first, by `remove(begin, end)`.
  static absl::Status RemoveChunks(
      absl::FunctionRef<int64_t()> count,
      absl::FunctionRef<absl::StatusOr<bool>(int64_t, int64_t)> remove) {
    for (int64_t size = count(); count() > 0; size = (size + 1) / 2) {
      for (int64_t end = count(); end > 0;) {
        const int64_t begin = std::max<int64_t>(end - size, 0);
        RETURN_IF_ERROR(remove(begin, end).status());
        end = std::min(begin, count());
      }
      if (size == 1) break;
    }
    return absl::OkStatus();
  }

  // --- Steps -------------------------------------------------------------------
  absl::Status Prepare() {
    ASSIGN_OR_RETURN(trims_, Try(Trimmed(CopyOf(best_))));
    ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(kPreparation));
    Sample prepared = CopyOf(best_);
    if (!RunPipeline(pipeline, &prepared).ok()) return absl::OkStatus();
    return Try(Trimmed(std::move(prepared))).status();
  }

  // Returns the values that a graph returns, each once, in order.
  std::vector<Node*> Returned(const Graph& graph) const {
    std::vector<Node*> returned;
    graph.output()->ForEachOperand([&](Node* node) {
      if (std::find(returned.begin(), returned.end(), node) == returned.end())
        returned.push_back(node);
    });
    return returned;
  }

  absl::Status DropOutputs() {
    return RemoveChunks(
        [&] { return static_cast<int64_t>(Returned(*best_.module->main()).size()); },
        [&](int64_t begin, int64_t end) {
          Sample copy = CopyOf(best_);
          Graph& graph = *copy.module->main();
          std::vector<Node*> returned = Returned(graph);
          returned.erase(returned.begin() + begin, returned.begin() + end);
          const std::vector<Argument> kept(returned.begin(), returned.end());
          graph.output()->set_args({Argument::Tuple(kept)});
          return Try(Trimmed(std::move(copy)));
        });
  }

  absl::Status DropOperators() {
    return RemoveChunks([&] { return NumOperators(*best_.module->main()); },
                        [&](int64_t begin, int64_t end) -> absl::StatusOr<bool> {
                          absl::StatusOr<Sample> candidate = WithoutOperators(begin, end);
                          if (!candidate.ok()) return false;
                          return Try(Trimmed(*std::move(candidate)));
                        });
  }

  // Cuts operators out and joins the parts before and after them, if there are both.
  absl::StatusOr<Sample> WithoutOperators(int64_t begin, int64_t end) const {
    Sample copy = CopyOf(best_);
    Graph& graph = *copy.module->main();
    ASSIGN_OR_RETURN(const Range gone, RangeWithElements(begin, end, graph));
    const int64_t all = NumOperators(graph);
    std::vector<Range> kept;
    if (gone.start > 0) kept.push_back({0, gone.start});
    if (gone.end < all) kept.push_back({gone.end, all});
    if (kept.empty()) return absl::FailedPreconditionError("nothing would be left");
    ASSIGN_OR_RETURN(std::vector<Sample> pieces, CutRanges(copy, kept, kCut, &observed_));
    Sample& made = pieces[0];
    if (pieces.size() > 1) {
      // Values that the first piece does not return become inputs.
      const std::vector<std::string> handed_on = NamesOf(*made.module->main()->output());
      ASSIGN_OR_RETURN(made.module, ComposeDag(pieces));
      made.weights.insert(pieces[1].weights.begin(), pieces[1].weights.end());
      ReturnUnused(handed_on, made.module->main());
    }
    return std::move(made);
  }

  static std::vector<std::string> NamesOf(const Node& output) {
    std::vector<std::string> names;
    output.ForEachOperand([&](const Node* node) { names.emplace_back(node->name()); });
    return names;
  }

  // Values that were used only by removed operators become outputs, so that they still show.
  static void ReturnUnused(const std::vector<std::string>& names, Graph* graph) {
    std::vector<Argument> returned;
    graph->output()->ForEachOperand([&](Node* node) { returned.emplace_back(node); });
    for (const std::string& name : names) {
      Node* node = graph->FindNode(name);
      if (node != nullptr && !node->has_uses()) returned.emplace_back(node);
    }
    graph->output()->set_args({Argument::Tuple(returned)});
  }

  // Extends a range by the calls that take tuples of it apart, which are moved beside it.
  static absl::StatusOr<Range> RangeWithElements(int64_t begin, int64_t end, const Graph& graph) {
    const GraphIndex index(graph);
    std::vector<Node*> nodes;
    absl::flat_hash_set<const Node*> known;
    for (int64_t k = begin; k < end; ++k) {
      nodes.push_back(index.node(index.operator_node(k)));
      known.insert(nodes.back());
    }
    for (size_t i = 0; i < static_cast<size_t>(end - begin); ++i) {
      if (!YieldsTuple(*nodes[i])) continue;
      for (Node* user : nodes[i]->users()) {
        if (user->is_call_function("operator.getitem") && known.insert(user).second)
          nodes.push_back(user);
      }
    }
    if (nodes.size() == static_cast<size_t>(end - begin)) return Range{begin, end};
    return GatherNodes(nodes);
  }

  absl::Status MakePlain() {
    const auto odd_ports = [&](const Sample& sample) {
      std::vector<Port> ports = PortsOf(*sample.module);
      std::erase_if(ports, [&](const Port& port) { return IsPlain(port, sample); });
      return ports;
    };
    return RemoveChunks([&] { return static_cast<int64_t>(odd_ports(best_).size()); },
                        [&](int64_t begin, int64_t end) {
                          Sample copy = CopyOf(best_);
                          const std::vector<Port> ports = odd_ports(copy);
                          for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end);
                               ++i) {
                            const DrawSpec plain = PlainSpec(ports[i]);
                            const TensorMeta meta = *ports[i].meta;
                            SetPort(ports[i], meta, copy.module->CopyDrawSpec(plain), &copy);
                          }
                          return Try(std::move(copy));
                        });
  }

  // Returns the sizes of inputs and attributes that are numbers above 1, in falling order.
  std::set<int64_t, std::greater<>> Sizes() const {
    std::set<int64_t, std::greater<>> sizes;
    for (const Port& port : PortsOf(*best_.module)) {
      if (!ElementsOf(port.meta).has_value()) continue;
      for (const Dim& dim : port.meta->shape) {
        if (dim.value > 1) sizes.insert(dim.value);
      }
    }
    return sizes;
  }

  absl::Status ShrinkSizes() {
    for (bool again = true; again;) {
      again = false;
      for (const int64_t size : Sizes()) {
        ASSIGN_OR_RETURN(again, ShrinkEverywhere(size));
        if (again) break;
      }
    }
    // Shrink single dimensions.
    for (size_t i = 0; i < PortsOf(*best_.module).size(); ++i) {
      for (size_t d = 0;; ++d) {
        const Port port = PortsOf(*best_.module)[i];
        if (!ElementsOf(port.meta).has_value() || d >= port.meta->shape.size()) break;
        RETURN_IF_ERROR(ShrinkDimension(i, d, port.meta->shape[d].value));
      }
    }
    return absl::OkStatus();
  }

  static std::vector<int64_t> Smaller(int64_t size) {
    std::vector<int64_t> smaller;
    for (const int64_t to : {int64_t{1}, int64_t{2}, size / 2}) {
      if (to > (smaller.empty() ? 0 : smaller.back()) && to < size) smaller.push_back(to);
    }
    return smaller;
  }

  absl::StatusOr<bool> ShrinkEverywhere(int64_t size) {
    for (const int64_t to : Smaller(size)) {
      for (const Follow follow : {Follow::kMultiples, Follow::kEqual, Follow::kNothing}) {
        const Resizing resizing = {size, to, follow};
        Sample copy = CopyOf(best_);
        for (const Port& port : PortsOf(*copy.module)) {
          Resize(
              port, [&](size_t, int64_t value) { return resizing.Of(value); }, &copy);
        }
        if (follow != Follow::kNothing) {
          for (Node* node : copy.module->main()->nodes()) {
            node->MapArguments([&](const Argument& argument) {
              return argument.is_int() ? Argument(resizing.Of(argument.integer())) : argument;
            });
          }
        }
        ASSIGN_OR_RETURN(const bool is_smaller, TryAnew(std::move(copy)));
        if (is_smaller) return true;
      }
    }
    return false;
  }

  absl::Status ShrinkDimension(size_t port, size_t dimension, int64_t size) {
    for (const int64_t to : Smaller(size)) {
      Sample copy = CopyOf(best_);
      Resize(
          PortsOf(*copy.module)[port],
          [&](size_t d, int64_t value) { return d == dimension ? to : value; }, &copy);
      ASSIGN_OR_RETURN(const bool is_smaller, TryAnew(std::move(copy)));
      if (is_smaller) break;
    }
    return absl::OkStatus();
  }

  static void Resize(const Port& port, absl::FunctionRef<int64_t(size_t, int64_t)> size,
                     Sample* sample) {
    if (!ElementsOf(port.meta).has_value()) return;
    TensorMeta meta = *port.meta;
    std::vector<Dim> shape(meta.shape.begin(), meta.shape.end());
    bool is_same = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t before = shape[d].value;
      shape[d] = Dim(size(d, before));
      is_same &= shape[d].value == before;
    }
    if (is_same) return;
    meta.shape = shape;
    DrawSpec spec = port.draw_spec != nullptr ? *port.draw_spec : DrawSpec();
    if (spec.data.is_list())
      spec.data =
          Argument::List(spec.data.elements().first(static_cast<size_t>(*ElementsOf(&meta))));
    SetPort(port, meta, sample->module->CopyDrawSpec(spec), sample);
  }

  // Replaces each number in arguments that is not simple yet by what `fn` returns.
  static void ForEachNumber(const Graph& graph, absl::FunctionRef<Argument(const Argument&)> fn) {
    for (Node* node : graph.nodes()) {
      node->MapArguments([&](const Argument& argument) {
        return IsSimpleNumber(argument) ? argument : fn(argument);
      });
    }
  }

  absl::Status SimplifyNumbers() {
    const auto count = [&] {
      int64_t numbers = 0;
      ForEachNumber(*best_.module->main(), [&](const Argument& argument) {
        ++numbers;
        return argument;
      });
      return numbers;
    };
    for (const int simple : {0, 1}) {
      RETURN_IF_ERROR(RemoveChunks(count, [&](int64_t begin, int64_t end) {
        Sample copy = CopyOf(best_);
        int64_t i = 0;
        ForEachNumber(*copy.module->main(), [&](const Argument& argument) {
          const bool changes = i >= begin && i < end;
          ++i;
          if (!changes) return argument;
          return argument.is_int() ? Argument(simple) : Argument(static_cast<double>(simple));
        });
        return TryAnew(std::move(copy));
      }));
    }
    return absl::OkStatus();
  }

  absl::Status DropKeywords() {
    const auto count = [&] {
      size_t keywords = 0;
      for (const Node* node : best_.module->main()->nodes()) keywords += node->kwargs().size();
      return static_cast<int64_t>(keywords);
    };
    return RemoveChunks(count, [&](int64_t begin, int64_t end) {
      Sample copy = CopyOf(best_);
      int64_t i = 0;
      for (Node* node : copy.module->main()->nodes()) {
        std::vector<KwArg> kept;
        for (const KwArg& kwarg : node->kwargs()) {
          if (i < begin || i >= end) kept.push_back(kwarg);
          ++i;
        }
        if (kept.size() < node->kwargs().size()) node->set_kwargs(kept);
      }
      return TryAnew(std::move(copy));
    });
  }

  const ReduceOptions& options_;
  Reduction reduction_;
  Sample best_;
  ObservedValues observed_;  // of the values of best_, by names that stay
  absl::flat_hash_set<size_t> tried_;
  bool returns_values_ = false;
  bool trims_ = true;
  bool has_changed_ = false;
  bool is_late_ = false;
};

}  // namespace

SampleSize SizeOfSample(const Sample& sample) {
  SampleSize size;
  size.operators = NumOperators(*sample.module->main());
  for (const Port& port : PortsOf(*sample.module)) {
    ++size.inputs;
    size.elements += ElementsOf(port.meta).value_or(0);
  }
  return size;
}

absl::StatusOr<Reduction> Reduce(const Sample& sample, const ReduceOptions& options) {
  if (sample.module == nullptr || sample.module->main() == nullptr)
    return absl::InvalidArgumentError("the sample has no graph");
  return Reducer(sample, options).Run();
}

absl::Status ExpandBodies(const ReduceOptions& options, Sample* sample) {
  const bool has_bodies = absl::c_any_of(sample->module->main()->nodes(),
                                         [](const Node* node) { return node->HasBody(); });
  if (!has_bodies) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool is_interesting, options.is_interesting(*sample));
  if (!is_interesting) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("revert-vmap,expand-vmap,dce"));
  std::unique_ptr<Module> original = sample->module->Clone();
  bool is_same = false;
  if (RunPipeline(pipeline, sample).ok()) {
    ASSIGN_OR_RETURN(is_same, options.is_interesting(*sample));
  }
  if (!is_same) sample->module = std::move(original);
  return absl::OkStatus();
}

}  // namespace graphnet

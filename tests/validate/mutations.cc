#include "tests/validate/mutations.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "graphnet/base/file.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/validate/folder.h"

namespace graphnet {
namespace {

using Random = std::mt19937_64;

size_t Below(Random& random, size_t n) { return static_cast<size_t>(random() % n); }

template <typename T>
const T& Any(Random& random, const std::vector<T>& of) {
  return of[Below(random, of.size())];
}

Sample CopySample(const Sample& sample) {
  Sample copy;
  copy.name = sample.name;
  copy.module = sample.module->Clone();
  copy.graph_net_json = sample.graph_net_json;
  copy.graph_hash = sample.graph_hash;
  copy.has_constraints = sample.has_constraints;
  copy.constraint_order = sample.constraint_order;
  copy.extra_files = sample.extra_files;
  copy.provenance = sample.provenance;
  copy.weights = sample.weights;
  return copy;
}

Decomposition CopyOf(const Decomposition& made) {
  Decomposition copy;
  copy.config = made.config;
  for (const Sample& piece : made.pieces) copy.pieces.push_back(CopySample(piece));
  return copy;
}

Graph* GraphOf(Decomposition* made, size_t i) { return made->pieces[i].module->main(); }

// --- Damage to a node somewhere ----------------------------------------------------

using NodeChange = std::function<std::string(Random& random, Node* node)>;

// Tries operators in random order until one can be changed.
MutationKind OnOperator(const std::string& name, const NodeChange& change) {
  return {name,
          [change](Random& random, const Decomposition&, Decomposition* made) -> Damage {
            std::vector<std::pair<size_t, Node*>> operators;
            for (size_t i = 0; i < made->pieces.size(); ++i) {
              for (Node* node : GraphOf(made, i)->nodes()) {
                if (IsOperator(*node)) operators.push_back({i, node});
              }
            }
            std::shuffle(operators.begin(), operators.end(), random);
            for (const auto& [piece, node] : operators) {
              const std::string of = absl::StrCat(" of ", node->name(), " in piece ", piece);
              const std::string what = change(random, node);
              if (!what.empty()) return {absl::StrCat(what, of), static_cast<int>(piece)};
            }
            return {};
          },
          nullptr};
}

// Replaces the first constant in args or kwargs for which `change` returns another one.
using ConstantChange = std::function<std::optional<Argument>(const Argument& argument)>;

std::optional<Argument> ChangedIn(const Argument& argument, const ConstantChange& change) {
  if (const std::optional<Argument> changed = change(argument)) return changed;
  if (!argument.is_list() && !argument.is_tuple()) return std::nullopt;
  std::vector<Argument> elements(argument.elements().begin(), argument.elements().end());
  for (Argument& element : elements) {
    const std::optional<Argument> changed = ChangedIn(element, change);
    if (!changed.has_value()) continue;
    element = *changed;
    // The node copies the elements at once.
    static thread_local std::vector<std::unique_ptr<std::vector<Argument>>> keep;
    keep.push_back(std::make_unique<std::vector<Argument>>(std::move(elements)));
    return argument.is_list() ? Argument::List(*keep.back()) : Argument::Tuple(*keep.back());
  }
  return std::nullopt;
}

bool ChangeArgument(Node* node, const ConstantChange& change) {
  std::vector<Argument> args(node->args().begin(), node->args().end());
  for (Argument& arg : args) {
    if (const std::optional<Argument> changed = ChangedIn(arg, change)) {
      arg = *changed;
      node->set_args(args);
      return true;
    }
  }
  return false;
}

bool ChangeKwarg(Node* node, const ConstantChange& change) {
  std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
  for (KwArg& kwarg : kwargs) {
    if (const std::optional<Argument> changed = ChangedIn(kwarg.value, change)) {
      kwarg.value = *changed;
      node->set_kwargs(kwargs);
      return true;
    }
  }
  return false;
}

NodeChange Constant(const std::string& what, const ConstantChange& change) {
  return [what, change](Random&, Node* node) {
    return ChangeArgument(node, change) || ChangeKwarg(node, change)
               ? absl::StrCat("changed ", what)
               : std::string();
  };
}

// --- Damage to ports -----------------------------------------------------------------

using GraphChange = std::function<std::string(Random& random, Graph* graph, bool last)>;

// Damages the ports of a piece. The configuration may stay as it was or follow the change.
MutationKind OnGraph(const std::string& name, const GraphChange& change) {
  return {name,
          [change](Random& random, const Decomposition&, Decomposition* made) -> Damage {
            std::vector<size_t> order;
            for (size_t i = 0; i < made->pieces.size(); ++i) order.push_back(i);
            std::shuffle(order.begin(), order.end(), random);
            for (const size_t i : order) {
              const std::string what =
                  change(random, GraphOf(made, i), i + 1 == made->pieces.size());
              if (what.empty()) continue;
              const bool follow = Below(random, 2) == 0;
              if (follow) RecordPorts(made->pieces, &made->config);
              return {absl::StrCat(what, " of piece ", i, follow ? ", configuration too" : ""),
                      static_cast<int>(i)};
            }
            return {};
          },
          nullptr};
}

std::vector<Argument> Returned(const Graph& graph) {
  const Argument& value = graph.output()->args()[0];
  if (!value.is_tuple()) return {};
  return {value.elements().begin(), value.elements().end()};
}

std::string SetReturned(Graph* graph, const std::vector<Argument>& values,
                        const std::string& what) {
  const Argument before = graph->output()->args()[0];
  if (Argument::Tuple(values) == before) return "";
  graph->output()->set_args({Argument::Tuple(values)});
  return what;
}

// Returns the placeholders with a shape in random order.
std::vector<Node*> PortsWithShape(Random& random, Graph* graph) {
  std::vector<Node*> nodes;
  for (Node* node : graph->placeholders()) {
    const TensorMeta* meta = node->tensor_meta();
    if (meta != nullptr && meta->has_shape && node->annotation() != "torch.SymInt")
      nodes.push_back(node);
  }
  std::shuffle(nodes.begin(), nodes.end(), random);
  return nodes;
}

// --- Damage to the configuration -------------------------------------------------------

using ConfigChange = std::function<std::string(Random& random, DecomposeConfig* config)>;

MutationKind OnConfig(const std::string& name, const ConfigChange& change) {
  return {name,
          [change](Random& random, const Decomposition&, Decomposition* made) -> Damage {
            return {change(random, &made->config), -1};
          },
          nullptr};
}

// --- Damage on disk ---------------------------------------------------------------------

std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int PieceOfPath(const std::string& folder, const std::string& path) {
  const std::string name = std::filesystem::path(path).lexically_relative(folder).begin()->string();
  const size_t at = name.rfind('_');
  if (at == std::string::npos || !absl::StartsWith(name, "subgraph_")) return -1;
  return std::atoi(name.c_str() + at + 1);
}

using BytesChange = std::function<std::string(Random& random, std::string* bytes)>;

MutationKind OnFile(const std::string& name, const std::string& only, const BytesChange& change) {
  return {name, nullptr, [only, change](Random& random, const std::string& folder) -> Damage {
            std::vector<std::string> files = FilesBelow(folder);
            std::erase_if(files, [&](const std::string& path) {
              return !absl::StrContains(path, only) || std::filesystem::file_size(path) == 0;
            });
            if (files.empty()) return {};
            const std::string path = Any(random, files);
            std::string bytes = ReadFile(path, size_t{1} << 32).value();
            const std::string what = change(random, &bytes);
            if (what.empty()) return {};
            if (!WriteFileAtomic(path, bytes).ok()) return {};
            return {absl::StrCat(what, " of ", BaseName(path)), PieceOfPath(folder, path)};
          }};
}

std::string FlipBit(Random& random, std::string* bytes) {
  const size_t at = Below(random, bytes->size());
  (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << Below(random, 8)));
  return absl::StrCat("flipped a bit of byte ", at);
}

std::string Truncate(Random& random, std::string* bytes) {
  bytes->resize(Below(random, bytes->size()));
  return absl::StrCat("cut after ", bytes->size(), " bytes");
}

// --- The kinds ---------------------------------------------------------------------------

MutationKind OnPieces(const std::string& name,
                      std::function<Damage(Random&, const Decomposition&, Decomposition*)> change) {
  return {name, std::move(change), nullptr};
}

template <typename T>
void Erase(std::vector<T>* from, size_t i) {
  from->erase(from->begin() + static_cast<ptrdiff_t>(i));
}

constexpr char kStyleKind[] = "configuration: style";

std::vector<MutationKind> MakeKinds() {
  std::vector<MutationKind> kinds;
  const auto add = [&](MutationKind kind) { kinds.push_back(std::move(kind)); };

  // Pieces.
  add(OnPieces("piece dropped, others renumbered",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 Erase(&made->pieces, i);
                 return {absl::StrCat("dropped piece ", i), -1};
               }));
  add(OnPieces("piece dropped, configuration too",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 if (made->pieces.size() < 2) return {};
                 const size_t i = Below(random, made->pieces.size());
                 Erase(&made->pieces, i);
                 Erase(&made->config.subgraphs, i);
                 for (size_t k = 0; k < made->config.subgraphs.size(); ++k)
                   made->config.subgraphs[k].name = absl::StrCat("subgraph_", k);
                 return {absl::StrCat("dropped piece ", i), -1};
               }));
  add({"piece deleted", nullptr, [](Random& random, const std::string& folder) -> Damage {
         std::vector<std::string> pieces;
         for (const auto& entry : std::filesystem::directory_iterator(folder)) {
           const std::string name = entry.path().filename().string();
           if (absl::StartsWith(name, "subgraph_") && !absl::EndsWith(name, ".safetensors"))
             pieces.push_back(entry.path());
         }
         std::sort(pieces.begin(), pieces.end());
         const std::string path = Any(random, pieces);
         std::filesystem::remove_all(path);
         return {absl::StrCat("deleted ", BaseName(path)), -1};
       }});
  add(OnPieces("two pieces swapped",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 if (made->pieces.size() < 2) return {};
                 const size_t i = Below(random, made->pieces.size() - 1);
                 std::swap(made->pieces[i], made->pieces[i + 1]);
                 return {absl::StrCat("swapped ", i, " and ", i + 1), static_cast<int>(i)};
               }));
  add(OnPieces("two pieces swapped, no provenance, configuration too",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 if (made->pieces.size() < 2) return {};
                 const size_t i = Below(random, made->pieces.size() - 1);
                 std::swap(made->pieces[i], made->pieces[i + 1]);
                 std::swap(made->config.subgraphs[i], made->config.subgraphs[i + 1]);
                 for (size_t k = 0; k < made->pieces.size(); ++k) {
                   made->pieces[k].provenance.clear();
                   made->config.subgraphs[k].name = absl::StrCat("subgraph_", k);
                 }
                 return {absl::StrCat("swapped ", i, " and ", i + 1), static_cast<int>(i)};
               }));
  add(OnPieces("piece doubled",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 made->pieces.insert(made->pieces.begin() + static_cast<ptrdiff_t>(i),
                                     CopySample(made->pieces[i]));
                 return {absl::StrCat("doubled piece ", i), -1};
               }));
  add(OnPieces("surplus piece at the end",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 made->pieces.push_back(CopySample(made->pieces[i]));
                 return {absl::StrCat("piece ", i, " again at the end"), -1};
               }));
  add(OnPieces("piece of another model",
               [](Random& random, const Decomposition& other, Decomposition* made) -> Damage {
                 if (other.pieces.empty()) return {};
                 const size_t i = Below(random, made->pieces.size());
                 made->pieces[i] = CopySample(Any(random, other.pieces));
                 return {absl::StrCat("piece ", i, " of another model"), static_cast<int>(i)};
               }));

  // Operators.
  add(OnOperator("operator dropped", [](Random&, Node* node) -> std::string {
    const std::vector<Node*> operands = node->operands();
    if (node->has_uses() && operands.empty()) return "";
    if (node->has_uses()) node->ReplaceAllUsesWith(operands[0]);
    Module* module = node->graph()->module();
    node->graph()->EraseNode(node);
    module->EraseUnusedGraphs();
    return "dropped the operator";
  }));
  add(OnOperator("operator added", [](Random& random, Node* node) -> std::string {
    if (!node->has_uses() || node->op() == Op::kGetAttr) return "";
    Graph* graph = node->graph();
    const InsertionGuard guard(graph, node->next());
    Node* added = graph->CallFunction(Below(random, 2) == 0 ? "torch.relu" : "torch.neg", {node});
    node->ReplaceUsesWithIf(added, [&](Node* user) { return user != added; });
    return "added an operator after the one";
  }));
  add(OnOperator("dead operator added", [](Random&, Node* node) -> std::string {
    const InsertionGuard guard(node->graph(), node->next());
    node->graph()->CallFunction("torch.relu", {node});
    return "added a dead operator";
  }));
  add(OnOperator("operator doubled", [](Random&, Node* node) -> std::string {
    if (node->op() == Op::kGetAttr) return "";
    const InsertionGuard guard(node->graph(), node->next());
    node->graph()->CopyNodeFrom(*node, [](Node* operand) { return operand; });
    return "doubled the operator";
  }));
  add(OnOperator("operator changed", [](Random&, Node* node) -> std::string {
    if (node->op() == Op::kGetAttr) return "";
    node->set_target(node->op() == Op::kCallMethod ? absl::StrCat(node->target(), "_as")
                                                   : "torch.sigmoid");
    return "changed the target";
  }));
  add(OnOperator("operators reordered", [](Random&, Node* node) -> std::string {
    Node* next = node->next();
    if (!IsOperator(*next) || next->target() == node->target()) return "";
    const std::vector<Node*> operands = next->operands();
    if (std::find(operands.begin(), operands.end(), node) != operands.end()) return "";
    node->graph()->MoveBefore(next, node);
    return "moved the operator behind";
  }));
  add(OnPieces("boundary moved by one",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 if (made->pieces.size() < 2) return {};
                 // Pretend that the configuration has another cut, which its scheme would not give.
                 const size_t i = Below(random, made->pieces.size() - 1);
                 const int64_t by = Below(random, 2) == 0 ? 1 : -1;
                 made->config.subgraphs[i].range.end += by;
                 made->config.subgraphs[i + 1].range.start += by;
                 for (const size_t k : {i, i + 1}) {
                   const Range& range = made->config.subgraphs[k].range;
                   if (range.start >= range.end) return {};
                   made->pieces[k].provenance[0].start = range.start;
                   made->pieces[k].provenance[0].end = range.end;
                 }
                 return {absl::StrCat("boundary after piece ", i, " moved"), static_cast<int>(i)};
               }));

  // Arguments.
  add(OnOperator("integer changed",
                 Constant("an integer", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_int()) return std::nullopt;
                   return Argument(a.integer() + 1);
                 })));
  add(OnOperator("float changed",
                 Constant("a float", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_float()) return std::nullopt;
                   return Argument(a.real() == 0 ? 1e-12 : a.real() * (1 + 1e-9) + 1e-300);
                 })));
  add(OnOperator("integer for float", Constant("a float to an integer",
                                               [](const Argument& a) -> std::optional<Argument> {
                                                 if (!a.is_float() || a.real() != 1.0)
                                                   return std::nullopt;
                                                 return Argument(int64_t{1});
                                               })));
  add(OnOperator("bool changed",
                 Constant("a bool", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_bool()) return std::nullopt;
                   return Argument(!a.boolean());
                 })));
  add(OnOperator("None changed",
                 Constant("a None", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_none()) return std::nullopt;
                   return Argument(int64_t{0});
                 })));
  add(OnOperator("string changed",
                 Constant("a string", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_string()) return std::nullopt;
                   return Argument(absl::string_view("other"));
                 })));
  add(OnOperator("dtype literal changed",
                 Constant("a dtype", [](const Argument& a) -> std::optional<Argument> {
                   if (a.kind() != Argument::Kind::kDType) return std::nullopt;
                   return Argument(a.dtype() == DType::kFloat64 ? DType::kFloat32
                                                                : DType::kFloat64);
                 })));
  add(OnOperator("list shortened", [](Random&, Node* node) -> std::string {
    return ChangeArgument(node,
                          [](const Argument& a) -> std::optional<Argument> {
                            if ((!a.is_list() && !a.is_tuple()) || a.elements().size() < 2)
                              return std::nullopt;
                            const auto shorter = a.elements().subspan(0, a.elements().size() - 1);
                            return a.is_list() ? Argument::List(shorter) : Argument::Tuple(shorter);
                          })
               ? "shortened a list"
               : "";
  }));
  add(OnOperator("argument added", [](Random&, Node* node) -> std::string {
    if (!node->is_call()) return "";
    std::vector<Argument> args(node->args().begin(), node->args().end());
    args.push_back(int64_t{1});
    node->set_args(args);
    return "added an argument";
  }));
  add(OnOperator("argument dropped", [](Random&, Node* node) -> std::string {
    if (node->args().size() < 2) return "";
    node->set_args(std::vector<Argument>(node->args().begin(), node->args().end() - 1));
    return "dropped the last argument";
  }));
  add(OnOperator("operands swapped", [](Random&, Node* node) -> std::string {
    const std::vector<Node*> operands = node->operands();
    for (size_t k = 1; k < operands.size(); ++k) {
      if (operands[k] == operands[0]) continue;
      node->SetOperand(0, operands[k]);
      node->SetOperand(static_cast<int>(k), operands[0]);
      return "swapped operands";
    }
    return "";
  }));
  add(OnOperator("operand rewired", [](Random& random, Node* node) -> std::string {
    const std::vector<Node*> operands = node->operands();
    if (operands.empty()) return "";
    std::vector<Node*> others;
    for (Node* other : node->graph()->nodes()) {
      if (other == node) break;
      if (other != operands[0]) others.push_back(other);
    }
    if (others.empty()) return "";
    node->SetOperand(0, Any(random, others));
    return "rewired operand 0";
  }));
  add(OnOperator("keyword argument changed", [](Random&, Node* node) -> std::string {
    return ChangeKwarg(node,
                       [](const Argument& a) -> std::optional<Argument> {
                         if (a.is_int()) return Argument(a.integer() - 1);
                         if (a.is_bool()) return Argument(!a.boolean());
                         if (a.is_float()) return Argument(a.real() + 0.5);
                         return std::nullopt;
                       })
               ? "changed a keyword argument"
               : "";
  }));
  add(OnOperator("keyword argument renamed", [](Random&, Node* node) -> std::string {
    std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
    if (kwargs.empty()) return "";
    kwargs[0].name = "renamed";
    node->set_kwargs(kwargs);
    return "renamed a keyword argument";
  }));
  add(OnOperator("keyword argument dropped", [](Random&, Node* node) -> std::string {
    if (node->kwargs().empty()) return "";
    node->set_kwargs(std::vector<KwArg>(node->kwargs().begin() + 1, node->kwargs().end()));
    return "dropped a keyword argument";
  }));
  add(OnOperator("operator's meta changed", [](Random&, Node* node) -> std::string {
    TensorMeta meta;
    meta.dtype = DType::kComplex128;
    if (node->tensor_meta() != nullptr && *node->tensor_meta() == meta) return "";
    node->set_meta(node->graph()->module()->InternValueMeta(meta));
    return "changed the meta";
  }));

  // Ports.
  add(OnGraph("input order changed", [](Random& random, Graph* graph, bool) -> std::string {
    const std::vector<Node*> inputs = graph->placeholders();
    if (inputs.size() < 2) return "";
    const size_t i = Below(random, inputs.size() - 1);
    graph->MoveBefore(inputs[i + 1], inputs[i]);
    return absl::StrCat("swapped inputs ", i, " and ", i + 1);
  }));
  add(OnGraph("input dropped", [](Random&, Graph* graph, bool) -> std::string {
    for (Node* input : graph->placeholders()) {
      if (input->has_uses()) continue;
      graph->EraseNode(input);
      return "dropped an input";
    }
    return "";
  }));
  add(OnGraph("input added", [](Random&, Graph* graph, bool) -> std::string {
    const InsertionGuard guard(graph, graph->placeholders().empty()
                                          ? graph->first()
                                          : graph->placeholders().back()->next());
    Node* input = graph->Placeholder("surplus_input");
    TensorMeta meta;
    meta.dtype = DType::kFloat32;
    input->set_meta(graph->module()->InternValueMeta(meta));
    return "added an input";
  }));
  add(OnGraph("output order changed", [](Random&, Graph* graph, bool) -> std::string {
    std::vector<Argument> values = Returned(*graph);
    if (values.size() < 2) return "";
    std::swap(values[0], values.back());
    return SetReturned(graph, values, "swapped outputs");
  }));
  add(OnGraph("output dropped", [](Random& random, Graph* graph, bool) -> std::string {
    std::vector<Argument> values = Returned(*graph);
    if (values.size() < 2) return "";
    Erase(&values, Below(random, values.size()));
    return SetReturned(graph, values, "dropped an output");
  }));
  add(OnGraph("output doubled", [](Random& random, Graph* graph, bool) -> std::string {
    std::vector<Argument> values = Returned(*graph);
    if (values.empty()) return "";
    values.push_back(Any(random, values));
    return SetReturned(graph, values, "doubled an output");
  }));
  add(OnGraph("output replaced", [](Random& random, Graph* graph, bool) -> std::string {
    std::vector<Argument> values = Returned(*graph);
    std::vector<Node*> nodes;
    for (Node* node : graph->nodes()) {
      if (!node->is_output()) nodes.push_back(node);
    }
    if (values.empty() || nodes.empty()) return "";
    values[Below(random, values.size())] = Any(random, nodes);
    return SetReturned(graph, values, "replaced an output");
  }));
  add(OnGraph("port renamed", [](Random& random, Graph* graph, bool) -> std::string {
    const std::vector<Node*> inputs = graph->placeholders();
    if (inputs.empty()) return "";
    Node* input = Any(random, inputs);
    input->set_name("a_renamed_port");
    input->set_target("a_renamed_port");
    return "renamed an input";
  }));
  add(OnGraph("port's shape changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      TensorMeta meta = *input->tensor_meta();
      std::vector<Dim> shape(meta.shape.begin(), meta.shape.end());
      shape.push_back(Dim(1));
      meta.shape = shape;
      DrawSpec spec = input->draw_spec() != nullptr ? *input->draw_spec() : DrawSpec();
      if (!spec.data.is_none()) continue;
      input->set_meta(graph->module()->InternValueMeta(meta));
      return absl::StrCat("changed the shape of ", input->name());
    }
    return "";
  }));
  add(OnGraph("port's dtype changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      TensorMeta meta = *input->tensor_meta();
      meta.dtype = meta.dtype == DType::kFloat32 ? DType::kFloat16 : DType::kFloat32;
      input->set_meta(graph->module()->InternValueMeta(meta));
      return absl::StrCat("changed the dtype of ", input->name());
    }
    return "";
  }));
  add(OnGraph("port's device changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      TensorMeta meta = *input->tensor_meta();
      meta.device = {DeviceType::kMeta, -1};
      input->set_meta(graph->module()->InternValueMeta(meta));
      return absl::StrCat("changed the device of ", input->name());
    }
    return "";
  }));
  add(OnGraph("draw spec changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      DrawSpec spec = input->draw_spec() != nullptr ? *input->draw_spec() : DrawSpec();
      spec.has_mean = true;
      spec.mean += 0.25;
      input->set_draw_spec(spec);
      return absl::StrCat("changed the mean of ", input->name());
    }
    return "";
  }));
  add(OnGraph("annotation changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      input->set_annotation(input->annotation() == "torch.Tensor" ? "torch.nn.parameter.Parameter"
                                                                  : "torch.Tensor");
      return absl::StrCat("changed the annotation of ", input->name());
    }
    return "";
  }));
  add(OnGraph("symbol's example changed", [](Random&, Graph* graph, bool) -> std::string {
    Module* module = graph->module();
    if (module->symbols().empty()) return "";
    const Symbol symbol = module->symbols()[0];
    module->AddSymbol(symbol.name, symbol.example.value_or(0) + 1);
    return "changed the example of a symbol";
  }));

  // Weights, records.
  add(OnPieces("weights changed", [](Random&, const Decomposition&, Decomposition* made) -> Damage {
    for (size_t i = 0; i < made->pieces.size(); ++i) {
      for (auto& [name, data] : made->pieces[i].weights) {
        if (data.bytes == nullptr || data.bytes->empty()) continue;
        std::string bytes(*data.bytes);
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        data.bytes = std::make_shared<const std::string>(std::move(bytes));
        return {absl::StrCat("changed ", name), static_cast<int>(i)};
      }
    }
    return {};
  }));
  add(OnPieces("weights dropped", [](Random&, const Decomposition&, Decomposition* made) -> Damage {
    for (size_t i = 0; i < made->pieces.size(); ++i) {
      if (made->pieces[i].weights.empty()) continue;
      made->pieces[i].weights.erase(made->pieces[i].weights.begin());
      return {"dropped weights", -1};
    }
    return {};
  }));
  add(OnPieces("graph_net.json changed",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 if (made->pieces[i].graph_net_json.empty()) return {};
                 made->pieces[i].graph_net_json = "{\"framework\": \"other\"}";
                 return {absl::StrCat("changed graph_net.json of piece ", i), static_cast<int>(i)};
               }));
  add(OnPieces("provenance changed",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 Provenance& from = made->pieces[i].provenance[0];
                 ++(Below(random, 2) == 0 ? from.start : from.end);
                 return {absl::StrCat("changed the range of piece ", i), static_cast<int>(i)};
               }));

  // The configuration.
  add(OnConfig("configuration: number of operators",
               [](Random&, DecomposeConfig* config) -> std::string {
                 ++config->num_ops;
                 return "num_ops";
               }));
  add(OnConfig("configuration: a range",
               [](Random& random, DecomposeConfig* config) -> std::string {
                 Range& range = config->subgraphs[Below(random, config->subgraphs.size())].range;
                 ++(Below(random, 2) == 0 ? range.start : range.end);
                 return "a range";
               }));
  add(OnConfig("configuration: a piece less", [](Random&, DecomposeConfig* config) -> std::string {
    if (config->subgraphs.size() < 2) return "";
    config->subgraphs.pop_back();
    return "a piece less";
  }));
  add(OnConfig("configuration: a piece more", [](Random&, DecomposeConfig* config) -> std::string {
    config->subgraphs.push_back(config->subgraphs.back());
    config->subgraphs.back().name = absl::StrCat("subgraph_", config->subgraphs.size() - 1);
    return "a piece more";
  }));
  add(OnConfig("configuration: port names",
               [](Random& random, DecomposeConfig* config) -> std::string {
                 for (SubgraphConfig& subgraph : config->subgraphs) {
                   const std::vector<std::vector<std::string>*> all = {
                       &subgraph.inputs, &subgraph.outputs, &subgraph.drops, &subgraph.adds};
                   std::vector<std::string>& names = *Any(random, all);
                   if (names.size() < 2 || names[0] == names.back()) continue;
                   std::swap(names[0], names.back());
                   return "port names";
                 }
                 return "";
               }));
  add(OnConfig("configuration: a port less", [](Random&, DecomposeConfig* config) -> std::string {
    for (SubgraphConfig& subgraph : config->subgraphs) {
      if (subgraph.inputs.empty()) continue;
      subgraph.inputs.pop_back();
      return "a port less";
    }
    return "";
  }));
  add(OnPieces(kStyleKind, [](Random&, const Decomposition&, Decomposition* made) -> Damage {
    Style& style = made->config.cut.style;
    style = style == Style::kDag ? Style::kChain : Style::kDag;
    return {"style", -1};
  }));
  add(OnConfig("configuration: hash", [](Random&, DecomposeConfig* config) -> std::string {
    char& c = config->parent_hash[0];
    c = c == 'a' ? 'b' : 'a';
    return "hash";
  }));
  add(OnConfig("configuration: scheme's number",
               [](Random&, DecomposeConfig* config) -> std::string {
                 // The number is a maximum: with fewer pieces than there are, the cut must be
                 // another one.
                 if (config->mode != DecomposeMode::kEqual || config->subgraphs.size() < 2)
                   return "";
                 config->number = static_cast<int64_t>(config->subgraphs.size()) - 1;
                 return "scheme's number";
               }));
  add(OnConfig("configuration: model's name", [](Random&, DecomposeConfig* config) -> std::string {
    config->model_name += "_2";
    return "model's name";
  }));

  // Files.
  add(OnFile("file truncated", "", Truncate));
  add(OnFile("piece truncated", "subgraph_", Truncate));
  add(OnFile("configuration truncated", "decompose_config", Truncate));
  add(OnFile("bit flipped", "", FlipBit));
  add(OnFile("bit flipped in a graph", "subgraph_", FlipBit));
  add(OnFile("bit flipped in the configuration", "decompose_config", FlipBit));
  add(OnFile("file emptied", "subgraph_", [](Random&, std::string* bytes) -> std::string {
    bytes->clear();
    return "emptied";
  }));
  add({"file deleted", nullptr, [](Random& random, const std::string& folder) -> Damage {
         std::vector<std::string> files = FilesBelow(folder);
         const std::string path = Any(random, files);
         std::filesystem::remove(path);
         return {absl::StrCat("deleted ", BaseName(path)), PieceOfPath(folder, path)};
       }});
  return kinds;
}

// The content of a decomposition, by which it is seen whether damage has an effect.
struct Read {
  DecompositionFiles files;
  absl::StatusOr<DecomposeConfig> config = absl::NotFoundError("none");
  std::vector<absl::StatusOr<Sample>> pieces;
};

absl::StatusOr<Read> ReadAll(const std::string& folder) {
  Read read;
  absl::StatusOr<DecompositionFiles> files = FindDecomposition(folder);
  if (!files.ok()) return files.status();
  read.files = *files;
  if (!files->config.empty()) read.config = ReadDecomposeConfig(files->config);
  for (const auto& [number, name] : files->pieces) {
    read.pieces.push_back(ReadPiece(JoinPath(files->folder, name), /*with_weights=*/true));
  }
  return read;
}

bool SameWeights(const Sample& a, const Sample& b) {
  return std::equal(a.weights.begin(), a.weights.end(), b.weights.begin(), b.weights.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.dtype == y.second.dtype &&
                             x.second.shape == y.second.shape && *x.second.bytes == *y.second.bytes;
                    });
}

bool SameRead(const absl::StatusOr<Read>& a, const absl::StatusOr<Read>& b, bool locations) {
  if (!a.ok() || !b.ok()) return false;
  if (a->files.pieces != b->files.pieces || a->config.ok() != b->config.ok()) return false;
  if (a->config.ok() && !(*a->config == *b->config)) return false;
  EqualityOptions equality = kExact;
  equality.locations = locations;
  for (size_t i = 0; i < a->pieces.size(); ++i) {
    if (!a->pieces[i].ok() || !b->pieces[i].ok()) return false;
    if (!CheckEqual(*a->pieces[i], *b->pieces[i], equality).ok() ||
        !SameWeights(*a->pieces[i], *b->pieces[i]))
      return false;
  }
  return true;
}

}  // namespace

const std::vector<MutationKind>& MutationKinds() {
  static const auto* const kKinds = new std::vector<MutationKind>(MakeKinds());
  return *kKinds;
}

void TryMutations(const Sample& original, const DecomposeConfig& config,
                  const DecompositionFolderOptions& folder, const Decomposition& other,
                  uint64_t seed, const std::string& scratch,
                  std::map<std::string, MutationTotal>* totals, std::vector<std::string>* misses) {
  const auto miss = [&](const std::string& kind, const std::string& what) {
    misses->push_back(absl::StrCat(original.name, ", ", kind, ": ", what));
  };
  const absl::StatusOr<Decomposition> made = Decompose(original, config);
  if (!made.ok()) return miss("decompose", std::string(made.status().message()));
  const std::string right = JoinPath(scratch, "right");
  const std::string wrong = JoinPath(scratch, "wrong");
  const auto clear = [](const std::string& path) { std::filesystem::remove_all(path); };
  clear(right);
  if (const auto written = WriteDecomposition(*made, right, folder); !written.ok()) {
    return miss("write", std::string(written.status().message()));
  }
  FolderValidationOptions options;
  options.weights = true;
  const auto validate = [&](const std::string& path) {
    return ValidateFolder(CopySample(original), path, options);
  };
  const absl::StatusOr<FolderValidation> valid = validate(right);
  if (!valid.ok() || !valid->report.ok()) {
    return miss("undamaged",
                std::string((valid.ok() ? valid->report.status() : valid.status()).message()));
  }
  DecomposeConfig flipped = config;
  flipped.cut.style = config.cut.style == Style::kDag ? Style::kChain : Style::kDag;
  const absl::StatusOr<Decomposition> other_style = Decompose(original, flipped);
  const absl::StatusOr<Read> read_right = ReadAll(right);
  uint64_t number = 0;
  for (const MutationKind& kind : MutationKinds()) {
    Random random(seed * 1000 + number++);
    clear(wrong);
    Damage damage;
    if (kind.in_memory != nullptr) {
      Decomposition copy = CopyOf(*made);
      damage = kind.in_memory(random, other, &copy);
      if (damage.what.empty()) continue;
      // No reader will meet damage that cannot be stored.
      if (!WriteDecomposition(copy, wrong, folder).ok()) continue;
    } else {
      std::filesystem::copy(right, wrong, std::filesystem::copy_options::recursive);
      damage = kind.on_disk(random, wrong);
      if (damage.what.empty()) continue;
    }
    MutationTotal& total = (*totals)[kind.name];
    // If no value or every value is passed through, a chain is also a DAG.
    if (kind.name == kStyleKind && other_style.ok() &&
        other_style->config.subgraphs == made->config.subgraphs) {
      ++total.no_effect;
      continue;
    }
    if (SameRead(read_right, ReadAll(wrong), folder.format == PieceFormat::kProtobuf)) {
      ++total.no_effect;
      continue;
    }
    ++total.applied;
    const absl::StatusOr<FolderValidation> found = validate(wrong);
    if (!found.ok() || found->report.ok()) {
      miss(kind.name, absl::StrCat(damage.what,
                                   found.ok() ? "" : absl::StrCat(": ", found.status().message())));
      continue;
    }
    ++total.detected;
    const auto at = [&](const Finding& finding) {
      if (damage.piece < 0)
        return finding.piece >= 0 || !finding.where.empty() ||
               absl::StrContains(finding.message, scratch);
      // If a piece cannot be read, the message names the subgraph.
      for (int piece = damage.piece - 1; piece <= damage.piece + 1; ++piece) {
        if (absl::StrContains(finding.message, absl::StrCat("subgraph ", piece, " "))) return true;
      }
      return finding.piece >= damage.piece - 1 && finding.piece <= damage.piece + 1;
    };
    const auto& findings = found->report.findings;
    if (std::any_of(findings.begin(), findings.end(), at)) {
      ++total.placed;
    } else {
      miss(kind.name,
           absl::StrCat(damage.what, ", not placed: ", found->report.status().message()));
    }
  }
  clear(right);
  clear(wrong);
}

std::string MutationTable(const std::map<std::string, MutationTotal>& totals) {
  std::string table = absl::StrFormat("%-52s %8s %9s %7s %10s\n", "kind", "applied", "detected",
                                      "placed", "no effect");
  MutationTotal sum;
  for (const MutationKind& kind : MutationKinds()) {
    const auto it = totals.find(kind.name);
    const MutationTotal total = it == totals.end() ? MutationTotal() : it->second;
    absl::StrAppendFormat(&table, "%-52s %8d %9d %7d %10d\n", kind.name, total.applied,
                          total.detected, total.placed, total.no_effect);
    sum.applied += total.applied;
    sum.detected += total.detected;
    sum.placed += total.placed;
    sum.no_effect += total.no_effect;
  }
  absl::StrAppendFormat(&table, "%-52s %8d %9d %7d %10d\n",
                        absl::StrCat("all ", MutationKinds().size(), " kinds"), sum.applied,
                        sum.detected, sum.placed, sum.no_effect);
  return table;
}

}  // namespace graphnet

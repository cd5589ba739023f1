#include "graphnet/view/picture.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/module_path.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/parameter_names.h"

namespace graphnet {
namespace {

// Limits of the text in a box.
constexpr size_t kMaxNameBytes = 48;
constexpr size_t kMaxValueBytes = 48;
constexpr size_t kMaxConstantBytes = 40;
constexpr size_t kMaxParameterBytes = 24;
constexpr size_t kMaxConstantLine = 30;
constexpr size_t kMaxConstants = 8;
constexpr size_t kMaxParameters = 6;
constexpr int kMaxFrameDepth = 16;
// The number of elements of a tuple whose shapes are shown.
constexpr size_t kMaxElements = 4;

// Cuts a long name at its start, as its end says more.
std::string End(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return Printable(text, max_bytes);
  size_t begin = text.size() - max_bytes;
  while (begin < text.size() && (text[begin] & 0xC0) == 0x80) ++begin;  // a whole character
  return absl::StrCat("…", Printable(text.substr(begin), max_bytes));
}

// Returns whether a value is part of the model rather than of its input, by its annotation and by
// the names that torch.compile gives.
bool IsParameter(const Node& node) {
  if (node.op() == Op::kGetAttr) return true;
  if (!node.is_placeholder()) return false;
  return node.annotation() == kParameterAnnotation || absl::StrContains(node.target(), "_self_") ||
         absl::StrContains(node.target(), "_instance_modules_");
}

// Returns whether a node is shown only in the boxes of its users.
bool IsFolded(const Node& node) {
  return IsParameter(node) &&
         absl::c_none_of(node.uses(), [](const Use& use) { return use.user->is_output(); });
}

// Returns "weight" for "layer1.0.conv1.weight" and for
// "L_self_modules_layer1_modules_0_modules_conv1_parameters_weight_".
absl::string_view LeafName(absl::string_view target) {
  for (const absl::string_view leaf : {"_parameters_", "_buffers_"}) {
    const size_t at = target.rfind(leaf);
    if (at == absl::string_view::npos || at + leaf.size() >= target.size()) continue;
    const absl::string_view name = target.substr(at + leaf.size());
    return name.size() > 1 && name.back() == '_' ? name.substr(0, name.size() - 1) : name;
  }
  const size_t dot = target.rfind('.');
  return dot == absl::string_view::npos || dot + 1 == target.size() ? target
                                                                    : target.substr(dot + 1);
}

void AppendValue(const ValueMeta& meta, std::string* out) {
  if (meta.is_tuple) {
    *out += '(';
    for (size_t i = 0; i < meta.elements.size() && i < kMaxElements; ++i) {
      if (i > 0) *out += ", ";
      const ValueMeta* element = meta.elements[i];
      if (element == nullptr || element->is_tuple) {
        *out += "…";
      } else {
        AppendValue(*element, out);
      }
    }
    *out += meta.elements.size() > kMaxElements ? ", …)" : ")";
  } else if (meta.tensor != nullptr) {
    // The device is left out, as it is usually the same everywhere.
    TensorMeta tensor = *meta.tensor;
    tensor.has_device = false;
    AppendTensorMeta(tensor, out);
  }
}

std::string ValueText(const Node& node) {
  std::string text;
  if (node.meta() != nullptr) AppendValue(*node.meta(), &text);
  return Printable(text, kMaxValueBytes);
}

// Returns "conv2d" for "torch.nn.functional.conv2d" and "aten.conv2d.default", and
// "NumToTensor.Scalar" for "prim.NumToTensor.Scalar".
std::string TitleOf(const Node& node) {
  absl::string_view target = node.target();
  switch (node.op()) {
    case Op::kOutput: return "output";
    case Op::kCallMethod: return absl::StrCat(".", End(target, kMaxNameBytes));
    case Op::kCallFunction: break;
    default: return End(target, kMaxNameBytes);
  }
  absl::ConsumeSuffix(&target, ".default");
  if (absl::ConsumePrefix(&target, "aten.") || absl::ConsumePrefix(&target, "prim."))
    return End(target, kMaxNameBytes);
  const size_t dot = target.rfind('.');
  if (dot != absl::string_view::npos && dot + 1 < target.size()) target.remove_prefix(dot + 1);
  return End(target, kMaxNameBytes);
}

BoxKind KindOf(const Node& node) {
  if (node.is_placeholder() || node.op() == Op::kGetAttr) return BoxKind::kInput;
  if (node.is_output()) return BoxKind::kOutput;
  if (node.HasBody()) return BoxKind::kControl;
  bool takes_parameters = false;
  node.ForEachOperand([&](const Node* operand) { takes_parameters |= IsParameter(*operand); });
  if (takes_parameters || node.op() == Op::kCallModule) return BoxKind::kWeights;
  const Callable callee = CalleeOf(node);
  // Nothing is known of a callee without a schema.
  if (!callee.is_known() || callee.kind == Callable::Kind::kForeign) return BoxKind::kCompute;
  const MemoryUse use = MemoryUseOf(node);
  if (!use.written.empty()) return BoxKind::kWrite;
  if (!use.shared.empty()) return BoxKind::kView;
  const auto is_pointwise = [](const Callable& called) {
    return absl::c_any_of(called.overloads, [](const Schema& s) { return s.is_pointwise; });
  };
  const bool pointwise = callee.kind == Callable::Kind::kPythonOperator || is_pointwise(callee) ||
                         // torch.nn.functional.relu is aten.relu apart from its argument `inplace`.
                         (callee.kind == Callable::Kind::kFunction &&
                          is_pointwise(FindCallable(
                              Op::kCallFunction, absl::StrCat("aten.", LeafName(node.target())))));
  return pointwise ? BoxKind::kPointwise : BoxKind::kCompute;
}

// Returns whether an argument holds something that arrows do not show.
bool HasConstant(const Argument& argument) {
  if (argument.is_none() || argument.is_node() || argument.is_graph()) return false;
  if (!argument.is_aggregate()) return true;
  if (argument.kind() == Argument::Kind::kSlice || argument.elements().empty()) return true;
  return absl::c_any_of(argument.elements(), HasConstant);
}

void AddConstants(const Node& node, Box* box) {
  size_t shown = 0;
  size_t left_out = 0;
  const auto add = [&](absl::string_view name, const Argument& value) {
    if (!HasConstant(value)) return;
    if (shown == kMaxConstants) {
      ++left_out;
      return;
    }
    ++shown;
    const std::string text = Printable(
        absl::StrCat(name, name.empty() ? "" : "=", PrintArgument(value)), kMaxConstantBytes);
    // Put as many on a line as fit.
    if (!box->constants.empty() &&
        box->constants.back().size() + text.size() + 2 <= kMaxConstantLine) {
      absl::StrAppend(&box->constants.back(), ", ", text);
    } else {
      box->constants.push_back(text);
    }
  };
  const std::vector<PositionalParameter> parameters = PositionalParameters(node, CalleeOf(node));
  for (size_t i = 0; i < node.args().size(); ++i) {
    const bool named = i < parameters.size();
    if (named && parameters[i].argument->IsDefault(node.args()[i])) continue;
    add(named ? parameters[i].name : "", node.args()[i]);
  }
  for (const KwArg& kwarg : node.kwargs()) {
    const auto it = absl::c_find_if(
        parameters, [&](const PositionalParameter& p) { return p.name == kwarg.name; });
    if (it != parameters.end() && it->argument->IsDefault(kwarg.value)) continue;
    add(kwarg.name, kwarg.value);
  }
  if (left_out > 0) box->constants.push_back(absl::StrCat("+ ", left_out, " more"));
}

void AddParameters(const Node& node, Box* box) {
  absl::flat_hash_set<const Node*> seen;
  size_t left_out = 0;
  node.ForEachOperand([&](const Node* operand) {
    if (!IsFolded(*operand) || !seen.insert(operand).second) return;
    if (box->parameters.size() == kMaxParameters) {
      ++left_out;
      return;
    }
    std::string line = End(LeafName(operand->target()), kMaxParameterBytes);
    const std::string value = ValueText(*operand);
    box->parameters.push_back(value.empty() ? line : absl::StrCat(line, " ", value));
  });
  if (left_out > 0) box->parameters.push_back(absl::StrCat("+ ", left_out, " more"));
}

// Returns the length of the longest path that both paths equal or lie below.
size_t CommonPath(absl::string_view a, absl::string_view b) {
  const size_t end = std::min(a.size(), b.size());
  size_t n = 0;
  while (n < end && a[n] == b[n]) ++n;
  const auto is_border = [n](absl::string_view path) { return n == path.size() || path[n] == '.'; };
  if (is_border(a) && is_border(b)) return n;
  const size_t dot = a.substr(0, n).rfind('.');
  return dot == absl::string_view::npos ? 0 : dot;
}

class PictureMaker {
 public:
  PictureMaker(const Module& module, const PictureOptions& options)
      : module_(module),
        options_(options),
        paths_(module.num_indices()),
        selected_(module.num_indices(), 1),
        box_of_(module.num_indices(), -1) {}

  absl::StatusOr<Picture> Make() {
    if (module_.main() == nullptr) {
      picture_.frames.emplace_back();
      return std::move(picture_);
    }
    picture_.title =
        End(options_.title.empty() ? module_.main()->name() : options_.title, kMaxNameBytes);
    picture_.marked = !options_.marks.empty();
    FindPaths();
    RETURN_IF_ERROR(Select());
    std::vector<const Graph*> graphs = DrawnGraphs();
    std::vector<int> first_box;
    for (const Graph* graph : graphs) {
      first_box.push_back(num_boxes());
      AddBoxes(*graph);
    }
    first_box.push_back(num_boxes());
    AddDataArrows();
    picture_.frames.emplace_back();
    picture_.frames[0].num_boxes = num_boxes();
    // The only graph needs no frame.
    const bool framed = graphs.size() > 1;
    absl::flat_hash_map<const Graph*, int> frame_of;
    for (size_t i = 0; i < graphs.size(); ++i) {
      std::vector<int> boxes(static_cast<size_t>(first_box[i + 1] - first_box[i]));
      for (size_t k = 0; k < boxes.size(); ++k) boxes[k] = first_box[i] + static_cast<int>(k);
      if (boxes.empty()) continue;
      int frame = 0;
      if (framed) {
        frame = AddFrame(0, End(graphs[i]->name(), kMaxNameBytes), boxes);
        picture_.frames[static_cast<size_t>(frame)].body = graphs[i];
        picture_.frames[static_cast<size_t>(frame)].depth = 0;
        frame_of[graphs[i]] = frame;
      }
      Nest(boxes, frame, /*prefix=*/0, /*depth=*/0);
    }
    AddBodyArrows(frame_of);
    return std::move(picture_);
  }

 private:
  int num_boxes() const { return static_cast<int>(picture_.boxes.size()); }
  Box& box(int i) { return picture_.boxes[static_cast<size_t>(i)]; }
  absl::string_view path(int i) const {
    const Box& box = picture_.boxes[static_cast<size_t>(i)];
    return box.kind == BoxKind::kOutside ? absl::string_view() : paths_[box.node->index()];
  }

  // Finds the paths of all nodes: their own or, if no node has one, paths derived from the names of
  // the parameters that calls take. A node between two such calls belongs to the module that
  // contains both.
  void FindPaths() {
    bool any = false;
    for (const Graph* graph : module_.graphs()) {
      for (const Node* node : graph->nodes()) {
        paths_[node->index()] = node->module_path();
        any |= !node->module_path().empty();
      }
    }
    if (any) return;
    for (const Graph* graph : module_.graphs()) {
      const Node* last = nullptr;  // the last node with a path
      std::vector<const Node*> between;
      for (const Node* node : graph->nodes()) {
        if (!node->is_call()) continue;
        std::string found;
        node->ForEachOperand([&](const Node* operand) {
          if (found.empty() && IsParameter(*operand)) {
            found = ModulePathOfParameter(operand->target());
          }
        });
        if (found.empty()) {
          between.push_back(node);
          continue;
        }
        const absl::string_view path = guessed_.emplace_back(std::move(found));
        paths_[node->index()] = path;
        if (last != nullptr) {
          const absl::string_view common = path.substr(0, CommonPath(path, paths_[last->index()]));
          for (const Node* n : between) paths_[n->index()] = common;
        }
        between.clear();
        last = node;
      }
    }
  }

  absl::Status Select() {
    if (!options_.is_part()) return absl::OkStatus();
    if ((!options_.range.empty()) + (!options_.module.empty()) + (!options_.around.empty()) > 1) {
      return absl::InvalidArgumentError("only one of range, module and around may be set");
    }
    absl::c_fill(selected_, 0);
    if (!options_.range.empty()) return SelectRange();
    return options_.module.empty() ? SelectAround() : SelectModule();
  }

  absl::Status SelectRange() {
    const std::vector<absl::string_view> sides = absl::StrSplit(options_.range, ':');
    int64_t start = 0;
    int64_t end = 0;
    if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &start) ||
        !absl::SimpleAtoi(sides[1], &end) || start < 0 || start >= end) {
      return absl::InvalidArgumentError(absl::StrCat("range ", Printable(options_.range),
                                                     " is not START:END with START below END"));
    }
    int64_t number = 0;  // of operators, as graphnet decompose counts them
    for (const Node* node : module_.main()->nodes()) {
      if (node->is_placeholder() || node->is_output() || node->op() == Op::kGetAttr) continue;
      if (number >= start && number < end) SelectNode(*node);
      ++number;
    }
    if (end <= number) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("range ", Printable(options_.range),
                                                   ": the graph has ", number, " operators"));
  }

  absl::Status SelectModule() {
    const absl::string_view wanted = options_.module;
    bool found = false;
    absl::flat_hash_set<absl::string_view> all;
    for (const Graph* graph : module_.graphs()) {
      for (const Node* node : graph->nodes()) {
        absl::string_view below = paths_[node->index()];
        // Collect the module and all modules around it.
        absl::string_view module = below;
        while (!module.empty() && all.insert(module).second)
          module = module.substr(0, module.find('.') == module.npos ? 0 : module.rfind('.'));
        if (!absl::ConsumePrefix(&below, wanted) || !(below.empty() || below[0] == '.')) continue;
        SelectNode(*node);
        found = true;
      }
    }
    if (found) return absl::OkStatus();
    std::vector<absl::string_view> names(all.begin(), all.end());
    absl::c_sort(names);
    return absl::NotFoundError(absl::StrCat("no operator is of the module ", Printable(wanted),
                                            NearMissHint(wanted, names)));
  }

  absl::Status SelectAround() {
    absl::string_view name = options_.around;
    int64_t radius = 2;
    if (const size_t colon = name.rfind(':'); colon != absl::string_view::npos) {
      if (!absl::SimpleAtoi(name.substr(colon + 1), &radius) || radius < 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "around ", Printable(name), " is not NODE or NODE:RADIUS with a radius from 0 on"));
      }
      name = name.substr(0, colon);
    }
    absl::ConsumePrefix(&name, "%");
    std::vector<const Node*> reached;
    std::vector<absl::string_view> names;
    for (const Graph* graph : module_.graphs()) {
      for (const Node* node : graph->nodes()) {
        names.push_back(node->name());
        if (node->name() == name && reached.empty()) reached.push_back(node);
      }
    }
    if (reached.empty()) {
      return absl::NotFoundError(
          absl::StrCat("there is no node ", Printable(name), NearMissHint(name, names)));
    }
    selected_[reached[0]->index()] = 1;
    size_t next = 0;
    for (int64_t step = 0; step < radius && next < reached.size(); ++step) {
      for (const size_t end = reached.size(); next < end; ++next) {
        const Node& node = *reached[next];
        const auto reach = [&](const Node* other) {
          if (selected_[other->index()] != 0 || IsParameter(*other)) return;
          selected_[other->index()] = 1;
          reached.push_back(other);
        };
        node.ForEachOperand(reach);
        if (node.has_uses()) {
          for (const Node* user : node.users()) reach(user);
        }
      }
    }
    for (const Node* node : reached) SelectNode(*node);
    return absl::OkStatus();
  }

  // Selects a node with all bodies that it calls.
  void SelectNode(const Node& node) {
    selected_[node.index()] = 1;
    node.ForEachArgument([&](const Argument& a) {
      if (!a.is_graph() || !chosen_bodies_.insert(a.graph()).second) return;
      for (const Node* inner : a.graph()->nodes()) SelectNode(*inner);
    });
  }

  std::vector<const Graph*> DrawnGraphs() const {
    std::vector<const Graph*> graphs;
    for (const Graph* graph : module_.graphs()) {
      for (const Node* node : graph->nodes()) {
        if (selected_[node->index()] == 0) continue;
        graphs.push_back(graph);
        break;
      }
    }
    return graphs;
  }

  void AddBoxes(const Graph& graph) {
    for (const Node* node : graph.nodes()) {
      if (IsFolded(*node)) continue;
      const bool drawn = selected_[node->index()] != 0;
      const bool drawn_user =
          options_.is_part() && absl::c_any_of(node->uses(), [&](const Use& use) {
            return selected_[use.user->index()] != 0;
          });
      if (!drawn && !drawn_user) continue;
      Box box;
      box.node = node;
      box.title = TitleOf(*node);
      box.value = ValueText(*node);
      box.kind = drawn ? KindOf(*node) : BoxKind::kOutside;
      std::string name = End(node->name(), kMaxNameBytes);
      if (drawn) {
        if (node->is_call()) AddConstants(*node, &box);
        if (!node->is_output()) AddParameters(*node, &box);
        box.used_outside = options_.is_part() && absl::c_any_of(node->uses(), [&](const Use& use) {
                             return selected_[use.user->index()] == 0;
                           });
      }
      if (name != box.title) box.name = std::move(name);
      if (const auto it = options_.marks.find(node); it != options_.marks.end()) {
        box.mark = it->second;
      }
      box_of_[node->index()] = num_boxes();
      picture_.boxes.push_back(std::move(box));
    }
  }

  void AddDataArrows() {
    std::vector<int> last_user(picture_.boxes.size(), -1);
    first_arrow_.reserve(picture_.boxes.size() + 1);
    for (int i = 0; i < num_boxes(); ++i) {
      first_arrow_.push_back(picture_.arrows.size());
      if (box(i).kind == BoxKind::kOutside) continue;
      box(i).node->ForEachOperand([&](const Node* operand) {
        const int from = box_of_[operand->index()];
        if (from < 0 || last_user[static_cast<size_t>(from)] == i) return;
        last_user[static_cast<size_t>(from)] = i;
        picture_.arrows.push_back({from, i, false});
      });
    }
    first_arrow_.push_back(picture_.arrows.size());
  }

  void AddBodyArrows(const absl::flat_hash_map<const Graph*, int>& frame_of) {
    for (int i = 0; i < num_boxes(); ++i) {
      if (box(i).kind != BoxKind::kControl) continue;
      absl::flat_hash_set<const Graph*> drawn;
      box(i).node->ForEachArgument([&](const Argument& a) {
        if (!a.is_graph() || !drawn.insert(a.graph()).second) return;
        const auto it = frame_of.find(a.graph());
        if (it != frame_of.end()) picture_.arrows.push_back({i, it->second, true});
      });
    }
  }

  int AddFrame(int parent, std::string label, absl::Span<const int> boxes) {
    Frame frame;
    frame.parent = parent;
    frame.depth = picture_.frames[static_cast<size_t>(parent)].depth + 1;
    frame.label = std::move(label);
    frame.first_box = boxes[0];
    frame.num_boxes = static_cast<int>(boxes.size());
    picture_.frames.push_back(std::move(frame));
    return static_cast<int>(picture_.frames.size()) - 1;
  }

  // Makes the frames within `frame` around these boxes, whose paths share their first `prefix`
  // bytes. Frames nest at most kMaxFrameDepth deep.
  void Nest(absl::Span<const int> boxes, int frame, size_t prefix, int depth) {
    // The content of the frame: boxes, and groups of boxes whose paths continue in the same way.
    std::vector<std::vector<int>> items;
    absl::flat_hash_map<absl::string_view, int> group_of;
    absl::flat_hash_map<int, int> item_of;
    for (const int i : boxes) {
      const absl::string_view own = path(i);
      if (own.size() <= prefix || depth == kMaxFrameDepth) {
        item_of[i] = static_cast<int>(items.size());
        items.push_back({i});
        continue;
      }
      const absl::string_view below = own.substr(0, own.find('.', prefix + 1));
      const auto [it, is_new] = group_of.emplace(below, static_cast<int>(items.size()));
      if (is_new) items.emplace_back();
      items[static_cast<size_t>(it->second)].push_back(i);
      item_of[i] = it->second;
    }
    SplitCycles(boxes, item_of, &items);
    for (const std::vector<int>& item : items) {
      if (item.size() == 1) {
        box(item[0]).frame = frame;
        continue;
      }
      size_t common = path(item[0]).size();
      for (const int i : item) {
        common = std::min(common, CommonPath(path(item[0]).substr(0, common), path(i)));
      }
      Nest(item, AddFrame(frame, End(path(item[0]).substr(0, common), kMaxNameBytes), item), common,
           depth + 1);
    }
  }

  // Splits groups that lie on a cycle of groups into their runs in program order, between which all
  // arrows go forward.
  void SplitCycles(absl::Span<const int> boxes, const absl::flat_hash_map<int, int>& item_of,
                   std::vector<std::vector<int>>* items) const {
    const size_t n = items->size();
    if (n < 2) return;
    std::vector<std::vector<int>> successors(n);
    std::vector<std::vector<int>> predecessors(n);
    for (const int i : boxes) {
      const int to = item_of.at(i);
      for (size_t a = first_arrow_[static_cast<size_t>(i)];
           a < first_arrow_[static_cast<size_t>(i) + 1]; ++a) {
        const auto it = item_of.find(picture_.arrows[a].from);
        if (it == item_of.end() || it->second == to) continue;
        successors[static_cast<size_t>(it->second)].push_back(to);
        predecessors[static_cast<size_t>(to)].push_back(it->second);
      }
    }
    // Removes items that nothing leads to, then items that lead nowhere, until there are none left.
    std::vector<char> gone(n, 0);
    const auto peel = [&](const std::vector<std::vector<int>>& before,
                          const std::vector<std::vector<int>>& after) {
      std::vector<size_t> count(n, 0);
      std::vector<size_t> ready;
      for (size_t i = 0; i < n; ++i) {
        if (gone[i] != 0) continue;
        for (const int p : before[i]) count[i] += gone[static_cast<size_t>(p)] == 0 ? 1 : 0;
        if (count[i] == 0) ready.push_back(i);
      }
      while (!ready.empty()) {
        const size_t i = ready.back();
        ready.pop_back();
        gone[i] = 1;
        for (const int s : after[i]) {
          const auto next = static_cast<size_t>(s);
          if (gone[next] == 0 && --count[next] == 0) ready.push_back(next);
        }
      }
    };
    peel(predecessors, successors);
    peel(successors, predecessors);
    if (absl::c_linear_search(gone, 0) == false) return;
    std::vector<std::vector<int>> split;
    for (size_t i = 0; i < n; ++i) {
      if (gone[i] != 0) split.push_back(std::move((*items)[i]));
    }
    int last = -1;
    for (const int i : boxes) {
      const int item = item_of.at(i);
      if (gone[static_cast<size_t>(item)] != 0) continue;
      if (item != last) split.emplace_back();
      split.back().push_back(i);
      last = item;
    }
    *items = std::move(split);
  }

  const Module& module_;
  const PictureOptions& options_;
  Picture picture_;
  std::deque<std::string> guessed_;       // paths that no node holds
  std::vector<absl::string_view> paths_;  // by Node::index()
  std::vector<char> selected_;            // by Node::index()
  std::vector<int> box_of_;               // by Node::index(); -1: none
  std::vector<size_t> first_arrow_;       // to each box; one more entry at the end
  absl::flat_hash_set<const Graph*> chosen_bodies_;
};

}  // namespace

absl::StatusOr<Picture> MakePicture(const Module& module, const PictureOptions& options) {
  return PictureMaker(module, options).Make();
}

Picture CollapsedBelow(const Picture& picture, int depth) {
  Picture out;
  out.title = picture.title;
  out.marked = picture.marked;
  // The new numbers of frames that stay, and the boxes that other frames become.
  std::vector<int> frame_of(picture.frames.size(), -1);
  std::vector<int> box_of_frame(picture.frames.size(), -1);
  for (size_t f = 0; f < picture.frames.size(); ++f) {
    const Frame& frame = picture.frames[f];
    const auto parent = static_cast<size_t>(std::max(frame.parent, 0));
    if (f > 0 && frame_of[parent] < 0) continue;  // inside a frame that becomes a box
    if (frame.depth > depth) continue;
    frame_of[f] = static_cast<int>(out.frames.size());
    out.frames.push_back(frame);
    out.frames.back().num_boxes = 0;
    if (f > 0) out.frames.back().parent = frame_of[parent];
  }
  std::vector<int> box_of(picture.boxes.size());
  for (size_t i = 0; i < picture.boxes.size(); ++i) {
    const Box& box = picture.boxes[i];
    // The outermost frame around the box that did not stay.
    int collapsed = -1;
    int f = box.frame;
    for (; frame_of[static_cast<size_t>(f)] < 0; f = picture.frames[static_cast<size_t>(f)].parent)
      collapsed = f;
    const int frame = frame_of[static_cast<size_t>(f)];
    int* module = collapsed < 0 ? nullptr : &box_of_frame[static_cast<size_t>(collapsed)];
    if (module == nullptr || *module < 0) {
      box_of[i] = static_cast<int>(out.boxes.size());
      for (int g = frame; g >= 0; g = out.frames[static_cast<size_t>(g)].parent) {
        Frame& around = out.frames[static_cast<size_t>(g)];
        if (around.num_boxes++ == 0) around.first_box = box_of[i];
      }
      if (module == nullptr) {
        out.boxes.push_back(box);
      } else {
        const Frame& inner = picture.frames[static_cast<size_t>(collapsed)];
        Box made;
        made.kind = BoxKind::kModule;
        made.title = inner.label;
        made.constants = {absl::StrCat(inner.num_boxes, " nodes")};
        out.boxes.push_back(std::move(made));
        *module = box_of[i];
      }
      out.boxes.back().frame = frame;
    } else {
      box_of[i] = *module;
    }
    if (module != nullptr) {
      Box& made = out.boxes[static_cast<size_t>(*module)];
      made.mark = std::max(made.mark, box.mark);  // a difference inside shows on the box
      made.used_outside |= box.used_outside;
    }
  }
  absl::flat_hash_set<std::pair<int, int>> drawn;
  for (Arrow arrow : picture.arrows) {
    const auto source = static_cast<size_t>(arrow.from);
    arrow.from = box_of[source];
    arrow.to = arrow.is_body ? frame_of[static_cast<size_t>(arrow.to)]
                             : box_of[static_cast<size_t>(arrow.to)];
    if (!arrow.is_body && arrow.from == arrow.to) continue;
    if (!drawn.emplace(arrow.from, arrow.is_body ? -1 - arrow.to : arrow.to).second) continue;
    Box& from = out.boxes[static_cast<size_t>(arrow.from)];
    // Show the first value that leaves a module.
    if (from.kind == BoxKind::kModule && from.value.empty())
      from.value = picture.boxes[source].value;
    out.arrows.push_back(arrow);
  }
  return out;
}

}  // namespace graphnet

#include "graphnet/corpus/range_form.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/mutation.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/decompose/schemes.h"
#include "graphnet/facts/cost/flops.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/call_meaning.h"

namespace graphnet::corpus_internal {
namespace {

// The bytes of all descriptions of a graph. A graph of a million nodes has fewer.
constexpr uint64_t kMaxDescriptionBytes = uint64_t{1} << 28;
// Modules that are nested deeper count as the module at this depth.
constexpr size_t kMaxModuleDepth = 32;

// Describes nodes as CanonicalHash (ir/canonical_hash.h) does, with a mark for each operand and each
// label.
class FormMaker {
 public:
  explicit FormMaker(const Module& module) : module_(module), index_(*module.main()) {}

  absl::StatusOr<RangeForm> Make(bool modules, bool fusible) {
    form_.num_placeholders = static_cast<uint32_t>(index_.num_placeholders());
    form_.first_operator = static_cast<uint32_t>(index_.operator_node(0));
    form_.output = static_cast<uint32_t>(index_.output());
    form_.labels_begin = {0, 0};  // The first list is empty.
    NumberBodies();
    for (const Graph* body : bodies_) {
      AddBody(*body);
      form_.bodies.push_back(EndWord());
    }
    for (size_t i = 0; i < index_.size() && !TooLarge(); ++i) AddNode(i);
    if (TooLarge()) {
      return absl::ResourceExhaustedError(
          "the descriptions of its nodes are far larger than the graph");
    }
    AddString(index_.node(index_.output())->target());
    form_.output_target = EndWord().token;
    form_.output_is_plain = OutputIsPlain();
    form_.operands_begin.push_back(static_cast<uint32_t>(form_.all_operands.size()));
    form_.num_labels = static_cast<uint32_t>(label_numbers_.size());
    AddMemory();
    const Regions regions(index_);
    for (int64_t k = 0; k <= index_.num_operators(); ++k)
      form_.can_cut.push_back(regions.OpenAt(k) == nullptr);
    if (modules) AddModules();
    if (fusible) AddStops();
    return std::move(form_);
  }

 private:
  bool TooLarge() const { return bytes_written_ > kMaxDescriptionBytes; }

  // --- Words --------------------------------------------------------------------

  RangeForm::Word EndWord() {
    RangeForm::Word word;
    const auto [it, is_new] =
        tokens_.try_emplace(bytes_, static_cast<uint32_t>(form_.descriptions.size()));
    if (is_new) form_.descriptions.push_back(bytes_);
    word.token = it->second;
    if (!labels_.empty()) {
      word.labels = static_cast<uint32_t>(form_.labels_begin.size() - 1);
      form_.all_labels.insert(form_.all_labels.end(), labels_.begin(), labels_.end());
      form_.labels_begin.push_back(static_cast<uint32_t>(form_.all_labels.size()));
    }
    bytes_written_ += bytes_.size() + 4 * labels_.size();
    bytes_.clear();
    labels_.clear();
    return word;
  }

  void AddNumber(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  template <typename Enum>
  void AddEnum(Enum value) {
    AddNumber(static_cast<uint64_t>(value));
  }
  void AddString(absl::string_view text) {
    AddNumber(text.size());
    bytes_.append(text.data(), text.size());
  }
  // Labels of different kinds stand at different places of a word, so that one numbering serves all.
  void AddLabel(const void* kind, absl::string_view name) {
    labels_.push_back(
        label_numbers_
            .try_emplace(std::make_pair(kind, name), static_cast<uint32_t>(label_numbers_.size()))
            .first->second);
  }

  // --- Nodes --------------------------------------------------------------------

  void AddNode(size_t i) {
    const Node& node = *index_.node(i);
    form_.operands_begin.push_back(static_cast<uint32_t>(form_.all_operands.size()));
    for (const uint32_t operand : index_.operands(i)) form_.all_operands.push_back(operand);
    form_.last_use.push_back(static_cast<uint32_t>(index_.last_use(i)));
    if (IsOperator(node)) {
      form_.names.append(node.name().data(), node.name().size());
      form_.name_ends.push_back(static_cast<uint32_t>(form_.names.size()));
    }
    if (index_.is_get_attr(i))
      form_.behind.push_back(static_cast<uint32_t>(index_.behind_get_attr(i)));
    Describe(node, nullptr);
    form_.nodes.push_back(EndWord());
    AddPlaceholder(node.meta());
    form_.ports.push_back(EndWord());
  }

  void AddPlaceholder(const ValueMeta* meta) {
    AddEnum(Op::kPlaceholder);
    AddNumber(0);
    AddNumber(0);
    AddMeta(meta);
  }

  // Describes a node. In a body, operands are numbers of nodes; in the main graph they are marks.
  void Describe(const Node& node, const absl::flat_hash_map<const Node*, uint64_t>* in_body) {
    if (node.is_placeholder()) return AddPlaceholder(node.meta());
    AddEnum(node.op());
    if (node.op() == Op::kGetAttr) {
      AddLabel(&module_, node.target());
    } else {
      AddString(node.target());
    }
    AddNumber(node.args().size());
    for (const Argument& arg : node.args()) AddArgument(arg, in_body);
    AddNumber(node.kwargs().size());
    for (const KwArg& kwarg : node.kwargs()) {
      AddString(kwarg.name);
      AddArgument(kwarg.value, in_body);
    }
    AddMeta(node.meta());
    if (node.op() == Op::kGetAttr) {
      const Attribute* attribute = module_.FindAttribute(node.target());
      AddTensorMeta(attribute != nullptr ? attribute->meta : nullptr);
    }
  }

  // Arguments, expressions and bodies nest at most kMaxNesting deep (verifier.h).
  void AddArgument(const Argument& a, const absl::flat_hash_map<const Node*, uint64_t>* in_body) {
    using Kind = Argument::Kind;
    if (bytes_.size() > kMaxDescriptionBytes) return;
    AddEnum(a.kind());
    switch (a.kind()) {
      case Kind::kNone:
      case Kind::kEllipsis: break;
      case Kind::kNode:
        if (in_body != nullptr) AddNumber(in_body->at(a.node()));
        break;
      case Kind::kBool: AddNumber(a.boolean() ? 1 : 0); break;
      case Kind::kInt: AddNumber(static_cast<uint64_t>(a.integer())); break;
      case Kind::kFloat: AddNumber(std::bit_cast<uint64_t>(a.real())); break;
      case Kind::kComplex:
        AddNumber(std::bit_cast<uint64_t>(a.complex().real()));
        AddNumber(std::bit_cast<uint64_t>(a.complex().imag()));
        break;
      case Kind::kString: AddString(a.string()); break;
      case Kind::kDType: AddEnum(a.dtype()); break;
      case Kind::kDevice: AddDevice(a.device()); break;
      case Kind::kLayout: AddEnum(a.layout()); break;
      case Kind::kMemoryFormat: AddEnum(a.memory_format()); break;
      case Kind::kGraph: AddLabel(a.graph(), ""); break;
      case Kind::kSymInt: AddExpression(a.sym()); break;
      case Kind::kList:
      case Kind::kTuple:
      case Kind::kDict:
      case Kind::kSlice:
        AddNumber(a.elements().size());
        for (const Argument& element : a.elements()) AddArgument(element, in_body);
        break;
    }
  }

  void AddDevice(Device device) {
    AddEnum(device.type);
    AddNumber(static_cast<uint64_t>(int64_t{device.index}));
  }

  void AddExpression(const SymExpr* expr) {
    if (bytes_.size() > kMaxDescriptionBytes) return;
    AddEnum(expr->kind);
    if (expr->kind == SymExpr::Kind::kInt) {
      AddNumber(static_cast<uint64_t>(expr->value));
    } else if (expr->kind == SymExpr::Kind::kSymbol) {
      AddLabel(nullptr, expr->name);
    }
    if (expr->lhs != nullptr) AddExpression(expr->lhs);
    if (expr->rhs != nullptr) AddExpression(expr->rhs);
  }

  void AddMeta(const ValueMeta* meta) {
    std::vector<const ValueMeta*> stack = {meta};
    while (!stack.empty() && bytes_.size() <= kMaxDescriptionBytes) {
      const ValueMeta* next = stack.back();
      stack.pop_back();
      if (next == nullptr || !next->is_tuple) {
        AddTensorMeta(next != nullptr ? next->tensor : nullptr);
        continue;
      }
      AddNumber(2);
      AddNumber(next->elements.size());
      for (size_t i = next->elements.size(); i-- > 0;) stack.push_back(next->elements[i]);
    }
  }

  void AddTensorMeta(const TensorMeta* meta) {
    AddNumber(meta != nullptr ? 1 : 0);
    if (meta == nullptr) return;
    AddEnum(meta->dtype);
    AddNumber(meta->has_device ? 1 : 0);
    if (meta->has_device) AddDevice(meta->device);
    AddNumber(meta->has_shape ? 1 : 0);
    if (!meta->has_shape) return;
    AddNumber(meta->shape.size());
    for (const Dim& dim : meta->shape) {
      AddNumber(dim.is_static() ? 1 : 0);
      if (dim.is_static()) {
        AddNumber(static_cast<uint64_t>(dim.value));
      } else {
        AddExpression(dim.expr);
      }
    }
  }

  // Returns whether the graph returns a tuple of its nodes, in their order.
  bool OutputIsPlain() const {
    const Node& output = *index_.node(index_.output());
    const Argument& returned = output.args()[0];
    const absl::Span<const uint32_t> operands = index_.operands(index_.output());
    return output.meta() == nullptr && returned.is_tuple() &&
           returned.elements().size() == operands.size() &&
           absl::c_all_of(returned.elements(), [](const Argument& a) { return a.is_node(); }) &&
           absl::c_adjacent_find(operands, std::greater_equal<>()) == operands.end();
  }

  // --- Bodies -------------------------------------------------------------------

  // Gives bodies the first numbers of all labels.
  void NumberBodies() {
    for (const Graph* graph : module_.graphs()) {
      if (graph == module_.main()) continue;
      bodies_.push_back(graph);
      AddLabel(graph, "");
    }
    labels_.clear();
  }

  void AddBody(const Graph& body) {
    AddNumber(body.num_nodes());
    absl::flat_hash_map<const Node*, uint64_t> numbers;
    for (const Node* node : body.nodes()) {
      if (bytes_.size() > kMaxDescriptionBytes) return;
      Describe(*node, &numbers);
      numbers.emplace(node, numbers.size());
    }
  }

  // --- The whole graph ----------------------------------------------------------

  void AddMemory() {
    const MutableClasses classes(index_);
    if (classes.size() == 0) return;
    for (size_t i = 0; i < index_.size(); ++i) form_.memory_ids.push_back(classes.ClassOf(i));
    static_assert(MutableClasses::kNone == RangeForm::kNoMemory);
    for (size_t c = 0; c < classes.size(); ++c) {
      const int id = static_cast<int>(c);
      const absl::Span<const uint32_t> members = classes.members(id);
      form_.memory.push_back({{members.begin(), members.end()},
                              static_cast<uint32_t>(classes.first_write(id)),
                              static_cast<uint32_t>(classes.last_write(id))});
    }
  }

  void AddStops() {
    form_.computing = {0};
    for (int64_t k = 0; k < index_.num_operators(); ++k) {
      const Node& node = *index_.node(index_.operator_node(k));
      const WorkClass work = WorkClassOf(MeaningOf(node.op(), node.target()).name);
      const bool is_fused = work == WorkClass::kPointwise || work == WorkClass::kReduction ||
                            work == WorkClass::kNormalisation;
      form_.stops.push_back(!is_fused && work != WorkClass::kMovement);
      form_.computing.push_back(form_.computing.back() + (is_fused ? 1 : 0));
    }
  }

  // Returns where each module in a path ends: "a.b.c" has the modules of sizes 1, 3 and 5.
  static std::vector<uint32_t> ModulesIn(absl::string_view path) {
    std::vector<uint32_t> ends;
    for (size_t end = 0; end != path.npos && ends.size() < kMaxModuleDepth;) {
      end = path.find('.', ends.empty() ? 0 : end + 1);
      ends.push_back(static_cast<uint32_t>(std::min(end, path.size())));
    }
    if (path.empty()) ends.clear();
    return ends;
  }

  void AddModules() {
    const std::vector<std::string> path_of = ModulePaths(index_);
    std::vector<RangeForm::ModuleRange> open;
    absl::string_view current;
    const auto close = [&](size_t depth, uint32_t end) {
      for (; open.size() > depth; open.pop_back()) {
        open.back().end = end;
        if (form_.can_cut[open.back().start] && form_.can_cut[end])
          form_.modules.push_back(open.back());
      }
    };
    for (uint32_t k = 0; k < path_of.size(); ++k) {
      const absl::string_view path = path_of[k];
      if (path == current) continue;
      const std::vector<uint32_t> modules = ModulesIn(path);
      size_t depth = 0;
      while (depth < modules.size() && depth < open.size() && open[depth].size == modules[depth] &&
             path.substr(0, modules[depth]) == current.substr(0, modules[depth]))
        ++depth;
      close(depth, k);
      for (; depth < modules.size(); ++depth) {
        open.push_back({k, 0, static_cast<uint32_t>(form_.paths.size()), modules[depth]});
      }
      form_.paths.emplace_back(path);
      current = path;
    }
    close(0, form_.num_operators());
    const auto key = [](const RangeForm::ModuleRange& m) {
      return std::make_tuple(m.start, ~m.end, m.size);
    };
    std::sort(form_.modules.begin(), form_.modules.end(),
              [&](const auto& a, const auto& b) { return key(a) < key(b); });
    // The outermost of modules with the same operators stands for all.
    const auto same = [](const auto& a, const auto& b) {
      return a.start == b.start && a.end == b.end;
    };
    form_.modules.erase(std::unique(form_.modules.begin(), form_.modules.end(), same),
                        form_.modules.end());
  }

  const Module& module_;
  const GraphIndex index_;
  std::vector<const Graph*> bodies_;
  RangeForm form_;
  std::string bytes_;             // the current word
  std::vector<uint32_t> labels_;  // of the current word
  uint64_t bytes_written_ = 0;
  absl::flat_hash_map<std::string, uint32_t> tokens_;
  absl::flat_hash_map<std::pair<const void*, absl::string_view>, uint32_t> label_numbers_;
};

template <typename T>
uint64_t BytesOf(const std::vector<T>& all) {
  return all.capacity() * sizeof(T);
}

}  // namespace

std::vector<std::string> RangeForm::NamesOf(uint32_t start, uint32_t count) const {
  std::vector<std::string> made;
  for (uint32_t k = start; k < start + count; ++k) {
    const uint32_t begin = k == 0 ? 0 : name_ends[k - 1];
    made.push_back(names.substr(begin, name_ends[k] - begin));
  }
  return made;
}

uint64_t RangeForm::bytes() const {
  uint64_t sum = sizeof *this + BytesOf(nodes) + BytesOf(ports) + BytesOf(bodies) +
                 BytesOf(behind) + BytesOf(last_use) + BytesOf(memory_ids) + BytesOf(memory) +
                 (can_cut.size() + stops.size()) / 8 + BytesOf(computing) + BytesOf(modules) +
                 BytesOf(paths) + names.capacity() + BytesOf(name_ends) + BytesOf(operands_begin) +
                 BytesOf(all_operands) + BytesOf(labels_begin) + BytesOf(all_labels);
  for (const Memory& one : memory) sum += BytesOf(one.members);
  for (const std::string& path : paths) sum += path.size();
  return sum;
}

absl::StatusOr<RangeForm> MakeRangeForm(const Module& module, bool modules, bool fusible) {
  RETURN_IF_ERROR(Verify(module));
  return FormMaker(module).Make(modules, fusible);
}

void Tokens::Number(RangeForm* form) {
  std::vector<uint32_t> numbers;
  for (std::string& description : form->descriptions) {
    const size_t size = description.size();
    const auto [it, is_new] =
        numbers_.try_emplace(std::move(description), static_cast<uint32_t>(numbers_.size()));
    constexpr uint64_t kEntry = 48;
    if (is_new) bytes_ += size + kEntry;
    numbers.push_back(it->second);
  }
  form->descriptions = {};
  for (std::vector<RangeForm::Word>* words : {&form->nodes, &form->ports, &form->bodies}) {
    for (RangeForm::Word& word : *words) word.token = numbers[word.token];
    words->shrink_to_fit();
  }
  form->output_target = numbers[form->output_target];
}

}  // namespace graphnet::corpus_internal

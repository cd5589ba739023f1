#include "graphnet/corpus/row.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"
#include "graphnet/corpus/features.h"
#include "graphnet/corpus/keys.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/statistics.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/call_meaning.h"

namespace graphnet {
namespace {

using corpus_internal::ArgumentKey;
using corpus_internal::ConstantKey;
using corpus_internal::EdgeKey;
using corpus_internal::IsDefault;
using corpus_internal::NameKey;
using corpus_internal::StableHash;

// The bytes of all keys of a row. A graph of a million different calls has fewer.
constexpr uint64_t kMaxKeyBytes = uint64_t{64} << 20;
// The elements of constants that are looked at.
constexpr uint64_t kMaxConstantWork = uint64_t{1} << 26;

int32_t Saturated(size_t count) {
  return static_cast<int32_t>(std::min<size_t>(count, std::numeric_limits<int32_t>::max()));
}

// Tells which arguments of calls are sizes: lists of any number of them.
class SizeArguments {
 public:
  bool operator()(const Node& call, size_t position) {
    const auto [it, is_new] = targets_.try_emplace({call.op(), call.target().data()});
    if (is_new) it->second = ParametersOf(call);
    const size_t positional = call.args().size();
    return absl::c_any_of(it->second, [&](const Parameter& parameter) {
      if (position >= positional)
        return call.kwargs()[position - positional].name == parameter.name;
      return position == parameter.index || (parameter.is_last && position > parameter.index);
    });
  }

 private:
  struct Parameter {
    absl::string_view name;
    size_t index = 0;
    bool is_last = false;  // x.view(2, 3) has the list without brackets
  };

  static std::vector<Parameter> ParametersOf(const Node& call) {
    std::vector<Parameter> found;
    for (const Schema& schema : CalleeOf(call).overloads) {
      for (size_t i = 0; i < schema.arguments.size(); ++i) {
        const SchemaArgument& argument = schema.arguments[i];
        const SchemaType& type = argument.type;
        if (!type.is_symbolic || !type.is_list || type.list_size != 0) continue;
        const bool is_last =
            i + 1 == schema.arguments.size() || schema.arguments[i + 1].keyword_only;
        found.push_back({argument.name, i, is_last && !argument.keyword_only});
      }
    }
    return found;
  }

  absl::flat_hash_map<std::pair<Op, const char*>, std::vector<Parameter>> targets_;
};

// The facts that all calls of one target have in common.
struct Target {
  std::string meaning;
  std::string key;
  size_t calls = 0;
};

class RowMaker {
 public:
  explicit RowMaker(const Module& module) : module_(module) {}

  absl::Status Run(CorpusRow* row) {
    for (const Graph* graph : module_.graphs()) {
      for (const Node* node : graph->nodes()) AddNode(*node);
    }
    if (key_bytes_ > kMaxKeyBytes || work_ == 0)
      return absl::ResourceExhaustedError("the words of its index are far larger than the graph");
    std::map<std::string, size_t> counts;
    for (const auto& [key, target] : targets_) counts[target.key] += target.calls;
    for (const auto& [meaning, count] : counts) {
      row->targets.push_back(meaning);
      row->counts.push_back(Saturated(count));
    }
    row->args = Sorted(args_);
    row->edges = Sorted(edges_);
    for (const DType dtype : dtypes_) row->dtypes.emplace_back(DTypeName(dtype));
    absl::c_sort(row->dtypes);
    row->ranks.assign(ranks_.begin(), ranks_.end());
    row->features = RowFeatures(module_);
    return absl::OkStatus();
  }

 private:
  static bool IsNamed(const Node& node) {
    return node.op() == Op::kCallFunction || node.op() == Op::kCallMethod;
  }

  static std::vector<std::string> Sorted(const absl::flat_hash_set<std::string>& words) {
    std::vector<std::string> sorted(words.begin(), words.end());
    absl::c_sort(sorted);
    return sorted;
  }

  // Returns whether the key is new.
  bool AddKey(std::string key, absl::flat_hash_set<std::string>* keys) {
    const size_t bytes = key.size();
    if (key_bytes_ > kMaxKeyBytes || !keys->insert(std::move(key)).second) return false;
    key_bytes_ += bytes;
    return true;
  }

  void AddArgument(const Target& target, absl::string_view parameter, const Argument& constant,
                   absl::string_view text) {
    std::string key = ArgumentKey(target.key, parameter, text);
    // Many calls have the same constants, so the tables are asked once.
    if (!AddKey(key, &given_)) return;
    if (!IsDefault(target.meaning, parameter, constant, text)) args_.insert(std::move(key));
  }

  Target& TargetOf(const Node& call) {
    // Modules own one copy of each target.
    const auto [it, is_new] = targets_.try_emplace({call.op(), call.target().data()});
    if (is_new) {
      const absl::string_view meaning = MeaningOf(call.op(), call.target()).name;
      it->second.meaning = std::string(meaning);
      it->second.key = NameKey(meaning);
      AddDefaults(call, it->second);
    }
    return it->second;
  }

  // A query that compares a parameter with its default finds calls that omit it. The terms of the
  // query know the defaults of the tables by the meaning. Others, such as those of a library's
  // operator, count as if they were given.
  void AddDefaults(const Node& call, const Target& target) {
    const absl::Span<const Schema* const> known = corpus_internal::SchemasOf(target.meaning);
    const Callable callee = CalleeOf(call);
    const auto add = [&](absl::Span<const Schema> schemas) {
      for (const Schema& schema : schemas) {
        if (absl::c_linear_search(known, &schema)) continue;
        for (const SchemaArgument& parameter : schema.arguments) {
          if (!parameter.has_default) continue;
          if (const std::optional<std::string> text = ConstantKey(parameter.default_value, &work_))
            args_.insert(ArgumentKey(target.key, parameter.name, *text));
        }
      }
    };
    add(callee.overloads);
    if (callee.python_operator != nullptr) add(FindSchemas(callee.python_operator->aten));
  }

  void AddNode(const Node& node) {
    if (const ValueMeta* meta = node.meta()) AddMeta(meta);
    if (!IsNamed(node)) return;
    Target& target = TargetOf(node);
    ++target.calls;
    AddArguments(node, target);
    node.ForEachOperand([&](const Node* operand) {
      if (!IsNamed(*operand)) return;
      const std::string& producer = TargetOf(*operand).key;
      AddKey(EdgeKey(producer, TargetOf(node).key), &edges_);
    });
  }

  void AddArguments(const Node& node, const Target& target) {
    std::vector<PositionalParameter> parameters;
    bool knows_parameters = false;
    for (size_t i = 0; i < node.args().size(); ++i) {
      std::optional<std::string> text = ConstantKey(node.args()[i], &work_);
      if (!text.has_value()) continue;
      if (!knows_parameters) parameters = ParametersOf(node);
      knows_parameters = true;
      if (i >= parameters.size()) break;
      AddArgument(target, parameters[i].name, node.args()[i], *text);
    }
    for (const KwArg& kwarg : node.kwargs()) {
      if (const std::optional<std::string> text = ConstantKey(kwarg.value, &work_))
        AddArgument(target, kwarg.name, kwarg.value, *text);
    }
  }

  void AddMeta(const ValueMeta* meta) {
    const auto parts = [](const ValueMeta* value, const auto& add) {
      for (const ValueMeta* element : value->elements) {
        if (element != nullptr) add(element);
      }
    };
    (void)metas_.Run(meta, parts, [this](const ValueMeta* value) {
      if (value->tensor == nullptr) return;
      if (value->tensor->dtype != DType::kUnknown) dtypes_.insert(value->tensor->dtype);
      if (value->tensor->has_shape) ranks_.insert(Saturated(value->tensor->shape.size()));
    });
  }

  const Module& module_;
  absl::flat_hash_map<std::pair<Op, const char*>, Target> targets_;
  absl::flat_hash_set<std::string> given_;  // all constants
  absl::flat_hash_set<std::string> args_;   // those that are not defaults
  absl::flat_hash_set<std::string> edges_;
  std::set<DType> dtypes_;
  std::set<int32_t> ranks_;
  SharedWalk<const ValueMeta*> metas_;
  uint64_t key_bytes_ = 0;
  uint64_t work_ = kMaxConstantWork;
};

}  // namespace

std::string ShapeHash(const Module& module) {
  SizeArguments sizes;
  const auto ask = [&](const Node& call, size_t position) { return sizes(call, position); };
  const absl::FunctionRef<bool(const Node&, size_t)> is_size = ask;
  return CanonicalHash(module, {.metas = true, .is_size = &is_size});
}

std::vector<uint64_t> RowFeatures(const Module& module) {
  absl::flat_hash_map<std::pair<Op, const char*>, uint64_t> labels;
  return FeaturesOf(module, [&](const Node& call) {
    // Modules own one copy of each target.
    const auto [it, is_new] = labels.try_emplace({call.op(), call.target().data()});
    if (is_new) it->second = StableHash(MeaningOf(call.op(), call.target()).name);
    return it->second;
  });
}

absl::StatusOr<CorpusRow> MakeRow(const Sample& sample) {
  CorpusRow row;
  // This verifies the module.
  ASSIGN_OR_RETURN(row.blob, SerializeGraph(sample));
  const Module& module = *sample.module;
  row.hash = absl::HexStringToBytes(CanonicalHash(module, {.metas = true}));
  row.shape_hash = absl::HexStringToBytes(ShapeHash(module));
  row.name = AsUtf8(sample.name);
  row.json = AsUtf8(sample.graph_net_json);
  const ModuleStatistics statistics = ComputeStatistics(module);
  row.nodes = Saturated(statistics.all_nodes);
  row.inputs = Saturated(statistics.placeholders);
  row.outputs = Saturated(statistics.outputs);
  row.parameters = Saturated(statistics.parameters);
  RETURN_IF_ERROR(RowMaker(module).Run(&row));
  return row;
}

}  // namespace graphnet

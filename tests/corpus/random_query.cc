#include "tests/corpus/random_query.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/ops/callable.h"
#include "graphnet/passes/call_meaning.h"

namespace graphnet {
namespace {

class Writer {
 public:
  explicit Writer(std::mt19937* random) : random_(*random) {}

  std::string Call(const Node& call, int depth) {
    std::vector<std::string> arguments;
    const std::vector<PositionalParameter> parameters = ParametersOf(call);
    if (OneIn(4)) return absl::StrCat(Names(call), Type(call));
    size_t positional = 0;
    while (positional < call.args().size() && !OneIn(4)) {
      const Argument& argument = call.args()[positional];
      if (!argument.is_node() && OneIn(2)) break;  // the rest by conditions
      arguments.push_back(Value(argument, depth));
      ++positional;
    }
    for (size_t i = positional; i < call.args().size() && i < parameters.size(); ++i)
      AddCondition(parameters[i].name, call.args()[i], &arguments);
    for (const KwArg& kwarg : call.kwargs()) AddCondition(kwarg.name, kwarg.value, &arguments);
    for (const Schema& schema : CalleeOf(call).overloads) {
      for (const SchemaArgument& parameter : schema.arguments) {
        // What a call omits counts with its default.
        if (parameter.has_default && OneIn(12))
          AddCondition(parameter.name, parameter.default_value, &arguments);
      }
    }
    return absl::StrCat(Names(call), "(", absl::StrJoin(arguments, ", "), ")", Type(call));
  }

 private:
  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool OneIn(size_t n) { return Below(n) == 0; }

  std::string Names(const Node& call) {
    std::string names = Name(call);
    if (OneIn(8)) absl::StrAppend(&names, "|", OneIn(2) ? "relu" : Name(call));
    return names;
  }

  std::string Name(const Node& call) {
    const std::string target(call.target());
    std::string last(LastPart(target));
    std::string meaning(MeaningOf(call.op(), target).name);
    switch (Below(8)) {
      case 0:
      case 1: return last;
      case 2:
      case 3: return meaning;
      case 4: return call.op() == Op::kCallMethod ? absl::StrCat(".", target) : target;
      case 5: return absl::StrCat("torch.ops.aten.", meaning);
      case 6: return absl::StrCat(meaning, "_");
      default: {
        // Other spellings of Python's operators.
        static constexpr const char* kOthers[] = {"__radd__", "truediv", "iadd", "rsub",
                                                  "__mul__",  "concat",  "imul", "absolute"};
        return OneIn(2) ? last : kOthers[Below(std::size(kOthers))];
      }
    }
  }

  std::string Type(const Node& value) {
    const TensorMeta* const meta = value.tensor_meta();
    if (meta == nullptr || !OneIn(5)) return "";
    std::string text = ": ";
    if (OneIn(3)) {
      absl::StrAppend(&text, "?");
    } else {
      absl::StrAppend(&text, DTypeShortName(meta->dtype), OneIn(3) ? "|f16" : "");
    }
    if (!meta->has_shape || OneIn(3)) return text;
    if (OneIn(3)) return absl::StrCat(text, "[*, ...]");
    return absl::StrCat(text, "[",
                        absl::StrJoin(meta->shape, ", ",
                                      [this](auto* out, const Dim& d) {
                                        if (d.is_static() && OneIn(2)) {
                                          absl::StrAppend(out, d.value);
                                        } else {
                                          out->push_back('*');
                                        }
                                      }),
                        "]");
  }

  std::string Value(const Argument& argument, int depth) {
    if (OneIn(3)) return "?";
    if (argument.is_node()) {
      const Node& node = *argument.node();
      if (depth > 0 && (node.op() == Op::kCallFunction || node.op() == Op::kCallMethod))
        return Call(node, depth - 1);
      return absl::StrCat(OneIn(2) ? "%" : "%x", Type(node));
    }
    if (argument.is_list() && !argument.elements().empty() &&
        absl::c_all_of(argument.elements(), [](const Argument& e) { return e.is_node(); }) &&
        OneIn(2)) {
      return absl::StrCat("[",
                          absl::StrJoin(argument.elements(), ", ",
                                        [&](auto* out, const Argument& element) {
                                          absl::StrAppend(out, Value(element, depth - 1));
                                        }),
                          "]");
    }
    return Constant(argument).value_or("?");
  }

  std::optional<std::string> Constant(const Argument& a) {
    using Kind = Argument::Kind;
    switch (a.kind()) {
      case Kind::kNone: return "None";
      case Kind::kBool: return a.boolean() ? "True" : "False";
      case Kind::kInt: return absl::StrCat(a.integer());
      case Kind::kFloat: {
        std::string text = absl::StrCat(a.real());
        if (absl::StrContains(text, 'n')) return std::nullopt;  // inf, nan
        if (!absl::StrContains(text, '.') && !absl::StrContains(text, 'e')) text += ".0";
        return text;
      }
      case Kind::kString: return absl::StrCat("\"", a.string(), "\"");
      case Kind::kDType: return absl::StrCat("torch.", DTypeName(a.dtype()));
      case Kind::kList:
      case Kind::kTuple: {
        std::string text = a.is_list() ? "[" : "(";
        for (const Argument& element : a.elements()) {
          const std::optional<std::string> part = Constant(element);
          if (!part.has_value()) return std::nullopt;
          absl::StrAppend(&text, *part, ", ");
        }
        if (!a.elements().empty()) text.resize(text.size() - (a.elements().size() == 1 ? 1 : 2));
        return absl::StrCat(text, a.is_list() ? "]" : ")");
      }
      default: return std::nullopt;
    }
  }

  void AddCondition(absl::string_view name, const Argument& value,
                    std::vector<std::string>* arguments) {
    if (OneIn(2)) return;
    std::optional<std::string> text = Constant(value);
    if (!text.has_value()) return;
    if (value.is_sequence() && !value.elements().empty() && OneIn(2)) {
      text = Constant(value.elements()[0]);
      if (!text.has_value()) return;
    } else if (value.is_int() && OneIn(4)) {
      text = absl::StrCat(*text, ".0");  // an equal number
    }
    switch (Below(6)) {
      case 0: arguments->push_back(absl::StrCat(name, " in [7, ", *text, "]")); break;
      case 1: arguments->push_back(absl::StrCat(name, " != 7")); break;
      case 2:
        if (value.is_number()) {
          arguments->push_back(absl::StrCat(name, OneIn(2) ? " >= " : " <= ", *text));
          break;
        }
        [[fallthrough]];
      default: arguments->push_back(absl::StrCat(name, "=", *text));
    }
  }

  std::mt19937& random_;
};

}  // namespace

std::string RandomQuery(const Module& module, std::mt19937* random) {
  std::vector<const Node*> calls;
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (node->op() == Op::kCallFunction || node->op() == Op::kCallMethod) calls.push_back(node);
    }
  }
  if (calls.empty()) return "";
  std::uniform_int_distribution<size_t> any(0, calls.size() - 1);
  return Writer(random).Call(*calls[any(*random)], /*depth=*/2);
}

bool HasTerms(const CorpusRow& row, const std::vector<QueryTerm>& terms) {
  return absl::c_all_of(terms, [&](const QueryTerm& term) {
    return absl::c_any_of(term.any_of, [&](const std::string& word) {
      if (term.column == "targets") return absl::c_linear_search(row.targets, word);
      if (term.column == "args") return absl::c_linear_search(row.args, word);
      if (term.column == "edges") return absl::c_linear_search(row.edges, word);
      if (term.column == "dtypes") return absl::c_linear_search(row.dtypes, word);
      return absl::c_any_of(row.ranks, [&](int32_t rank) { return absl::StrCat(rank) == word; });
    });
  });
}

}  // namespace graphnet

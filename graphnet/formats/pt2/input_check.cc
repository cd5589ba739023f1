#include "graphnet/formats/pt2/input_check.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/python_numbers.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/call_signature.h"
#include "graphnet/formats/pt2/expressions.h"
#include "graphnet/formats/pt2/guards.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/schema.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

using pt2::Json;
using pt2::JsonDocument;
using pt2::JsonUnion;
using pt2::TreeSpec;
using python::Number;

// A size, stride or number that the user gives, and what it must be.
struct Asked {
  std::string what;  // "input x: size 0"
  int64_t given = 0;
  const SymExpr* expr = nullptr;
};

std::optional<int64_t> IntOf(const TensorData& data) {
  if (data.dtype != DType::kInt64 || data.bytes == nullptr || data.bytes->size() != 8) {
    return std::nullopt;
  }
  int64_t value = 0;
  std::memcpy(&value, data.bytes->data(), sizeof(value));
  return value;
}

// Adds the paths of a tree's leaves in order, as Python writes them: "['d']['k']".
void AddPaths(const TreeSpec& spec, const std::string& path, std::vector<std::string>* paths) {
  if (spec.kind == TreeSpec::Kind::kLeaf) paths->push_back(path);
  for (size_t i = 0; i < spec.children.size(); ++i) {
    std::string part = absl::StrCat("[", i, "]");
    if (spec.kind == TreeSpec::Kind::kDict) {
      if (const auto* text = std::get_if<std::string>(&spec.keys[i])) {
        part = absl::StrCat("['", *text, "']");
      } else if (const auto* number = std::get_if<int64_t>(&spec.keys[i])) {
        part = absl::StrCat("[", *number, "]");
      }
    }
    AddPaths(spec.children[i], absl::StrCat(path, part), paths);
  }
}

class InputCheck {
 public:
  InputCheck(const Sample& sample, const std::map<std::string, TensorData>& values)
      : values_(values) {
    if (sample.module == nullptr || sample.module->main() == nullptr) return;
    for (const Node* input : sample.module->main()->placeholders()) {
      if (input->tensor_meta() != nullptr && input->tensor_meta()->has_shape)
        shapes_[std::string(input->target())] = input->tensor_meta()->shape;
    }
  }

  absl::Status Run(Json program) {
    Json graph_module, ranges, guards;
    RETURN_IF_ERROR(ReadFields(program, {{"graph_module", &graph_module},
                                         {"range_constraints", &ranges},
                                         {"guards_code", &guards, false}}));
    Json graph, signature, calls;
    RETURN_IF_ERROR(ReadFields(
        graph_module,
        {{"graph", &graph}, {"signature", &signature}, {"module_call_graph", &calls, false}}));
    RETURN_IF_ERROR(ReadInputs(graph, signature));
    RETURN_IF_ERROR(Solve());
    RETURN_IF_ERROR(CheckRanges(ranges));
    RETURN_IF_ERROR(ReadPaths(calls));
    for (const Json guard : guards.elements()) {
      ASSIGN_OR_RETURN(const absl::string_view text, guard.String());
      const std::optional<Number> holds =
          pt2::EvaluateGuard(text, [this](absl::string_view name) { return Resolve(name); });
      // A guard that cannot be evaluated does not refuse the inputs.
      if (holds && !python::Truth(*holds)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the inputs violate a guard of the program: ",
                         Printable(absl::StripPrefix(text, "L"), 500)));
      }
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Unlike(const Asked& asked, absl::string_view expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        asked.what, " is ", asked.given, ", the program takes ", expected,
        absl::c_all_of(expected, absl::ascii_isdigit)
            ? "; dynamic_shapes of torch.export, or opt -p generalize-dims, lets a size "
              "vary"
            : ""));
  }

  // Reads the sizes of all user inputs that have values, and checks those that are numbers.
  absl::Status ReadInputs(Json graph, Json signature) {
    Json tensors, ints;
    RETURN_IF_ERROR(ReadFields(graph, {{"tensor_values", &tensors}, {"sym_int_values", &ints}}));
    ASSIGN_OR_RETURN(inputs_, pt2::ReadUserInputs(signature));
    for (const pt2::UserInput& input : inputs_) {
      if (!input.name.empty()) wanted_[input.name] = input.is_tensor;
    }
    RETURN_IF_ERROR(tensors.ForEachMember([&](absl::string_view name, Json meta) -> absl::Status {
      const auto it = wanted_.find(std::string(name));
      if (it == wanted_.end() || !it->second) return absl::OkStatus();
      return ReadTensor(it->first, meta);
    }));
    return ints.ForEachMember([&](absl::string_view name, Json size) -> absl::Status {
      const auto it = wanted_.find(std::string(name));
      const auto value = values_.find(std::string(name));
      if (it == wanted_.end() || it->second || value == values_.end()) return absl::OkStatus();
      const std::optional<int64_t> number = IntOf(value->second);
      if (!number) return absl::OkStatus();
      return AddSize({.what = absl::StrCat("input ", Printable(name)), .given = *number}, size);
    });
  }

  absl::Status ReadTensor(const std::string& name, Json meta) {
    const auto value = values_.find(name);
    if (value == values_.end()) return absl::OkStatus();
    Json sizes;
    RETURN_IF_ERROR(ReadFields(meta, {{"sizes", &sizes}}));
    const std::vector<int64_t>& given = value->second.shape;
    const std::string what = absl::StrCat("input ", Printable(name));
    if (sizes.size() != given.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, " has ", given.size(), " dimensions, the program takes ", sizes.size()));
    }
    size_t i = 0;
    for (const Json size : sizes.elements()) {
      ASSIGN_OR_RETURN(const JsonUnion expected, ReadUnion(size));
      // A pass may have turned a number into a symbol.
      if (expected.kind == "as_int" && IsSymbol(name, i)) {
        made_general_.insert({name, i++});
        continue;
      }
      RETURN_IF_ERROR(AddSize({.what = absl::StrCat(what, ": size ", i), .given = given[i]}, size));
      ++i;
    }
    return absl::OkStatus();
  }

  bool IsSymbol(const std::string& name, size_t i) const {
    const auto it = shapes_.find(name);
    return it != shapes_.end() && i < it->second.size() && !it->second[i].is_static();
  }

  absl::Status AddSize(Asked asked, Json size) {
    ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(size));
    if (value.kind == "as_int") {
      ASSIGN_OR_RETURN(const int64_t number, value.value.Int());
      return number == asked.given ? absl::OkStatus() : Unlike(asked, absl::StrCat(number));
    }
    Json text;
    RETURN_IF_ERROR(ReadFields(value.value, {{"expr_str", &text}}));
    ASSIGN_OR_RETURN(const absl::string_view srepr, text.String());
    ASSIGN_OR_RETURN(asked.expr, pt2::ParseSympy(srepr, &symbols_));
    if (asked.expr == nullptr) return absl::OkStatus();
    if (asked.expr->kind != SymExpr::Kind::kSymbol) {
      related_.push_back(std::move(asked));
      return absl::OkStatus();
    }
    return Bind(asked.expr->name, asked);
  }

  absl::Status Bind(absl::string_view symbol, const Asked& asked) {
    const Symbol* const known = symbols_.FindSymbol(symbol);
    if (known == nullptr || !known->example) {
      symbols_.AddSymbol(symbol, asked.given);
      bound_by_.emplace(symbol, asked);
      return absl::OkStatus();
    }
    if (*known->example == asked.given) return absl::OkStatus();
    return Unlike(asked, absl::StrCat("the same as ", bound_by_.at(std::string(symbol)).what, ", ",
                                      *known->example));
  }

  // Returns the expression's first symbol that has no value yet; nullptr if all have one.
  const SymExpr* OnlyUnknown(const SymExpr& expr) const {
    if (expr.kind == SymExpr::Kind::kSymbol) {
      const Symbol* const symbol = symbols_.FindSymbol(expr.name);
      return symbol != nullptr && symbol->example ? nullptr : &expr;
    }
    const SymExpr* const left = expr.lhs == nullptr ? nullptr : OnlyUnknown(*expr.lhs);
    const SymExpr* const right = expr.rhs == nullptr ? nullptr : OnlyUnknown(*expr.rhs);
    return left == nullptr ? right : left;
  }

  // Checks sizes that are expressions of known symbols; solves 4 * s, say, for an unknown s.
  absl::Status Solve() {
    for (const Asked& asked : related_) {
      const SymExpr* const unknown = OnlyUnknown(*asked.expr);
      if (unknown != nullptr) {
        const std::string symbol(unknown->name);
        std::optional<int64_t> at[3];
        for (int64_t i = 0; i < 3; ++i) {
          symbols_.AddSymbol(symbol, i);
          at[i] = EvaluateWithExamples(symbols_, *asked.expr);
        }
        symbols_.AddSymbol(symbol, std::nullopt);
        if (!at[0] || !at[1] || !at[2]) continue;
        const std::optional<int64_t> slope = python::Subtract(*at[1], *at[0]);
        const std::optional<int64_t> rise = python::Subtract(asked.given, *at[0]);
        if (!slope || !rise || *slope == 0 || python::Add(*at[1], *slope) != at[2]) continue;
        if (python::Modulo(*rise, *slope) != 0) {
          return Unlike(asked, absl::StrCat("a multiple of ", std::abs(*slope),
                                            *at[0] == 0 ? "" : absl::StrCat(" plus ", *at[0])));
        }
        const std::optional<int64_t> value = python::FloorDivide(*rise, *slope);
        if (value) symbols_.AddSymbol(symbol, value);
        bound_by_.emplace(symbol, asked);
        continue;
      }
      const std::optional<int64_t> expected = EvaluateWithExamples(symbols_, *asked.expr);
      if (expected && *expected != asked.given) return Unlike(asked, absl::StrCat(*expected));
    }
    return absl::OkStatus();
  }

  absl::Status CheckRanges(Json ranges) {
    return ranges.ForEachMember([&](absl::string_view key, Json range) -> absl::Status {
      const Symbol* const symbol = symbols_.FindSymbol(key);
      if (symbol == nullptr || !symbol->example) return absl::OkStatus();
      const auto asked = bound_by_.find(std::string(key));
      if (asked == bound_by_.end()) return absl::OkStatus();
      Json min, max;
      RETURN_IF_ERROR(ReadFields(range, {{"min_val", &min, false}, {"max_val", &max, false}}));
      ASSIGN_OR_RETURN(const std::optional<int64_t> low, pt2::ReadBound(min));
      ASSIGN_OR_RETURN(const std::optional<int64_t> high, pt2::ReadBound(max));
      // PyTorch treats 0 and 1 as special when it exports, but does not insist on a bound of 2.
      if (low && *low > 2 && *symbol->example < *low) {
        return Unlike(asked->second, absl::StrCat("no less than ", *low, Of(asked->second, key)));
      }
      if (!high || *symbol->example <= *high) return absl::OkStatus();
      return Unlike(asked->second, absl::StrCat("no more than ", *high, Of(asked->second, key)));
    });
  }
  // Names the symbol of the bound if the size is not the symbol itself.
  static std::string Of(const Asked& asked, absl::string_view symbol) {
    if (asked.expr == nullptr || asked.expr->kind == SymExpr::Kind::kSymbol) return "";
    return absl::StrCat(" for ", Printable(symbol), " of it");
  }

  // Reads the names by which guards refer to the user's inputs.
  absl::Status ReadPaths(Json calls) {
    ASSIGN_OR_RETURN(const std::optional<pt2::CallSignature> call, pt2::ReadCallSignature(calls));
    if (call && call->in_spec.children.size() == 2) {
      AddArgumentPaths(call->in_spec, call->argument_names);
    }
    return absl::OkStatus();
  }

  void AddArgumentPaths(const TreeSpec& spec, const std::vector<std::string>& names) {
    const TreeSpec& args = spec.children[0];
    const TreeSpec& kwargs = spec.children[1];
    size_t leaf = 0;
    const auto add = [&](const TreeSpec& tree, const std::vector<std::string>& roots) {
      std::vector<std::string> inner;
      AddPaths(tree, "", &inner);
      for (const std::string& path : inner) {
        for (const std::string& root : roots) paths_[absl::StrCat(root, path)] = leaf;
        paths_[absl::StrCat("L['flat_args'][", leaf, "]")] = leaf;
        ++leaf;
      }
    };
    for (size_t i = 0; i < args.children.size(); ++i) {
      std::vector<std::string> roots;
      if (i < names.size()) {
        roots.push_back(absl::StrCat("L['", names[i], "']"));
        // rest_0 is also rest[0], of *rest.
        const size_t at = names[i].rfind('_');
        int64_t index = 0;
        if (at != std::string::npos && absl::SimpleAtoi(names[i].substr(at + 1), &index)) {
          roots.push_back(absl::StrCat("L['", names[i].substr(0, at), "'][", index, "]"));
        }
      }
      add(args.children[i], roots);
    }
    for (size_t i = 0; i < kwargs.children.size() && i < kwargs.keys.size(); ++i) {
      const auto* const name = std::get_if<std::string>(&kwargs.keys[i]);
      std::vector<std::string> roots;
      if (name != nullptr) roots.push_back(absl::StrCat("L['", *name, "']"));
      add(kwargs.children[i], roots);
    }
  }

  // "L['x'].size()[0]", "L['n']"
  std::optional<Number> Resolve(absl::string_view text) const {
    absl::string_view path = text;
    const size_t dot = text.find("].");
    absl::string_view rest;
    if (dot != absl::string_view::npos) {
      path = text.substr(0, dot + 1);
      rest = text.substr(dot + 2);
    }
    const auto it = paths_.find(std::string(path));
    if (it == paths_.end() || it->second >= inputs_.size()) return std::nullopt;
    const auto value = values_.find(inputs_[it->second].name);
    if (value == values_.end()) return std::nullopt;
    const std::vector<int64_t>& shape = value->second.shape;
    if (rest.empty()) {
      const std::optional<int64_t> number = IntOf(value->second);
      return number ? std::optional<Number>(*number) : std::nullopt;
    }
    if (rest == "storage_offset()") return Number(int64_t{0});
    const bool is_stride = absl::ConsumePrefix(&rest, "stride()[");
    size_t i = 0;
    if ((!is_stride && !absl::ConsumePrefix(&rest, "size()[")) ||
        !absl::ConsumeSuffix(&rest, "]") || !absl::SimpleAtoi(rest, &i) || i >= shape.size()) {
      return std::nullopt;
    }
    const std::string& name = inputs_[it->second].name;
    for (size_t j = i; j < (is_stride ? shape.size() : i + 1); ++j) {
      if (made_general_.contains({name, j})) return std::nullopt;
    }
    if (!is_stride) return Number(shape[i]);
    int64_t stride = 1;  // Inputs lie in row-major order.
    for (size_t j = i + 1; j < shape.size(); ++j) stride *= std::max<int64_t>(shape[j], 1);
    return Number(stride);
  }

  const std::map<std::string, TensorData>& values_;
  std::vector<pt2::UserInput> inputs_;
  std::map<std::string, bool> wanted_;  // by name: true for a tensor
  std::map<std::string, size_t> paths_;
  Module symbols_;  // symbols, with the values that follow from the inputs
  std::map<std::string, Asked> bound_by_;
  std::vector<Asked> related_;
  // By input: its shape in the current graph, and its sizes that were numbers in the program.
  std::map<std::string, absl::Span<const Dim>> shapes_;
  std::set<std::pair<std::string, size_t>> made_general_;
};

}  // namespace

absl::Status CheckProgramInputs(const Sample& sample,
                                const std::map<std::string, TensorData>& values) {
  const auto file = sample.extra_files.find(std::string(kProgramFile));
  if (file == sample.extra_files.end()) return absl::OkStatus();
  absl::StatusOr<JsonDocument> document = JsonDocument::Parse(file->second);
  if (!document.ok()) return Annotate(document.status(), kProgramFile);
  return InputCheck(sample, values).Run(document->root());
}

}  // namespace graphnet

#include "graphnet/passes/resize/size_table.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

using Rows = std::vector<std::vector<int64_t>>;

constexpr size_t kMaxRows = 10'000;
constexpr size_t kMaxBytes = size_t{1} << 20;

// GraphNet's tables (graph_net/torch/sym_dim_reifiers).
const Rows& BatchesAndLengths() {
  static const auto* const rows = new Rows{{1, 16},   {4, 16},   {1, 256},  {16, 16},  {4, 256},
                                           {256, 16}, {1, 4096}, {16, 256}, {16, 4096}};
  return *rows;
}
const Rows& BatchesAndSides() {
  static const auto* const rows = new Rows{{1, 224},  {1, 256},   {1, 384},   {32, 224}, {32, 256},
                                           {32, 384}, {128, 224}, {128, 256}, {128, 384}};
  return *rows;
}
const Rows& Sides() {
  static const auto* const rows =
      new Rows{{128}, {192}, {224}, {256}, {336}, {384}, {448}, {512}, {640}};
  return *rows;
}
const Rows& Batches() {
  static const auto* const rows = new Rows{{1}, {2}, {4}, {16}, {32}, {64}, {128}};
  return *rows;
}

// The rows of cv for shapes that are not those of images.
const std::map<std::string, Rows>& RowsByShapes() {
  static const auto* const rows = [] {
    const Rows speech = {{1, 500},  {16, 200}, {2, 3000}, {4, 2000}, {8, 1000},
                         {64, 200}, {4, 4000}, {32, 500}, {16, 1000}};
    Rows speech_twice;
    for (const auto& [s0, s1] : std::vector<std::pair<int64_t, int64_t>>{{1, 500},
                                                                         {2, 3000},
                                                                         {4, 2000},
                                                                         {16, 200},
                                                                         {8, 1000},
                                                                         {4, 4000},
                                                                         {16, 1000},
                                                                         {32, 500},
                                                                         {64, 200}})
      speech_twice.push_back({s0, s0, s1});
    const Rows small = {{1, 8},  {1, 16}, {1, 32}, {2, 16}, {1, 64},
                        {2, 32}, {2, 64}, {4, 32}, {4, 64}};
    const Rows three = {{1, 8, 8},   {1, 8, 16},  {1, 16, 16}, {2, 16, 16}, {1, 16, 32},
                        {1, 32, 32}, {2, 16, 32}, {2, 32, 32}, {4, 16, 32}};
    return new std::map<std::string, Rows>{
        {"[(S0,3,S1,S2)]",
         {{1, 256, 192},
          {4, 128, 128},
          {1, 384, 288},
          {2, 512, 512},
          {8, 256, 256},
          {64, 96, 96},
          {16, 256, 192},
          {32, 192, 256},
          {8, 480, 640}}},
        {"[(1,S0,3,S1,S1)]",
         {{8, 112},
          {16, 112},
          {4, 448},
          {8, 224},
          {8, 384},
          {32, 112},
          {16, 224},
          {64, 112},
          {32, 224}}},
        {"[(S0,),(S0,80,S1)]", speech},
        {"[(S0,80,S1),(S0,)]", speech},
        {"[(S0,),(S1,),(S1,80,S2)]", speech_twice},
        {"[(S0,),(S1,80,S2),(S1,)]", speech_twice},
        {"[(S0,S1,S2)]", three},
        {"[(S0,S1,S2,S2)]", three},
        {"[(S0,S1),(S0,S1,2560)]",
         {{1, 16}, {1, 32}, {1, 64}, {2, 32}, {1, 128}, {2, 64}, {1, 256}, {2, 128}, {2, 256}}},
        {"[(S0,S1,256),(S0,S1,256)]", small},
    };
  }();
  return *rows;
}

// Returns whether a shape has one symbol twice, as the side of an image.
bool HasSquare(const Module& module) {
  for (const Node* node : module.main()->placeholders()) {
    const TensorMeta* meta = node->tensor_meta();
    if (meta == nullptr) continue;
    for (size_t i = 1; i < meta->shape.size(); ++i) {
      const Dim& a = meta->shape[i - 1];
      const Dim& b = meta->shape[i];
      if (!a.is_static() && !b.is_static() && *a.expr == *b.expr) return true;
    }
  }
  return false;
}

// Returns the rows of the table "cv".
Rows RowsOfImages(const Module& module) {
  const auto found = RowsByShapes().find(SymbolicShapes(module));
  if (found != RowsByShapes().end()) return found->second;
  const size_t symbols = module.symbols().size();
  if (symbols == 1) return HasSquare(module) ? Sides() : Batches();
  return symbols == 2 ? BatchesAndSides() : Rows();
}

}  // namespace

std::string SymbolicShapes(const Module& module) {
  std::vector<std::string> shapes;
  for (const Node* node : module.main()->placeholders()) {
    const TensorMeta* meta = node->tensor_meta();
    if (meta == nullptr || meta->is_static() || !meta->has_shape) continue;
    std::vector<std::string> dims;
    for (const Dim& dim : meta->shape)
      dims.push_back(dim.is_static() ? absl::StrCat(dim.value) : PrintSymExpr(*dim.expr));
    shapes.push_back(absl::StrCat("(", absl::StrJoin(dims, ","), dims.size() == 1 ? ",)" : ")"));
  }
  absl::c_sort(shapes);
  return absl::StrCat("[", absl::StrJoin(shapes, ","), "]");
}

absl::StatusOr<SizeTable> SizeTable::Parse(absl::string_view text, absl::string_view name) {
  SizeTable table;
  table.name_ = std::string(name);
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = line.substr(0, line.find('#'));
    std::vector<int64_t> row;
    for (const absl::string_view word :
         absl::StrSplit(line, absl::ByAnyChar(", \t\r"), absl::SkipEmpty())) {
      int64_t size = 0;
      if (!absl::SimpleAtoi(word, &size) || size < 1 ||
          size > std::numeric_limits<int32_t>::max()) {
        return absl::InvalidArgumentError(absl::StrCat(Printable(name, 1000), ":", number, ": ",
                                                       Printable(word),
                                                       " is not a size from 1 to 2147483647"));
      }
      row.push_back(size);
    }
    if (!row.empty()) table.rows_.push_back(std::move(row));
    if (table.rows_.size() > kMaxRows) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(name, 1000), ": more than ", kMaxRows, " rows"));
    }
  }
  if (table.rows_.empty())
    return absl::InvalidArgumentError(absl::StrCat(Printable(name, 1000), ": has no row of sizes"));
  return table;
}

absl::StatusOr<SizeTable> SizeTable::Open(const std::string& name_or_path) {
  if (name_or_path == "nlp" || name_or_path == "cv" || name_or_path == "vit" ||
      name_or_path == "auto") {
    SizeTable table;
    table.name_ = name_or_path;
    return table;
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(name_or_path, kMaxBytes));
  return Parse(text, name_or_path);
}

absl::StatusOr<std::vector<std::vector<int64_t>>> SizeTable::RowsFor(
    const Module& module, absl::string_view graph_net_json) const {
  const size_t symbols = module.symbols().size();
  if (module.main() == nullptr || symbols == 0) {
    return absl::FailedPreconditionError(
        "no input has a symbol; resize --symbols finds the sizes that can grow");
  }
  std::string name = name_;
  if (name == "auto") {
    Json json = Json::Parse(graph_net_json);
    const std::string* reifier =
        json.is_object() ? json["symbolic_dimension_reifier"].text() : nullptr;
    if (reifier == nullptr) {
      return absl::FailedPreconditionError(
          "graph_net.json names no table (symbolic_dimension_reifier); give --sizes one");
    }
    name = *reifier == "naive_nlp_sym_dim_reifier"  ? "nlp"
           : *reifier == "naive_cv_sym_dim_reifier" ? "cv"
                                                    : *reifier;
  }
  Rows rows = rows_;
  if (name == "nlp") {
    rows = BatchesAndLengths();
  } else if (name == "vit") {
    rows = Sides();
  } else if (name == "cv") {
    rows = RowsOfImages(module);
  } else if (rows_.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("graph_net.json names the table ",
                                                      Printable(name),
                                                      ", which is unknown; give --sizes one"));
  }
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&](const std::vector<int64_t>& row) { return row.size() != symbols; }),
             rows.end());
  if (rows.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("the table ", Printable(name_, 1000),
                                                      " has no row for the shapes ",
                                                      SymbolicShapes(module)));
  }
  return rows;
}

}  // namespace graphnet

// Writes a branch on a value as torch.prim.If.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/mlir/types.h"
#include "graphnet/formats/mlir/writer.h"

namespace graphnet::mlir {

absl::Status Writer::WriteBranch(const Graph& body, absl::Span<const Argument> operands,
                                 const std::vector<std::string>& types,
                                 std::vector<Value>* results) {
  if (body.output() == nullptr || body.placeholders().size() != operands.size())
    return Error(absl::StrCat("@", body.name(), " does not take its operands"));
  for (size_t i = 0; i < operands.size(); ++i) {
    ASSIGN_OR_RETURN(values_[body.placeholders()[i]],
                     Operand(operands[i], SchemaType{.kind = SchemaType::Kind::kAny}));
  }
  const Node* const call = node_;
  for (const Node* node : body.nodes()) {
    node_ = node;
    if (node->op() == Op::kGetAttr) return Error("it reads an attribute within a branch");
    if (node->is_call()) RETURN_IF_ERROR(WriteCall(*node));
  }
  node_ = body.output();
  for (const Argument& argument : body.output()->args())
    RETURN_IF_ERROR(AddResults(argument, results));
  node_ = call;
  // The branches may know different sizes of a result.
  for (size_t i = 0; i < results->size() && i < types.size(); ++i) {
    Value& result = (*results)[i];
    if (result.type == types[i]) continue;
    if (!result.is_tensor() || types[i].empty())
      return Error("its branches return different types");
    result = Emit("result", "torch.tensor_static_info_cast", {result}, types[i]);
  }
  return absl::OkStatus();
}

absl::Status Writer::WriteCond(const Node& node) {
  const absl::Span<const Argument> args = node.args();
  if (args.size() != 4 || args[1].kind() != Argument::Kind::kGraph ||
      args[2].kind() != Argument::Kind::kGraph || !args[3].is_sequence()) {
    return Error("it has no branches");
  }
  ASSIGN_OR_RETURN(Value condition, Operand(args[0], SchemaType{.kind = SchemaType::Kind::kAny}));
  if (condition.is_tensor())
    condition = Emit("condition", "torch.aten.Bool.Tensor", {condition}, kBool);
  if (condition.type != kBool) return Error("its condition is no bool");

  std::vector<std::string> types;
  const ValueMeta* const meta = node.meta();
  if (meta == nullptr || !meta->is_tuple) return UnknownMeta();
  for (const ValueMeta* element : meta->elements) {
    const auto type = TensorType(element == nullptr ? nullptr : element->tensor);
    if (!type) return UnknownMeta();
    types.push_back(*type);
  }
  const std::string outer = std::exchange(body_, "");
  std::string regions;
  for (const size_t i : {1, 2}) {
    std::vector<Value> results;
    absl::Status status = WriteBranch(*args[i].graph(), args[3].elements(), types, &results);
    if (status.ok() && results.size() != types.size())
      status = Error("its branches return different numbers of values");
    if (!status.ok()) {
      body_ = outer;
      return status;
    }
    std::vector<absl::string_view> names;
    for (const Value& result : results) names.push_back(result.name);
    absl::StrAppend(&regions, i == 1 ? "" : ", ", "{\n", std::exchange(body_, ""),
                    "    \"torch.prim.If.yield\"(", absl::StrJoin(names, ", "), ") : (",
                    absl::StrJoin(types, ", "), ") -> ()\n    }");
  }
  body_ = outer;
  const std::string name = Fresh(node.name());
  absl::StrAppend(&body_, "    ");
  if (!types.empty()) absl::StrAppend(&body_, name, ":", types.size(), " = ");
  absl::StrAppend(&body_, "\"torch.prim.If\"(", condition.name, ") (", regions, ") : (", kBool,
                  ") -> (", absl::StrJoin(types, ", "), ")");
  AppendLocation();
  body_ += '\n';
  for (size_t i = 0; i < types.size(); ++i) {
    elements_[&node].push_back({types.size() == 1 ? name : absl::StrCat(name, "#", i), types[i]});
  }
  return absl::OkStatus();
}

}  // namespace graphnet::mlir

// Makes calls of the rows of the tables of callables: targets and arguments.
#ifndef GRAPHNET_TESTS_OPS_TABLE_CALLS_H_
#define GRAPHNET_TESTS_OPS_TABLE_CALLS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {

// One way to call a row.
struct Spelling {
  Op op;
  std::string target;
};

// An argument for a parameter.
struct Given {
  std::string name;
  Argument value;
  bool positional_only = false;
  bool keyword_only = false;
  bool is_variadic = false;
};

// In arguments, "$x" and "$y" stand for inputs, "$body" for a graph.

// Values for parameters by their names, used if nothing else determines the value.
inline const std::map<absl::string_view, Argument>& ValuesByName() {
  static const auto* const two_ones = new Argument[2]{2, 2};
  static const auto* const tensors = new Argument[2]{"$x", "$y"};
  static const auto* const carried = new Argument[1]{"$x"};
  static const auto* const values = new std::map<absl::string_view, Argument>{
      {"kernel_size", 3},
      {"output_size", Argument::List({two_ones, 2})},
      {"stride", 2},
      {"padding", 1},
      {"dilation", 2},
      {"size", Argument::List({two_ones, 2})},
      {"scale_factor", 2.0},
      {"num_groups", 2},
      {"normalized_shape", Argument::List({two_ones, 2})},
      {"pad", Argument::List({two_ones, 2})},
      {"dim", 1},
      {"sizes", Argument::List({two_ones, 2})},
      {"p", 3},
      {"max_norm", 1.0},
      {"ignore_index", 3},
      {"num_classes", 3},
      {"threshold", 0.5},
      {"value", 0.25},
      {"split_size_or_sections", 2},
      {"split_size", 2},
      {"n_fft", 4},
      {"upscale_factor", 2},
      {"downscale_factor", 2},
      {"groups", 2},
      {"embed_dim_to_check", 8},
      {"num_heads", 2},
      {"name", "shape"},
      {"dtype", DType::kFloat32},
      {"out_dtype", DType::kFloat32},
      {"pred", true},
      {"true_fn", "$body"},
      {"false_fn", "$body"},
      {"cond_fn", "$body"},
      {"body_fn", "$body"},
      {"func", "$body"},
      {"operands", Argument::Tuple({carried, 1})},
      {"carried_inputs", Argument::Tuple({carried, 1})},
      {"iterable", Argument::List({two_ones, 2})},
      {"args", Argument::List({two_ones, 2})},
      {"tensors", Argument::List({tensors, 2})},
      {"data", Argument::List({two_ones, 2})},
      {"sequence", Argument::List({two_ones, 2})},
      {"obj", Argument::List({two_ones, 2})},
      {"shape", Argument::List({two_ones, 2})},
      {"device", Device{DeviceType::kCpu, -1}},
  };
  return *values;
}

// Returns a value of a type. `salt` makes the values of several parameters different.
inline Argument ValueOf(const SchemaType& type, int salt) {
  using Kind = SchemaType::Kind;
  static const auto* const tensors = new Argument[2]{"$x", "$y"};
  static const auto* const ints = new Argument[4]{2, 2, 2, 2};
  static const auto* const floats = new Argument[4]{0.5, 0.5, 0.5, 0.5};
  static const auto* const bools = new Argument[4]{true, true, true, true};
  if (type.is_list) {
    const size_t n = type.list_size == 0 || type.list_size > 4 ? 2 : type.list_size;
    switch (type.kind) {
      case Kind::kTensor: return Argument::List({tensors, 2});
      case Kind::kInt: return Argument::List({ints, n});
      case Kind::kFloat:
      case Kind::kScalar: return Argument::List({floats, n});
      case Kind::kBool: return Argument::List({bools, n});
      default: return Argument();
    }
  }
  switch (type.kind) {
    case Kind::kTensor: return salt % 2 == 0 ? "$x" : "$y";
    case Kind::kScalar: return 2.5 + salt;
    case Kind::kInt: return 1 + salt;
    case Kind::kFloat: return 0.5 + salt;
    case Kind::kBool: return true;
    case Kind::kString: return "word";
    case Kind::kDType: return DType::kFloat32;
    case Kind::kLayout: return Layout::kStrided;
    case Kind::kDevice: return Device{DeviceType::kCpu, -1};
    case Kind::kMemoryFormat: return MemoryFormat::kContiguous;
    case Kind::kAny: return salt == 0 ? "$x" : "$y";
    case Kind::kOther: return Argument();
  }
  return Argument();
}

inline Argument ValueFor(const SchemaArgument& a, int salt) {
  if (!a.words.empty()) {
    for (const absl::string_view word : a.words) {
      if (!a.IsDefault(word)) return word;
    }
  }
  if (a.name == "out_dtype") return DType::kFloat16;  // float32 is what None means
  if (a.type.kind != SchemaType::Kind::kAny) return ValueOf(a.type, salt);
  const auto it = ValuesByName().find(a.name);
  if (it != ValuesByName().end()) return it->second;
  const Argument& d = a.default_value;
  if (d.is_bool()) return !d.boolean();
  if (d.is_int()) return d.integer() + 1;
  if (d.is_float()) return d.real() + 0.5;
  if (a.has_default && d.is_none()) return Argument();
  return ValueOf(a.type, salt);
}

// Returns the names by which Python calls an operator.
inline std::vector<Spelling> SpellingsOf(const Schema& schema) {
  if (schema.is_python) {
    absl::string_view name = schema.name;
    if (absl::ConsumePrefix(&name, "Tensor.")) return {{Op::kCallMethod, std::string(name)}};
    std::vector<Spelling> all = {{Op::kCallFunction, std::string(name)}};
    if (absl::ConsumePrefix(&name, "torch.functional.")) {
      all.push_back({Op::kCallFunction, absl::StrCat("torch.", name)});
    } else if (absl::ConsumePrefix(&name, "torch._C._functorch.")) {
      all.push_back({Op::kCallFunction, absl::StrCat("torch._functorch.predispatch.", name)});
    } else if (name == "torch.cond" || name == "torch.while_loop") {
      absl::ConsumePrefix(&name, "torch.");
      all.push_back({Op::kCallFunction, absl::StrCat("torch.ops.higher_order.", name)});
    }
    return all;
  }
  std::vector<Spelling> all = {{Op::kCallFunction, schema.target},
                               {Op::kCallFunction, absl::StrCat("torch.ops.", schema.target)}};
  if (schema.is_method) all.push_back({Op::kCallMethod, std::string(schema.name)});
  const auto add = [&](absl::string_view module, absl::string_view prefix) {
    absl::string_view name = schema.name;
    if (absl::ConsumePrefix(&name, prefix)) {
      all.push_back({Op::kCallFunction, absl::StrCat(module, name)});
    }
  };
  switch (schema.function_module) {
    case 't':
      add("torch.", "");
      add("torch._C._VariableFunctions.", "");
      break;
    case 'n': add("torch._C._nn.", ""); break;
    case 'l': add("torch._C._linalg.", ""), add("torch.linalg.", "linalg_"); break;
    case 'F': add("torch._C._fft.", ""), add("torch.fft.", "fft_"); break;
    case 's': add("torch._C._special.", ""), add("torch.special.", "special_"); break;
    case 'p': add("torch._C._sparse.", ""), add("torch.sparse.", "_sparse_"); break;
    default: break;
  }
  return all;
}

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_OPS_TABLE_CALLS_H_

// A small program of torch.export and its archive. Tests change it:
//
//   def forward(self, x):          # x: f32[s0, 2], s0 from 2 to 8
//       self.b.add_(1)
//       return {"y": [x + self.w * self.b]}
#ifndef TESTS_FORMATS_PT2_PROGRAM_BUILDER_H_
#define TESTS_FORMATS_PT2_PROGRAM_BUILDER_H_

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/formats/archive/zip_builder.h"

namespace graphnet {

// Returns the TensorMeta of a tensor; `sizes` is in the schema's form.
inline std::string TensorMetaJson(const std::string& sizes, const std::string& strides,
                                  int dtype = 7, int offset = 0) {
  return absl::StrCat(R"({"dtype": )", dtype, R"(, "sizes": [)", sizes,
                      R"(], "requires_grad": false, "device": {"type": "cpu", "index": null}, )",
                      R"("strides": [)", strides, R"(], "storage_offset": {"as_int": )", offset,
                      R"(}, "layout": 7})");
}

inline std::string ProgramJson() {
  const std::string two = TensorMetaJson(R"({"as_int": 2})", R"({"as_int": 1})");
  const std::string x = TensorMetaJson(
      R"json({"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)", "hint": {"as_int": 3}}}, {"as_int": 2})json",
      R"json({"as_int": 2}, {"as_int": 1})json");
  return absl::StrReplaceAll(
      R"({"graph_module": {"graph": {
 "inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "b_b"}}, {"as_tensor": {"name": "x"}}],
 "outputs": [{"as_tensor": {"name": "add"}}],
 "nodes": [
  {"target": "torch.ops.aten.add_.Tensor", "inputs": [
    {"name": "self", "arg": {"as_tensor": {"name": "b_b"}}, "kind": 1},
    {"name": "other", "arg": {"as_int": 1}, "kind": 1}],
   "outputs": [{"as_tensor": {"name": "add_"}}], "metadata": {}, "is_hop_single_tensor_return": null, "name": "add_"},
  {"target": "torch.ops.aten.mul.Tensor", "inputs": [
    {"name": "self", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1},
    {"name": "other", "arg": {"as_tensor": {"name": "add_"}}, "kind": 1}],
   "outputs": [{"as_tensor": {"name": "mul"}}],
   "metadata": {"stack_trace": "File \"a.py\", line 1, in main\n    f()\n  File \"net.py\", line 7, in forward\n    x",
                "nn_module_stack": "L__self__,,M;L__self___block,block,M[a,b]"}},
  {"target": "torch.ops.aten.add.Tensor", "inputs": [
    {"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
    {"name": "other", "arg": {"as_tensor": {"name": "mul"}}, "kind": 1},
    {"name": "alpha", "arg": {"as_float": 2.0}, "kind": 2}],
   "outputs": [{"as_tensor": {"name": "add"}}], "metadata": {}, "name": "add"}],
 "tensor_values": {"p_w": TWO, "b_b": TWO, "x": SIZED, "add_": TWO, "mul": TWO, "add": SIZED},
 "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false},
"signature": {
 "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
                 {"buffer": {"arg": {"name": "b_b"}, "buffer_name": "block.b", "persistent": true}},
                 {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
 "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "add"}}}}]},
"module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [],
  "in_spec": "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": null, \"context\": null, \"children_spec\": []}]}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",
  "out_spec": "[1, {\"type\": \"builtins.dict\", \"context\": \"[\\\"y\\\"]\", \"children_spec\": [{\"type\": \"builtins.list\", \"context\": \"null\", \"children_spec\": [{\"type\": null, \"context\": null, \"children_spec\": []}]}]}]",
  "forward_arg_names": ["x"]}}],
"metadata": {}},
"opset_version": {"aten": 10}, "range_constraints": {"s0": {"min_val": 2, "max_val": 8}},
"schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"], "torch_version": "2.13.0",
"guards_code": ["L['x'].size()[0] % 2 == 1"]})",
      {{"TWO", two}, {"SIZED", x}});
}

inline std::string PayloadJson(const std::string& record, const std::string& meta) {
  return absl::StrCat(R"({"path_name": ")", record,
                      R"(", "is_param": true, "use_pickle": false, "tensor_meta": )", meta, "}");
}

// `w` is the TensorMeta of the first of the two weights.
inline std::string WeightsConfigJson(const std::string& w = TensorMetaJson(R"({"as_int": 2})",
                                                                           R"({"as_int": 1})")) {
  const std::string two = TensorMetaJson(R"({"as_int": 2})", R"({"as_int": 1})");
  return absl::StrCat(R"({"config": {"w": )", PayloadJson("weight_0", w), R"(, "block.b": )",
                      PayloadJson("weight_1", two), "}}");
}

// Contents by name below the root.
using ArchiveFiles = std::map<std::string, std::string>;

inline ArchiveFiles ProgramFiles() {
  const float w[] = {1.5, -2}, b[] = {0, 4};
  const auto bytes = [](const float(&values)[2]) {
    return std::string(reinterpret_cast<const char*>(values), sizeof(values));
  };
  return {{"archive_format", "pt2"},
          {"archive_version", "0"},
          {"byteorder", "little"},
          {"models/model.json", ProgramJson()},
          {"data/weights/model_weights_config.json", WeightsConfigJson()},
          {"data/weights/weight_0", bytes(w)},
          {"data/weights/weight_1", bytes(b)},
          {"data/constants/model_constants_config.json", R"({"config": {}})"}};
}

inline std::string ArchiveOf(const ArchiveFiles& files) {
  ZipSpec spec;
  for (const auto& [name, content] : files) {
    spec.files.push_back({.name = "m/" + name, .content = content, .padded = true});
  }
  return MakeZip(spec);
}

}  // namespace graphnet

#endif  // TESTS_FORMATS_PT2_PROGRAM_BUILDER_H_

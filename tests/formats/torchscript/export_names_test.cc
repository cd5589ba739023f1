// Names that TorchScript cannot write.
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/ir/sample.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/torchscript/export_runs.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using c10::IValue;

TEST(ExporterTest, NamesThatAreNoIdentifiers) {
  // They must not get into the code of the archive.
  Sample sample = Parse(R"(
attribute "a\"] = Tensor\n  x" : f32[1]
attribute a.b : f32[1]
attribute a : f32[1]
attribute a.b.c : f32[1]
attribute forward.in : f32[1]
attribute ".." : f32[1]
graph @forward(%torch "torch", %a_b "a b", %c "a_b", %self "self", %"x\n" "x\n") {
  %1 = get_attr "a\"] = Tensor\n  x"
  %2 = get_attr a.b
  %3 = get_attr a
  %4 = get_attr a.b.c
  %5 = get_attr forward.in
  %6 = get_attr ".."
  %print = aten.add.Tensor(%torch, %a_b)
  %in = aten.add.Tensor(%c, %self)
  %"a.b[]" = aten.add.Tensor(%in, %"x\n")
  return ([%1, %2, %3, %4, %5, %6], %print, %"a.b[]")
}
)");
  c10::List<torch::Tensor> values;
  for (const Attribute& attribute : sample.module->attributes()) {
    const float value = static_cast<float>(values.size());
    values.push_back(torch::tensor({value}));
    sample.weights[std::string(attribute.name)] = {
        .dtype = DType::kFloat32,
        .shape = {1},
        .bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(&value), 4)};
  }
  torch::jit::Module saved = Saved(sample);
  const auto result = saved.forward({Range({2}), Range({2}), Range({2}), Range({2}), Range({2})});
  EXPECT_TRUE(
      Same(result, Tuple({IValue(values), IValue(Range({2}) * 2), IValue(Range({2}) * 3)})));
}

// Each name that can be written is kept, and no input has the name of an attribute.
TEST(ExporterTest, NamesOfInputsAndAttributesDiffer) {
  const struct {
    std::string inputs, attributes, expected, note;
  } kCases[] = {
      {"%int", "int_", "int__1 int_", "input int is int__1"},
      {"%a \"x y\"", "x_y", "x_y_1 x_y", "input x y is x_y_1"},
      {"%x_y", "\"x y\"", "x_y x_y_1", "weight x y is x_y_1"},
      {"%a \"x y\", %x_y", "x_y_1", "x_y_2 x_y x_y_1", "input x y is x_y_2"},
      {"%x", "\"a b\" a_b", "x a_b_1 a_b", "weight a b is a_b_1"},
      {"%x", "class.w", "x class_w", "weight class.w is class_w"},
      {"%\"é\"", "\"ü\"", "___1 __", "input é is ___1, weight ü is __"},
      {"%float, %self", "w", "float_ self_ w", "input float is float_, input self is self_"},
      {"%x, %y", "a.b", "x y a.b", ""},
  };
  for (const auto& [inputs, attributes, expected, note] : kCases) {
    std::string text;
    const float value = 1;
    std::map<std::string, TensorData> weights;
    const std::vector<std::string> names = absl::StrContains(attributes, "a_b")
                                               ? std::vector<std::string>{"\"a b\"", "a_b"}
                                               : std::vector<std::string>{attributes};
    for (const std::string& name : names) {
      absl::StrAppend(&text, "attribute ", name, " : f32[1]\n");
      weights[absl::StrReplaceAll(name, {{"\"", ""}})] = {
          .dtype = DType::kFloat32,
          .shape = {1},
          .bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(&value), 4)};
    }
    absl::StrAppend(&text, "graph @forward(", inputs, ") {\n");
    std::string returned;
    for (size_t i = 0; i < names.size(); ++i) {
      absl::StrAppend(&text, "  %v", i, " = get_attr ", names[i], "\n");
      absl::StrAppend(&returned, i == 0 ? "" : ", ", "%v", i);
    }
    absl::StrAppend(&text, "  return (", returned, ",)\n}\n");
    Sample sample = Parse(text);
    sample.weights = weights;
    std::vector<std::string> notes;
    const absl::StatusOr<std::string> bytes = ExportTorchScriptToString(sample, &notes);
    ASSERT_OK(bytes) << text;
    const absl::StatusOr<Sample> again = ImportTorchScript(*bytes, "m.pt");
    ASSERT_OK(again) << text;
    std::vector<std::string> found;
    for (const Node* input : again->module->main()->placeholders())
      found.emplace_back(input->target());
    for (const Attribute& attribute : again->module->attributes())
      found.emplace_back(attribute.name);
    EXPECT_EQ(absl::StrJoin(found, " "), expected) << text;
    EXPECT_EQ(absl::StrJoin(notes, "\n"),
              note.empty() ? "" : absl::StrCat("renamed for TorchScript: ", note));
  }
}

}  // namespace
}  // namespace graphnet

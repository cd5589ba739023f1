// Attributes of modules keep their names, kinds, values and overlaps in memory.
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/torchscript/import_text.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ImporterTest, Attributes) {
  torch::jit::Module module("M");
  module.register_parameter("w", torch::arange(64, torch::kFloat).reshape({8, 8}), false);
  const torch::Tensor tied = torch::tensor({1.5f, -0.25f});
  module.register_parameter("a", tied, false);
  module.register_parameter("b", tied, false);
  module.register_buffer("i", torch::arange(3));
  module.register_buffer("big", torch::arange(100));
  module.register_buffer("scalar", torch::tensor(2.0));
  module.define(R"(
def forward(self, x):
    return self.w, self.a + self.b, self.i, self.big, self.scalar
)");
  const absl::StatusOr<Sample> sample = Import(module);
  ASSERT_OK(sample);
  // `b` is `a`, so a write to one shows in the other.
  EXPECT_THAT(PrintModule(*sample->module, {.header = false, .locations = false}),
              testing::StartsWith(R"(attribute)"));
  ASSERT_EQ(sample->weights.size(), 5);
  const TensorData& a = sample->weights.at("a");
  EXPECT_EQ(a.dtype, DType::kFloat32);
  EXPECT_THAT(a.shape, testing::ElementsAre(2));
  const float values[] = {1.5f, -0.25f};
  EXPECT_EQ(*a.bytes, std::string(reinterpret_cast<const char*>(values), sizeof values));
  EXPECT_TRUE(ImportTorchScriptMethod(module, "forward", {.weights = false})->weights.empty());
}

// Returns "name annotation", one a line.
std::string AttributesOf(const absl::StatusOr<Sample>& sample) {
  EXPECT_OK(sample);
  std::string out;
  if (!sample.ok()) return out;
  for (const Attribute& attribute : sample->module->attributes())
    absl::StrAppend(&out, attribute.name, " ", attribute.annotation, "\n");
  return out;
}

TEST(ImporterTest, AttributesHaveNameAndKindOfTheirSlots) {
  const torch::Tensor weight = torch::randn({2, 2});
  torch::jit::Module inner("Inner");
  inner.register_parameter("weight", weight, false);
  inner.register_buffer("mean", torch::randn({2}));
  const auto module_with = [&](const std::string& source) {
    torch::jit::Module module("M");
    // Slots that come before the module's, in which the same tensors lie.
    module.register_attribute("ws", c10::ListType::ofTensors(),
                              c10::List<at::Tensor>({weight, inner.attr("mean").toTensor()}));
    module.register_attribute("pair", c10::TupleType::create({c10::TensorType::get()}),
                              c10::ivalue::Tuple::create({weight.detach()}));
    c10::Dict<std::string, at::Tensor> dict;
    dict.insert("w", weight);
    module.register_attribute("dict",
                              c10::DictType::create(c10::StringType::get(), c10::TensorType::get()),
                              c10::IValue(dict));
    module.register_buffer("alias", weight);
    module.register_module("l", inner);
    module.define(source);
    return module;
  };
  const std::string parameter = "l.weight torch.nn.parameter.Parameter\n";
  for (const std::string read : {"self.ws[0]", "self.pair[0]", "self.dict[\"w\"]", "self.alias",
                                 "self.l.weight", "self.ws[0] + self.alias + self.l.weight"}) {
    EXPECT_EQ(AttributesOf(Import(
                  module_with(absl::StrCat("def forward(self, x):\n    return x + ", read, "\n")))),
              parameter + (absl::StrContains(read, "ws") ? "l.mean torch.Tensor\n" : ""))
        << read;
  }
  EXPECT_EQ(AttributesOf(Import(module_with("def forward(self, x):\n    return x + self.ws[1]\n"))),
            parameter + "l.mean torch.Tensor\n");
}

// A write to one of the two attributes would not show in the other.
TEST(ImporterTest, AttributesThatOverlapAreNotWrittenTo) {
  const auto with_views = [](const std::string& source) {
    torch::jit::Module module("M");
    const at::Tensor all = torch::arange(6.f);
    module.register_buffer("head", all.slice(0, 0, 4));
    module.register_buffer("tail", all.slice(0, 2, 6));
    module.register_buffer("end", all.slice(0, 4, 6));
    module.define(source);
    return Import(module);
  };
  EXPECT_OK(with_views("def forward(self, x):\n    return self.head + self.tail\n"));
  EXPECT_OK(with_views(
      "def forward(self, x):\n    self.end.add_(1)\n    return self.head[0] + self.end\n"));
  EXPECT_THAT(
      with_views(
          "def forward(self, x):\n    self.head.add_(1)\n    return self.head + self.tail\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the attributes head and tail overlap in memory")));
  EXPECT_THAT(with_views("def forward(self, x):\n    y = self.head\n    y[0:2].mul_(x)\n"
                         "    return y + self.tail\n"),
              Not(IsOk()));
}

// Values of inputs and attributes are kept under one name each.
TEST(ImporterTest, AttributesGiveWayToInputsOfTheirNames) {
  const auto import = [](const std::string& source) {
    torch::jit::Module inner("Inner");
    inner.register_buffer("weight", torch::full({1}, 5.f));
    torch::jit::Module module("M");
    module.register_buffer("x", torch::full({1}, 2.f));
    module.register_buffer("x_", torch::full({1}, 3.f));
    module.register_module("y", inner);
    module.define(source);
    return ImportTorchScriptMethod(module, "forward", {.weights = true});
  };
  const auto names = [](const absl::StatusOr<Sample>& sample) {
    EXPECT_OK(sample);
    std::vector<std::string> names;
    for (const Node* input : sample->module->main()->placeholders())
      names.emplace_back(input->target());
    for (const auto& [name, value] : sample->weights) {
      names.push_back(
          absl::StrCat(name, "=", reinterpret_cast<const float*>(value.bytes->data())[0]));
    }
    return absl::StrJoin(names, " ");
  };
  EXPECT_EQ(names(import("def forward(self, x):\n    return x * self.x\n")), "x x__=2");
  EXPECT_EQ(names(import("def forward(self, x, x_):\n    return x * self.x + x_ * self.x_\n")),
            "x x_ x__=2 x___=3");
  // A tensor has no elements that could be called y.weight.
  EXPECT_EQ(names(import("def forward(self, y):\n    return y * self.y.weight\n")), "y y.weight=5");
  for (const char* const type : {"List[Tensor]", "Dict[str, Tensor]", "Tuple[Tensor, int]",
                                 "Optional[List[Tensor]]", "Any"}) {
    EXPECT_EQ(names(import(absl::StrCat("def forward(self, y: ", type,
                                        ", z):\n    return z * self.y.weight, y\n"))),
              "y z y_.weight=5")
        << type;
  }
}

// PyTorch writes the names of attributes without escapes.
TEST(ImporterTest, AttributesThatNothingReadsHaveAnyName) {
  for (const std::string name : {"é", "日本", "a b", "\U0001F600", "weight é"}) {
    torch::jit::Module module("M");
    module.register_buffer(name, torch::ones({1}));
    module.register_parameter(name + "p", torch::ones({1}), false);
    module.define("def forward(self, x):\n    return x + 1\n");
    std::ostringstream archive;
    module.save(archive);
    EXPECT_OK(ImportTorchScript(archive.str(), "m.pt")) << name;
  }
}

}  // namespace
}  // namespace graphnet

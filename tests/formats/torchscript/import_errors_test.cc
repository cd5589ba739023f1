// Files, graphs and modules that the importer refuses.
#include <cstddef>
#include <sstream>
#include <string>

#include "ATen/core/builtin_function.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/ir/sample.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/torchscript/import_text.h"
#include "torch/csrc/jit/ir/irparser.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ImporterTest, DamagedFiles) {
  torch::jit::Module module("M");
  module.define("def forward(self, x):\n    return x\n");
  std::ostringstream out;
  module.save(out);
  const std::string bytes = out.str();
  for (const size_t size : {size_t{0}, size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
    for (const bool trust : {false, true}) {
      const absl::StatusOr<Sample> sample =
          ImportTorchScript(bytes.substr(0, size), "m.pt", {.trust = trust});
      EXPECT_THAT(std::string(sample.status().message()), testing::StartsWith("m.pt: ")) << size;
      EXPECT_THAT(std::string(sample.status().message()), Not(HasSubstr("\n")));
    }
  }
  EXPECT_THAT(ImportTorchScriptFile("/nowhere/m.pt"), StatusIs(absl::StatusCode::kNotFound));
}

// Each message names the operation and the line.
TEST(ImporterTest, Errors) {
  torch::jit::Graph graph;
  torch::jit::parseIR(R"(
graph(%x : Tensor):
  %y : Tensor = made::up(%x)
  return (%y)
)",
                      &graph);
  EXPECT_THAT(
      ImportTorchScriptGraph(graph, "main"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("cannot represent made::up: LibTorch does not have this operator")));

  torch::jit::Module child("Child");
  child.define("def forward(self, x):\n    return x\n");
  torch::jit::Module module("M");
  module.register_module("child", child);
  module.define("def forward(self, x):\n    c = self.child\n    y = x + 1\n    return (y, c)\n");
  EXPECT_THAT(Import(module), StatusIs(absl::StatusCode::kInvalidArgument,
                                       AllOf(HasSubstr("cannot represent prim::TupleConstruct"),
                                             HasSubstr("self.child"), HasSubstr(":3"))));
}

TEST(ImporterTest, RefusesTensorsThatAreNotDense) {
  torch::jit::Module module("M");
  module.register_attribute("undefined", c10::TensorType::get(), at::Tensor());
  module.register_buffer("sparse", torch::ones({2, 2}).to_sparse());
  module.define("def forward(self):\n    return self.undefined\n");
  module.define("def other(self):\n    return self.sparse\n");
  EXPECT_THAT(Import(module),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("an undefined tensor")));
  EXPECT_THAT(ImportTorchScriptMethod(module, "other"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a tensor that is not dense, sparse")));
}

TEST(ImporterTest, RefusesMethodsThatAreNotTorchScript) {
  static torch::jit::BuiltinOpFunction function(
      c10::QualifiedName("__torch__.M.forward"),
      c10::FunctionSchema("forward", "", {}, {c10::Argument("")}), [](torch::jit::Stack&) {});
  torch::jit::Module module("M");
  module.type()->addMethod(&function);
  EXPECT_THAT(Import(module), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "the method forward is not written in TorchScript"));
}

// Neither compiler nor tracer makes such graphs.
TEST(ImporterTest, RefusesGraphsWithAWrongStructure) {
  torch::jit::Module module("M");
  module.define("def forward(self, x):\n    return x\n");
  torch::jit::Graph empty;
  EXPECT_THAT(ImportTorchScriptGraph(empty, "main", &module),
              StatusIs(absl::StatusCode::kInvalidArgument, "the method does not take self"));

  torch::jit::Graph slice;
  torch::jit::parseIR(R"(
graph(%x : Tensor):
  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %x)
  %s : (Tensor, Tensor, Tensor) = prim::TupleSlice[beg=1, end=4](%t)
  return (%s)
)",
                      &slice);
  EXPECT_THAT(ImportTorchScriptGraph(slice, "main"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cannot represent prim::TupleSlice: the slice is out of bounds")));

  torch::jit::Graph function;
  torch::jit::Node* constant = function.insertNode(function.create(c10::prim::Constant));
  constant->output()->setType(c10::FunctionType::create(&module.get_method("forward").function()));
  function.registerOutput(constant->output());
  EXPECT_THAT(ImportTorchScriptGraph(function, "main"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a constant of type ")));
}

TEST(ImporterTest, Limits) {
  // f0 calls f1 twice, which calls f2 twice …
  std::string calls = "def f0(self, x):\n    return x + 1\n";
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&calls, "def f", i, "(self, x):\n    return self.f", i - 1, "(self.f", i - 1,
                    "(x))\n");
  }
  EXPECT_THAT(Import(calls + "def forward(self, x):\n    return self.f40(x)\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("with its calls inlined")));

  // Each list holds the one before it twice.
  std::string lists = "def forward(self, x):\n    t0 = [x, x]\n";
  for (int i = 1; i <= 22; ++i) {
    absl::StrAppend(&lists, "    t", i, " = [t", i - 1, ", t", i - 1, "]\n");
  }
  EXPECT_THAT(Import(lists + "    return t22\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("structure is too large")));

  const auto nested = [](int depth) {
    std::string source = "def forward(self, x, n: int):\n";
    for (int i = 1; i <= depth; ++i) {
      absl::StrAppend(&source, std::string(i, ' '), "if n > ", i, ":\n");
    }
    return source + std::string(depth + 1, ' ') + "x = x + 1\n return x\n";
  };
  EXPECT_OK(Import(nested(100)));
  EXPECT_THAT(Import(nested(201)), Not(IsOk()));
}

}  // namespace
}  // namespace graphnet

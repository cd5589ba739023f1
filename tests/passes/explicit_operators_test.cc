#include "graphnet/passes/explicit_operators.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/schema_table.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

std::string Written(const std::string& body) {
  const auto module = ParseModule(
      "graph @forward(%f : f32[2, 3], %h : f16[2, 3], %d : f64[2, 3], %i : i64[2, 3], %s : i32[3], "
      "%b : bool[2, 3], %z : i64[], %n as torch.SymInt) {\n" +
          body + "  return (%r,)\n}\n",
      "test");
  EXPECT_OK(module);
  if (!module.ok()) return {};
  PassRun run;
  const auto changed = ExplicitOperators(module->get(), run);
  EXPECT_OK(changed);
  EXPECT_OK(Verify(**module));
  PassRun again;
  EXPECT_THAT(ExplicitOperators(module->get(), again), IsOkAndHolds(false));
  PrintOptions options;
  options.header = false;
  return *changed ? PrintModule(**module, options) : "as it was";
}

// The casts go to torch.result_type of the operands, the dtype in which PyTorch computes.
TEST(ExplicitOperatorsTest, CastsPromotedOperands) {
  EXPECT_THAT(Written("  %r = operator.mul(%f, %b)\n"),
              HasSubstr("%to = .to(%b, torch.float32)\n  %r = operator.mul(%f, %to)"));
  EXPECT_THAT(Written("  %r = torch.add(%i, %f, alpha = 2)\n"),
              HasSubstr("%to = .to(%i, torch.float32)\n  %r = torch.add(%to, %f, alpha = 2)"));
  EXPECT_THAT(Written("  %r = .ge(%s, other = %i)\n"),
              HasSubstr("%to = .to(%s, torch.int64)\n  %r = .ge(%to, other = %i)"));
  EXPECT_THAT(Written("  %r = torch.where(%b, %f, %i)\n"),
              HasSubstr("%r = torch.where(%b, %f, %to)"));
  EXPECT_THAT(Written("  %r = operator.sub(%h, %d)\n"), HasSubstr(".to(%h, torch.float64)"));
  // A tensor made from a float literal has the default dtype, as with torch.zeros.
  EXPECT_THAT(Written("  %t = torch.tensor(2.5)\n  %m = operator.mul(%f, %t)\n"
                      "  %r = operator.mul(%m, %i)\n"),
              HasSubstr("%to = .to(%i, torch.float32)\n  %r = operator.mul(%m, %to)"));
  EXPECT_THAT(Written("  %t = operator.truediv(%i, 128)\n  %r = operator.mul(%t, %i)\n"),
              HasSubstr("%to = .to(%i, torch.float32)\n  %r = operator.mul(%t, %to)"));
  EXPECT_EQ(Written("  %t = torch.div(%i, %i, rounding_mode = \"floor\")\n"
                    "  %r = operator.mul(%t, %f)\n"),
            "as it was");
  // A tensor without dimensions does not promote one of the same kind.
  EXPECT_THAT(Written("  %r = operator.add(%s, %z)\n"), HasSubstr(".to(%z, torch.int32)"));
  EXPECT_THAT(Written("  %r = operator.add(%b, %z)\n"), HasSubstr(".to(%b, torch.int64)"));
}

TEST(ExplicitOperatorsTest, TheWrittenOperandDecides) {
  EXPECT_THAT(Written("  %r = operator.imul(%f, %b)\n"),
              HasSubstr("%to = .to(%b, torch.float32)\n  %r = .mul_(%f, %to)"));
  EXPECT_THAT(Written("  %r = .add_(%h, %f)\n"), HasSubstr("%r = .add_(%h, %to)"));
  EXPECT_THAT(Written("  %r = operator.iand(%b, %b)\n"), HasSubstr("%r = .bitwise_and_(%b, %b)"));
}

TEST(ExplicitOperatorsTest, EqualAndUnknownDTypesStay) {
  EXPECT_EQ(Written("  %r = operator.mul(%f, %f)\n"), "as it was");
  EXPECT_EQ(Written("  %r = operator.mul(%f, 2)\n"), "as it was");
  EXPECT_EQ(Written("  %r = operator.iadd(%n, 2)\n"), "as it was");
  EXPECT_EQ(Written("  %q = mylib.f(%f)\n  %r = operator.mul(%f, %q)\n"), "as it was");
  EXPECT_EQ(Written("  %r = torch.where(%b, %f, %f)\n"), "as it was");
}

std::vector<at::Tensor> RunWith(const Module& module, const std::vector<c10::IValue>& inputs) {
  std::vector<at::Tensor> tensors;
  auto executable = Compile(module);
  if (!executable.ok()) return tensors;
  auto outputs = (*executable)->Run(inputs);
  if (!outputs.ok()) return tensors;
  for (const c10::IValue& value : *outputs) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
  }
  return tensors;
}

// The tensors of a call, and what stands for its other arguments that have no default; empty if
// there is no such call.
std::vector<std::string> Operands(const Schema& schema, size_t* tensors) {
  std::vector<std::string> operands;
  *tensors = 0;
  for (const SchemaArgument& argument : schema.arguments) {
    const bool is_tensor =
        argument.type.kind == SchemaType::Kind::kTensor && !argument.type.is_list;
    if (is_tensor && !argument.type.optional) {
      operands.push_back(absl::StrCat("%t", (*tensors)++));
    } else if (argument.has_default || argument.type.optional) {
      break;
    } else {
      operands.emplace_back("1");
    }
  }
  return operands;
}

// LibTorch is the judge of every elementwise operator that it has: one operand has no dimensions
// and another dtype than the others, which are floats of 16 bits.
TEST(ExplicitOperatorsTest, BitsStayTheSame) {
  int compared = 0, computed_wider = 0;
  for (const Schema& schema : AllSchemas()) {
    size_t tensors = 0;
    if (!schema.is_pointwise || schema.is_random) continue;
    const std::vector<std::string> operands = Operands(schema, &tensors);
    if (tensors < 2 || tensors > 3) continue;
    for (const auto half : {at::kHalf, at::kBFloat16}) {
      for (const auto other : {at::kDouble, at::kFloat, at::kLong}) {
        for (size_t at = 0; at < tensors; ++at) {
          std::string parameters;
          std::vector<at::Tensor> inputs;
          at::manual_seed(7);
          for (size_t i = 0; i < tensors; ++i) {
            const bool is_scalar = i == at;
            const absl::string_view dtype = !is_scalar ? half == at::kHalf ? "f16" : "bf16"
                                            : other == at::kLong  ? "i64"
                                            : other == at::kFloat ? "f32"
                                                                  : "f64";
            absl::StrAppend(&parameters, i == 0 ? "" : ", ", "%t", i, " : ", dtype,
                            is_scalar ? "[]" : "[67]");
            const double value = other == at::kLong ? (half == at::kHalf ? 2051 : 771) : 1.23456789;
            inputs.push_back(is_scalar ? at::scalar_tensor(value, other)
                                       : (at::rand({67}) + 0.5).to(half));
          }
          const std::string text =
              absl::StrCat("graph @forward(", parameters, ") {\n  %r = ", schema.target, "(",
                           absl::StrJoin(operands, ", "), ")\n  return (%r,)\n}\n");
          const auto module = ParseModule(text, "test");
          ASSERT_OK(module);
          const auto copies = [&] {
            std::vector<c10::IValue> values;
            for (const at::Tensor& input : inputs) values.emplace_back(input.clone());
            return values;
          };
          const std::vector<at::Tensor> before = RunWith(**module, copies());
          if (before.empty()) continue;  // LibTorch has no such call
          PassRun run;
          const auto changed = ExplicitOperators(module->get(), run);
          ASSERT_OK(changed);
          if (!*changed) continue;
          const std::vector<at::Tensor> after = RunWith(**module, copies());
          ASSERT_EQ(after.size(), before.size()) << PrintModule(**module);
          for (size_t i = 0; i < after.size(); ++i) {
            EXPECT_EQ(after[i].scalar_type(), before[i].scalar_type()) << PrintModule(**module);
            EXPECT_TRUE(at::allclose(after[i].to(at::kDouble), before[i].to(at::kDouble), 0, 0,
                                     /*equal_nan=*/true))
                << PrintModule(**module);
          }
          ++compared;
          computed_wider += PrintModule(**module).find("torch.float32") != std::string::npos;
        }
      }
    }
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(computed_wider, 20);
}

}  // namespace
}  // namespace graphnet

// Each declared fused operator binds, verifies, prints and parses back, computes the same as its
// parts, is found in a program of PyTorch's calls, and is documented.
#include "graphnet/ops/fused.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/ops/verify_calls.h"
#include "graphnet/passes/pipeline.h"
#include "tests/base/status_matchers.h"
#include "tests/passes/fused_cases.h"

namespace graphnet {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::unique_ptr<Module> Parsed(const std::string& text) {
  auto module = ParseModule(text, "case");
  EXPECT_OK(module) << text;
  if (!module.ok()) return nullptr;
  EXPECT_OK(Verify(**module)) << text;
  return *std::move(module);
}

std::string GraphOf(const FusedCase& c, const std::string& body) {
  return absl::StrCat("graph @forward(", c.inputs, ") {\n", body, "  return (%y,)\n}\n");
}
std::string CallOf(const FusedCase& c) { return GraphOf(c, absl::StrCat("  %y = ", c.call, "\n")); }
std::string ProgramOf(const FusedCase& c) { return absl::StrCat(GraphOf(c, c.program), c.bodies); }

std::string Printed(const Module& module) {
  PrintOptions options;
  options.locations = false;
  return PrintModule(module, options);
}

bool Apply(absl::string_view passes, Module* module) {
  const auto pipeline = ParsePipeline(passes);
  EXPECT_OK(pipeline);
  PipelineOptions options;
  options.verify_each = true;
  const auto results = RunPipeline(*pipeline, module, options);
  EXPECT_OK(results);
  return results.ok() && (*results)[0].changed;
}

size_t FusedCalls(const Module& module) {
  size_t calls = 0;
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes())
      calls += absl::StartsWith(node->target(), "fused.") ? 1 : 0;
  }
  return calls;
}

// Returns the result of a module on inputs that are drawn by their metas with a fixed seed.
at::Tensor ValueOf(const Module& module) {
  auto executable = Compile(module);
  EXPECT_OK(executable);
  if (!executable.ok()) return {};
  at::manual_seed(7);
  std::vector<c10::IValue> inputs;
  for (const Node* input : module.main()->placeholders()) {
    std::vector<int64_t> sizes;
    for (const Dim& dim : input->tensor_meta()->shape) sizes.push_back(dim.value);
    const DType dtype = input->tensor_meta()->dtype;
    if (input->name() == "offsets") {
      inputs.emplace_back(at::tensor({0, 2, 2, 5}, at::kLong));  // the second sequence is empty
    } else if (dtype == DType::kInt8) {
      inputs.emplace_back(at::randint(-127, 128, sizes, at::kChar));
    } else {
      inputs.emplace_back(dtype == DType::kInt64 ? at::randint(5, sizes, at::kLong)
                                                 : at::randn(sizes));
    }
  }
  at::manual_seed(8);
  auto outputs = (*executable)->Run(std::move(inputs));
  EXPECT_OK(outputs);
  return outputs.ok() ? (*outputs)[0].toTensor().contiguous() : at::Tensor();
}

bool SameBits(const at::Tensor& x, const at::Tensor& y) {
  return x.defined() && y.defined() && x.scalar_type() == y.scalar_type() &&
         x.sizes() == y.sizes() && std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

class FusedTest : public testing::TestWithParam<FusedCase> {
 protected:
  static void SetUpTestSuite() { TrustFiles(); }
  const FusedCase& c() const { return GetParam(); }
};

TEST_P(FusedTest, BindsPrintsAndParsesBack) {
  const auto module = Parsed(CallOf(c()));
  ASSERT_NE(module, nullptr);
  EXPECT_OK(VerifyCalls(*module));
  const auto again = Parsed(PrintModule(*module));
  ASSERT_NE(again, nullptr);
  EXPECT_OK(CheckEqual(*module, *again, kExact));
}

TEST_P(FusedTest, EqualsItsParts) {
  const auto fused = Parsed(CallOf(c()));
  const auto expanded = Parsed(CallOf(c()));
  EXPECT_TRUE(Apply("expand-fused", expanded.get()));
  EXPECT_EQ(FusedCalls(*expanded), 0u);
  EXPECT_FALSE(Apply("expand-fused", expanded.get()));
  const at::Tensor value = ValueOf(*fused);
  EXPECT_TRUE(SameBits(value, ValueOf(*expanded)));
  const auto aten = Parsed(CallOf(c()));
  EXPECT_TRUE(Apply("torch-to-aten", aten.get()));
  EXPECT_EQ(FusedCalls(*aten), 0u);
  EXPECT_TRUE(SameBits(value, ValueOf(*aten)));
  // The pass finds the operator again in its parts.
  const bool is_found = c().program[0] != '\0';
  EXPECT_EQ(Apply("fuse", expanded.get()), is_found);
  EXPECT_EQ(FusedCalls(*expanded), is_found ? 1u : 0u);
  if (is_found) {
    EXPECT_EQ(Printed(*expanded), Printed(*fused));
  }
}

TEST_P(FusedTest, IsFoundInAProgram) {
  if (c().program[0] == '\0') GTEST_SKIP() << "one call, which fuse leaves";
  const auto program = Parsed(ProgramOf(c()));
  ASSERT_NE(program, nullptr);
  const at::Tensor value = ValueOf(*program);
  EXPECT_TRUE(Apply("fuse", program.get()));
  program->EraseUnusedGraphs();
  EXPECT_EQ(Printed(*program), Printed(*Parsed(CallOf(c()))));
  EXPECT_TRUE(SameBits(value, ValueOf(*program)));
  EXPECT_FALSE(Apply("fuse", program.get()));
  // The pass finds it in ATen's names, too.
  const auto aten = Parsed(ProgramOf(c()));
  Apply("torch-to-aten", aten.get());
  EXPECT_TRUE(Apply("fuse", aten.get()));
  EXPECT_EQ(FusedCalls(*aten), 1u);
  EXPECT_TRUE(SameBits(value, ValueOf(*aten)));
  // Use each inner value elsewhere, one at a time.
  const std::string whole = PrintNode(*Parsed(CallOf(c()))->main()->FindNode("y"));
  ASSERT_THAT(Printed(*program), HasSubstr(whole));
  const auto original = Parsed(ProgramOf(c()));
  for (const Node* node : original->main()->nodes()) {
    if (!node->is_call() || node->name() == "y") continue;
    const auto open = Parsed(absl::StrCat("graph @forward(", c().inputs, ") {\n", c().program,
                                          "  return (%y, %", node->name(), ")\n}\n", c().bodies));
    const at::Tensor first = ValueOf(*open);
    Apply("fuse", open.get());
    EXPECT_FALSE(absl::StrContains(Printed(*open), whole)) << node->name();
    EXPECT_TRUE(SameBits(first, ValueOf(*open))) << node->name();
  }
}

TEST_P(FusedTest, IsKnownWithoutRunning) {
  const auto module = Parsed(CallOf(c()));
  const Node* const call = module->main()->FindNode("y");
  // It treats random numbers as its parts do. It writes to no operand, and its value is new, as far
  // as the parts have no bodies.
  const auto expanded = Parsed(CallOf(c()));
  Apply("expand-fused", expanded.get());
  const Effects parts(*expanded);
  bool is_random = false;
  for (const Node* node : expanded->main()->nodes()) is_random |= parts.Of(*node).is_random;
  const bool has_body = absl::StrContains(c().rule, "gru");
  const bool reads_file = absl::StrContains(c().rule, "read_file");
  // A cache is the only operand that any operator writes to.
  const bool writes = absl::StrContains(c().rule, "cached");
  const Effects effects(*module);
  const CallEffects& of = effects.Of(*call);
  EXPECT_EQ(of.is_pure(), !is_random && !reads_file && !writes) << DescribeEffects(of);
  EXPECT_EQ(of.is_random, is_random);
  EXPECT_EQ(of.is_statement, reads_file);
  EXPECT_EQ(of.aliases.empty(), !has_body) << DescribeEffects(of);
  const Node* const cache = module->main()->FindNode("cache");
  EXPECT_THAT(of.mutates, ElementsAreArray(std::vector<const Node*>(writes ? 1 : 0, cache)));
  EXPECT_TRUE(MemoryUseOf(*call).shared.empty());
  const MemoryUse use = MemoryUseOf(*call);
  EXPECT_EQ(use.written.empty(), !writes);
  for (const Node* written : use.written) EXPECT_EQ(written, cache);
  EXPECT_FALSE(YieldsTuple(*call));
  // Its sizes equal those of the value wherever the rules of results.txt reach: not through a body,
  // a sliding window or a file.
  RefusedCalls refused;
  const auto lowered = LowerToAten(*module, &refused);
  ASSERT_OK(lowered);
  const TensorFacts facts = FactsTable(*lowered, refused).Of(lowered->values[call].node());
  const bool is_known = !has_body && !reads_file && !absl::StrContains(c().rule, "seqconv");
  ASSERT_EQ(facts.is_static(), is_known);
  if (!is_known) return;
  EXPECT_EQ(facts.dtype, DType::kFloat32);
  EXPECT_EQ(at::IntArrayRef(*facts.sizes), ValueOf(*module).sizes());
}

TEST_P(FusedTest, RefusesWrongArguments) {
  const std::string call = c().call;
  const std::string more = call.substr(0, call.size() - 1);
  const auto refused = [&](const std::string& end) {
    const auto module = Parsed(GraphOf(c(), absl::StrCat("  %y = ", more, end, "\n")));
    return std::string(VerifyCalls(*module).message());
  };
  const std::string last(FindFunctions(call.substr(0, call.find('(')))[0].arguments.back().name);
  EXPECT_THAT(refused(absl::StrCat(", ", last, "x=1)")),
              HasSubstr(absl::StrCat("takes no ", last, "x; did you mean ", last, "?")));
  EXPECT_THAT(refused(", no_such_keyword=1)"), HasSubstr("takes no no_such_keyword"));
}

INSTANTIATE_TEST_SUITE_P(Cases, FusedTest, testing::ValuesIn(kFusedCases), [](const auto& info) {
  std::string name = info.param.rule;
  for (char& ch : name) ch = ch == '.' || ch == '-' ? '_' : ch;
  return name;
});

TEST(FusedTableTest, EveryRuleHasACase) {
  std::set<std::string> cases, rules;
  for (const FusedCase& c : kFusedCases) EXPECT_TRUE(cases.insert(c.rule).second) << c.rule;
  for (const FusedOperator& fused : FusedOperators()) {
    EXPECT_FALSE(fused.rules.empty()) << fused.name;
    EXPECT_FALSE(fused.description.empty()) << fused.name;
    ASSERT_EQ(FindFunctions(fused.name).size(), 1u);
    EXPECT_TRUE(IsFused(FindFunctions(fused.name)[0]));
    for (const FusedRule& rule : fused.rules) {
      EXPECT_TRUE(rules.insert(rule.name).second) << rule.name;
      EXPECT_TRUE(absl::StartsWith(absl::StrCat("fused.", rule.name), fused.name)) << rule.name;
    }
  }
  EXPECT_EQ(cases, rules);
  EXPECT_EQ(FusedOperators().size(), 17u);
}

// The case of a rule matches that rule, not one before it.
TEST(FusedTableTest, EachCaseMatchesItsOwnRule) {
  for (const FusedCase& c : kFusedCases) {
    const auto module = Parsed(CallOf(c));
    const Node* const call = module->main()->FindNode("y");
    const auto bound = Bind(CalleeOf(*call), call->args(), call->kwargs(),
                            [](const Node*) { return ValueType(ValueType::Kind::kTensor); });
    ASSERT_OK(bound) << c.rule;
    const auto fused = FindDefinition(*bound);
    ASSERT_OK(fused) << c.rule;
    EXPECT_EQ(fused->rule->name, c.rule);
  }
}

TEST(FusedTableTest, DocumentationHasASectionOfEach) {
  std::ifstream file("docs/fused.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const FusedOperator& fused : FusedOperators()) {
    const std::string section =
        absl::StrCat("### ", absl::StripPrefix(fused.name, "fused."), "\n\n", fused.description,
                     "\n```\n", fused.signature, "\n```\n");
    EXPECT_THAT(page.str(), HasSubstr(section));
  }
}

TEST(FusedTableTest, ErrorsNameTheArgument) {
  const auto refused = [](const std::string& call) {
    const auto module =
        Parsed(absl::StrCat("graph @forward(%x : f32[2, 3], %w : f32[3, 3]) {\n  %y = ", call,
                            "\n  return (%y,)\n}\n"));
    return std::string(VerifyCalls(*module).message());
  };
  EXPECT_THAT(refused("fused.skip_layernom(%x, %x, [3])"), HasSubstr("near: fused.skip_layernorm"));
  EXPECT_THAT(refused("fused.fc(%x)"), HasSubstr("w is missing"));
  EXPECT_THAT(refused("fused.fc(%x, %w, activation_type=\"tanh\")"),
              HasSubstr("activation_type is one of none, relu, not tanh"));
  EXPECT_THAT(refused("fused.fusion_repeated_fc_relu(%x, [%w], [None])"),
              HasSubstr("its arguments fit none of its forms: fusion_repeated_fc_relu.two"));
  EXPECT_THAT(refused("fused.fusion_repeated_fc_relu(%x, [%w, %w, %w], [None, None])"),
              HasSubstr("none of its forms"));
  EXPECT_THAT(refused("fused.self_dp_attention(%x, kernel=\"softmax\")"),
              HasSubstr("its arguments fit none of its forms: self_dp_attention.sdpa"));
  // Try the greatest number of elements, and one more.
  const auto list = [](size_t n, const char* what) {
    return absl::StrJoin(std::vector<std::string>(n, what), ", ");
  };
  const auto layers = [&](size_t n) {
    return absl::StrCat("fused.fusion_repeated_fc_relu(%x, [", list(n, "%w"), "], [",
                        list(n, "None"), "])");
  };
  EXPECT_EQ(refused(layers(kMaxFusedElements)), "");
  EXPECT_THAT(refused(layers(kMaxFusedElements + 1)), HasSubstr("w has 1025 elements"));
}

TEST(FusedTableTest, RefusesWrongFiles) {
  const auto error = [](absl::string_view text) {
    return std::string(ParseFusedOperators(text, "f").status().message());
  };
  const std::string head = "operator fused.f(Tensor x) -> Tensor\n# Does.\n";
  const std::string pattern =
      "rule f\ngraph @pattern(%x) {\n  %y = aten.relu.default(%x)\n  return %y\n}\n";
  EXPECT_EQ(error("rule f\n"), "f:1:1: expected operator NAME(…)");
  EXPECT_EQ(error("more\n"), "f:1:1: expected operator NAME(…) or rule NAME");
  EXPECT_THAT(error(head + "operator fused.f(Tensor x) -> Tensor\n"), HasSubstr("declared twice"));
  EXPECT_THAT(error(head + pattern), HasSubstr("expected @pattern and @replacement"));
  EXPECT_THAT(error(head + pattern + "graph @replacement(%x) {\n  return %x\n}\n"),
              HasSubstr("@replacement must return the value of a call"));
  EXPECT_THAT(
      error(head + pattern + "graph @replacement(%x) {\n  %y = fused.g(%x)\n  return %y\n}\n"),
      HasSubstr("@replacement must be one call of fused.f"));
  EXPECT_THAT(
      error(head + pattern + "graph @replacement(%z) {\n  %y = fused.f(%z)\n  return %y\n}\n"),
      HasSubstr("@pattern has no parameter %z"));
  EXPECT_THAT(error(head + "rule f\ngraph @pattern(%x) {\n  %y = f(%z)\n"), HasSubstr("f:5:"));
}

// Calls that must not be moved, and calls that do not mean the same.
TEST(FuseTest, LeavesCallsThatMustNotMove) {
  const std::string inputs =
      "%x : f32[2, 3], %w : f32[3, 3], %m : f32[2, 2], %h : f16[2, 3], %s : f32[3]";
  const char* programs[] = {
      // a write in between
      "  %l = torch._C._nn.linear(%x, %w)\n  %u = .add_(%x, 1)\n  %y = torch.relu(%l)\n",
      // a mode that begins in between
      "  %l = torch._C._nn.linear(%x, %w)\n"
      "  %c = torch.amp.autocast_mode._enter_autocast(\"cpu\", torch.bfloat16, True, None)\n"
      "  %y = torch.relu(%l)\n  %e = torch.amp.autocast_mode._exit_autocast(%c)\n",
      // in place on an input, which the caller sees
      "  %t = operator.iadd(%x, %x)\n  %y = torch.nn.functional.layer_norm(%t, (3,))\n",
      // in place on a view of an input
      "  %v = .transpose(%m, 0, 1)\n  %t = .add_(%v, %m)\n"
      "  %y = torch.nn.functional.layer_norm(%t, (2,))\n",
      // in place with two dtypes: the sum stays f16
      "  %g = torch.relu(%h)\n  %t = operator.iadd(%g, %x)\n  %f = .float(%t)\n"
      "  %y = torch.nn.functional.layer_norm(%f, (3,))\n",
      // products of more than two dimensions, as in attention, which fc does not take
      "  %k = torch.matmul(%x, %w)\n  %p = .unsqueeze(%w, 0)\n  %q = torch.matmul(%k, %p)\n"
      "  %y = operator.add(%q, %s)\n",
      // a sum with a factor
      "  %t = torch.add(%x, %x, alpha=2)\n  %y = torch.nn.functional.layer_norm(%t, (3,))\n",
  };
  for (const char* program : programs) {
    const std::string text =
        absl::StrCat("graph @forward(", inputs, ") {\n", program, "  return (%y,)\n}\n");
    const auto module = Parsed(text);
    const std::string before = Printed(*module);
    EXPECT_FALSE(Apply("fuse", module.get())) << program;
    EXPECT_EQ(Printed(*module), before);
  }
}

// Other ways to write the calls of the cases, with the same result.
TEST(FuseTest, FindsOtherSpellings) {
  const struct {
    const char* inputs;
    const char* program;
    const char* call;
  } cases[] = {
      {"%x : f32[2, 3, 3, 2, 4]",
       "  %p = .permute(%x, 2, 0, 3, 1, 4)\n  %q = operator.getitem(%p, 0)\n"
       "  %k = operator.getitem(%p, 1)\n  %v = operator.getitem(%p, 2)\n"
       "  %a = torch._C._nn.scaled_dot_product_attention(%q, %k, %v)\n"
       "  %y = .transpose(%a, 1, 2)\n",
       "fused.self_dp_attention(%x)"},
      {"%x : f32[2, 3, 3, 2, 4]",
       "  %p = .permute(%x, 2, 0, 3, 1, 4)\n  %q = operator.getitem(%p, 0)\n"
       "  %k = operator.getitem(%p, 1)\n  %v = operator.getitem(%p, 2)\n"
       "  %z = operator.mul(%q, 0.5)\n  %t = .transpose(%k, -2, -1)\n"
       "  %s = torch.matmul(%z, %t)\n  %w = torch.softmax(%s, -1)\n  %a = torch.matmul(%w, %v)\n"
       "  %y = .transpose(%a, 1, 2)\n",
       "fused.self_dp_attention(%x, alpha = 0.5, kernel = \"softmax\")"},
      {"%x : f32[2, 3], %v : f32[3, 4]",
       "  %m = torch.matmul(%x, %v)\n  %n = torch.square(%m)\n  %a = torch.square(%x)\n"
       "  %b = .square(%v)\n  %c = torch.matmul(%a, %b)\n  %d = operator.sub(%n, %c)\n"
       "  %y = operator.mul(%d, 0.5)\n",
       "fused.fusion_squared_mat_sub(%x, %v, 0.5)"},
      {"%x : f32[2, 3], %w : f32[4, 3], %b : f32[4]",
       "  %l = torch.ops.aten.linear.default(input = %x, bias = %b, weight = %w)\n"
       "  %y = torch.nn.functional.relu_(%l)\n",
       "fused.fused_gemm_epilogue(%x, %w, %b, activation = \"relu\")"},
  };
  for (const auto& c : cases) {
    const auto module = Parsed(
        absl::StrCat("graph @forward(", c.inputs, ") {\n", c.program, "  return (%y,)\n}\n"));
    const at::Tensor value = ValueOf(*module);
    EXPECT_TRUE(Apply("fuse", module.get())) << c.program;
    EXPECT_EQ(PrintNode(*module->main()->FindNode("y")), absl::StrCat("%y = ", c.call));
    EXPECT_EQ(module->main()->num_nodes(), module->main()->placeholders().size() + 2);
    EXPECT_TRUE(SameBits(value, ValueOf(*module))) << c.program;
  }
}

TEST(FuseTest, KeepsTheOrderOfRandomNumbers) {
  const auto fused = [](const char* between) {
    const auto module = Parsed(absl::StrCat(
        "graph @forward(%x : f32[2, 3]) {\n  %d = torch.nn.functional.dropout(%x, 0.5)\n  %z = ",
        between, "\n  %t = operator.add(%d, %x)\n",
        "  %n = torch.nn.functional.layer_norm(%t, (3,))\n  %y = operator.mul(%n, %z)\n",
        "  return (%y,)\n}\n"));
    const at::Tensor value = ValueOf(*module);
    EXPECT_TRUE(Apply("fuse", module.get()));
    EXPECT_TRUE(SameBits(value, ValueOf(*module)));
    return Printed(*module);
  };
  EXPECT_THAT(fused("torch.sin(%x)"), HasSubstr("fused_bias_dropout_residual_layer_norm"));
  // Random numbers are drawn in between, so dropout stays outside of the operator.
  EXPECT_THAT(fused("torch.rand_like(%x)"), HasSubstr("fused.skip_layernorm(%d, %x, [3])"));
}

TEST(FuseTest, KeepsUsedAndDropsUnusedDropout) {
  // Dropout that does nothing goes if it stands inside an operator, and stays elsewhere.
  const auto module = Parsed(
      "graph @forward(%x : f32[2, 3], %w : f32[3, 3]) {\n"
      "  %a = torch.nn.functional.dropout(%x, 0.1, False, False)\n"
      "  %l = torch._C._nn.linear(%a, %w)\n"
      "  %d = torch.nn.functional.dropout(%l, 0.1, False, False)\n"
      "  %y = torch.relu(%d)\n  return (%y,)\n}\n");
  EXPECT_TRUE(Apply("fuse", module.get()));
  EXPECT_THAT(Printed(*module), HasSubstr("fused.fused_gemm_epilogue("));
  EXPECT_EQ(absl::StrContains(Printed(*module), "%d = "), false);
}

TEST(FuseTest, TakesLongChainsOfWrites) {
  std::string body = "  %v0 = torch.relu(%x)\n";
  for (int i = 1; i < 50000; ++i)
    absl::StrAppend(&body, "  %v", i, " = aten.add_.Tensor(%v", i - 1, ", 1)\n");
  const auto module =
      Parsed(absl::StrCat("graph @forward(%x : f32[2]) {\n", body, "  return (%v49999,)\n}\n"));
  Apply("fuse", module.get());
  EXPECT_EQ(module->main()->num_nodes(), 50002u);
}

TEST(FuseTest, OptionsNameOperators) {
  const std::string text =
      "graph @forward(%x : f32[2, 3], %w : f32[3, 3], %s : f32[3]) {\n"
      "  %l = torch._C._nn.linear(%x, %w)\n  %r = torch._C._nn.gelu(%l)\n  %t = operator.add(%r, "
      "%x)\n"
      "  %y = torch.nn.functional.layer_norm(%t, (3,), %s)\n  return (%y,)\n}\n";
  const auto both = Parsed(text);
  EXPECT_TRUE(Apply("fuse", both.get()));
  EXPECT_EQ(FusedCalls(*both), 2u);
  for (const char* one :
       {"fuse{operators=skip_layernorm}", "fuse{operators=fused.fused_gemm_epilogue}"}) {
    const auto module = Parsed(text);
    EXPECT_TRUE(Apply(one, module.get()));
    EXPECT_EQ(FusedCalls(*module), 1u);
  }
  const auto pipeline = ParsePipeline("fuse{operators=skip_layernom}");
  ASSERT_OK(pipeline);
  EXPECT_THAT(RunPipeline(*pipeline, both.get()).status().message(),
              HasSubstr("did you mean skip_layernorm?"));
}

TEST(FuseTest, BatchesAsItsParts) {
  const auto module = Parsed(
      "graph @forward(%x : f32[4, 2, 3], %y : f32[4, 2, 3], %s : f32[3]) {\n"
      "  %r = torch.vmap(@body, (%x, %y, %s), (0, 0, None))\n  return (%r,)\n}\n"
      "graph @body(%x : f32[2, 3], %y : f32[2, 3], %s : f32[3]) {\n"
      "  %r = fused.skip_layernorm(%x, %y, [3], %s)\n  return %r\n}\n");
  const at::Tensor value = ValueOf(*module);
  const auto expanded = module->Clone();
  EXPECT_TRUE(Apply("expand-vmap", expanded.get()));
  EXPECT_EQ(absl::StrContains(Printed(*expanded), "torch.vmap"), false) << Printed(*expanded);
  EXPECT_TRUE(at::allclose(value, ValueOf(*expanded), 0, 1e-6));
}

}  // namespace
}  // namespace graphnet

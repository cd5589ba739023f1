// Expanded functions compute the same bits as before, in all forms; the others stay.
#include "graphnet/passes/expand_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/pipeline.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

const std::map<std::string, at::Tensor>& Inputs() {
  static const auto* const inputs = [] {
    at::manual_seed(1);
    return new std::map<std::string, at::Tensor>{
        {"q", at::randn({5, 2, 8})},
        {"k", at::randn({6, 2, 8})},
        {"v", at::randn({6, 2, 8})},
        {"u", at::randn({5, 8})},
        {"t", at::randn({6, 8})},
        {"w", at::randn({24, 8})},
        {"b", at::randn({24})},
        {"wq", at::randn({8, 8})},
        {"o", at::randn({8, 8})},
        {"ob", at::randn({8})},
        {"bk", at::randn({1, 1, 8})},
        {"bv", at::randn({1, 1, 8})},
        {"fmask", at::randn({5, 6})},
        {"mask", at::randn({5, 6}) > 1},
        {"heads", at::randn({4, 5, 6}) > 1},
        {"square", at::randn({5, 5}) > 1},
        {"pad", at::tensor({0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1}).to(at::kBool).view({2, 6})},
        {"fpad", at::randn({2, 6})},
        {"upad", at::tensor({0, 0, 0, 0, 1, 1}).to(at::kBool)},
        {"g0", at::randn({5, 1, 1})},
        {"g2", at::randn({1, 1, 8})},
        {"g", at::randn({})},
        {"row", at::randn({2, 4, 8})},
        {"image", at::randn({2, 4, 6, 5})},
        {"volume", at::randn({2, 2, 4, 5, 6})}};
  }();
  return *inputs;
}

// Returns a graph with `call` as its only call and all inputs, whose sizes are known if is_sized.
std::string GraphOf(const std::string& call, bool is_sized, const std::string& result) {
  const auto parameter = [&](std::string* out, const auto& input) {
    const at::Tensor& tensor = input.second;
    std::vector<std::string> sizes;
    for (const int64_t size : tensor.sizes())
      sizes.push_back(is_sized || size == 1 ? absl::StrCat(size) : absl::StrCat("s", size));
    absl::StrAppend(out, "%", input.first, " : ",
                    tensor.scalar_type() == at::kBool ? "bool" : "f32", "[",
                    absl::StrJoin(sizes, ", "), "]");
  };
  return absl::StrCat("symbol s2 = 2\nsymbol s4 = 4\nsymbol s5 = 5\nsymbol s6 = 6\nsymbol s8 = 8\n",
                      "symbol s12 = 12\nsymbol s24 = 24\n", "graph @forward(",
                      absl::StrJoin(Inputs(), ", ", parameter), ") {\n  %y = ", call, "\n", result,
                      "}\n");
}

std::vector<at::Tensor> RunGraph(const Module& module) {
  auto executable = Compile(module);
  EXPECT_OK(executable);
  if (!executable.ok()) return {};
  std::vector<c10::IValue> inputs;
  for (const auto& [name, tensor] : Inputs()) inputs.emplace_back(tensor.clone());
  auto outputs = (*executable)->Run(std::move(inputs));
  EXPECT_OK(outputs);
  std::vector<at::Tensor> tensors;
  if (!outputs.ok()) return tensors;
  for (const c10::IValue& value : *outputs) {
    if (value.isTensor()) tensors.push_back(value.toTensor().contiguous());
  }
  return tensors;
}

bool SameBits(const at::Tensor& x, const at::Tensor& y) {
  return x.scalar_type() == y.scalar_type() && x.sizes() == y.sizes() &&
         std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

TEST(ExpandFunctionsTest, AttentionHasTheSameBits) {
  const std::string packed = "8, 2, %w, %b, None, None, False, 0.0, %o, %ob, training = False";
  const std::string biased = "8, 2, %w, %b, %bk, %bv, False, 0.0, %o, %ob, training = False";
  const std::string zeros = "8, 2, %w, %b, None, None, True, 0.0, %o, %ob, training = False";
  const std::string both = "8, 2, %w, %b, %bk, %bv, True, 0.0, %o, %ob, training = False";
  const std::string bare = "8, 2, %w, None, None, None, False, 0.0, %o, None, training = False";
  const std::string apart =
      "8, 2, None, %b, None, None, False, 0.1, %o, %ob, False, use_separate_proj_weight = True, "
      "q_proj_weight = %wq, k_proj_weight = %o, v_proj_weight = %wq";
  const std::string calls[] = {
      // Query, key and value may be the same tensor.
      "%q, %q, %q, " + packed, "%q, %k, %k, " + packed, "%q, %k, %v, " + bare,
      "%q, %q, %q, " + bare, "%q, %k, %k, " + bare, "%q, %k, %k, " + apart,
      // Rows may be added to keys and values.
      "%q, %k, %k, " + biased, "%q, %k, %k, " + zeros, "%q, %k, %k, " + both};
  const std::string masks[] = {"",
                               "attn_mask = %fmask",
                               "attn_mask = %mask",
                               "attn_mask = %heads",
                               "key_padding_mask = %pad",
                               "key_padding_mask = %fpad",
                               "attn_mask = %fmask, key_padding_mask = %fpad",
                               "attn_mask = %heads, key_padding_mask = %pad",
                               "attn_mask = %mask, is_causal = True",
                               "attn_mask = %mask, key_padding_mask = %pad, is_causal = True"};
  std::vector<std::string> forms;
  for (const std::string& call : calls) {
    for (const std::string& mask : masks) {
      // The masks are for 6 keys and 5 queries.
      if (!mask.empty() && !absl::StartsWith(call, "%q, %k")) continue;
      for (const char* more : {"", "need_weights = False", "average_attn_weights = False"}) {
        std::string form = call;
        for (const std::string& part : {mask, std::string(more)}) {
          if (!part.empty()) absl::StrAppend(&form, ", ", part);
        }
        forms.push_back(std::move(form));
      }
    }
  }
  for (const char* more : {"", ", need_weights = False", ", attn_mask = %mask",
                           ", key_padding_mask = %upad", ", average_attn_weights = False"}) {
    forms.push_back(absl::StrCat("%u, %t, %t, ", packed, more));
  }
  forms.push_back("%q, %q, %q, " + packed + ", attn_mask = %square");
  size_t with_weights = 0;
  for (const std::string& form : forms) {
    for (const bool is_sized : {true, false}) {
      const std::string text = GraphOf(
          absl::StrCat("torch.nn.functional.multi_head_attention_forward(", form, ")"), is_sized,
          "  %a = operator.getitem(%y, 0)\n  %b_1 = operator.getitem(%y, 1)\n"
          "  return (%a, %b_1)\n");
      SCOPED_TRACE(text);
      const auto module = ParseModule(text, "form");
      ASSERT_OK(module);
      const std::vector<at::Tensor> before = RunGraph(**module);
      PassRun run;
      const auto changed = ExpandFunctions(module->get(), run);
      ASSERT_OK(changed);
      ASSERT_TRUE(*changed);
      ASSERT_OK(Verify(**module));
      const std::string made = PrintModule(**module);
      ASSERT_FALSE(absl::StrContains(made, "torch.nn.")) << made;
      const std::vector<at::Tensor> after = RunGraph(**module);
      ASSERT_FALSE(before.empty());
      ASSERT_EQ(before.size(), after.size());
      for (size_t i = 0; i < before.size(); ++i) ASSERT_TRUE(SameBits(before[i], after[i])) << made;
      with_weights += before.size() == 2 ? 1 : 0;
      PassRun again;
      EXPECT_FALSE(*ExpandFunctions(module->get(), again));
    }
  }
  EXPECT_GT(with_weights, 60u);
}

TEST(ExpandFunctionsTest, WeightNormIsTheSameButForRounding) {
  for (const char* call : {"%q, %g0", "%q, %g0, 0", "%q, %g2, 2", "%q, %g, -1"}) {
    const auto module = ParseModule(
        GraphOf(absl::StrCat("torch._weight_norm(", call, ")"), true, "  return (%y,)\n"), "form");
    SCOPED_TRACE(call);
    ASSERT_OK(module);
    const std::vector<at::Tensor> before = RunGraph(**module);
    PassRun run;
    ASSERT_OK(ExpandFunctions(module->get(), run));
    EXPECT_THAT(PrintModule(**module), HasSubstr("%y = aten.mul.Tensor(%q"));
    const std::vector<at::Tensor> after = RunGraph(**module);
    ASSERT_EQ(before.size(), 1u);
    ASSERT_EQ(after.size(), 1u);
    EXPECT_TRUE(at::allclose(before[0], after[0], 1e-6, 1e-6));
  }
}

TEST(ExpandFunctionsTest, InterpolationHasTheSameBits) {
  const char* const any_sizes[] = {"%row, 16",
                                   "%row, scale_factor = 1.5",
                                   "%row, 5, mode = \"linear\", align_corners = True",
                                   "%row, 3, mode = \"area\"",
                                   "%image, 7",
                                   "%image, [3, 11]",
                                   "%image, (3, 11), mode = \"nearest-exact\"",
                                   "%image, scale_factor = 2",
                                   "%image, scale_factor = [2, 0.5], mode = \"bilinear\"",
                                   "%image, None, 1.7, \"bilinear\", False",
                                   "%image, [12, 10], None, \"bicubic\", True",
                                   "%image, [2, 3], mode = \"bilinear\", antialias = True",
                                   "%image, [2, 3], mode = \"bicubic\", antialias = True",
                                   "%image, [2, 3], mode = \"area\"",
                                   "%volume, [3, 6, 9]",
                                   "%volume, scale_factor = 1.5, mode = \"trilinear\"",
                                   "%volume, 3, mode = \"area\""};
  const char* const known_sizes[] = {
      "%image, scale_factor = 0.5, mode = \"area\"",
      "%image, scale_factor = [1.7, 0.9], mode = \"bilinear\", recompute_scale_factor = True",
      "%row, scale_factor = 1.3, recompute_scale_factor = True"};
  const auto expect_same = [](const std::string& form, bool is_sized, absl::string_view name) {
    const std::string text =
        GraphOf(absl::StrCat(name, "(", form, ")"), is_sized, "  return (%y,)\n");
    SCOPED_TRACE(text);
    const auto module = ParseModule(text, "form");
    ASSERT_OK(module);
    const std::vector<at::Tensor> before = RunGraph(**module);
    PassRun run;
    const auto changed = ExpandFunctions(module->get(), run);
    ASSERT_OK(changed);
    ASSERT_TRUE(*changed) << (run.notes().empty() ? "" : run.notes()[0].what);
    ASSERT_OK(Verify(**module));
    EXPECT_THAT(PrintModule(**module), HasSubstr("%y = aten."));
    const std::vector<at::Tensor> after = RunGraph(**module);
    ASSERT_EQ(before.size(), 1u);
    ASSERT_EQ(after.size(), 1u);
    EXPECT_TRUE(SameBits(before[0], after[0]));
  };
  for (const char* form : any_sizes) {
    for (const bool is_sized : {true, false})
      expect_same(form, is_sized, "torch.nn.functional.interpolate");
  }
  for (const char* form : known_sizes) expect_same(form, true, "torch.nn.functional.interpolate");
  expect_same("%image, scale_factor = 2, mode = \"bilinear\"", true,
              "torch.nn.functional.upsample");
}

TEST(ExpandFunctionsTest, InterpolationOfUnknownSizesStays) {
  const struct {
    const char* call;
    const char* what;
  } kCases[] = {
      {"%x, 4", "the rank of its input"},
      {"%y, scale_factor = 2, mode = \"area\"", "the size of its input"},
      {"%z, scale_factor = 1e30, mode = \"area\"", "the size it makes"},
      {"%z, 3, 2.0", "whether size or scale_factor"},
      {"%z, 3, mode = \"trilinear\"", "an operator for mode trilinear of 2 dimensions"},
  };
  for (const auto& [call, what] : kCases) {
    const auto module = ParseModule(
        absl::StrCat(
            "symbol s = 4\ngraph @forward(%x, %y : f32[1, 1, s, s], %z : f32[1, 1, 2, 2]) {\n"
            "  %i = torch.nn.functional.interpolate(",
            call, ")\n  return (%i,)\n}\n"),
        "stays");
    ASSERT_OK(module);
    PassRun run;
    const auto changed = ExpandFunctions(module->get(), run);
    ASSERT_OK(changed);
    EXPECT_FALSE(*changed);
    ASSERT_EQ(run.notes().size(), 1u) << call;
    EXPECT_EQ(run.notes()[0].what, absl::StrCat("stays: %i: ", what, " is not known"));
  }
}

// One call takes the result of another, whose rank is known.
TEST(ExpandFunctionsTest, LayersAreExpanded) {
  const auto module = ParseModule(R"(
graph @forward(%x : f32[5, 2, 8], %w : f32[24, 8], %b : f32[24], %o : f32[8, 8], %ob : f32[8]) {
  %a = torch.nn.functional.multi_head_attention_forward(%x, %x, %x, 8, 2, %w, %b, None, None, False, 0.0, %o, %ob)
  %y = operator.getitem(%a, 0)
  %n = torch.nn.functional.layer_norm(%y, (8,))
  %m = torch.nn.functional.multi_head_attention_forward(%n, %n, %n, 8, 2, %w, %b, None, None, False, 0.0, %o, %ob)
  %z = operator.getitem(%m, 0)
  %c = torch.nn.functional.multi_head_attention_forward(%z, %z, %z, 8, 2, %w, %b, None, None, False, 0.0, %o, %ob)
  return (%c,)
}
)",
                                  "layers");
  ASSERT_OK(module);
  PassRun run;
  ASSERT_OK(ExpandFunctions(module->get(), run));
  ASSERT_OK(Verify(**module));
  const std::string text = PrintModule(**module);
  EXPECT_FALSE(absl::StrContains(text, "multi_head")) << text;
  // A returned tuple stays a tuple, and known sizes are numbers.
  EXPECT_THAT(text, HasSubstr("return ((%"));
  EXPECT_TRUE(run.notes().empty());
}

TEST(ExpandFunctionsTest, WhatIsNotKnownStays) {
  const auto note = [](const std::string& inputs, const std::string& more, int64_t heads = 2) {
    const auto module =
        ParseModule(absl::StrCat("graph @forward(", inputs,
                                 ", %w : f32[24, 8], %o : f32[8, 8]) {\n  %y = "
                                 "torch.nn.functional.multi_head_attention_forward(%x, %x, %x, 8, ",
                                 heads, ", %w, None, None, None, False, 0.0, %o, None", more,
                                 ")\n  return (%y,)\n}\n"),
                    "stays");
    EXPECT_OK(module);
    PassRun run;
    const auto changed = ExpandFunctions(module->get(), run);
    EXPECT_OK(changed);
    EXPECT_FALSE(*changed);
    return run.notes().empty() ? "" : run.notes()[0].what;
  };
  EXPECT_EQ(note("%x", ""), "stays: %y: the rank of its query is not known");
  EXPECT_EQ(note("%x : f32[5, 2, 8], %m", ", attn_mask = %m"),
            "stays: %y: the dtype of its attn_mask is not known");
  EXPECT_EQ(note("%x : f32[5, 2, 8]", "", int64_t{1} << 62),
            "stays: %y: the number of its heads is not known");
  EXPECT_THAT(note("%x : f32[5, 2, 8]", ", attn_musk = %x"), HasSubstr("attn_mask"));
}

// A recurrent layer with random weights.
struct Layer {
  std::string name;
  int gates;
  int layers = 1;
  bool bidirectional = false;
  bool batch_first = false;
  bool biases = true;
  int projected = 0;  // size of the projection; 0 for none
  const char* more = "0.0, False";

  // Adds the inputs of the graph with the layer as its only call to `inputs`, and returns the graph.
  std::string Graph(std::vector<c10::IValue>* inputs) const {
    constexpr int kLength = 5, kBatch = 2, kFeatures = 3, kSize = 4;
    const int directions = bidirectional ? 2 : 1;
    const int out = projected > 0 ? projected : kSize;
    std::vector<std::string> names, placeholders;
    const auto add = [&](const std::string& input, const std::vector<int64_t>& sizes) {
      inputs->emplace_back(at::randn(sizes) * 0.5);
      placeholders.push_back(absl::StrCat("%", input, " : f32[", absl::StrJoin(sizes, ", "), "]"));
      return "%" + input;
    };
    std::vector<int64_t> sizes = {kLength, kBatch, kFeatures};
    if (batch_first) std::swap(sizes[0], sizes[1]);
    const std::string x = add("x", sizes);
    std::string hx = add("h", {layers * directions, kBatch, out});
    if (gates == 4) {
      hx = absl::StrCat("(", hx, ", ", add("c", {layers * directions, kBatch, kSize}), ")");
    }
    for (int i = 0; i < layers * directions; ++i) {
      const int features = i < directions ? kFeatures : out * directions;
      names.push_back(add(absl::StrCat("i", i), {gates * kSize, features}));
      names.push_back(add(absl::StrCat("s", i), {gates * kSize, out}));
      if (biases) names.push_back(add(absl::StrCat("a", i), {gates * kSize}));
      if (biases) names.push_back(add(absl::StrCat("b", i), {gates * kSize}));
      if (projected > 0) names.push_back(add(absl::StrCat("p", i), {projected, kSize}));
    }
    const auto truth = [](bool is) { return is ? "True" : "False"; };
    return absl::StrCat("graph @forward(", absl::StrJoin(placeholders, ", "), ") {\n  %y = ", name,
                        "(", x, ", ", hx, ", [", absl::StrJoin(names, ", "), "], ", truth(biases),
                        ", ", layers, ", ", more, ", ", truth(bidirectional), ", ",
                        truth(batch_first), ")\n  %r0 = operator.getitem(%y, 0)\n",
                        "  %r1 = operator.getitem(%y, -", gates == 4 ? 2 : 1, ")\n",
                        gates == 4 ? "  %r2 = operator.getitem(%y, 2)\n" : "", "  return (%r0, %r1",
                        gates == 4 ? ", %r2" : "", ")\n}\n");
  }
};

std::string ExpandedRecurrent(Module* module) {
  const auto pipeline = ParsePipeline("expand-functions{recurrent=true}");
  EXPECT_OK(pipeline);
  PipelineOptions verify;
  verify.verify_each = true;
  const auto steps = RunPipeline(*pipeline, module, verify);
  EXPECT_OK(steps);
  if (!steps.ok()) return "";
  return (*steps)[0].notes.empty() ? "" : (*steps)[0].notes[0].what;
}

TEST(ExpandFunctionsTest, RecurrentLayersAreTheSameButForRounding) {
  at::manual_seed(1);
  std::vector<Layer> layers;
  for (const auto& [name, gates] :
       std::vector<std::pair<std::string, int>>{{"torch.lstm", 4},
                                                {"aten.lstm.input", 4},
                                                {"torch.gru", 3},
                                                {"aten.gru.input", 3},
                                                {"torch.rnn_tanh", 1},
                                                {"aten.rnn_relu.input", 1}}) {
    for (int i = 0; i < 16; ++i) {
      layers.push_back({.name = name,
                        .gates = gates,
                        .layers = (i & 1) != 0 ? 2 : 1,
                        .bidirectional = (i & 2) != 0,
                        .batch_first = (i & 4) != 0,
                        .biases = (i & 8) != 0});
      if (gates != 4) continue;
      layers.push_back(layers.back());
      layers.back().projected = 2;
    }
  }
  for (const Layer& layer : layers) {
    std::vector<c10::IValue> inputs;
    const auto module = ParseModule(layer.Graph(&inputs), "layer");
    ASSERT_OK(module);
    SCOPED_TRACE(PrintModule(**module));
    const auto run = [&]() -> std::vector<c10::IValue> {
      auto executable = Compile(**module);
      EXPECT_OK(executable);
      if (!executable.ok()) return {};
      auto outputs = (*executable)->Run(inputs);
      EXPECT_OK(outputs);
      return outputs.ok() ? *outputs : std::vector<c10::IValue>();
    };
    const std::vector<c10::IValue> before = run();
    ASSERT_EQ(ExpandedRecurrent(module->get()), "");
    const std::string made = PrintModule(**module);
    ASSERT_FALSE(absl::StrContains(made, layer.name)) << made;
    const std::vector<c10::IValue> after = run();
    ASSERT_EQ(before.size(), layer.gates == 4 ? 3u : 2u);
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < before.size(); ++i) {
      const at::Tensor x = before[i].toTensor(), y = after[i].toTensor();
      ASSERT_EQ(x.sizes(), y.sizes()) << i;
      ASSERT_TRUE(at::allclose(x, y, 1e-5, 1e-6)) << i;
    }
  }
}

TEST(ExpandFunctionsTest, RecurrentLayersThatStay) {
  std::vector<c10::IValue> inputs;
  const Layer dropping = {.name = "torch.gru", .gates = 3, .layers = 2, .more = "0.5, True"};
  const std::string plain = Layer{.name = "torch.lstm", .gates = 4}.Graph(&inputs);
  const std::pair<std::string, std::string> cases[] = {
      {dropping.Graph(&inputs), "stays: %y: it drops values between its layers"},
      {absl::StrReplaceAll(plain, {{"%x : f32[5,", "%x : f32[2000,"}}),
       "stays: %y: it takes more than 1024 steps"},
      {absl::StrReplaceAll(plain, {{"%x : f32[5, 2, 3]", "%x"}}),
       "stays: %y: the rank of its input is not known"},
      {absl::StrReplaceAll(plain,
                           {{"graph", "symbol s = 5\ngraph"}, {"%x : f32[5,", "%x : f32[s,"}}),
       "stays: %y: the length of its input is not known"},
      {absl::StrReplaceAll(plain, {{"%s0 : f32[16, 4]", "%s0"}}),
       "stays: %y: the size of its state is not known"},
      {absl::StrReplaceAll(plain, {{"(%h, %c)", "(%h,)"}}),
       "stays: %y: its first state is not known"},
      {absl::StrReplaceAll(plain, {{"[%i0, %s0, ", "[%i0, "}}),
       "stays: %y: its list of weights is not known"},
      {absl::StrReplaceAll(plain, {{"True, 1, 0.0", "True, 0, 0.0"}}),
       "stays: %y: the number of its layers is not known"},
  };
  for (const auto& [text, note] : cases) {
    const auto module = ParseModule(text, "layer");
    ASSERT_OK(module) << text;
    EXPECT_EQ(ExpandedRecurrent(module->get()), note) << text;
  }
}

}  // namespace
}  // namespace graphnet

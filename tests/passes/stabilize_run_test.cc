// Runs every form in unstable_forms.txt before and after stabilize and compares the bits.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ops/callable.h"
#include "graphnet/passes/stabilize.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

const std::map<std::string, at::Tensor>& Inputs() {
  static const auto* const inputs = [] {
    at::manual_seed(1);
    return new std::map<std::string, at::Tensor>{{"x", at::randn({2, 6})},
                                                 {"w", at::randn({4, 6})},
                                                 {"b", at::randn({4})},
                                                 {"v", at::randn({6})},
                                                 {"q", at::randn({2, 3, 4, 8})},
                                                 {"k", at::randn({2, 3, 4, 8})},
                                                 {"t", at::randn({2, 3, 4, 8})},
                                                 {"m", at::randn({4, 4})},
                                                 {"mask", at::ones({4, 4}, at::kBool).tril()},
                                                 {"c", at::randn({4, 4}, at::kComplexFloat)},
                                                 {"i", at::tensor({0, 2, 1, 2, 0}, at::kLong)},
                                                 {"image", at::randn({1, 2, 8, 8})},
                                                 {"p", at::rand({4})}};
  }();
  return *inputs;
}

// Converts Python's syntax to that of the text form.
std::string ToText(const std::string& call) {
  std::string text = absl::StrReplaceAll(call, {{"'", "\""},
                                                {"float(\"inf\")", "inf"},
                                                {"float('inf')", "inf"},
                                                {"float('-inf')", "-inf"},
                                                {"=", " = "}});
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() &&
           (absl::ascii_isalnum(text[end]) || text[end] == '_' || text[end] == '.'))
      ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const std::string word = text.substr(i, end - i);
    const bool is_keyword = absl::StartsWith(text.substr(end), " = ");
    const bool in_string = i > 0 && text[i - 1] == '"';
    out += Inputs().contains(word) && !is_keyword && !in_string ? "%" + word : word;
    i = end;
  }
  return out;
}

at::Tensor RunGraph(const Module& module) {
  auto executable = Compile(module);
  EXPECT_OK(executable);
  if (!executable.ok()) return {};
  std::vector<c10::IValue> inputs;
  for (const auto& [name, tensor] : Inputs()) inputs.emplace_back(tensor.clone());
  auto outputs = (*executable)->Run(std::move(inputs));
  EXPECT_OK(outputs);
  return outputs.ok() ? (*outputs)[0].toTensor() : at::Tensor();
}

bool SameBits(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor x = a.contiguous();
  const at::Tensor y = b.contiguous();
  return std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

TEST(StabilizeRunTest, EveryFormIsTheSame) {
  std::ifstream file("tests/passes/unstable_forms.txt");
  std::map<std::string, int> forms;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    std::string text = "graph @forward(";
    const char* separator = "";
    for (const auto& [name, tensor] : Inputs()) {
      absl::StrAppend(&text, separator, "%", name);
      separator = ", ";
    }
    absl::StrAppend(&text, ") {\n  %y = ", ToText(line), "\n  return (%y,)\n}\n");
    const auto module = ParseModule(text, "form");
    ASSERT_OK(module);
    const at::Tensor before = RunGraph(**module);
    PassRun run;
    ASSERT_OK(Stabilize(module->get(), run));
    const Node* call = (*module)->main()->output()->prev();
    EXPECT_FALSE(IsPrivateTarget(call->target())) << PrintNode(*call);
    const at::Tensor after = RunGraph(**module);
    ASSERT_TRUE(before.defined() && after.defined());
    EXPECT_TRUE(SameBits(before, after));
    ++forms[std::string(call->target())];
  }
  EXPECT_GE(forms.size(), 25u);
  EXPECT_GE(forms["torch.nn.functional.scaled_dot_product_attention"], 11);
}

}  // namespace
}  // namespace graphnet

#include "tests/extract/random_program.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace graphnet {
namespace {

class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {}

  TestProgram Run(uint64_t seed) {
    TestProgram program;
    program.name = absl::StrCat("random_", seed);
    program.cond = seed % 2 == 1;
    if (seed % 3 == 0) program.max_unroll = 1;
    program.inputs = {"f32[3]", "f32[3]", absl::StrCat("int=", Pick(4))};
    in_helper_ = true;
    std::string helper =
        "def helper(self, a, b, n: int):\n    c = a + b\n    xs: List[Tensor] = [a, b]\n";
    for (int i = 0; i < 2; ++i) Statement(1, 1, &helper);
    absl::StrAppend(&helper, "    return c\n");
    in_helper_ = false;
    static const char* const kResults[] = {"c",
                                           "(c, a)",
                                           "[a, c, b]",
                                           "(c, n)",
                                           "{\"x\": c, \"y\": a}",
                                           "xs",
                                           "c + torch.stack(xs).sum(0)"};
    result_ = kResults[Pick(7)];
    std::string body =
        "def forward(self, a, b, n: int):\n    c = a * b\n    xs: List[Tensor] = [a, b]\n";
    const int statements = 3 + Pick(6);
    for (int i = 0; i < statements; ++i) Statement(1, 3, &body);
    absl::StrAppend(&body, "    return ", result_, "\n");
    program.source = helper + body;
    return program;
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  std::string Tensor() {
    static const char* const kNames[] = {"a",      "b",           "c",          "xs[0]",
                                         "xs[-1]", "self.weight", "self.buffer"};
    return kNames[Pick(7)];
  }
  std::string Variable() { return std::string(1, "abc"[Pick(3)]); }

  std::string Expression(int depth = 0) {
    if (depth > 2) return Tensor();
    const auto inner = [&] { return Expression(depth + 1); };
    switch (Pick(12)) {
      case 0: return absl::StrCat("(", inner(), " + ", inner(), ")");
      case 1: return absl::StrCat("(", inner(), " * ", inner(), ")");
      case 2: return absl::StrCat("torch.tanh(", inner(), ")");
      case 3: return absl::StrCat(inner(), ".sigmoid()");
      case 4: return absl::StrCat("(", inner(), " - n)");
      case 5: return absl::StrCat("torch.stack(xs)[", Pick(2), "]");
      case 6:
        return absl::StrCat("torch.cat([", inner(), ", ", inner(), "]).split(3)[", Pick(2), "]");
      case 7: return absl::StrCat(inner(), ".sort()[0]");
      case 8: return "(torch.rand(3) * 2)";
      case 9: return absl::StrCat("torch.where(", inner(), " > 0, ", inner(), ", ", inner(), ")");
      case 10: return absl::StrCat("(", inner(), " * self.scale)");
      default: return Tensor();
    }
  }

  void Statement(int indent, int budget, std::string* out) {
    const std::string space(static_cast<size_t>(4 * indent), ' ');
    const auto line = [&](auto&&... parts) { absl::StrAppend(out, space, parts..., "\n"); };
    const auto block = [&] {
      const int n = 1 + Pick(2);
      for (int i = 0; i < n; ++i) Statement(indent + 1, budget - 1, out);
    };
    switch (Pick(budget > 0 ? 18 : 12)) {
      case 0: return line(Variable(), ".add_(", Expression(), ")");
      case 1: return line("xs.append(", Expression(), ")");
      case 2: return line("xs[", Pick(2), "] = ", Expression());
      case 3:
        return line("print(", Pick(2) ? std::string("n") : absl::StrCat(Tensor(), ".sum() > 0"),
                    ")");
      case 4: return line("n = n + int(", Expression(), ".tanh().sum())");
      case 5: return line("self.count = self.count + ", 1 + Pick(3));
      case 6:
        return in_helper_
                   ? line("self.scale = self.scale * 0.5")
                   : line(Variable(), " = self.helper(", Expression(), ", ", Expression(), ", n)");
      case 7: return line("self.buffer.mul_(0.5)");
      case 8: return line("assert bool((", Tensor(), " == ", Tensor(), ").sum() > -1)");
      case 12: {
        line("if bool(", Expression(), ".sum() > ", Pick(3), "):");
        block();
        if (Pick(2)) {
          line("else:");
          block();
        }
        return;
      }
      case 13:
        line("if n > ", Pick(3), ":");
        block();
        return;
      case 14:
      case 15:
        line("for i", indent, " in range(", Pick(2) ? std::string("n % 3") : absl::StrCat(Pick(3)),
             "):");
        block();
        return;
      case 16: {
        line("k", indent, " = 0");
        line("while k", indent, " < 2 and bool(", Tensor(), ".sum() < ", Pick(9), "):");
        block();
        line("    k", indent, " = k", indent, " + 1");
        return;
      }
      case 17:
        line("if bool(", Tensor(), ".mean() > 0):");
        line("    return ", in_helper_ ? std::string("c") : result_);
        return;
      default: return line(Variable(), " = ", Expression());
    }
  }

  std::mt19937_64 random_;
  bool in_helper_ = false;
  std::string result_;
};

}  // namespace

TestProgram RandomProgram(uint64_t seed) { return Writer(seed).Run(seed); }

}  // namespace graphnet

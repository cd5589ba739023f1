#include "graphnet/base/python_numbers.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace graphnet::python {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
const double kInf = std::numeric_limits<double>::infinity();

// Returns the type and all bits of a number, as the program below prints them.
std::string Text(const Number& number) {
  if (const auto* b = std::get_if<bool>(&number)) return *b ? "bool 1" : "bool 0";
  if (const auto* i = std::get_if<int64_t>(&number)) return absl::StrCat("int ", *i);
  const double value = std::get<double>(number);
  if (std::isnan(value)) return "float nan";
  return absl::StrFormat("float %016x", std::bit_cast<uint64_t>(value));
}

constexpr char kProgram[] = R"(
import builtins, math, operator, struct, sys

def parse(text):
    kind, _, value = text.partition(" ")
    if kind == "bool": return value == "1"
    if kind == "int": return int(value)
    return math.nan if value == "nan" else struct.unpack(">d", bytes.fromhex(value))[0]

def show(value):
    if type(value) is bool: return f"bool {int(value)}"
    if type(value) is int: return f"int {value}" if -2**63 <= value < 2**63 else "error"
    if type(value) is not float: return "error"
    return "float nan" if value != value else "float " + struct.pack(">d", value).hex()

for line in open(sys.argv[1]):
    target, *args = line.rstrip("\n").split(",")
    module, name = target.split(".")
    try:
        print(show(getattr(globals()[module], name)(*map(parse, args))))
    except (ArithmeticError, ValueError, TypeError):
        print("error")
)";

std::vector<std::string> RunPython(const std::vector<std::string>& lines) {
  const std::string folder = testing::TempDir();
  std::ofstream(absl::StrCat(folder, "/program.py")) << kProgram;
  {
    std::ofstream file(absl::StrCat(folder, "/calls"));
    for (const std::string& line : lines) file << line << "\n";
  }
  FILE* pipe =
      popen(absl::StrCat("python3 ", folder, "/program.py ", folder, "/calls").c_str(), "r");
  std::string out;
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0);
  return absl::StrSplit(out, '\n', absl::SkipEmpty());
}

TEST(PythonNumbersTest, ComputesWhatCPythonComputes) {
  const std::vector<Number> values = {false,
                                      true,
                                      int64_t{0},
                                      int64_t{1},
                                      int64_t{-1},
                                      int64_t{2},
                                      int64_t{-2},
                                      int64_t{3},
                                      int64_t{-7},
                                      int64_t{10},
                                      int64_t{62},
                                      int64_t{63},
                                      int64_t{64},
                                      int64_t{-64},
                                      int64_t{1250},
                                      int64_t{-1350},
                                      int64_t{5'000'000'000'000'000'000},
                                      int64_t{3037000500},
                                      (int64_t{1} << 53) + 1,
                                      (int64_t{1} << 62) + 1,
                                      kMax,
                                      kMax - 1,
                                      kMin,
                                      kMin + 1,
                                      0.0,
                                      -0.0,
                                      0.5,
                                      -0.5,
                                      1.0,
                                      -1.0,
                                      1.5,
                                      2.5,
                                      -2.5,
                                      3.0,
                                      -7.25,
                                      0.1,
                                      2.675,
                                      1e-9,
                                      1.0 / 3,
                                      9007199254740992.0,
                                      9007199254740993.0,
                                      0x1p62,
                                      0x1p63,
                                      -0x1p63,
                                      0x1.fffffffffffffp62,
                                      1e16,
                                      1250.5,
                                      5e3,
                                      5000.5,
                                      4999.9,
                                      1e22,
                                      1e300,
                                      -1e300,
                                      5e-324,
                                      1.7976931348623157e308,
                                      kInf,
                                      -kInf,
                                      std::nan("")};
  const std::vector<Number> digits = {int64_t{0},   int64_t{1},    int64_t{2},   int64_t{5},
                                      int64_t{17},  int64_t{-1},   int64_t{-2},  int64_t{-3},
                                      int64_t{-4},  int64_t{-5},   int64_t{-19}, int64_t{-20},
                                      int64_t{400}, int64_t{-400}, true,         1.0};
  std::vector<std::string> lines, ours;
  const auto add = [&](const std::string& target, const std::vector<Number>& args) {
    const Function* function = FindFunction(target);
    ASSERT_NE(function, nullptr) << target;
    std::string line = target;
    for (const Number& arg : args) absl::StrAppend(&line, ",", Text(arg));
    const int n = static_cast<int>(args.size());
    const bool fits = n >= function->min_args && n <= function->max_args;
    const absl::StatusOr<Number> result =
        fits ? function->call(args) : absl::InvalidArgumentError("arguments");
    lines.push_back(std::move(line));
    ours.push_back(result.ok() ? Text(*result) : "error");
  };
  for (const char* name : {"neg", "pos", "invert", "truth", "not_", "index"}) {
    for (const Number& a : values) add(absl::StrCat("operator.", name), {a});
  }
  for (const char* name : {"abs", "bool", "float", "int", "round", "max", "pow"}) {
    for (const Number& a : values) add(absl::StrCat("builtins.", name), {a});
  }
  for (const char* name : {"ceil", "cos", "exp", "fabs", "floor", "log", "log10", "log2", "sin",
                           "sqrt", "tan", "trunc", "pow"}) {
    for (const Number& a : values) add(absl::StrCat("math.", name), {a});
  }
  for (const Number& a : values) {
    for (const Number& b : values) {
      for (const char* name : {"add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_",
                               "xor", "lt", "le", "gt", "ge", "eq", "ne", "rshift"}) {
        add(absl::StrCat("operator.", name), {a, b});
      }
      // CPython needs long for a power or a shift far beyond int64.
      const auto* shift = std::get_if<int64_t>(&b);
      if (shift == nullptr || (*shift <= 64 && *shift >= -64)) {
        add("operator.pow", {a, b});
        add("operator.lshift", {a, b});
      }
      for (const char* name : {"builtins.max", "builtins.min", "math.pow", "math.log"}) {
        add(name, {a, b});
      }
    }
    for (const Number& b : digits) add("builtins.round", {a, b});
  }
  add("builtins.max", {int64_t{1}, 3.0, int64_t{3}, true});
  add("builtins.min", {0.5, false, int64_t{0}});

  const std::vector<std::string> theirs = RunPython(lines);
  ASSERT_EQ(theirs.size(), lines.size());
  size_t errors = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(ours[i], theirs[i]) << lines[i];
    errors += theirs[i] == "error" ? 1 : 0;
  }
  EXPECT_GT(errors, lines.size() / 100);
  EXPECT_LT(errors, lines.size() / 2);
}

// One number is no sequence. The table above cannot tell by which error it is refused.
TEST(PythonNumbersTest, TheGreatestOfOneNumberIsAnError) {
  const Number one = int64_t{1};
  EXPECT_EQ(FindFunction("builtins.max")->call({one}).status(),
            absl::InvalidArgumentError("expected at least two numbers, got one"));
}

TEST(PythonNumbersTest, OrderOfIntsAndFloats) {
  EXPECT_EQ(Compare((int64_t{1} << 53) + 1, 0x1p53), std::partial_ordering::greater);
  EXPECT_EQ(Compare(kMax, 0x1p63), std::partial_ordering::less);
  EXPECT_EQ(Compare(-0x1p63, kMin), std::partial_ordering::equivalent);
  EXPECT_EQ(Compare(std::nan(""), int64_t{0}), std::partial_ordering::unordered);
}

TEST(PythonNumbersTest, Ints) {
  EXPECT_EQ(FloorDivide(kMin, -1), std::nullopt);
  EXPECT_EQ(FloorDivide(-7, 2), -4);
  EXPECT_EQ(Modulo(kMin, -1), 0);
  EXPECT_EQ(Modulo(-7, 0), std::nullopt);
  EXPECT_EQ(Power(-2, 63), kMin);
  EXPECT_EQ(Power(2, 63), std::nullopt);
  EXPECT_EQ(Power(-1, kMax), -1);
  EXPECT_EQ(Power(2, -1), std::nullopt);
  EXPECT_EQ(FindFunction("operator.call"), nullptr);
}

}  // namespace
}  // namespace graphnet::python

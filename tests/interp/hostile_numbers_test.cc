// Calls every callable that graphs may run with numbers that fit nowhere: each call ends
// with a value or a status, never by a signal.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <list>
#include <random>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "ATen/Parallel.h"
#include "ATen/core/dispatch/Dispatcher.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/schema_table.h"
#include "tests/ops/table_calls.h"
#include "torch/csrc/jit/runtime/operator.h"

namespace graphnet {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kDrawsPerRow = 30;
constexpr size_t kRowsPerProcess = 30;
constexpr unsigned kSecondsPerRow = 60;

// A callable and, for each of its parameters, a value that fits.
struct Row {
  Spelling spelling;
  std::vector<Given> given;
};

bool HoldsNumbers(const Argument& value) {
  if (value.is_int() || value.is_float()) return true;
  if (!value.is_list() && !value.is_tuple()) return false;
  return std::all_of(value.elements().begin(), value.elements().end(), HoldsNumbers);
}

class Draws {
 public:
  explicit Draws(size_t seed) : random_(seed) {}

  bool Half() { return random_() % 2 == 0; }
  // Replaces a number, or the numbers in a list.
  Argument Hostile(const Argument& value) {
    static constexpr int64_t kInts[] = {0, -1, 1, kMin, kMax, 70'000, int64_t{1} << 31, kMin + 1};
    static constexpr double kFloats[] = {0.0, -1.0, 1e30, -1e30, kInfinity, -kInfinity, kNan};
    if (value.is_int()) return kInts[random_() % std::size(kInts)];
    if (value.is_float()) return kFloats[random_() % std::size(kFloats)];
    std::vector<Argument>& elements = lists_.emplace_back();
    for (const Argument& element : value.elements()) elements.push_back(Hostile(element));
    return Argument::Aggregate(value.kind(), elements);
  }

 private:
  std::mt19937_64 random_;
  std::list<std::vector<Argument>> lists_;
};

// A graph of one call. "$x" and "$y" stand for its inputs.
class Call {
 public:
  Call(const Row& row, Draws* draws) {
    Graph* graph = module_.AddGraph("forward");
    for (const char* name : {"x", "y"}) inputs_.push_back(graph->Placeholder(name));
    module_.AddGraph("body")->Output(module_.graphs()[1]->Placeholder("z"));
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    for (const Given& g : row.given) {
      const bool is_hostile = HoldsNumbers(g.value) && draws->Half();
      const Argument value = Mapped(is_hostile ? draws->Hostile(g.value) : g.value);
      if (g.is_variadic) {
        args.insert(args.end(), value.elements().begin(), value.elements().end());
      } else if (g.keyword_only) {
        kwargs.push_back({g.name, value});
      } else {
        args.push_back(value);
      }
    }
    graph->Output(graph->CreateNode(row.spelling.op, row.spelling.target, args, kwargs, "r"));
  }

  bool Run(const at::Tensor& x, c10::Device device) const {
    auto executable = Compile(module_, {.device = device});
    return executable.ok() && (*executable)->Run({x.clone(), x.clone()}, {}).ok();
  }

 private:
  Argument Mapped(const Argument& a) {
    if (a.is_aggregate()) {
      std::vector<Argument>& elements = lists_.emplace_back();
      for (const Argument& e : a.elements()) elements.push_back(Mapped(e));
      return Argument::Aggregate(a.kind(), elements);
    }
    if (!a.is_string() || !absl::StartsWith(a.string(), "$")) return a;
    if (a.string() == "$body") return module_.graphs()[1];
    return inputs_[a.string() == "$x" ? 0 : 1];
  }

  Module module_;
  std::vector<Node*> inputs_;
  std::list<std::vector<Argument>> lists_;
};

Row RowOf(const Schema& schema) {
  Row row{SpellingsOf(schema).front(), {}};
  int salt = 0;
  for (const SchemaArgument& a : schema.arguments) {
    row.given.push_back({std::string(a.name), ValueFor(a, salt++), a.positional_only,
                         a.keyword_only, a.is_variadic});
    if (a.is_variadic) {
      static const auto* const numbers = new Argument[2]{2, 3};
      row.given.back().value = Argument::List({numbers, 2});
    }
  }
  return row;
}

Argument ValueOfType(const c10::Type& type) {
  static const auto* const ints = new Argument[3]{1, 2, 3};
  switch (type.kind()) {
    case c10::TypeKind::TensorType: return "$x";
    case c10::TypeKind::FloatType: return 0.5;
    case c10::TypeKind::BoolType: return true;
    case c10::TypeKind::StringType: return "a\tword";
    case c10::TypeKind::ListType: return Argument::List({ints, 3});
    case c10::TypeKind::OptionalType:
      return ValueOfType(*type.expectRef<c10::OptionalType>().getElementType());
    default: return 2;
  }
}

// TorchScript's own operators, which no table lists with their parameters.
std::vector<Row> RowsOfTorchScript() {
  std::vector<Row> rows;
  for (const auto& operation : torch::jit::getAllOperators()) {
    const c10::FunctionSchema& schema = operation->schema();
    if (!IsAllowed(schema) || c10::Dispatcher::singleton().findSchema(schema.operator_name()))
      continue;
    std::string target = absl::StrCat(
        schema.name(), ".", schema.overload_name().empty() ? "default" : schema.overload_name());
    target.replace(target.find("::"), 2, ".");
    Row row{{Op::kCallFunction, target}, {}};
    for (const c10::Argument& a : schema.arguments())
      row.given.push_back({.name = a.name(), .value = ValueOfType(*a.type())});
    rows.push_back(std::move(row));
  }
  return rows;
}

// The progress of the processes: the current row, and the number of calls that gave a value.
struct Shared {
  char at[200];
  size_t values;
};

void RunRows(const std::vector<Row>& rows, size_t begin, size_t end, c10::Device device,
             Shared* shared) {
  // Suppress LibTorch's many error messages, and core files.
  if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit memory = {rlim_t{8} << 30, rlim_t{8} << 30}, none = {0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &none);
#endif
  at::set_num_threads(1);
  const at::Tensor inputs[] = {at::randn({4, 8}),       at::randn({2, 8, 4}),
                               at::randn({2, 8, 4, 4}), at::arange(8).view({2, 4}),
                               at::randn({}),           at::randn({8})};
  for (size_t i = begin; i < end; ++i) {
    std::snprintf(shared->at, sizeof shared->at, "%s", rows[i].spelling.target.c_str());
    alarm(kSecondsPerRow);
    Draws draws(i);
    for (int draw = 0; draw < kDrawsPerRow; ++draw) {
      const Call call(rows[i], &draws);
      shared->values += call.Run(inputs[draw % std::size(inputs)], device) ? 1 : 0;
    }
  }
  _exit(0);
}

void ExpectNoSignals(const std::vector<Row>& rows, c10::Device device) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const shared = static_cast<Shared*>(memory);
  shared->values = 0;
  for (size_t begin = 0; begin < rows.size(); begin += kRowsPerProcess) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      RunRows(rows, begin, std::min(rows.size(), begin + kRowsPerProcess), device, shared);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_FALSE(WIFSIGNALED(status)) << shared->at << ": signal " << WTERMSIG(status);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << shared->at;
  }
  std::printf("%zu callables, %zu calls gave a value\n", rows.size(), shared->values);
  EXPECT_GT(shared->values, rows.size());
  munmap(memory, sizeof(Shared));
}

std::vector<Row> RowsOfFunctions() {
  std::vector<Row> rows;
  for (const Schema& schema : AllFunctions()) rows.push_back(RowOf(schema));
  return rows;
}
std::vector<Row> RowsOfOperators() {
  std::vector<Row> rows;
  for (const Schema& schema : AllSchemas()) {
    if (schema.may_run) rows.push_back(RowOf(schema));
  }
  return rows;
}

TEST(HostileNumbersTest, FunctionsOfPython) { ExpectNoSignals(RowsOfFunctions(), c10::kCPU); }
TEST(HostileNumbersTest, ShapesOfFunctionsOfPython) {
  ExpectNoSignals(RowsOfFunctions(), c10::kMeta);
}
TEST(HostileNumbersTest, OperatorsOfTorchScript) {
  ExpectNoSignals(RowsOfTorchScript(), c10::kCPU);
}
TEST(HostileNumbersTest, OperatorsOfAten) { ExpectNoSignals(RowsOfOperators(), c10::kCPU); }
TEST(HostileNumbersTest, ShapesOfOperatorsOfAten) {
  ExpectNoSignals(RowsOfOperators(), c10::kMeta);
}

}  // namespace
}  // namespace graphnet

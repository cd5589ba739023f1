#include "graphnet/ir/argument.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "graphnet/ir/module.h"
#include "graphnet/ir/tensor_meta.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using Kind = Argument::Kind;

TEST(ArgumentTest, TakesTheKindOfWhatItIsMadeOf) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  Node* node = graph->Placeholder("x");
  const std::complex<double> complex(1, -2);
  const Argument elements[] = {1, 2, 3};
  const struct {
    Argument argument;
    Kind kind;
  } cases[] = {
      {Argument(), Kind::kNone},
      {Argument::None(), Kind::kNone},
      {node, Kind::kNode},
      {true, Kind::kBool},
      {7, Kind::kInt},
      {int64_t{7}, Kind::kInt},
      {size_t{7}, Kind::kInt},
      {uint8_t{7}, Kind::kInt},
      {1.5, Kind::kFloat},
      {1.5f, Kind::kFloat},
      {"text", Kind::kString},
      {absl::string_view("text"), Kind::kString},
      {DType::kFloat32, Kind::kDType},
      {Device{DeviceType::kCuda, 1}, Kind::kDevice},
      {Layout::kStrided, Kind::kLayout},
      {MemoryFormat::kPreserve, Kind::kMemoryFormat},
      {Argument::List(absl::MakeConstSpan(elements).first(1)), Kind::kList},
      {Argument::Tuple(absl::MakeConstSpan(elements).first(1)), Kind::kTuple},
      {Argument::Dict(absl::MakeConstSpan(elements).first(2)), Kind::kDict},
      {Argument::Slice(absl::MakeConstSpan(elements).first(3)), Kind::kSlice},
      {Argument::Ellipsis(), Kind::kEllipsis},
      {graph, Kind::kGraph},
      {module.SymSymbol("s0"), Kind::kSymInt},
      {&complex, Kind::kComplex},
  };
  for (const auto& c : cases) EXPECT_EQ(c.argument.kind(), c.kind);
}

TEST(ArgumentTest, AccessorsGiveBackTheValue) {
  EXPECT_EQ(Argument(true).boolean(), true);
  EXPECT_EQ(Argument(false).boolean(), false);
  for (int64_t v : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(Argument(v).integer(), v);
  }
  EXPECT_EQ(Argument(0.1).real(), 0.1);
  EXPECT_EQ(Argument("a b").string(), "a b");
  EXPECT_EQ(Argument("").string(), "");
  EXPECT_EQ(Argument(DType::kBits16).dtype(), DType::kBits16);
  EXPECT_EQ(Argument(Layout::kJagged).layout(), Layout::kJagged);
  EXPECT_EQ(Argument(MemoryFormat::kChannelsLast3d).memory_format(), MemoryFormat::kChannelsLast3d);
  const std::complex<double> complex(1, -2);
  EXPECT_EQ(Argument(&complex).complex(), complex);
  const std::string with_nul("a\0b", 3);
  EXPECT_EQ(Argument(absl::string_view(with_nul)).string().size(), 3u);
}

TEST(ArgumentDeathTest, AccessorsCheckTheKindInEveryBuild) {
  const Argument number(1);
  EXPECT_DEATH(number.node(), "check failed: the argument is an int, not a node");
  EXPECT_DEATH(number.string(), "check failed: the argument is an int, not a string");
  EXPECT_DEATH(number.elements(),
               "check failed: the argument is an int, not a list, tuple, dict or slice");
  EXPECT_DEATH(number.graph(), "not a graph");
  EXPECT_DEATH(number.sym(), "not a symbolic int");
  EXPECT_DEATH(number.complex(), "not a complex");
  EXPECT_DEATH(Argument(1.5).integer(), "the argument is a float, not an int");
  EXPECT_DEATH(Argument(true).integer(), "the argument is a bool, not an int");
  EXPECT_DEATH(Argument("x").real(), "the argument is a string, not a float");
  EXPECT_DEATH(Argument().boolean(), "the argument is None, not a bool");
  EXPECT_DEATH(Argument::Ellipsis().dtype(), "not a dtype");
  EXPECT_DEATH(Argument(DType::kBool).device(), "the argument is a dtype, not a device");
  EXPECT_DEATH(Argument(Layout::kStrided).memory_format(), "is a layout, not a memory format");
  EXPECT_DEATH(Argument(MemoryFormat::kPreserve).layout(), "is a memory format, not a layout");
  EXPECT_DEATH(Argument::Dict({1}), "check failed");
  EXPECT_DEATH(Argument::Slice({1, 2}), "check failed");
  EXPECT_DEATH(Argument::Aggregate(Kind::kInt, {1}), "check failed");
}

// A character would become a number.
static_assert(!std::is_constructible_v<Argument, char>);
static_assert(!std::is_constructible_v<Argument, wchar_t>);
static_assert(!std::is_constructible_v<Argument, char8_t>);
static_assert(!std::is_constructible_v<Argument, char16_t>);
static_assert(!std::is_constructible_v<Argument, char32_t>);
static_assert(std::is_constructible_v<Argument, int8_t>);
static_assert(std::is_constructible_v<Argument, uint8_t>);

TEST(ArgumentTest, DevicesKeepAnyIndex) {
  for (int type = 0; type < kNumDeviceTypes; ++type) {
    for (int index : {-32768, -1, 0, 1, 127, 32767}) {
      const Device device = {static_cast<DeviceType>(type), static_cast<int16_t>(index)};
      EXPECT_EQ(Argument(device).device(), device);
    }
  }
}

TEST(ArgumentTest, EqualityIsOfKindAndContent) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  Node* x = graph->Placeholder("x");
  Node* y = graph->Placeholder("y");
  const std::complex<double> one(1, 0);
  const std::complex<double> minus_zero(1, -0.0);
  const std::string text = "text";
  // Braced lists would be destroyed after the initialisation.
  const Argument one_element[] = {1}, two_elements[] = {1, 2}, three_elements[] = {1, 2, 3};
  const Argument list_inside[] = {Argument::List(one_element), 2};
  const Argument tuple_inside[] = {Argument::Tuple(one_element), 2};
  // All of these differ from each other.
  const Argument different[] = {
      Argument(),
      Argument::Ellipsis(),
      x,
      y,
      graph,
      true,
      false,
      1,
      0,
      1.0,
      0.0,
      -0.0,
      std::numeric_limits<double>::infinity(),
      std::numeric_limits<double>::quiet_NaN(),
      &one,
      &minus_zero,
      "",
      "text",
      "text2",
      DType::kBool,
      DType::kUInt8,
      Layout::kSparseCoo,
      MemoryFormat::kPreserve,
      Device{DeviceType::kCpu, -1},
      Device{DeviceType::kCpu, 0},
      Device{DeviceType::kCuda, 0},
      Argument::List({}),
      Argument::Tuple({}),
      Argument::Dict({}),
      Argument::List(one_element),
      Argument::Tuple(one_element),
      Argument::List(two_elements),
      Argument::List(list_inside),
      Argument::List(tuple_inside),
      Argument::Slice(three_elements),
      module.SymSymbol("s0"),
      module.SymSymbol("s1"),
      module.SymInt(1),
  };
  for (size_t i = 0; i < std::size(different); ++i) {
    for (size_t j = 0; j < std::size(different); ++j) {
      EXPECT_EQ(different[i] == different[j], i == j) << i << " and " << j;
      EXPECT_EQ(different[i] != different[j], i != j) << i << " and " << j;
    }
  }
  // These are equal to them although they lie elsewhere.
  const std::complex<double> other_one(1, 0);
  EXPECT_EQ(Argument(&one), Argument(&other_one));
  EXPECT_EQ(Argument("text"), Argument(absl::string_view(text)));
  EXPECT_EQ(Argument::List({1, Argument::Tuple({x, "a"})}),
            Argument::List({1, Argument::Tuple({x, "a"})}));
  EXPECT_EQ(Argument(module.SymSymbol("s0")), Argument(module.SymSymbol("s0")));
}

// The header promises that braced lists live until the end of the statement.
TEST(ArgumentTest, BracedListsOutliveTheCall) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  Node* x = graph->Placeholder("x");
  Node* cat = graph->CallFunction(
      "torch.cat", {Argument::List({x, Argument::Tuple({x, std::string(100, 'a').c_str()})}), 1},
      {{"out", Argument::Dict({"k", Argument::Slice({Argument(), x, -1})})}});
  EXPECT_EQ(cat->args()[0].elements()[1].elements()[1].string(), std::string(100, 'a'));
  EXPECT_EQ(cat->kwarg("out")->elements()[1].elements()[1].node(), x);
  EXPECT_EQ(x->num_uses(), 3);
}

TEST(ArgumentTest, ForEachArgumentVisitsParentsFirst) {
  std::string seen;
  const auto visit = [&](const Argument& a) {
    seen += a.is_int() ? std::to_string(a.integer()) : a.is_list() ? "L" : a.is_tuple() ? "T" : "?";
  };
  ForEachArgument(Argument::List({1, Argument::Tuple({2, Argument::List({})}), 3}), visit);
  EXPECT_EQ(seen, "L1T2L3");
}

TEST(ArgumentTest, MapArgumentReplacesWhatIsNoAggregate) {
  const Argument inner[] = {1, "a"};
  const Argument slice[] = {2, Argument(), 3};
  const Argument dict[] = {"k", 4};
  const Argument outer[] = {Argument::List(inner), Argument::Slice(slice), Argument::Dict(dict), 5};
  const Argument before = Argument::Tuple(outer);
  Arena arena;
  const Argument after = MapArgument(before, &arena, [](const Argument& a) {
    return a.is_int() ? Argument(10 * a.integer()) : a;
  });
  const Argument inner10[] = {10, "a"};
  const Argument slice10[] = {20, Argument(), 30};
  const Argument dict10[] = {"k", 40};
  const Argument expected[] = {Argument::List(inner10), Argument::Slice(slice10),
                               Argument::Dict(dict10), 50};
  EXPECT_EQ(after, Argument::Tuple(expected));
  EXPECT_EQ(before.elements()[3], Argument(5));
  const Argument empty =
      MapArgument(Argument::List({}), &arena, [](const Argument& a) { return a; });
  EXPECT_EQ(empty, Argument::List({}));
}

TEST(SymExprTest, EqualityIsStructural) {
  Module m;
  const auto add = [&](const SymExpr* a, const SymExpr* b) {
    return m.SymBinary(SymExpr::Kind::kAdd, a, b);
  };
  const SymExpr* s = m.SymSymbol("s0");
  EXPECT_EQ(*add(s, m.SymInt(1)), *add(m.SymSymbol("s0"), m.SymInt(1)));
  const SymExpr* const different[] = {s,
                                      m.SymSymbol("s1"),
                                      m.SymInt(1),
                                      m.SymInt(2),
                                      m.SymNeg(s),
                                      m.SymNeg(m.SymNeg(s)),
                                      add(s, s),
                                      add(s, m.SymInt(1)),
                                      add(m.SymInt(1), s),
                                      add(add(s, s), s),
                                      add(s, add(s, s)),
                                      m.SymBinary(SymExpr::Kind::kMul, s, s),
                                      m.SymBinary(SymExpr::Kind::kEq, s, s)};
  for (const SymExpr* a : different) {
    for (const SymExpr* b : different) EXPECT_EQ(*a == *b, a == b);
  }
}

// Sums and products grow to the left. Long ones must not exhaust the stack.
TEST(SymExprTest, LongSumsAreCopiedAndCompared) {
  Module m;
  const SymExpr* sum = m.SymSymbol("s0");
  for (int i = 0; i < 1000000; ++i) sum = m.SymBinary(SymExpr::Kind::kAdd, sum, m.SymInt(i % 7));
  Module other;
  const SymExpr* copy = other.CopySym(sum);
  EXPECT_NE(copy, sum);
  EXPECT_EQ(*copy, *sum);
  EXPECT_FALSE(*copy == *sum->lhs);
}

TEST(DimTest, EqualityIsOfNumbersOrOfExpressions) {
  Module m;
  EXPECT_EQ(Dim(3), Dim(3));
  EXPECT_FALSE(Dim(3) == Dim(4));
  EXPECT_EQ(Dim(m.SymSymbol("s0")), Dim(m.SymSymbol("s0")));
  EXPECT_FALSE(Dim(m.SymInt(3)) == Dim(3));
  EXPECT_TRUE(Dim(3).is_static());
  EXPECT_FALSE(Dim(m.SymInt(3)).is_static());
}

TEST(TensorMetaTest, WhatIsMissingDoesNotCount) {
  const std::vector<Dim> shape = {2, 3};
  TensorMeta a;
  a.dtype = DType::kFloat32;
  TensorMeta b = a;
  b.device = {DeviceType::kCuda, 0};
  b.shape = shape;
  EXPECT_EQ(a, b);
  b.has_device = true;
  EXPECT_FALSE(a == b);
  b = a;
  b.has_shape = true;  // A scalar; the other has an unknown rank.
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(b.is_static());
  EXPECT_FALSE(a.is_static());
  b.shape = shape;
  EXPECT_TRUE(b.is_static());
  Module m;
  const std::vector<Dim> symbolic = {2, m.SymSymbol("s0")};
  b.shape = symbolic;
  EXPECT_FALSE(b.is_static());
}

TEST(DrawSpecTest, EqualityIsOfWhatIsSaid) {
  DrawSpec a;
  DrawSpec b;
  b.mean = 1;  // has_mean is false
  b.std = 2;
  EXPECT_EQ(a, b);
  b.has_mean = true;
  EXPECT_FALSE(a == b);
  a.has_mean = true;
  EXPECT_FALSE(a == b);
  a.mean = 1;
  EXPECT_EQ(a, b);
  a.mean = b.mean = std::nan("");
  EXPECT_EQ(a, b);
  const std::pair<const char*, void (*)(DrawSpec&)> changes[] = {
      {"std", [](DrawSpec& s) { s.has_std = true; }},
      {"in_input_meta", [](DrawSpec& s) { s.in_input_meta = true; }},
      {"min", [](DrawSpec& s) { s.min = 0; }},
      {"max", [](DrawSpec& s) { s.max = 1.5; }},
      {"data", [](DrawSpec& s) { s.data = Argument::List({}); }},
      {"original_name", [](DrawSpec& s) { s.original_name = "L_x_"; }},
  };
  for (const auto& [what, change] : changes) {
    DrawSpec changed = a;
    change(changed);
    EXPECT_FALSE(a == changed) << what;
  }
}

}  // namespace
}  // namespace graphnet

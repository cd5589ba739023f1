#include "graphnet/ir/module.h"

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> GraphNames(const Module& module) {
  std::vector<std::string> names;
  for (const Graph* graph : module.graphs()) names.emplace_back(graph->name());
  return names;
}

std::vector<std::string> AttributeNames(const Module& module) {
  std::vector<std::string> names;
  for (const Attribute& attribute : module.attributes()) names.emplace_back(attribute.name);
  return names;
}

// --- Graphs -------------------------------------------------------------------

TEST(ModuleTest, AnEmptyModuleHasNoMainGraph) {
  Module module;
  EXPECT_EQ(module.main(), nullptr);
  EXPECT_THAT(module.graphs(), IsEmpty());
  EXPECT_EQ(module.num_nodes(), 0u);
  EXPECT_EQ(module.EraseUnusedGraphs(), 0u);
}

TEST(ModuleTest, GraphNamesAreUnique) {
  Module module;
  Graph* forward = module.AddGraph("forward");
  module.AddGraph("body");
  module.AddGraph("body_1");
  module.AddGraph("body");
  module.AddGraph("body");
  module.AddGraph("forward");
  EXPECT_THAT(GraphNames(module),
              ElementsAre("forward", "body", "body_1", "body_2", "body_3", "forward_1"));
  EXPECT_EQ(module.main(), forward);
  for (Graph* graph : module.graphs()) EXPECT_EQ(module.FindGraph(graph->name()), graph);
  EXPECT_EQ(module.FindGraph("none"), nullptr);
}

TEST(ModuleTest, ManyEqualGraphNamesTakeLinearTime) {
  Module module;
  for (int i = 0; i < 100000; ++i) module.AddGraph("body");
  EXPECT_EQ(module.graphs().back()->name(), "body_99999");
}

// A search finds a graph among few, an index among many.
TEST(ModuleTest, FindsGraphsAmongFewAndMany) {
  Module module;
  for (int n = 0; n < 20; ++n) {
    Graph* graph = module.AddGraph(absl::StrCat("g", n));
    module.RenameGraph(graph, absl::StrCat("h", n));
    EXPECT_EQ(module.FindGraph(absl::StrCat("g", n)), nullptr);
    for (int i = 0; i <= n; ++i) {
      EXPECT_EQ(module.FindGraph(absl::StrCat("h", i)), module.graphs()[static_cast<size_t>(i)]);
    }
  }
  for (int n = 0; n < 20; ++n) {
    module.EraseGraph(module.FindGraph(absl::StrCat("h", n)));
    EXPECT_EQ(module.FindGraph(absl::StrCat("h", n)), nullptr);
    EXPECT_EQ(module.graphs().size(), static_cast<size_t>(19 - n));
  }
  EXPECT_EQ(module.AddGraph("h0")->name(), "h0");
}

TEST(ModuleTest, FindsFilesAmongFewAndMany) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 20; ++i) {
      Node* node = graph->Placeholder("x");
      node->set_location({absl::StrCat("file", i), 1, 2});
      EXPECT_EQ(node->location().file, absl::StrCat("file", i));
    }
  }
  // Each file has one string.
  std::set<const char*> files;
  for (const Node* node : graph->nodes()) files.insert(node->location().file.data());
  EXPECT_EQ(files.size(), 20u);
}

TEST(ModuleTest, RenameGraph) {
  Module module;
  Graph* graph = module.AddGraph("a");
  module.RenameGraph(graph, "a");
  EXPECT_EQ(module.FindGraph("a"), graph);
  module.RenameGraph(graph, std::string("b"));
  EXPECT_EQ(graph->name(), "b");
  EXPECT_EQ(module.FindGraph("a"), nullptr);
  EXPECT_EQ(module.FindGraph("b"), graph);
  EXPECT_EQ(module.AddGraph("a")->name(), "a");
  EXPECT_DEATH(module.RenameGraph(graph, "a"), "check failed");
}

TEST(ModuleTest, EraseGraph) {
  Module module;
  Graph* main = module.AddGraph("forward");
  Graph* body = module.AddGraph("body");
  Graph* other = module.AddGraph("other");
  Node* x = body->Placeholder("x");
  body->Output(body->CallFunction("f", {x}));
  other->Output(Argument::None());
  main->Output(main->CallFunction("torch.vmap", {other}));
  ASSERT_THAT(Verify(module), StatusIs(absl::StatusCode::kFailedPrecondition));
  module.EraseGraph(body);
  EXPECT_THAT(module.graphs(), ElementsAre(main, other));
  EXPECT_EQ(module.FindGraph("body"), nullptr);
  EXPECT_EQ(module.num_nodes(), 3u);
  EXPECT_OK(Verify(module));
  EXPECT_EQ(module.AddGraph("body")->name(), "body");
}

#ifndef NDEBUG
TEST(ModuleDeathTest, AGraphInUseIsNotErased) {
  Module module;
  Graph* main = module.AddGraph("forward");
  Graph* body = module.AddGraph("body");
  main->CallFunction("torch.vmap", {}, {{"k", Argument::List({body})}});
  EXPECT_DEATH(module.EraseGraph(body), "check failed");
}
#endif

TEST(ModuleDeathTest, AGraphOfAnotherModuleIsNotErased) {
  Module module;
  Module other;
  EXPECT_DEATH(module.EraseGraph(other.AddGraph("forward")), "check failed");
}

// Bodies may be shared and nested. Those that the main graph reaches stay.
TEST(ModuleTest, EraseUnusedGraphs) {
  Module module;
  Graph* main = module.AddGraph("forward");
  std::vector<Graph*> graphs;
  for (int i = 0; i < 6; ++i) graphs.push_back(module.AddGraph(absl::StrCat("g", i)));
  main->CallFunction("f", {graphs[3], graphs[0]});
  main->CallFunction("f", {graphs[3]});
  graphs[3]->CallFunction("f", {}, {{"k", Argument::Dict({"k", graphs[5]})}});
  graphs[1]->CallFunction("f", {graphs[2], graphs[5]});
  graphs[2]->CallFunction("f", {graphs[1]});  // These two reach only each other.
  EXPECT_EQ(module.EraseUnusedGraphs(), 3u);
  EXPECT_THAT(module.graphs(), ElementsAre(main, graphs[0], graphs[3], graphs[5]));
  EXPECT_EQ(module.FindGraph("g1"), nullptr);
}

// --- Symbols and attributes -----------------------------------------------------

TEST(ModuleTest, SymbolsKeepTheirOrder) {
  Module module;
  module.AddSymbol("s1", 4);
  module.AddSymbol("s0", std::nullopt);
  module.AddSymbol("s1", 5);
  ASSERT_EQ(module.symbols().size(), 2u);
  EXPECT_EQ(module.symbols()[0].name, "s1");
  EXPECT_EQ(module.symbols()[0].example, 5);
  EXPECT_EQ(module.symbols()[1].example, std::nullopt);
  EXPECT_EQ(module.FindSymbol("s0"), &module.symbols()[1]);
  EXPECT_EQ(module.FindSymbol("s2"), nullptr);
}

TEST(ModuleTest, ManySymbolsTakeLinearTime) {
  Module module;
  for (int i = 0; i < 200000; ++i) module.AddSymbol(absl::StrCat("s", i), i);
  for (int i = 0; i < 200000; ++i) {
    ASSERT_EQ(module.FindSymbol(absl::StrCat("s", i))->example, i);
  }
}

TEST(ModuleTest, AttributesAreCopiedAndReplaced) {
  Module module;
  {
    Module other;
    TensorMeta meta;
    meta.has_shape = true;
    const std::vector<Dim> shape = {2, other.SymSymbol("s0")};
    meta.shape = shape;
    DrawSpec spec;
    const std::vector<Argument> data = {1, 2.5};
    spec.data = Argument::List(data);
    const std::string name = "w";
    const std::string annotation = "Parameter";
    const std::string original_name = "original";
    spec.original_name = original_name;
    module.AddAttribute({name, &meta, annotation, &spec});
  }
  module.AddAttribute({.name = "v"});
  const Attribute* w = module.FindAttribute("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->meta->shape[1].expr->name, "s0");
  EXPECT_EQ(w->annotation, "Parameter");
  EXPECT_EQ(w->draw_spec->data.elements()[1].real(), 2.5);
  EXPECT_EQ(w->draw_spec->original_name, "original");
  module.AddAttribute({.name = "w", .annotation = "Buffer"});
  EXPECT_THAT(AttributeNames(module), ElementsAre("w", "v"));
  EXPECT_EQ(module.FindAttribute("w")->annotation, "Buffer");
  EXPECT_EQ(module.FindAttribute("w")->meta, nullptr);
  // An attribute that the module returned may be passed to it again.
  for (int i = 0; i < 100; ++i) {
    Attribute copy = module.attributes()[0];
    const std::string name = absl::StrCat("copy", i);
    copy.name = name;
    module.AddAttribute(copy);
    module.AddAttribute(module.attributes()[0]);
  }
  EXPECT_EQ(module.attributes().size(), 102u);
}

TEST(ModuleTest, EraseAttribute) {
  Module module;
  for (const char* name : {"a", "b", "c", "d"}) module.AddAttribute({.name = name});
  module.EraseAttribute("b");
  module.EraseAttribute("none");
  EXPECT_THAT(AttributeNames(module), ElementsAre("a", "c", "d"));
  EXPECT_EQ(module.FindAttribute("b"), nullptr);
  EXPECT_EQ(module.FindAttribute("d"), &module.attributes()[2]);
  module.AddAttribute({.name = "b"});
  EXPECT_THAT(AttributeNames(module), ElementsAre("a", "c", "d", "b"));
  module.EraseAllAttributes();
  EXPECT_THAT(module.attributes(), IsEmpty());
  EXPECT_EQ(module.FindAttribute("a"), nullptr);
}

// --- Interning --------------------------------------------------------------------

TEST(ModuleTest, TargetsAreInterned) {
  Module module;
  std::string text = "torch.relu";
  const absl::string_view* interned = module.InternTarget(text);
  text[0] = 'x';
  EXPECT_EQ(*interned, "torch.relu");
  EXPECT_EQ(module.InternTarget("torch.relu"), interned);
  EXPECT_NE(module.InternTarget("torch.relu_"), interned);
  EXPECT_EQ(*module.InternTarget(""), "");
}

TEST(ModuleTest, EqualMetasShareAnAddress) {
  Module module;
  const auto with = [&](auto change) {
    TensorMeta meta;
    meta.dtype = DType::kFloat32;
    change(meta);
    return module.InternMeta(meta);
  };
  const std::vector<Dim> shape = {2, module.SymSymbol("s0")};
  const std::vector<Dim> same_shape = {2, module.SymSymbol("s0")};
  const std::vector<Dim> other_shape = {2, module.SymSymbol("s1")};
  const TensorMeta* plain = with([](TensorMeta&) {});
  const TensorMeta* shaped = with([&](TensorMeta& m) { m.has_shape = true, m.shape = shape; });
  EXPECT_EQ(with([](TensorMeta&) {}), plain);
  EXPECT_EQ(with([&](TensorMeta& m) { m.has_shape = true, m.shape = same_shape; }), shaped);
  EXPECT_NE(with([&](TensorMeta& m) { m.has_shape = true, m.shape = other_shape; }), shaped);
  // A field that is marked as unknown makes no difference.
  EXPECT_EQ(with([](TensorMeta& m) { m.device = {DeviceType::kCuda, 0}; }), plain);
  EXPECT_EQ(with([&](TensorMeta& m) { m.shape = shape; }), plain);
  EXPECT_NE(with([](TensorMeta& m) { m.has_device = true; }), plain);
  EXPECT_NE(with([](TensorMeta& m) { m.has_shape = true; }), plain);
  EXPECT_EQ(module.InternMeta(*shaped), shaped);

  const ValueMeta* value = module.InternValueMeta(*shaped);
  EXPECT_EQ(module.InternValueMeta(*shaped), value);
  const ValueMeta* tuple = module.InternTupleMeta({value, value});
  EXPECT_EQ(module.InternTupleMeta({value, value}), tuple);
  EXPECT_NE(module.InternTupleMeta({value}), tuple);
  EXPECT_EQ(module.CopyMeta(tuple), tuple);
  EXPECT_EQ(module.CopyMeta(nullptr), nullptr);
  EXPECT_EQ(module.InternTupleMeta({}), module.InternTupleMeta({}));
}

// Equal aggregates are shared, nested ones too, whatever is around them. All that is passed to a
// module may be destroyed after the call, or may belong to another module.
TEST(ModuleTest, OwnsWhatItIsGiven) {
  Module module;
  module.AddSymbol("s0", 4);
  Node* x = module.AddGraph("forward")->Placeholder("x");
  const SymExpr* own = module.SymSymbol("s0");
  {
    Module other;
    const SymExpr* sum =
        other.SymBinary(SymExpr::Kind::kAdd, other.SymSymbol("s0"), other.SymInt(1));
    module.AddRelation(module.SymBinary(SymExpr::Kind::kLt, module.SymNeg(sum), own));
    module.AddRelation(other.SymBinary(SymExpr::Kind::kEq, sum, other.SymInt(5)));
    TensorMeta meta;
    meta.has_shape = true;
    const std::vector<Dim> shape = {sum, 3};
    meta.shape = shape;
    const ValueMeta stacked = {.tensor = &meta};
    const ValueMeta* const elements[] = {&stacked, other.InternValueMeta(meta), nullptr};
    const ValueMeta tuple = {.is_tuple = true, .elements = elements};
    x->set_meta(&tuple);
    module.main()->CallFunction("f", {x})->set_meta(x->meta());
    module.main()->CallFunction("g", {x})->set_meta(module.InternTupleMeta(elements));
    const ValueMeta unknown;
    module.main()->CallFunction("h", {x})->set_meta(&unknown);
  }
  module.main()->Output(x);
  EXPECT_OK(Verify(module));
  EXPECT_EQ(PrintModule(module, {.header = false}), R"(symbol s0 = 4
relation -(s0 + 1) < s0
relation s0 + 1 == 5

graph @forward(
  %x : (?[s0 + 1, 3], ?[s0 + 1, 3], _)
) {
  %f = f(%x) : (?[s0 + 1, 3], ?[s0 + 1, 3], _)
  %g = g(%x) : (?[s0 + 1, 3], ?[s0 + 1, 3], _)
  %h = h(%x) : _
  return %x
}
)");
  // Equal metas share an address.
  EXPECT_EQ(x->meta()->elements[0], x->meta()->elements[1]);
  EXPECT_EQ(x->next()->meta(), x->meta());
  EXPECT_EQ(x->next()->next()->meta(), x->meta());
}

TEST(ModuleTest, EqualExpressionsShareAnAddress) {
  Module module;
  const auto sum = [](Module& m, int64_t i) {
    return m.SymBinary(SymExpr::Kind::kAdd, m.SymNeg(m.SymSymbol("s0")), m.SymInt(i));
  };
  EXPECT_EQ(sum(module, 1), sum(module, 1));
  EXPECT_NE(sum(module, 1), sum(module, 2));
  Module other;
  EXPECT_NE(sum(module, 1), sum(other, 1));
  EXPECT_EQ(sum(module, 1), module.CopySym(sum(other, 1)));
  const auto derived = Module::DeriveFrom(module);
  EXPECT_EQ(sum(module, 1), sum(*derived, 1));
}

// Threads may read one module at the same time. Under ThreadSanitizer, this also shows that there
// is no race.
TEST(ModuleTest, ThreadsMayReadOneModule) {
  for (int round = 0; round < 20; ++round) {
    Module module;
    Graph* graph = module.AddGraph("forward");
    for (int i = 0; i < 500; ++i) {
      UncheckedBuilder(graph).CreateNode(Op::kCallFunction, "f", {}, {}, absl::StrCat("n", i));
    }
    std::atomic<int> found = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 500; ++i) {
          const std::string name = absl::StrCat("n", (i * 7 + t) % 500);
          const Node* node = graph->FindNode(name);
          found += node != nullptr && node->name() == name;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(found, 4 * 500);
  }
}

TEST(ModuleTest, AggregatesAreShared) {
  Module module;
  const std::complex<double> complex(1, 2);
  const std::complex<double> same_complex(1, 2);
  const std::string text(100, 't');
  const std::string same_text(100, 't');
  const auto make = [&](const std::complex<double>* c, absl::string_view t) {
    return module.CopyArgument(Argument::Tuple(
        {Argument::List({1, 2.5, true, Argument(), "s", Argument(t), DType::kBool, Layout::kStrided,
                         MemoryFormat::kPreserve, Device{DeviceType::kCuda, 1}, Argument(c),
                         Argument::Ellipsis(), module.SymSymbol("s0")}),
         Argument::Dict({"k", Argument::Slice({1, 2, 3})})}));
  };
  const Argument a = make(&complex, text);
  const Argument b = make(&same_complex, same_text);
  EXPECT_EQ(a.elements().data(), b.elements().data());
  const Argument list = module.CopyArgument(Argument::List({a.elements()[0], 1}));
  EXPECT_EQ(list.elements()[0].elements().data(), a.elements()[0].elements().data());
  // The kind counts.
  EXPECT_EQ(module.CopyArgument(Argument::List({1})).kind(), Argument::Kind::kList);
  EXPECT_EQ(module.CopyArgument(Argument::Tuple({1})).kind(), Argument::Kind::kTuple);
  EXPECT_EQ(module.CopyArgument(Argument::Tuple({})).kind(), Argument::Kind::kTuple);
  EXPECT_EQ(module.CopyArgument(Argument::Dict({})).kind(), Argument::Kind::kDict);
}

TEST(ModuleTest, CopiesOfArgumentsOwnTheirMemory) {
  Module module;
  Node* x = module.AddGraph("forward")->Placeholder("x");
  Argument copy;
  {
    std::string text = "text";
    std::string long_text(1000, 'l');
    const std::vector<Argument> inner = {absl::string_view(text), absl::string_view(long_text), x};
    const std::vector<Argument> outer = {Argument::List(inner), 1};
    copy = module.CopyArgument(Argument::Tuple(outer));
    text = "gone";
    long_text.assign(1000, '-');
  }
  const absl::Span<const Argument> inner = copy.elements()[0].elements();
  EXPECT_EQ(inner[0].string(), "text");
  EXPECT_EQ(inner[1].string(), std::string(1000, 'l'));
  EXPECT_EQ(inner[2].node(), x);
  EXPECT_EQ(copy.elements()[1].integer(), 1);
}

// Each of these kinds had the same hash for all values once. A quadratic time would be minutes.
TEST(ModuleTest, InterningIsLinearForEveryKind) {
  constexpr int kCount = 100000;
  Module module;
  const SymExpr* s0 = module.SymSymbol("s0");
  for (int i = 0; i < kCount; ++i) {
    const std::complex<double> complex(0, i);
    const SymExpr* sum = module.SymBinary(SymExpr::Kind::kAdd, s0, module.SymInt(i));
    const auto device = Device{DeviceType::kCuda, static_cast<int16_t>(i)};
    module.CopyArgument(Argument::List({&complex}));
    module.CopyArgument(Argument::List({sum}));
    module.CopyArgument(Argument::List({device, static_cast<DType>(i >> 16)}));
    module.CopyArgument(Argument::List({Argument::List({Argument::Tuple({i})})}));
    TensorMeta meta;
    meta.has_shape = true;
    const std::vector<Dim> shape = {1, sum};
    meta.shape = shape;
    module.InternMeta(meta);
  }
}

// Each level was once visited again from every level above it.
TEST(ModuleTest, CopyingDeepNestsIsLinear) {
  Module module;
  std::vector<std::vector<Argument>> levels(200);
  levels[0].assign(100000, Argument(7));
  for (size_t i = 1; i < levels.size(); ++i)
    levels[i] = {Argument::List(levels[i - 1]), Argument(1)};
  for (int i = 0; i < 5; ++i) {
    const Argument copy = module.CopyArgument(Argument::List({Argument::List(levels.back()), i}));
    EXPECT_EQ(copy.elements()[0], Argument::List(levels.back()));
  }
}

// Everything that a draw spec points to belongs to its module, even if the verifier would refuse
// it.
TEST(ModuleTest, CopyDrawSpecCopiesEverything) {
  Module module;
  const DrawSpec* numbers;
  const DrawSpec* strings;
  {
    std::string text = "text";
    const std::vector<Argument> nested = {absl::string_view(text)};
    const std::vector<Argument> data = {1, absl::string_view(text), Argument::List(nested)};
    DrawSpec spec;
    spec.data = Argument::List(data);
    spec.min = absl::string_view(text);
    strings = module.CopyDrawSpec(spec);
    const std::vector<Argument> more = {1, 2.5, false};
    spec.data = Argument::List(more);
    numbers = module.CopyDrawSpec(spec);
    spec.data = absl::string_view(text);
    EXPECT_EQ(module.CopyDrawSpec(spec)->data.string(), "text");
    EXPECT_NE(module.CopyDrawSpec(spec)->data.string().data(), text.data());
    text = "gone";
  }
  EXPECT_EQ(strings->data.elements()[1].string(), "text");
  EXPECT_EQ(strings->data.elements()[2].elements()[0].string(), "text");
  EXPECT_EQ(strings->min.string(), "text");
  EXPECT_EQ(numbers->data, Argument::List({1, 2.5, false}));
}

TEST(MemoryBytesTest, FollowsUse) {
  Module module;
  EXPECT_LT(module.MemoryBytes(), 3000u);  // This includes room for the first nodes.
  Graph* graph = module.AddGraph("forward");
  Node* x = graph->Placeholder("x");
  const size_t small = module.MemoryBytes();
  EXPECT_LT(small, 4000u);
  size_t before = small;
  Node* value = x;
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 10000; ++i) {
      value =
          UncheckedBuilder(graph).CreateNode(Op::kCallFunction, "torch.add", {value, x}, {}, "n");
    }
    const size_t now = module.MemoryBytes();
    EXPECT_GT(now, before + 10000 * sizeof(Node));
    // A node, two arguments, a use in place, a use in the array of x, and a name; twice that is
    // the limit.
    EXPECT_LT(now, before + 10000 * 2 * (sizeof(Node) + 2 * sizeof(Argument) + 2 * 16 + 1));
    before = now;
  }
  EXPECT_EQ(module.num_nodes(), 40001u);
  // Looking up a name builds an index.
  graph->FindNode("x");
  EXPECT_GT(module.MemoryBytes(), before);
}

// A node must stay within two cache lines.
TEST(MemoryBytesTest, NodesAreSmall) {
  EXPECT_EQ(sizeof(Argument), 16u);
  EXPECT_LE(sizeof(Node), 128u);
}

}  // namespace
}  // namespace graphnet

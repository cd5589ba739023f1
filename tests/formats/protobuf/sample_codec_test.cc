#include "graphnet/formats/protobuf/sample_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/formats/protobuf/budget.h"
#include "graphnet/formats/protobuf/column.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/verifier.h"
#include "tests/formats/protobuf/sample_fixtures.h"
#include "tests/ir/text/random_module.h"

namespace graphnet::proto_internal {
namespace {

using ::testing::HasSubstr;

proto::Sample Encoded(const Sample& sample) {
  proto::Sample message;
  uint64_t unfolded = 0;
  const absl::Status status = EncodeSample(sample, &message, &unfolded);
  EXPECT_TRUE(status.ok()) << status;
  return message;
}

absl::StatusOr<Sample> Decoded(const proto::Sample& message) {
  return DecodeSample(message, message.ByteSizeLong());
}

void Append(Column* column, const std::vector<uint64_t>& values) {
  for (const uint64_t value : values) column->Add(value);
}
void Set(Column* column, const std::vector<uint64_t>& values) {
  column->Clear();
  Append(column, values);
}

uint64_t Token(proto::Token token, uint64_t payload) {
  return ((payload << 4 | static_cast<uint64_t>(token)) << 1) | 1;
}
uint64_t Op(graphnet::Op op) { return static_cast<uint64_t>(op); }
uint64_t Kind(SymExpr::Kind kind) { return static_cast<uint64_t>(kind); }

constexpr auto kCall = graphnet::Op::kCallFunction;
const uint64_t kNone = Token(proto::TOKEN_CONSTANT, 0);
// String 1 of the small sample, a name.
constexpr uint64_t kName = 1;
constexpr uint64_t kNoString = 1000;

// Returns a template whose only argument consists of these values.
std::vector<uint64_t> CallWith(const std::vector<uint64_t>& argument) {
  std::vector<uint64_t> out = {Op(kCall), kName, 1 << 1};
  out.insert(out.end(), argument.begin(), argument.end());
  return out;
}

struct Case {
  std::function<void(proto::Module*)> edit;
  const char* message;
};

// Decodes the small sample after the `edit` of each case.
void ExpectRefused(const std::vector<Case>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    proto::Sample message = Encoded(MakeSmallSample());
    cases[i].edit(message.mutable_module());
    const absl::StatusOr<Sample> sample = Decoded(message);
    EXPECT_EQ(sample.status().code(), absl::StatusCode::kInvalidArgument)
        << "case " << i << ", " << cases[i].message << ": " << sample.status();
    EXPECT_THAT(std::string(sample.status().message()), HasSubstr(cases[i].message)) << i;
  }
}

// Appends the values of each case to a table, as its last entry.
template <typename Table>
void ExpectEntriesRefused(
    Table table, const std::vector<std::pair<std::vector<uint64_t>, const char*>>& entries) {
  std::vector<Case> cases;
  for (const auto& [values, message] : entries) {
    cases.push_back(
        {[table, values = values](proto::Module* m) { Append(table(m), values); }, message});
  }
  ExpectRefused(cases);
}

TEST(SampleCodecTest, RandomSamplesRoundTrip) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Sample sample = RandomSample(seed);
    // The sample's file names are random bytes, so make valid file names of them.
    std::map<std::string, std::string> files;
    for (const auto& [name, content] : sample.extra_files) {
      files[absl::StrCat("x", absl::BytesToHexString(name))] = content;
    }
    sample.extra_files = std::move(files);
    const proto::Sample message = Encoded(sample);
    const absl::StatusOr<Sample> read = Decoded(message);
    ASSERT_TRUE(read.ok()) << seed << ": " << read.status();
    const absl::Status equal = CheckEqual(sample, *read);
    ASSERT_TRUE(equal.ok()) << seed << ": " << equal;
    ASSERT_EQ(Encoded(*read).SerializeAsString(), message.SerializeAsString()) << seed;
  }
}

// Modules that are read verify, although the reader does not call the verifier. Numbers in the
// tables are changed at random, and each module that is not refused goes to the verifier.
TEST(SampleCodecTest, AcceptedModulesVerify) {
  std::mt19937_64 random(5);
  const proto::Sample full = Encoded(MakeFullSample());
  const proto::Sample small = Encoded(MakeSmallSample());
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    proto::Sample message = i % 5 == 0 ? full : small;
    proto::Module* m = message.mutable_module();
    proto::Graph* g = m->mutable_graphs(static_cast<int>(random() % m->graphs_size()));
    const std::vector<Column*> columns = {m->mutable_expressions(),
                                          m->mutable_metas(),
                                          m->mutable_templates(),
                                          m->mutable_draws(),
                                          m->mutable_data(),
                                          m->mutable_symbols(),
                                          m->mutable_relations(),
                                          m->mutable_attributes(),
                                          g->mutable_templates(),
                                          g->mutable_operands(),
                                          g->mutable_names(),
                                          g->mutable_suffixes(),
                                          g->mutable_metas(),
                                          g->mutable_files(),
                                          g->mutable_lines(),
                                          g->mutable_columns(),
                                          g->mutable_module_paths(),
                                          m->mutable_strings()->mutable_edits(),
                                          m->mutable_labels()->mutable_strings()};
    for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      Column* column = columns[random() % columns.size()];
      if (column->empty()) continue;
      const int place = static_cast<int>(random() % static_cast<uint64_t>(column->size()));
      const uint64_t choice = random() % 8;
      column->Set(place, choice == 0   ? random()
                         : choice == 1 ? column->Get(static_cast<int>(
                                             random() % static_cast<uint64_t>(column->size())))
                         : choice < 5  ? random() % 64
                                       : column->Get(place) + (choice == 5 ? 1 : -1));
    }
    const absl::StatusOr<Sample> sample = Decoded(message);
    if (!sample.ok()) {
      ASSERT_EQ(sample.status().code(), absl::StatusCode::kInvalidArgument) << sample.status();
      continue;
    }
    ++accepted;
    const absl::Status verified = Verify(*sample->module);
    ASSERT_TRUE(verified.ok()) << verified << "\n" << message.ShortDebugString();
    // The sample is written and read back like any other.
    const absl::StatusOr<Sample> again = Decoded(Encoded(*sample));
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_TRUE(CheckEqual(*sample, *again).ok());
  }
  EXPECT_GT(accepted, 1000);
}

// --- Refusals ----------------------------------------------------------------

TEST(SampleCodecTest, Expressions) {
  const auto table = [](proto::Module* m) {
    Set(m->mutable_symbols(), {kName << 1});
    return m->mutable_expressions();
  };
  ExpectEntriesRefused(table,
                       {
                           {{kNumSymExprKinds}, "expressions: entry 0: unknown kind 17"},
                           {{Kind(SymExpr::Kind::kInt)}, "entry 0: ends too early"},
                           {{Kind(SymExpr::Kind::kSymbol), kNoString}, "no such symbol"},
                           {{Kind(SymExpr::Kind::kSymbol), kName + 1}, "no such symbol"},
                           {{Kind(SymExpr::Kind::kNeg), 1}, "no such operand"},
                           {{0, 0, Kind(SymExpr::Kind::kNeg), 0}, "entry 1: no such operand"},
                           {{0, 0, Kind(SymExpr::Kind::kAdd), 1, 2}, "entry 1: no such operand"},
                           {{0, 0, Kind(SymExpr::Kind::kEq), 1, 1, Kind(SymExpr::Kind::kNeg), 1},
                            "entry 2: a comparison is an operand"},
                       });
}

TEST(SampleCodecTest, SymbolsAndRelations) {
  ExpectRefused({
      {[](auto* m) { Set(m->mutable_symbols(), {0}); }, "symbols: entry 0: no name"},
      {[](auto* m) { Set(m->mutable_symbols(), {kNoString << 1}); }, "no name"},
      {[](auto* m) { Set(m->mutable_symbols(), {kName << 1 | 1}); }, "ends too early"},
      {[](auto* m) {
         Set(m->mutable_symbols(), {kName << 1, kName << 1 | 1, 0});
       },
       "symbols: entry 1: "},
      {[](auto* m) { Set(m->mutable_relations(), {0}); }, "relations: entry 0: no such expression"},
      {[](auto* m) {
         Set(m->mutable_expressions(), {0, 0});
         Set(m->mutable_relations(), {0});
       },
       "not a comparison"},
  });
}

TEST(SampleCodecTest, NestingOfExpressions) {
  for (const int depth : {199, 200, 201}) {
    proto::Sample message = Encoded(MakeSmallSample());
    Append(message.mutable_module()->mutable_expressions(), {0, 0});
    for (int i = 0; i < depth; ++i) {
      Append(message.mutable_module()->mutable_expressions(), {Kind(SymExpr::Kind::kNeg), 1});
    }
    EXPECT_EQ(Decoded(message).ok(), depth <= 200) << depth;
  }
}

TEST(SampleCodecTest, Metas) {
  const auto table = [](proto::Module* m) {
    Set(m->mutable_expressions(), {0, 0, Kind(SymExpr::Kind::kEq), 1, 1});
    Set(m->mutable_metas(), {1});
    return m->mutable_metas();
  };
  const uint64_t shaped = 1 | 2 << 2;
  ExpectEntriesRefused(table,
                       {
                           {{3}, "metas: entry 1: neither a tensor nor a tuple"},
                           {{4}, "neither a tensor nor a tuple"},
                           {{1 | kNumDTypes << 4}, "unknown dtype"},
                           {{1 | 1 << 2}, "ends too early"},
                           {{1 | 1 << 2, kNumDeviceTypes, 0}, "no such device"},
                           {{1 | 1 << 2, 0, 1 << 16}, "no such device"},
                           {{shaped}, "ends too early"},
                           {{shaped, 65}, "too many dimensions: 65"},
                           {{shaped, 2, 0}, "ends too early"},
                           {{shaped, 1, 2 << 1 | 1}, "no such expression"},
                           {{shaped, 1, 1 << 1 | 1}, "a comparison is a dimension"},
                           {{shaped, 1, ((uint64_t{1} << 40) + 1) << 1}, "too many elements"},
                           {{shaped, 2, uint64_t{1} << 63, uint64_t{1} << 63}, "too many elements"},
                           {{2 | 1 << 2}, "ends too early"},
                           {{2 | 1 << 2, 0}, "entry 1: no such element"},
                           {{2 | 1 << 2, 2}, "entry 1: no such element"},
                           {{2 | uint64_t{1} << 60, 1}, "ends too early"},
                       });
}

TEST(SampleCodecTest, NestingOfMetas) {
  for (const int depth : {199, 200, 201}) {
    proto::Sample message = Encoded(MakeSmallSample());
    for (int i = 0; i < depth; ++i) {
      Append(message.mutable_module()->mutable_metas(), {2 | 1 << 2, 1});
    }
    EXPECT_EQ(Decoded(message).ok(), depth <= 200) << depth;
  }
}

TEST(SampleCodecTest, Templates) {
  const auto table = [](proto::Module* m) { return m->mutable_templates(); };
  ExpectEntriesRefused(
      table,
      {
          {{6}, "unknown op 6"},
          {{1 << 5}, "unknown op 32"},
          {{Op(kCall)}, "ends too early"},
          {{Op(kCall), kNoString}, "no such target"},
          {{Op(kCall) | 8, kName, kNoString}, "no such annotation"},
          {{Op(kCall), kName, 1 << 1}, "ends too early"},
          {{Op(kCall), kName, uint64_t{1} << 60}, "ends too early"},
          {{Op(kCall), kName, 1, 2, kName, 0}, "ends too early"},
          {{Op(kCall), kName, 1, 1, kNoString, 0}, "no such keyword"},
          {{Op(kCall), kName, 1, 1, 0, 0}, "a keyword without a name"},
          {{Op(kCall), kName, 1, 2, kName, 0, kName, 0}, " twice"},
          {{Op(graphnet::Op::kPlaceholder), 0, 1 << 1, 0}, "a placeholder takes no arguments"},
          {{Op(graphnet::Op::kGetAttr), 0, 1 << 1, 0}, "a get_attr takes no arguments"},
          {{Op(graphnet::Op::kCallMethod), kName, 0}, "a method without its object"},
          {{Op(graphnet::Op::kOutput), kName, 0}, "an output has one argument"},
          {{Op(graphnet::Op::kOutput), kName, 2 << 1, 0, 0}, "an output has one argument"},
          {{Op(kCall) | 16, kName, 0, kNone, kNone, 0}, "only placeholders have draw specs"},
          {{Op(graphnet::Op::kPlaceholder) | 16, 0, 32}, "no such draw form"},
          {{Op(graphnet::Op::kPlaceholder) | 16, 0, 1, 24}, "no such scale"},
          {{Op(graphnet::Op::kPlaceholder) | 16, 0, 2, 24}, "no such scale"},
          {{Op(graphnet::Op::kPlaceholder) | 16, 0, 0, Token(proto::TOKEN_CONSTANT, 1), kNone, 0},
           "a bound is not a number"},
          {{Op(graphnet::Op::kPlaceholder) | 16, 0, 0, kNone, Token(proto::TOKEN_OPERAND, 0), 0},
           "an operand where none is allowed"},
      });
}

TEST(SampleCodecTest, Arguments) {
  const auto table = [](proto::Module* m) {
    Set(m->mutable_expressions(), {0, 0, Kind(SymExpr::Kind::kEq), 1, 1});
    return m->mutable_templates();
  };
  ExpectEntriesRefused(
      table, {
                 {CallWith({Token(proto::TOKEN_CONSTANT, 4)}), "no such constant"},
                 {CallWith({Token(proto::TOKEN_OPERAND, 1)}), "an operand where none is allowed"},
                 {CallWith({Token(proto::TOKEN_LIST, 1)}), "ends too early"},
                 {CallWith({Token(proto::TOKEN_LIST, uint64_t{1} << 58), 0}), "ends too early"},
                 {CallWith({Token(proto::TOKEN_DICT, 1), 0}), "a key without a value"},
                 {CallWith({Token(proto::TOKEN_DICT, 2), Token(proto::TOKEN_OPERAND, 0), 0}),
                  "an operand where none is allowed"},
                 {CallWith({Token(proto::TOKEN_DICT, 2), Token(proto::TOKEN_TUPLE, 1),
                            Token(proto::TOKEN_OPERAND, 0), 0}),
                  "an operand where none is allowed"},
                 {CallWith({Token(proto::TOKEN_SLICE, 1), 0, 0, 0}), "a slice with a size"},
                 {CallWith({Token(proto::TOKEN_SLICE, 0), 0, 0}), "ends too early"},
                 {CallWith({Token(proto::TOKEN_STRING, kNoString)}), "no such string"},
                 {CallWith({Token(proto::TOKEN_DTYPE, kNumDTypes)}), "unknown dtype"},
                 {CallWith({Token(proto::TOKEN_DEVICE, kNumDeviceTypes), 0}), "no such device"},
                 {CallWith({Token(proto::TOKEN_DEVICE, 0), 1 << 17}), "no such device"},
                 {CallWith({Token(proto::TOKEN_DEVICE, 0)}), "ends too early"},
                 {CallWith({Token(proto::TOKEN_LAYOUT, kNumLayouts)}), "unknown layout"},
                 {CallWith({Token(proto::TOKEN_MEMORY_FORMAT, kNumMemoryFormats)}),
                  "unknown memory format"},
                 {CallWith({Token(proto::TOKEN_GRAPH, 1)}), "no graph 1"},
                 {CallWith({Token(proto::TOKEN_EXPRESSION, 2)}), "no such expression"},
                 {CallWith({Token(proto::TOKEN_EXPRESSION, 1)}), "a comparison is an argument"},
                 {CallWith({Token(proto::TOKEN_DECIMAL, 23), 0}), "not a decimal"},
                 {CallWith({Token(proto::TOKEN_DECIMAL, 0), UINT64_MAX}), "not a decimal"},
                 {CallWith({Token(proto::TOKEN_DECIMAL, 0)}), "ends too early"},
                 {CallWith({Token(proto::TOKEN_REAL, 0)}), "no such real"},
                 {CallWith({Token(proto::TOKEN_WIDE, 0)}), "ends too early"},
                 {CallWith({Token(proto::TOKEN_WIDE, 1), 0, 0}), "no such real"},
                 {CallWith({Token(proto::TOKEN_WIDE, 2), 0, 0}), "no such argument"},
             });
}

TEST(SampleCodecTest, NestingOfArguments) {
  for (const int depth : {199, 200, 201}) {
    proto::Sample message = Encoded(MakeSmallSample());
    std::vector<uint64_t> nested(static_cast<size_t>(depth), Token(proto::TOKEN_LIST, 1));
    nested.push_back(kNone);
    Append(message.mutable_module()->mutable_templates(), CallWith(nested));
    EXPECT_EQ(Decoded(message).ok(), depth <= 200) << depth;
  }
  // Nesting far beyond the limit is refused before the stack is used up.
  proto::Sample message = Encoded(MakeSmallSample());
  Append(message.mutable_module()->mutable_templates(),
         CallWith(std::vector<uint64_t>(1000000, Token(proto::TOKEN_TUPLE, 1))));
  EXPECT_THAT(std::string(Decoded(message).status().message()), HasSubstr("nest too deep"));
}

TEST(SampleCodecTest, AttributesAndDrawSpecs) {
  const auto add_label = [](proto::Module* m, const std::string& text) {
    // These strings replace the labels.
    proto::StringTable* labels = m->mutable_labels();
    labels->Clear();
    Append(labels->mutable_edits(), {0, text.size(), 0, 0});
    labels->add_strings(0);
    labels->set_literals(text);
  };
  ExpectRefused({
      {[](auto* m) {
         Set(m->mutable_attributes(), {5, 0});
       },
       "attributes: entry 0: no such meta"},
      {[](auto* m) {
         Append(m->mutable_metas(), {2});
         Set(m->mutable_attributes(), {2, 0});
       },
       "its meta is not a tensor"},
      {[](auto* m) { Set(m->mutable_attributes(), {0}); }, "ends too early"},
      {[](auto* m) {
         Set(m->mutable_attributes(), {0, kNoString << 1});
       },
       "no such annotation"},
      {[](auto* m) {
         Set(m->mutable_attributes(), {0, 1});
       },
       "ends too early"},
      {[&](auto* m) {
         add_label(m, "");
         Set(m->mutable_attributes(), {0, 0});
       },
       "it has no name"},
      {[&](auto* m) {
         m->mutable_labels()->Clear();
         Set(m->mutable_attributes(), {0, 0});
       },
       "it has no name"},
      {[&](auto* m) {
         m->mutable_labels()->Clear();
         Append(m->mutable_labels()->mutable_edits(), {0, 1, 0, 0, 1, 1, 0, 0});
         Append(m->mutable_labels()->mutable_strings(), {0, 1});
         m->mutable_labels()->set_literals("aa");
         Set(m->mutable_attributes(), {0, 0, 0, 0});
       },
       "attributes: entry 1: its name is used twice"},
      // For draw specs of attributes, each stream in turn ends too early.
      {[](auto* m) {
         m->clear_draws();
         Set(m->mutable_attributes(), {0, 1, 1, 4, kNone, kNone});
       },
       "draws: no mean"},
      {[](auto* m) {
         Set(m->mutable_attributes(), {0, 1, 1, 0, kNone, kNone});
       },
       "draws: no mean"},  // The module has no reals.
      {[](auto* m) {
         m->clear_draws();
         Set(m->mutable_attributes(), {0, 1, 2, 4, kNone, kNone});
       },
       "draws: no deviation"},
      {[&](auto* m) {
         add_label(m, "name");
         Set(m->mutable_attributes(), {0, 1, 8, kNone, kNone});
       },
       "no label is left for an original name"},
      {[](auto* m) {
         Set(m->mutable_attributes(), {0, 1, 16, kNone, kNone});
       },
       "data: ends too early"},
      {[](auto* m) {
         Set(m->mutable_data(), {2 << 2, 0});
         Set(m->mutable_attributes(), {0, 1, 16, kNone, kNone});
       },
       "data: ends too early"},
      {[](auto* m) {
         Set(m->mutable_data(), {1 << 2 | 1, 23, 0});
         Set(m->mutable_attributes(), {0, 1, 16, kNone, kNone});
       },
       "data: no such scale"},
      {[](auto* m) {
         Set(m->mutable_data(), {1 << 2 | 1, 0, UINT64_MAX});
         Set(m->mutable_attributes(), {0, 1, 16, kNone, kNone});
       },
       "data: not a decimal"},
      {[](auto* m) {
         Set(m->mutable_data(), {1 << 2 | 2, 0, 0, 0});
         Set(m->mutable_attributes(), {0, 1, 16, kNone, kNone});
       },
       "data: ends too early"},
      {[](auto* m) {
         Set(m->mutable_data(), {1 << 2 | 3, kNone});
         Set(m->mutable_attributes(), {0, 1, 16, kNone, kNone});
       },
       "data: not a number"},
      {[](auto* m) {  // The first meta of the small sample has six elements.
         Set(m->mutable_data(), {1 << 2, 0});
         Set(m->mutable_attributes(), {1, 1, 16, kNone, kNone});
       },
       "literal data has 1 elements, the shape 6"},
      // Values are left over.
      {[](auto* m) { Append(m->mutable_draws(), {0}); }, "draws: some are left"},
      {[](auto* m) { Append(m->mutable_data(), {0}); }, "data: some is left"},
      {[](auto* m) { m->add_data_reals(0); }, "data_reals: some are left"},
      {[](auto* m) { m->mutable_labels()->add_strings(0); }, "labels: "},
  });
}

TEST(SampleCodecTest, Graphs) {
  const auto first = [](auto fn) { return [fn](proto::Module* m) { fn(m->mutable_graphs(0)); }; };
  ExpectRefused({
      {[](auto* m) { m->clear_graphs(); }, "the module has no graph"},
      {first([](auto* g) { g->set_name(0); }), "graph 0: no such name"},
      {first([](auto* g) { g->set_name(kNoString); }), "graph 0: no such name"},
      {[](auto* m) { *m->add_graphs() = m->graphs(0); }, "graph 1: a second one named"},
      {[](auto* m) { m->set_num_nodes(4); }, "num_nodes is 4, but there are 5"},
      {first([](auto* g) { Append(g->mutable_templates(), {99}); }),
       "graph 0: node 5: templates: no such template"},
      // The template of the second placeholder is used once more.
      {first([](auto* g) { Append(g->mutable_templates(), {g->templates(1)}); }),
       "node 5: labels: no label is left"},
      {first([](auto* g) { Append(g->mutable_templates(), {g->templates(2)}); }),
       "node 5: templates: comes after the output"},
      {first([](auto* g) { g->mutable_templates()->RemoveLast(); }), "the graph has no output"},
      {first([](auto* g) {  // The call comes second, and uses the first node twice.
         g->mutable_templates()->SwapElements(1, 2);
         g->mutable_operands()->Set(1, 1);
         Set(g->mutable_names(), {proto::NAME_EXPECTED, proto::NAME_BASE + (kName << 1)});
       }),
       "node 2: templates: is a placeholder after another operation"},
      {first([](auto* g) { g->mutable_operands()->Set(0, 3); }), "node 2: operands: no such node"},
      {first([](auto* g) { g->mutable_operands()->Set(2, 0); }), "node 3: operands: no such node"},
      {first([](auto* g) { g->mutable_operands()->RemoveLast(); }),
       "node 4: operands: no such node"},
      {first([](auto* g) { Append(g->mutable_operands(), {1}); }), "operands: some are left"},
      {first([](auto* g) { Append(g->mutable_suffixes(), {1}); }), "suffixes: some are left"},
      {first([](auto* g) { Append(g->mutable_names(), {3}); }), "names: not as many as nodes"},
      {first([](auto* g) { Append(g->mutable_metas(), {7}); }), "metas: not as many as nodes"},
      {first([](auto* g) {
         Set(g->mutable_metas(), {5, 6, 7, 8, 9});
       }),
       "node 0: metas: no such meta"},
      {first([](auto* g) { Set(g->mutable_files(), {kNoString}); }), "files: no such string"},
      {first([](auto* g) { Set(g->mutable_files(), {1}); }), "files: not as many as nodes"},
      {first([](auto* g) {
         Set(g->mutable_lines(), {1, 3, 5, 7, 9});
       }),
       "lines: no such line"},
      {first([](auto* g) { Set(g->mutable_lines(), {uint64_t{1} << 33}); }), "lines: no such line"},
      {first([](auto* g) { Set(g->mutable_columns(), {1 << 16}); }), "columns: no such column"},
      {first([](auto* g) { Set(g->mutable_module_paths(), {kNoString}); }),
       "module_paths: no such string"},
      {first([](auto* g) {
         Set(g->mutable_module_paths(), {1, 2});
       }),
       "module_paths: not as many as nodes"},
  });
}

TEST(SampleCodecTest, Names) {
  // Nodes 0 and 1 are placeholders, whose targets are labels. The others are not. After two equal
  // values comes the number of further equal ones.
  const auto names = [](const std::vector<uint64_t>& values,
                        const std::vector<uint64_t>& suffixes = {}) {
    return [values, suffixes](proto::Module* m) {
      Set(m->mutable_graphs(0)->mutable_names(), values);
      Set(m->mutable_graphs(0)->mutable_suffixes(), suffixes);
    };
  };
  const uint64_t base = proto::NAME_BASE + (kName << 1);
  ExpectRefused({
      {names({0, 0, 0, 2, 3, 2, 3}), "names: not as many as nodes"},
      {names({0, 0, 0}), "node 2: names: no name is expected yet"},
      {names({0, 0, 2, 0, 1}), "node 2: names: no name is expected yet"},
      {names({0, 1, 3, 4, 5}), "node 1: names: no label is left"},
      {names({proto::NAME_BASE}), "node 0: names: no such base"},
      {names({proto::NAME_BASE + (kNoString << 1)}), "node 0: names: no such base"},
      {names({base + 1}), "node 0: names: no such suffix"},
      {names({base + 1}, {1}), "node 0: names: no such suffix"},
      {names({base + 1}, {2'000'000'002}), "node 0: names: no such suffix"},
      {names({base + 1, base + 1, 0}, {0, 3}), " is used twice"},
  });
}

// Two placeholders must not have one target, however their names are encoded.
TEST(SampleCodecTest, TargetsOfPlaceholdersAreUnique) {
  for (const bool same_rule : {true, false}) {
    proto::Sample message = Encoded(MakeSmallSample());
    proto::Module* m = message.mutable_module();
    m->mutable_labels()->Clear();
    Append(m->mutable_labels()->mutable_edits(), {0, 2, 0, 0, 2, 2, 0, 0});
    Append(m->mutable_labels()->mutable_strings(), {0, 1});
    m->mutable_labels()->set_literals("ABAB");
    Column* names = m->mutable_graphs(0)->mutable_names();
    const std::vector<uint64_t> before(names->begin(), names->end());
    ASSERT_EQ(before[0], before[1]);  // The column has the two values and the count of a run.
    Set(names, {proto::NAME_EXPECTED, same_rule ? 0u : uint64_t{proto::NAME_SAME}});
    if (same_rule) names->Add(0);
    Append(names, {before.begin() + 3, before.end()});
    EXPECT_THAT(std::string(Decoded(message).status().message()),
                HasSubstr(same_rule ? "ab is used twice" : "that of another placeholder"));
  }
}

TEST(SampleCodecTest, ReferencesBetweenGraphs) {
  // Changes the numbers of graphs in the full sample's templates, so that two graphs refer to each
  // other, or no graph refers to one.
  const proto::Sample full = Encoded(MakeFullSample());
  int unreferred = 0, circles = 0;
  for (int i = 0; i < full.module().templates_size(); ++i) {
    for (uint64_t graph = 0; graph < 3; ++graph) {
      const uint64_t value = full.module().templates(i);
      if (value != Token(proto::TOKEN_GRAPH, 1) && value != Token(proto::TOKEN_GRAPH, 2)) continue;
      proto::Sample message = full;
      message.mutable_module()->mutable_templates()->Set(i, Token(proto::TOKEN_GRAPH, graph));
      const std::string error(Decoded(message).status().message());
      unreferred += absl::StrContains(error, "is never referred to");
      circles += absl::StrContains(error, "a graph refers to itself");
    }
  }
  EXPECT_GT(unreferred, 0);
  EXPECT_GT(circles, 0);
}

TEST(SampleCodecTest, Fields) {
  const struct {
    std::function<void(proto::Sample*)> edit;
    const char* message;
  } cases[] = {
      {[](auto* s) { s->set_version(1); }, "fields 1 to 4 come twice"},
      {[](auto* s) { s->set_magic("graphnet"); }, "fields 1 to 4 come twice"},
      {[](auto* s) { s->set_num_constraint_order(1); }, "no label is left for the order"},
      {[](auto* s) { s->add_extra_files(); }, "is not the name of a file in a folder"},
      {[](auto* s) { s->add_extra_files()->set_name("../x"); }, "is not the name of a file"},
      {[](auto* s) {
         s->add_extra_files()->set_name("b");
         s->add_extra_files()->set_name("a");
       },
       "a is not in ascending order"},
      {[](auto* s) {
         s->add_extra_files()->set_name("a");
         s->add_extra_files()->set_name("a");
       },
       "a is not in ascending order"},
  };
  for (const auto& c : cases) {
    proto::Sample message = Encoded(MakeSmallSample());
    c.edit(&message);
    EXPECT_THAT(std::string(Decoded(message).status().message()), HasSubstr(c.message));
  }
}

TEST(SampleCodecTest, UnknownFieldsAreRefused) {
  const std::string unknown = "\xf8\x07\x01";  // field 127, a varint
  const auto with_unknown = [&unknown](auto* part) {
    std::string bytes = part->SerializeAsString() + unknown;
    ASSERT_TRUE(part->ParseFromString(bytes));
  };
  const std::function<void(proto::Sample*)> edits[] = {
      [&](auto* s) { with_unknown(s); },
      [&](auto* s) { with_unknown(s->mutable_module()); },
      [&](auto* s) { with_unknown(s->mutable_module()->mutable_strings()); },
      [&](auto* s) { with_unknown(s->mutable_module()->mutable_labels()); },
      [&](auto* s) { with_unknown(s->mutable_module()->mutable_graphs(0)); },
      [&](auto* s) { with_unknown(s->add_extra_files()); },
      [&](auto* s) { with_unknown(s->add_provenance()); },
      [&](auto* s) { with_unknown(s->mutable_weights()); },
  };
  for (const auto& edit : edits) {
    proto::Sample message = Encoded(MakeSmallSample());
    edit(&message);
    EXPECT_EQ(Decoded(message).status().message(), "a field that this version does not have");
  }
}

// --- Bombs: small files that would unfold to large modules -------------------

TEST(SampleCodecTest, WritersAndReadersCountAlike) {
  for (const Sample& sample : {MakeSmallSample(), MakeFullSample(), MakeRealisticSample(50)}) {
    proto::Sample message;
    uint64_t unfolded = 0;
    ASSERT_TRUE(EncodeSample(sample, &message, &unfolded).ok());
    // The limit is just enough, and then one less.
    const uint64_t before = UnfoldLimit(0);
    ASSERT_LT(unfolded, before);
    EXPECT_TRUE(DecodeSampleWithLimit(message, unfolded).ok());
    EXPECT_FALSE(DecodeSampleWithLimit(message, unfolded - 1).ok());
  }
}

TEST(SampleCodecTest, BombsAreRefused) {
  // Each entry doubles an expression. First, it is a dimension.
  proto::Sample message = Encoded(MakeSmallSample());
  proto::Module* m = message.mutable_module();
  Set(m->mutable_expressions(), {0, 0});
  for (int i = 0; i < 100; ++i) {
    Append(m->mutable_expressions(), {Kind(SymExpr::Kind::kAdd), 1, 1});
  }
  const proto::Sample doubling = message;
  Append(m->mutable_metas(), {1 | 2 << 2, 1, 100 << 1 | 1});
  EXPECT_THAT(std::string(Decoded(message).status().message()), HasSubstr("too large"));
  // Then it is an argument.
  message = doubling;
  m = message.mutable_module();
  Append(m->mutable_templates(), CallWith({Token(proto::TOKEN_EXPRESSION, 100)}));
  const int last = 5;  // number of the small sample's templates
  Column* nodes = m->mutable_graphs(0)->mutable_templates();
  nodes->Add(nodes->Get(4));
  nodes->Set(4, last);
  EXPECT_THAT(std::string(Decoded(message).status().message()), HasSubstr("too large"));
  // Then it is a relation.
  message = doubling;
  m = message.mutable_module();
  Append(m->mutable_expressions(), {Kind(SymExpr::Kind::kEq), 1, 1});
  Append(m->mutable_relations(), {101});
  EXPECT_THAT(std::string(Decoded(message).status().message()), HasSubstr("too large"));
  // Each entry doubles a tuple.
  message = Encoded(MakeSmallSample());
  for (int i = 0; i < 100; ++i) {
    Append(message.mutable_module()->mutable_metas(), {2 | 2 << 2, 1, 1});
  }
  EXPECT_THAT(std::string(Decoded(message).status().message()), HasSubstr("too large"));
}

}  // namespace
}  // namespace graphnet::proto_internal

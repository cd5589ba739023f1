#include "graphnet/formats/pt2/importer.h"

#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/pt2/program_builder.h"

namespace graphnet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

absl::StatusOr<Sample> Import(const ArchiveFiles& files, const Pt2ImportOptions& options = {}) {
  return ImportPt2(ArchiveOf(files), "m.pt2", options);
}

std::string Replaced(const std::string& text, const std::string& from, const std::string& to) {
  EXPECT_TRUE(absl::StrContains(text, from)) << from;
  return absl::StrReplaceAll(text, {{from, to}});
}

// Imports the program with `from` in its JSON replaced.
absl::StatusOr<Sample> ImportWith(const std::string& from, const std::string& to) {
  ArchiveFiles files = ProgramFiles();
  files["models/model.json"] = Replaced(files["models/model.json"], from, to);
  return Import(files);
}

// Like ImportWith, with a foreign operator that takes anything in place of add.
absl::StatusOr<Sample> ImportWithForeign(const std::string& from, const std::string& to) {
  ArchiveFiles files = ProgramFiles();
  std::string& json = files["models/model.json"];
  json =
      Replaced(Replaced(json, from, to), "torch.ops.aten.add.Tensor", "torch.ops.mine.add.default");
  return Import(files);
}

std::string TextOf(const Sample& sample) {
  PrintOptions options;
  options.header = false;
  options.locations = false;
  options.module_paths = false;
  return PrintModule(*sample.module, options);
}

std::vector<float> Floats(const TensorData& data) {
  std::vector<float> values(data.bytes->size() / sizeof(float));
  std::memcpy(values.data(), data.bytes->data(), data.bytes->size());
  return values;
}

TEST(Pt2Importer, GraphHasTheProgramsMeaning) {
  const auto sample = Import(ProgramFiles());
  ASSERT_OK(sample);
  EXPECT_EQ(sample->name, "m");
  EXPECT_EQ(TextOf(*sample), R"(symbol s0 = 3
relation s0 >= 2
relation s0 <= 8

attribute w : f32[2]@cpu as torch.nn.parameter.Parameter
attribute block.b : f32[2]@cpu as torch.Tensor

graph @forward(
  %x : f32[s0, 2]@cpu as torch.Tensor
) {
  %p_w = get_attr w : f32[2]@cpu
  %b_b = get_attr block.b : f32[2]@cpu
  %add_ = aten.add_.Tensor(%b_b, 1) : f32[2]@cpu
  %mul = aten.mul.Tensor(%p_w, %add_) : f32[2]@cpu
  %add = aten.add.Tensor(%x, %mul, alpha = 2.0) : f32[s0, 2]@cpu
  return {"y": [%add]}
}
)");
  const Node* const mul = sample->module->main()->FindNode("mul");
  EXPECT_EQ(mul->location().file, "net.py");
  EXPECT_EQ(mul->location().line, 7u);
  EXPECT_EQ(mul->module_path(), "block");
  EXPECT_EQ(sample->extra_files.at(std::string(kProgramFile)), ProgramJson());
  EXPECT_EQ(Floats(sample->weights.at("w")), (std::vector<float>{1.5, -2}));
  EXPECT_EQ(Floats(sample->weights.at("block.b")), (std::vector<float>{0, 4}));
}

// An archive without its weights runs on drawn ones only if that is asked for.
TEST(Pt2Importer, ValuesThatAreNotThereAreRefusedUnlessTheyMayBeDrawn) {
  ArchiveFiles files = ProgramFiles();
  files.erase("data/weights/model_weights_config.json");
  EXPECT_THAT(Import(files),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("lacks the values of 2 attributes, such as w"),
                             HasSubstr("; --draw-weights draws what it lacks"))));
  EXPECT_THAT(Import(files, {.missing = MissingValues::kIfStated}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lacks the values")));
  EXPECT_OK(Import(files, {.weights = false}));
  const auto drawn = Import(files, {.missing = MissingValues::kDrawn});
  ASSERT_OK(drawn);
  EXPECT_FALSE(drawn->weights.contains("w"));

  files = ProgramFiles();
  files.erase("data/weights/weight_1");
  EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("the archive lacks this record; "
                                                "--draw-weights draws what it lacks")));
}

// A module on meta saves one storage of no bytes for all its tensors.
TEST(Pt2Importer, TensorsOfOneEmptyStorageStayApart) {
  ArchiveFiles files = ProgramFiles();
  files["data/weights/model_weights_config.json"] =
      Replaced(WeightsConfigJson(), "weight_1", "weight_0");
  files["data/weights/weight_0"] = "";
  EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("because the program was made on meta")));
  const auto stated = Import(files, {.missing = MissingValues::kIfStated});
  ASSERT_OK(stated);
  EXPECT_NE(stated->module->FindAttribute("w"), nullptr);
  EXPECT_NE(stated->module->FindAttribute("block.b"), nullptr);
  EXPECT_TRUE(stated->weights.empty());
}

TEST(Pt2Importer, DoesNotReadRecordsWithoutWeights) {
  ArchiveFiles files = ProgramFiles();
  files.erase("data/weights/weight_0");
  EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "m.pt2: data/weights/weight_0, the tensor w: the archive "
                                      "lacks this record; --draw-weights draws what it lacks"));
  const auto sample = Import(files, {.weights = false});
  ASSERT_OK(sample);
  EXPECT_TRUE(sample->weights.empty());
}

TEST(Pt2Importer, TensorsOfOneStorageStayShared) {
  // The same tensor under two names is one attribute.
  ArchiveFiles files = ProgramFiles();
  std::string& config = files["data/weights/model_weights_config.json"];
  config = Replaced(config, "weight_1", "weight_0");
  auto sample = Import(files);
  ASSERT_OK(sample);
  EXPECT_EQ(sample->module->attributes().size(), 1u);
  EXPECT_EQ(sample->module->main()->FindNode("b_b")->target(), "w");
  // Tensors that overlap otherwise are views of one attribute.
  const std::string one = TensorMetaJson(R"({"as_int": 2})", R"({"as_int": 1})");
  const std::string reversed = TensorMetaJson(R"({"as_int": 2})", R"({"as_int": 0})", 7, 1);
  config = absl::StrCat(R"({"config": {"w": )", PayloadJson("weight_0", one), R"(, "block.b": )",
                        PayloadJson("weight_0", reversed), "}}");
  sample = Import(files);
  ASSERT_OK(sample);
  EXPECT_THAT(TextOf(*sample),
              AllOf(HasSubstr("attribute _storage_weight_0 : f32[2]@cpu"),
                    HasSubstr("%p_w = aten.as_strided.default(%_storage_weight_0, [2], [1], 0)"),
                    HasSubstr("%b_b = aten.as_strided.default(%_storage_weight_0, [2], [0], 1)")));
  EXPECT_EQ(Floats(sample->weights.at("_storage_weight_0")), (std::vector<float>{1.5, -2}));
}

TEST(Pt2Importer, StridesAndOffsetsAreRespected) {
  ArchiveFiles files = ProgramFiles();
  const float storage[] = {0, 1, 2, 3, 4, 5, 6};
  files["data/weights/weight_0"].assign(reinterpret_cast<const char*>(storage), sizeof(storage));
  const std::string meta =
      TensorMetaJson(R"({"as_int": 2}, {"as_int": 3})", R"({"as_int": 1}, {"as_int": 2})", 7, 1);
  files["data/weights/model_weights_config.json"] = WeightsConfigJson(meta);
  const auto sample = Import(files);
  ASSERT_OK(sample);
  const TensorData& w = sample->weights.at("w");
  EXPECT_EQ(Floats(w), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_THAT(w.shape, ElementsAre(2, 3));
  EXPECT_THAT(w.strides, ElementsAre(1, 2));
}

TEST(Pt2Importer, WeightsThatReachBeyondTheirStorageAreRefused) {
  ArchiveFiles files = ProgramFiles();
  files["data/weights/weight_0"].pop_back();
  EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "m.pt2: data/weights/weight_0, the tensor w: it needs 8 "
                                      "bytes of its storage, which has 7"));
  for (const char* size : {"4611686018427387904", "1099511627777", "-1"}) {
    files = ProgramFiles();
    std::string& config = files["data/weights/model_weights_config.json"];
    config = Replaced(config, R"("sizes": [{"as_int": 2}])",
                      absl::StrCat(R"("sizes": [{"as_int": )", size, "}]"));
    EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument)) << size;
  }
  // A stride of 0 makes a large tensor of a small storage.
  files = ProgramFiles();
  files["data/weights/model_weights_config.json"] =
      WeightsConfigJson(TensorMetaJson(R"({"as_int": 1073741824})", R"({"as_int": 0})"));
  EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expanded")));
}

TEST(Pt2Importer, ManyNamesOfOneStorageCostNoMoreThanTheyTake) {
  ArchiveFiles files = ProgramFiles();
  std::string& config = files["data/weights/model_weights_config.json"];
  config.resize(config.size() - 2);
  for (int i = 0; i < 20'000; ++i) {
    const std::string meta = TensorMetaJson(R"({"as_int": 1})", R"({"as_int": 1})", 7, i);
    absl::StrAppend(&config, ", \"n", i, "\": ", PayloadJson("weight_0", meta));
  }
  config += "}}";
  EXPECT_OK(Import(files));
  // Two expanded tensors, each within the bounds of one.
  const std::string expanded = TensorMetaJson(R"({"as_int": 40000000})", R"({"as_int": 0})");
  config = absl::StrCat(R"({"config": {"w": )", PayloadJson("weight_0", expanded),
                        R"(, "block.b": )", PayloadJson("weight_1", expanded), "}}");
  EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expanded")));
}

TEST(Pt2Importer, MutationsOfTheSignatureAreCopiesAtTheEnd) {
  ArchiveFiles files = ProgramFiles();
  std::string& json = files["models/model.json"];
  json = Replaced(
      json, R"("outputs": [{"as_tensor": {"name": "add"}}],
 "nodes")",
      R"("outputs": [{"as_tensor": {"name": "mul"}}, {"as_tensor": {"name": "add"}}, {"as_tensor": {"name": "add"}}],
 "nodes")");
  json = Replaced(
      json, R"("output_specs": [)",
      R"("output_specs": [{"buffer_mutation": {"arg": {"name": "mul"}, "buffer_name": "block.b"}},
       {"user_input_mutation": {"arg": {"name": "add"}, "user_input_name": "x"}}, )");
  const auto sample = Import(files);
  ASSERT_OK(sample);
  EXPECT_THAT(TextOf(*sample), HasSubstr(R"(  %copy_ = aten.copy_.default(%b_b, %mul) : f32[2]@cpu
  %copy__1 = aten.copy_.default(%x, %add) : f32[s0, 2]@cpu
  return {"y": [%copy__1]})"));
}

TEST(Pt2Importer, ListsOfResultsAreTakenApart) {
  ArchiveFiles files = ProgramFiles();
  std::string& json = files["models/model.json"];
  json = Replaced(json, R"("outputs": [{"as_tensor": {"name": "mul"}}])",
                  R"("outputs": [{"as_tensors": [{"name": "mul"}, {"name": "rest"}]}],
                     "name": "split")");
  json = Replaced(json, R"("tensor_values": {)",
                  absl::StrCat(R"("tensor_values": {"rest": )",
                               TensorMetaJson(R"({"as_int": 2})", R"({"as_int": 1})"), ", "));
  const auto sample = Import(files);
  ASSERT_OK(sample);
  EXPECT_THAT(TextOf(*sample), AllOf(HasSubstr("%mul = operator.getitem(%split, 0) : f32[2]@cpu"),
                                     Not(HasSubstr("%rest"))));
}

TEST(Pt2Importer, RefusesConstantsAsResults) {
  const auto with_second = [](absl::string_view second) {
    ArchiveFiles files = ProgramFiles();
    std::string& json = files["models/model.json"];
    json = Replaced(json, "torch.ops.aten.mul.Tensor", "torch.ops.aten.frexp.Tensor");
    json = Replaced(json, R"(,
    {"name": "other", "arg": {"as_tensor": {"name": "add_"}}, "kind": 1}],
   "outputs": [{"as_tensor": {"name": "mul"}}],)",
                    absl::StrCat(R"(], "outputs": [{"as_tensor": {"name": "mul"}}, )", second,
                                 R"(], "name": "parts",)"));
    return Import(files).status();
  };
  EXPECT_OK(with_second(R"({"as_none": true})"));
  for (const absl::string_view kind : {"as_string", "as_ints", "as_floats"}) {
    EXPECT_THAT(
        std::string(
            with_second(absl::StrCat("{\"", kind, kind == "as_string" ? "\": \"x\"}" : "\": [1]}"))
                .message()),
        HasSubstr(absl::StrCat("node parts: output 1 is ", kind, ", which no call returns")));
  }
}

// Writes a call with effects as ExportedProgram.run_decompositions() leaves it.
std::string WithTokens(std::string json) {
  json = Replaced(json, R"("inputs": [{"as_tensor": {"name": "p_w"}})",
                  R"("inputs": [{"as_tensor": {"name": "token"}}, {"as_tensor": {"name": "p_w"}})");
  json = Replaced(json, R"("input_specs": [)",
                  R"("input_specs": [{"token": {"arg": {"name": "token"}}}, )");
  json =
      Replaced(json, R"("outputs": [{"as_tensor": {"name": "add"}}],
 "nodes")",
               R"("outputs": [{"as_tensor": {"name": "token_1"}}, {"as_tensor": {"name": "add"}}],
 "nodes")");
  json = Replaced(json, R"("output_specs": [)",
                  R"("output_specs": [{"token": {"arg": {"name": "token_1"}}}, )");
  json = Replaced(json, R"({"target": "torch.ops.aten.add_.Tensor", "inputs": [)",
                  R"({"target": "torch.ops.higher_order.with_effects", "inputs": [
    {"name": "", "arg": {"as_tensor": {"name": "token"}}, "kind": 1},
    {"name": "", "arg": {"as_operator": "torch.ops.aten.add_.Tensor"}, "kind": 1},)");
  return Replaced(json, R"("outputs": [{"as_tensor": {"name": "add_"}}], "metadata")",
                  R"("outputs": [{"as_tensor": {"name": "token_1"}}, )"
                  R"({"as_tensor": {"name": "add_"}}], "metadata")");
}

TEST(Pt2Importer, ReplacesTokensByTheOrderOfCalls) {
  const auto plain = Import(ProgramFiles());
  ASSERT_OK(plain);
  ArchiveFiles files = ProgramFiles();
  files["models/model.json"] = WithTokens(files["models/model.json"]);
  const auto sample = Import(files);
  ASSERT_OK(sample);
  EXPECT_EQ(TextOf(*sample), TextOf(*plain));

  const auto error = [&](const std::string& from, const std::string& to) {
    ArchiveFiles changed = files;
    changed["models/model.json"] = Replaced(files["models/model.json"], from, to);
    return std::string(Import(changed).status().message());
  };
  EXPECT_THAT(
      error(R"("arg": {"as_tensor": {"name": "token"}})", R"("arg": {"as_tensor": {"name": "x"}})"),
      HasSubstr("node add_: x is not a token"));
  EXPECT_THAT(error(R"({"as_operator": "torch.ops.aten.add_.Tensor"})", R"({"as_int": 1})"),
              HasSubstr("its second input is not an operator"));
  EXPECT_THAT(
      error(R"("outputs": [{"as_tensor": {"name": "token_1"}}, {"as_tensor": {"name": "add_"}}])",
            R"("outputs": [{"as_tensor": {"name": "token"}}, {"as_tensor": {"name": "add_"}}])"),
      HasSubstr("the token token is defined twice"));
  EXPECT_THAT(error(R"({"token": {"arg": {"name": "token"}}}, )", ""),
              HasSubstr("the signature has 3 inputs"));
}

TEST(Pt2Importer, BodiesAreGraphsOfTheModule) {
  const std::string body =
      absl::StrCat(R"({"name": "body", "graph": {"inputs": [{"as_tensor": {"name": "x"}}],
      "outputs": [{"as_tensor": {"name": "x"}}], "nodes": [], "tensor_values": {"x": )",
                   TensorMetaJson(R"({"as_int": 2})", R"({"as_int": 1})"),
                   R"(}, "sym_int_values": {}, "sym_bool_values": {},
      "is_single_tensor_return": true}})");
  const auto sample =
      ImportWithForeign(R"({"as_float": 2.0})", absl::StrCat(R"({"as_graph": )", body, "}"));
  ASSERT_OK(sample);
  EXPECT_THAT(TextOf(*sample),
              AllOf(HasSubstr("alpha = @body"),
                    HasSubstr("graph @body(\n  %x : f32[2]@cpu\n) {\n  return %x")));
  // A body sees only its own values.
  EXPECT_THAT(
      ImportWithForeign(R"({"as_float": 2.0})",
                        absl::StrCat(R"({"as_graph": )",
                                     Replaced(body, R"("outputs": [{"as_tensor": {"name": "x"}}])",
                                              R"("outputs": [{"as_tensor": {"name": "mul"}}])"),
                                     "}")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "m.pt2: models/model.json: graph_module: graph.nodes[2].inputs[2]: node add: "
               "input alpha: graph body: no value is called mul"));
}

TEST(Pt2Importer, EveryKindOfArgument) {
  const std::pair<const char*, const char*> kinds[] = {
      {R"({"as_none": true})", "None"},
      {R"({"as_ints": [1, -2]})", "[1, -2]"},
      {R"({"as_float": "NaN"})", "nan"},
      {R"({"as_floats": ["Infinity", 1, 0.5]})", "[inf, 1.0, 0.5]"},
      {R"({"as_string": "a\u00e9\n"})", "\"a\xc3\xa9\\n\""},
      {R"({"as_strings": ["a"]})", "[\"a\"]"},
      {R"({"as_bool": false})", "False"},
      {R"({"as_bools": [true]})", "[True]"},
      {R"({"as_tensors": [{"name": "x"}]})", "[%x]"},
      {R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "x"}}]})",
       "[None, %x]"},
      {R"({"as_optional_tensor": {"as_none": true}})", "None"},
      {R"({"as_sym_int": {"as_int": 4}})", "4"},
      {R"({"as_sym_ints": [{"as_name": "mul"}, {"as_int": 4}]})", "[%mul, 4]"},
      {R"({"as_sym_floats": [{"as_float": 4}]})", "[4.0]"},
      {R"({"as_sym_bools": [{"as_bool": true}]})", "[True]"},
      {R"({"as_scalar_type": 13})", "torch.bfloat16"},
      {R"({"as_memory_format": 2})", "torch.channels_last"},
      {R"({"as_layout": 7})", "torch.strided"},
      {R"({"as_device": {"type": "cuda", "index": 1}})", "device(\"cuda:1\")"},
      {R"({"as_complex": {"real": 1.5, "imag": -2}})", "complex(1.5, -2.0)"},
      {R"({"as_operator": "torch.ops.aten.sin.default"})", "\"torch.ops.aten.sin.default\""},
      {R"({"as_nested_tensors": [[{"name": "x"}], []]})", "[[%x], []]"},
      {R"({"as_int_lists": [[1, 2]]})", "[(1, 2)]"},
      {R"({"as_float_lists": [[1.5]]})", "[[1.5]]"},
      {R"({"as_string_to_argument": {"k": {"as_int": 1}}})", "{\"k\": 1}"},
      {R"({"as_custom_obj": {"name": "x", "class_fqn": "a.B"}})", "%x"},
  };
  for (const auto& [json, text] : kinds) {
    const auto sample = ImportWithForeign(R"({"as_float": 2.0})", json);
    ASSERT_OK(sample) << json;
    EXPECT_THAT(TextOf(*sample), HasSubstr(absl::StrCat("alpha = ", text, ")"))) << json;
  }
}

// torch.export.load, too, goes through the operator's parameters and looks each up by name.
TEST(Pt2Importer, ArgumentsAreBoundByName) {
  const auto plain = Import(ProgramFiles());
  ASSERT_OK(plain);
  const std::string self = R"({"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1})";
  const std::string other =
      R"({"name": "other", "arg": {"as_tensor": {"name": "mul"}}, "kind": 1})";
  const auto swapped =
      ImportWith(absl::StrCat(self, ",\n    ", other), absl::StrCat(other, ",\n    ", self));
  ASSERT_OK(swapped);
  EXPECT_EQ(TextOf(*swapped), TextOf(*plain));
  // Writers before schema 8.3 do not say which arguments stand by position.
  const auto old = ImportWith(R"(, "kind": 1})", "}");
  ASSERT_OK(old);
  EXPECT_EQ(TextOf(*old), TextOf(*plain));
  const auto keyword =
      ImportWith(R"({"name": "mul"}}, "kind": 1)", R"({"name": "mul"}}, "kind": 2)");
  ASSERT_OK(keyword);
  EXPECT_THAT(TextOf(*keyword), HasSubstr("aten.add.Tensor(%x, other = %mul, alpha = 2.0)"));
}

TEST(Pt2Importer, CallsForeignOperatorsByName) {
  for (const char* target : {"torch.ops.mine.add.default", "torch.ops.aten.add.out",
                             "torch.ops.prims.add.default", "torch.ops.quantized.add.default"}) {
    EXPECT_OK(ImportWith("torch.ops.aten.add.Tensor", target)) << target;
  }
  for (const char* target :
       {"torch.ops.aten.ad.Tensor", "torch.ops.aten.add.Tensr", "torch.ops.prims.ad.default",
        "torch.ops.quantized.ad.default", "torch.ops.higher_order.con", "_operator.ad", "math.flor",
        "torch.sym_maxx", "torch.nn.functional.rel", "add"}) {
    EXPECT_THAT(ImportWith("torch.ops.aten.add.Tensor", target),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat(
                             "graph.nodes[2]: node add: PyTorch has no operator ", target))))
        << target;
  }
}

TEST(Pt2Importer, BadProgramsAreRefusedInOneLine) {
  const struct {
    const char* from;
    const char* to;
    const char* message;
  } cases[] = {
      {"\"major\": 8", "\"major\": 99",
       "unsupported schema 99.20; this version reads schemas 1 to 8"},
      {R"("as_float": 2.0)", R"("as_floats": 2.0)", "node add: input alpha: expected an array"},
      {R"("as_float": 2.0)", R"("as_what": 2.0)",
       "node add: input alpha: unexpected kind of argument: as_what"},
      {R"("as_float": 2.0)", R"("as_float": 2.0, "as_int": 1)", "expected one member, found 2"},
      {R"("as_float": 2.0)", R"("as_scalar_type": 14)", "no dtype has the number 14"},
      {R"("as_float": 2.0)", R"("as_layout": 0)", "no layout has the number 0"},
      {R"("as_float": 2.0)", R"("as_int": 1e400)", "byte"},
      {R"("as_float": 2.0)", R"("as_int": 18446744073709551615)", "an integer beyond 64 bits"},
      {R"("name": "alpha", )", "", "node add: lacks the field name"},
      {R"("name": "alpha")", R"("name": "alpa")",
       "graph.nodes[2].inputs[2]: node add: input alpa: the operator has no argument "
       "named alpa"},
      {R"("name": "alpha")", R"("name": "other")",
       "graph.nodes[2].inputs[2]: node add: input other: the argument is given twice"},
      {R"("name": "other")", R"("name": "alpha")",
       "graph.nodes[0]: node add_: the argument other is missing and has no default"},
      {R"("as_float": 2.0)", R"("as_string": "a")",
       "node add: input alpha: the operator takes a number, not a string"},
      {R"("as_float": 2.0)", R"("as_ints": [1])",
       "node add: input alpha: the operator takes a number, not a list"},
      {R"("as_float": 2.0)", R"("as_none": true)",
       "node add: input alpha: the operator takes a number, not None"},
      {R"("as_float": 2.0)", R"("as_sym_int": {"as_float": 2.0})",
       "node add: input alpha: unexpected kind of argument: as_float"},
      {R"("mul": {"dtype")", R"("moul": {"dtype")",
       "node torch.ops.aten.mul.Tensor: the value mul has no record in the tables of values"},
      {R"("strides": [{"as_int": 1}])", R"("strides": [])", "value p_w: 1 sizes and 0 strides"},
      {R"("storage_offset": {"as_int": 0})", R"("storage_offset": [])",
       "value x: expected an object"},
      {R"("layout": 7)", R"("layout": 8)", "value x: no layout has the number 8"},
      {R"("parameter_name": "w")", R"("parameter_name": "v")", "the archive has no value of v"},
      {R"("module_call_graph": [)", R"("module_call_graph": [], "rest": [)",
       "module_call_graph: it lacks the call of the whole program"},
      {R"("sym_int_values": {})", R"("sym_int_values": {"n": []})", "sym_int_values: n: expected"},
      {R"("sym_int_values": {})",
       R"("sym_int_values": {"n": {"as_expr": {"expr_str": "s0", "hint": {"as_string": "a"}}}})",
       "sym_int_values: n: a hint cannot be as_string"},
      {R"("sym_int_values": {})",
       R"("sym_int_values": {"n": {"as_expr": {"expr_str": "s0", "hint": {"as_int": "3"}}}})",
       "sym_int_values: n: hint: expected an integer, found a string"},
      {R"("sym_bool_values": {})", R"("sym_bool_values": null)", "expected an object, found null"},
      {R"("sym_bool_values": {})", R"("sym_bool_values": {"b": {"as_int": "x"}})",
       "sym_bool_values: b: expected an integer, found a string"},
      {R"("module_call_graph": [)", R"("treespec_namedtuple_fields": [], "module_call_graph": [)",
       "treespec_namedtuple_fields: expected an object"},
      {R"("persistent": true)", R"("persistent": 1)", "input 1: expected a bool"},
      {R"("fqn": "")", R"("fqn": "x")",
       "module_call_graph: the first entry is for the module x, not for the whole program"},
      {R"("strides": [{"as_int": 1}])", R"("strides": [{"as_int": -1}])", "a negative stride"},
      {R"("outputs": [{"as_tensor": {"name": "mul"}}])",
       R"("outputs": [{"as_tensor": {"name": "mul"}}, {"as_none": true}])",
       "node torch.ops.aten.mul.Tensor: it has 2 outputs, the operator 1"},
      {R"("name": "alpha", )", R"("name": "alpha", "name": "beta", )",
       "node add: two fields are named name"},
      {R"("outputs": [{"as_tensor": {"name": "mul"}}])",
       R"("outputs": [{"as_tensor": {"name": "x"}}])", "the value x is defined twice"},
      {R"({"as_tensor": {"name": "mul"}}, "kind": 1)",
       R"({"as_tensor": {"name": "add"}}, "kind": 1)",
       "node add: input other: no value is called add"},
      {R"("p_w": {)", R"("x": {}, "p_w": {)", "two values are named x"},
      {R"({"parameter": {"arg": {"name": "p_w"})", R"({"parameter": {"arg": {"name": "b_b"})",
       "input 0: the signature calls it b_b, the graph p_w"},
      {R"("parameter_name": "w")", R"("parameter_name": "block.b")",
       "input 1: two inputs are the attribute block.b"},
      {R"("parameter_name": "w")", R"("parameter_name": "")",
       "input 0: its name is empty or too long"},
      {R"({"parameter": {)", R"({"secret": {)", "input 0: unknown kind of input: secret"},
      {R"(,
                 {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])",
       "]", "the signature has 2 inputs, the graph 3"},
      {R"("output_specs": [)", R"("output_specs": [{"token": {}}, )",
       "the signature has 2 outputs, the graph 1"},
      {R"("output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "add"}}}}])",
       R"("output_specs": [{"buffer_mutation": {"arg": {"name": "add"}, "buffer_name": "c"}}])",
       "output 0: a mutation writes to c, which does not exist"},
      {R"(\"children_spec\": [{\"type\": \"builtins.list\")",
       R"(\"children_spec\": [{\"type\": null, \"context\": null, \"children_spec\": []}, {\"type\": \"builtins.list\")",
       "module_call_graph: tree spec: a dict with 1 keys and 2 values"},
      {R"("out_spec": "[1,)", R"("out_spec": "[2,)", "unsupported version 2; expected 1"},
      {R"("min_val": 2)", R"("min_val": 9)", "range of s0: it is empty, from 9 to 8"},
      {"Symbol('s0',", "Symbol('s0'",
       "expression Symbol('s0' positive=True, integer=True): column 13"},
      {"Symbol('s0',", "Symbol('',", "a symbol without a name"},
      {R"("dtype": 7)", R"("dtype": 20)", "no dtype has the number 20"},
      {R"("type": "cpu")", R"("type": "toaster")", "unknown device toaster"},
      {R"("verifiers": ["TRAINING"])", R"("verifiers": ["TRAINING")", "byte"},
      // torch.export.load does not accept these as outputs of a graph either.
      {R"("outputs": [{"as_tensor": {"name": "add"}}],
 "nodes")",
       R"("outputs": [{"as_tensors": [{"name": "add"}]}],
 "nodes")",
       "unexpected kind of output: as_tensors"},
      {R"("outputs": [{"as_tensor": {"name": "add"}}],
 "nodes")",
       R"("outputs": [{"as_string": "a"}],
 "nodes")",
       "unexpected kind of output: as_string"},
  };
  for (const auto& test : cases) {
    const auto sample = ImportWith(test.from, test.to);
    EXPECT_THAT(sample, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(testing::StartsWith("m.pt2: models/model.json: "),
                                       HasSubstr(test.message), Not(HasSubstr("\n")))))
        << test.to;
  }
}

TEST(Pt2Importer, AcceptsUnknownFieldsAndMinorVersions) {
  EXPECT_OK(ImportWith("\"minor\": 20", "\"minor\": 99"));
  EXPECT_OK(ImportWith(R"("verifiers")", R"("new_in_2_20": {"a": [1]}, "verifiers")"));
  // Fields that older writers lack.
  EXPECT_OK(ImportWith(R"(,
"guards_code": ["L['x'].size()[0] % 2 == 1"])",
                       ""));
  EXPECT_OK(ImportWith(R"(, "kind": 1)", ""));
}

TEST(Pt2Importer, OmitsSizesThatTheIrCannotExpress) {
  const auto sample = ImportWith("Symbol('s0', positive=True, integer=True)",
                                 "Mul(Rational(1, 2), Symbol('s0', integer=True))");
  ASSERT_OK(sample);
  EXPECT_THAT(TextOf(*sample), HasSubstr("%x : f32@cpu"));
}

TEST(Pt2Importer, BadArchivesAreRefused) {
  ArchiveFiles files = ProgramFiles();
  files["archive_version"] = "7";
  EXPECT_THAT(
      Import(files),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "m.pt2: unsupported archive format pt2, version 7; expected pt2, version 0"));
  files = ProgramFiles();
  files["byteorder"] = "big";
  EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "m.pt2: its byte order is big, not little"));
  files = ProgramFiles();
  files.erase("archive_format");
  EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("not an archive of torch.export")));
  files = ProgramFiles();
  files["../../escape"] = "x";
  EXPECT_THAT(Import(files), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("..")));
  files = ProgramFiles();
  files.erase("models/model.json");
  EXPECT_THAT(Import(files),
              StatusIs(absl::StatusCode::kInvalidArgument, "m.pt2: holds no program"));
  EXPECT_THAT(Import({{"version", "3"}, {"serialized_exported_program.json", "{}"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "m.pt2: serialized_exported_program.json: lacks the field graph_module"));
  EXPECT_THAT(
      Import({{"serialized_exported_program.json", "{}"},
              {"serialized_state_dict.pt", "not a zip archive"}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("serialized_state_dict.pt: ")));
  EXPECT_THAT(ImportPt2("", "m.pt2"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ImportPt2File("/nonexistent/m.pt2"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(Pt2Importer, NestingIsBounded) {
  const std::string deep(300, '[');
  EXPECT_THAT(ImportWith(R"(["TRAINING"])", deep + std::string(300, ']')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nests deeper than 256")));
  std::string expression;
  for (int i = 0; i < 1'000'000; ++i) expression += "Add(";
  EXPECT_THAT(ImportWith("Symbol('s0', positive=True, integer=True)", expression),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nests deeper than 200")));
  std::string tree = "[1, ";
  for (int i = 0; i < 1000; ++i) {
    tree += R"({\"type\": \"builtins.list\", \"context\": \"null\", \"children_spec\": [)";
  }
  EXPECT_THAT(ImportWith(R"("out_spec": "[1, )", absl::StrCat(R"("out_spec": ")", tree)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nests deeper than 256")));
}

TEST(Pt2Importer, SelectsAProgramByName) {
  ArchiveFiles files = ProgramFiles();
  files["models/other.json"] = files["models/model.json"];
  const std::string bytes = ArchiveOf(files);
  EXPECT_THAT(ListPt2Programs(bytes, "m.pt2"), IsOkAndHolds(ElementsAre("model", "other")));
  EXPECT_THAT(ImportPt2(bytes, "m.pt2"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  "m.pt2: holds several programs: model, other"));
  EXPECT_THAT(ImportPt2(bytes, "m.pt2", {.program = "none"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "m.pt2: holds no program none; it holds model, other"));
  const auto sample = ImportPt2(bytes, "m.pt2", {.program = "other", .weights = false});
  ASSERT_OK(sample);
  EXPECT_EQ(sample->name, "m_other");
  EXPECT_TRUE(LooksLikePt2(bytes));
  EXPECT_FALSE(LooksLikePt2(MakeZip({.files = {{.name = "m/data.pkl", .content = "x"}}})));
}

TEST(Pt2Importer, SurvivesAnyWrongByte) {
  const std::string good = ArchiveOf(ProgramFiles());
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x15);
    const auto sample = ImportPt2(bad, "m.pt2");
    if (!sample.ok()) {
      EXPECT_FALSE(absl::StrContains(sample.status().message(), '\n'));
    }
  }
  for (size_t size = 0; size < good.size(); size += 97) {
    EXPECT_FALSE(ImportPt2(good.substr(0, size), "m.pt2").ok());
  }
}

}  // namespace
}  // namespace graphnet

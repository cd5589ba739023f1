#include "graphnet/ops/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using Kind = SchemaType::Kind;

TEST(ParseSchemaTest, TypesAndDefaults) {
  const auto schema = ParseSchema(
      "fnr pool.names(Tensor(a!) self, SymInt[2] size=[1, 1], Tensor?[] masks=None, *, "
      "ScalarType? dtype=None, float p=1e-05) -> (Tensor(a!) out, Tensor[] rest)");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->target, "aten.pool.names");
  EXPECT_EQ(schema->function_module, 'n');
  EXPECT_FALSE(schema->is_method);
  EXPECT_TRUE(schema->is_random);
  EXPECT_TRUE(schema->mutates());
  ASSERT_EQ(schema->arguments.size(), 5u);
  EXPECT_TRUE(schema->arguments[0].type.is_mutated);
  EXPECT_EQ(schema->arguments[1].type.kind, Kind::kInt);
  EXPECT_TRUE(schema->arguments[1].type.is_list);
  EXPECT_EQ(schema->arguments[1].type.list_size, 2);
  EXPECT_TRUE(schema->arguments[1].has_default);
  EXPECT_TRUE(schema->arguments[2].type.optional_elements);
  EXPECT_FALSE(schema->arguments[2].type.optional);
  EXPECT_TRUE(schema->arguments[3].type.optional);
  EXPECT_TRUE(schema->arguments[3].keyword_only);
  EXPECT_FALSE(schema->arguments[2].keyword_only);
  ASSERT_EQ(schema->returns.size(), 2u);
  EXPECT_TRUE(schema->returns[1].is_list);
}

TEST(ParseSchemaTest, NonsenseIsRefused) {
  for (const char* line :
       {"", "f", "f x", "f x(", "f x(Tensor)", "f x(Tensor a", "f x(Tensor a) ->",
        "f x(Tensor( a) -> Tensor", "f x(int[a] b) -> Tensor"}) {
    EXPECT_FALSE(ParseSchema(line).ok() && ParseSchema(line)->returns.empty() == false) << line;
  }
}

TEST(SchemaTableTest, EveryLineParses) {
  EXPECT_GT(AllSchemas().size(), 1500u);
  for (const Schema& schema : AllSchemas()) EXPECT_EQ(FindOverload(schema.target), &schema);
}

TEST(SchemaTableTest, OverloadsInPythonsOrder) {
  const auto pow = FindSchemas("pow");
  ASSERT_EQ(pow.size(), 3u);
  EXPECT_EQ(pow[0].overload, "Tensor_Tensor");
  EXPECT_TRUE(FindSchemas("no_such_operator").empty());
}

TEST(SchemaTableTest, Overload) {
  ASSERT_NE(FindOverload("torch.ops.aten.conv2d.padding"), nullptr);
  EXPECT_EQ(FindOverload("aten.conv2d")->overload, "default");
  EXPECT_EQ(FindOverload("aten.conv2d.wrong"), nullptr);
  EXPECT_EQ(FindOverload("conv2d"), nullptr);
}

TEST(SchemaTableTest, NearMissesAreNear) {
  EXPECT_THAT(NearMisses("torch.reluu"), testing::Contains("relu"));
  EXPECT_TRUE(NearMisses("torch.zzzzzzzzz").empty());
}

TEST(ParseSchemaTest, FunctionsOfPython) {
  const auto schema = ParseSchema(
      "torch.nn.functional.pad(input, /, pad, mode='constant', value=None, *rest, out=1e-05, "
      "**more)");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_TRUE(schema->is_python);
  EXPECT_EQ(schema->name, "torch.nn.functional.pad");
  ASSERT_EQ(schema->arguments.size(), 6u);
  EXPECT_EQ(schema->arguments[0].type.kind, Kind::kAny);
  EXPECT_TRUE(schema->arguments[0].positional_only);
  EXPECT_FALSE(schema->arguments[1].positional_only);
  EXPECT_FALSE(schema->arguments[1].has_default);
  EXPECT_EQ(schema->arguments[2].default_value.string(), "constant");
  EXPECT_TRUE(schema->arguments[3].default_value.is_none());
  EXPECT_TRUE(schema->arguments[4].is_variadic);
  EXPECT_TRUE(schema->arguments[5].keyword_only);
  EXPECT_EQ(schema->arguments[5].default_value.real(), 1e-05);
  EXPECT_FALSE(ParseSchema("pad").ok());
}

TEST(ParseSchemaTest, RowsOfCallables) {
  const auto schema = ParseSchema("PkaSV mine.open(Any size, str mode='same', *, int? n=2) -> int");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_TRUE(schema->is_python && schema->is_kept && schema->may_alias && schema->is_statement);
  EXPECT_EQ(schema->bracket, Schema::Bracket::kVmapOpen);
  EXPECT_TRUE(schema->arguments[0].type.optional);
  EXPECT_TRUE(schema->arguments[2].keyword_only);
  EXPECT_EQ(schema->returns[0].kind, Kind::kInt);
}

TEST(SchemaArgumentTest, IsDefault) {
  const auto schema = ParseSchema(
      "f x(int[2] a=0, str b='no', float c=1, int[] d=[], bool e=True, int r=Mean, int f) -> ()");
  ASSERT_TRUE(schema.ok()) << schema.status();
  const auto& a = schema->arguments;
  const Argument zeros[] = {0, 0}, ones[] = {0, 1};
  EXPECT_TRUE(a[0].IsDefault(0) && a[0].IsDefault(Argument::List(zeros)));
  EXPECT_FALSE(a[0].IsDefault(1) || a[0].IsDefault(Argument::List(ones)));
  EXPECT_TRUE(a[1].IsDefault("no") && a[2].IsDefault(1.0) && a[2].IsDefault(1));
  EXPECT_FALSE(a[1].IsDefault("yes") || a[2].IsDefault(2.0) || a[2].IsDefault(Argument()));
  EXPECT_TRUE(a[3].IsDefault(Argument::List({})) && a[3].IsDefault(Argument()));
  EXPECT_TRUE(a[4].IsDefault(true) && a[5].IsDefault(1));
  EXPECT_FALSE(a[4].IsDefault(false) || a[6].IsDefault(0));
}

TEST(SchemaTableTest, OperatorsThatGraphsMayRun) {
  for (const auto& [name, overload] :
       std::vector<std::pair<const char*, const char*>>{{"aten::conv2d", ""},
                                                        {"aten::conv2d", "padding"},
                                                        {"aten::add", "Tensor"},
                                                        {"aten::add", "out"},
                                                        {"aten::softmax", "int"},
                                                        {"aten::einsum", ""},
                                                        {"aten::embedding_bag", ""},
                                                        {"aten::_to_copy", ""},
                                                        {"aten::_unsafe_view", ""},
                                                        {"aten::_convolution", ""},
                                                        {"aten::_unique2", ""},
                                                        {"aten::lstm", "input"},
                                                        {"aten::linalg_eigh", ""},
                                                        {"aten::to_sparse", ""},
                                                        {"aten::_pack_padded_sequence", ""},
                                                        {"aten::append", "t"},
                                                        {"aten::len", "t"},
                                                        {"aten::manual_seed", ""},
                                                        {"aten::__getitem__", "Dict_str"},
                                                        {"prim::device", ""},
                                                        {"prim::NumToTensor", "Scalar"}}) {
    EXPECT_TRUE(MayRun(name, overload)) << name << "." << overload;
  }
  for (const auto& [name, overload] : std::vector<std::pair<const char*, const char*>>{
           // These use files, output, other machines, or the state of the process.
           {"aten::from_file", ""},
           {"aten::save", ""},
           {"aten::_print", ""},
           {"prim::Print", ""},
           {"aten::warn", ""},
           {"prim::rpc_sync", ""},
           // These take storages and streams.
           {"aten::set_", "source_Storage"},
           {"aten::record_stream", ""},
           // These take unchecked indices, or return views of checked ones.
           {"aten::_sparse_coo_tensor_unsafe", ""},
           {"aten::_sparse_csr_tensor_unsafe", ""},
           {"aten::sparse_coo_tensor", "indices_size"},
           {"aten::_embedding_bag", ""},
           {"aten::_embedding_bag_forward_only", ""},
           {"aten::_nested_view_from_buffer", ""},
           {"aten::indices", ""},
           {"aten::_indices", ""},
           // The calls of the probe crashed it.
           {"aten::_sobol_engine_ff_", ""},
           {"aten::mkldnn_rnn_layer", ""},
           {"aten::no_such_operator", ""},
           {"mine::f", ""},
           {"prim::PythonOp", ""}}) {
    EXPECT_FALSE(MayRun(name, overload)) << name << "." << overload;
  }
}

TEST(SchemaTableTest, Words) {
  const auto words = [](const Schema& schema, absl::string_view name) {
    return schema.FindArgument(name)->words;
  };
  EXPECT_THAT(words(FindSchemas("gelu")[0], "approximate"), testing::ElementsAre("none", "tanh"));
  EXPECT_THAT(words(FindFunctions("torch.nn.functional.kl_div")[0], "reduction"),
              testing::Contains("batchmean"));
  EXPECT_THAT(words(FindFunctions("torch.nn.functional.mse_loss")[0], "reduction"),
              testing::ElementsAre("none", "mean", "sum"));
  EXPECT_THAT(words(FindSchemas("mse_loss")[0], "reduction"), testing::IsEmpty());
}

}  // namespace
}  // namespace graphnet

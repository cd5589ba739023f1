#include "graphnet/ops/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(SignatureTest, Parses) {
  const auto signature = ParseSignature(
      "torch.nn.functional.pad(input, pad, mode='constant', value=None, *rest, out=1e-05)");
  ASSERT_TRUE(signature.ok());
  ASSERT_EQ(signature->parameters.size(), 6u);
  EXPECT_FALSE(signature->parameters[1].has_default);
  EXPECT_EQ(signature->parameters[2].default_value.string(), "constant");
  EXPECT_TRUE(signature->parameters[3].default_value.is_none());
  EXPECT_TRUE(signature->parameters[4].is_variadic);
  EXPECT_TRUE(signature->parameters[5].keyword_only);
  EXPECT_EQ(signature->parameters[5].default_value.real(), 1e-05);
  EXPECT_FALSE(ParseSignature("pad").ok());
}

}  // namespace
}  // namespace graphnet

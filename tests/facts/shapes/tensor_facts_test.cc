#include "graphnet/facts/shapes/tensor_facts.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/arena.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/interp/shapes.h"
#include "tests/facts/shapes/compare_facts.h"

namespace graphnet {
namespace {

// Makes calls of one operator with random arguments that fit its parameters. Most of the calls
// fail.
class RandomCalls {
 public:
  explicit RandomCalls(const Schema& schema) : schema_(schema), random_(schema.target.size()) {}

  // Returns null if a graph cannot have such arguments.
  std::unique_ptr<Module> Make() {
    auto module = std::make_unique<Module>();
    graph_ = module->AddGraph("forward");
    rank_ = Below(6);
    dtype_ = AnyOf<DType>({DType::kFloat32, DType::kFloat32, DType::kFloat32, DType::kFloat16,
                           DType::kInt64, DType::kInt32, DType::kUInt8, DType::kBool,
                           DType::kComplex64});
    Arena arena;
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    bool by_name = false;
    for (const SchemaArgument& parameter : schema_.arguments) {
      by_name |= parameter.keyword_only;
      const bool is_left_out = (parameter.has_default || parameter.type.optional) && Below(2) == 0;
      if (is_left_out && parameter.has_default) {
        by_name = true;
        continue;
      }
      const Argument value = is_left_out              ? Argument()
                             : parameter.type.is_list ? List(parameter, &arena)
                                                      : Value(parameter);
      if (by_name) {
        kwargs.push_back({parameter.name, value});
      } else {
        args.push_back(value);
      }
    }
    graph_->Output(Argument::Tuple({graph_->CallFunction(schema_.target, args, kwargs)}));
    return module;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  template <typename T>
  T AnyOf(std::initializer_list<T> values) {
    return values.begin()[Below(static_cast<int>(values.size()))];
  }

  Node* Tensor() {
    Node* place = graph_->Placeholder("x");
    TensorMeta meta;
    meta.has_shape = true;
    // Most tensors have one rank and dtype, and sizes that broadcast and multiply.
    meta.dtype = Below(4) > 0 ? dtype_
                              : AnyOf<DType>({DType::kFloat32, DType::kInt64, DType::kBool,
                                              DType::kFloat64, DType::kInt32});
    std::vector<Dim> shape;
    const int rank = Below(4) > 0 ? rank_ : Below(6);
    for (int i = 0; i < rank; ++i) shape.emplace_back(Below(4) > 0 ? 4 : AnyOf({1, 2, 8}));
    meta.shape = shape;
    place->set_meta(graph_->module()->InternValueMeta(meta));
    return place;
  }

  Argument Value(const SchemaArgument& parameter) {
    switch (parameter.type.kind) {
      case SchemaType::Kind::kTensor: return Tensor();
      case SchemaType::Kind::kInt:
        // Some kernels divide by numbers that are not dimensions, so these are not 0.
        return absl::StrContains(parameter.name, "dim") ? AnyOf({0, 1, 2, -1, -2})
                                                        : AnyOf({1, 1, 2, 3, 4});
      case SchemaType::Kind::kScalar:
        return Below(2) == 0 ? Argument(AnyOf({1, 2})) : Argument(0.5);
      case SchemaType::Kind::kFloat: return AnyOf({0.5, 1.0, 2.0});
      case SchemaType::Kind::kBool: return Below(2) == 0;
      case SchemaType::Kind::kDType:
        return AnyOf<DType>({DType::kFloat32, DType::kFloat64, DType::kInt64});
      case SchemaType::Kind::kString:
        return AnyOf<absl::string_view>({"ij,jk->ik", "...i,...i", "same", "mean", "constant"});
      default: return Argument();
    }
  }

  Argument List(const SchemaArgument& parameter, Arena* arena) {
    std::vector<Argument> elements;
    const int size = parameter.type.list_size > 0 ? parameter.type.list_size : Below(4);
    for (int i = 0; i < size; ++i) {
      const bool is_none = parameter.type.optional_elements && Below(3) == 0;
      elements.push_back(is_none ? Argument() : Value(parameter));
    }
    return Argument::List(arena->Copy(absl::MakeConstSpan(elements)));
  }

  const Schema& schema_;
  std::mt19937 random_;
  Graph* graph_ = nullptr;
  int rank_ = 0;
  DType dtype_ = DType::kFloat32;
};

// The inferred facts must agree with LibTorch's kernels for every operator.
TEST(TensorFactsTest, AgreeWithTheKernels) {
  constexpr int kCalls = 2000, kEnough = 40;
  FactsComparison comparison;
  std::string never;
  for (const Schema& schema : AllSchemas()) {
    const ResultRule& rule = ResultRuleOf(schema.name);
    const bool has_rule =
        rule.sizes != "-" || rule.rank.has_value() || rule.type != "-" || IsPointwise(schema);
    if (!schema.may_run || !has_rule) continue;  // No facts are inferred.
    RandomCalls calls(schema);
    int known = 0;
    for (int i = 0; i < kCalls && known < kEnough; ++i) {
      const std::unique_ptr<Module> module = calls.Make();
      if (!InferShapes(module.get(), {}).ok()) continue;
      comparison.Add(*module->main()->output()->args()[0].elements()[0].node());
      ++known;
    }
    if (known == 0) absl::StrAppend(&never, " ", schema.target);
  }
  for (const std::string& what : comparison.differences) ADD_FAILURE() << what;
  std::printf("%zu values equal, %zu in part, %zu unknown; never:%s\n", comparison.all.equal,
              comparison.all.partly, comparison.all.unknown, never.c_str());
}

// Every row names existing operators. Reading the table has checked its words.
TEST(TensorFactsTest, RowsNameExistingOperators) {
  for (const absl::string_view name : OperatorsWithRules())
    EXPECT_FALSE(FindSchemas(name).empty()) << name;
}

}  // namespace
}  // namespace graphnet

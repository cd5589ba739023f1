// Graphs that would read a file or out of bounds, or take all memory or time, end with an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/interp/executable.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/run_text.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

TEST(ExecutableTest, RefusesOperatorsThatReachOutside) {
  const auto status = RunText(
                          "graph @forward(%x) {\n  %a = torch.from_file(\"/etc/passwd\", False, "
                          "10)\n  return (%a,)\n}\n",
                          {at::ones({1})})
                          .status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("from_file (node a)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("reads a file, which needs --trust-files"));
}

TEST(ExecutableTest, RefusesOrGuardsUncheckedReads) {
  const auto fails = [](absl::string_view call, std::vector<c10::IValue> inputs) {
    return std::string(
        RunText(absl::StrCat("graph @forward(%x, %y) {\n  %a = ", call, "\n  return (%a,)\n}\n"),
                std::move(inputs))
            .status()
            .message());
  };
  const at::Tensor far = at::full({1, 2}, int64_t{1} << 40, at::kLong);
  EXPECT_THAT(fails("aten._sparse_coo_tensor_unsafe.default(%x, %y, [4])", {far, at::ones({2})}),
              HasSubstr("size is inconsistent with indices"));
  EXPECT_THAT(fails("torch.sparse_coo_tensor(%x, %y, [4])", {far, at::ones({2})}),
              HasSubstr("size is inconsistent with indices"));
  EXPECT_THAT(fails("torch._weight_norm(%x, %y, 0)", {at::ones({4096, 3}), at::ones({1, 1})}),
              HasSubstr("expected 4096 norms, not 1"));
  EXPECT_THAT(fails("torch._weight_norm(%x, %y, 7)", {at::ones({4, 3}), at::ones({4, 1})}),
              HasSubstr("there is no dimension 7"));
  EXPECT_EQ(fails("torch._weight_norm(%x, %y, 0)", {at::ones({4, 3}), at::ones({4, 1})}), "");
}

// A kernel that visits rows without columns takes no memory, but time.
TEST(ExecutableTest, RowsWithoutColumnsAreBounded) {
  for (const absl::string_view call :
       {"aten.adaptive_max_pool2d.default(%x, [1099511627776, 0])",
        "aten.adaptive_max_pool3d.default(%x, [1099511627776, 2, 0])"}) {
    const auto run =
        RunText(absl::StrCat("graph @forward(%x) {\n  %a = ", call, "\n  return (%a,)\n}\n"),
                {at::ones({2, 4, 4, 4})});
    EXPECT_THAT(run.status().message(), HasSubstr("an output of 1099511627776 empty rows"));
  }
  const auto few = RunText(
      "graph @forward(%x) {\n  %a = aten.adaptive_max_pool2d.default(%x, [4, 0])\n"
      "  return (%a,)\n}\n",
      {at::ones({2, 4, 4})});
  EXPECT_TRUE(few.ok()) << few.status();
}

// LibTorch makes sparse tensors of any indices, and reads and writes by them later.
TEST(ExecutableTest, ChecksIndicesOfSparseTensors) {
  const auto ints = [](const std::vector<int64_t>& values) {
    return at::tensor(values, at::kLong);
  };
  const auto run = [](absl::string_view call, const at::Tensor& outer, const at::Tensor& inner,
                      const at::Tensor& values) {
    return RunText(absl::StrCat("graph @forward(%c, %p, %v) {\n  %s = aten.", call,
                                ")\n  %w = aten.fill_.Scalar(%p, 7)\n"
                                "  %d = aten.to_dense.default(%s)\n  return (%d,)\n}\n"),
                   {outer.clone(), inner.clone(), values});
  };
  const at::Tensor values = at::arange(1, 4, at::kFloat);
  const at::Tensor blocks = values.view({3, 1, 1});
  const at::Tensor outer = ints({0, 1, 1, 3}), inner = ints({2, 0, 1});
  const at::Tensor by_rows =
      at::tensor({0., 0., 1., 0., 0., 0., 2., 3., 0.}, at::kFloat).view({3, 3});
  const struct {
    const char* call;
    at::Tensor values, expected;
  } cases[] = {
      {"sparse_csr_tensor.crow_col_value_size(%c, %p, %v, [3, 3]", values, by_rows},
      {"sparse_csr_tensor.crow_col_value(%c, %p, %v", values, by_rows},
      {"_sparse_csr_tensor_unsafe.default(%c, %p, %v, [3, 3]", values, by_rows},
      {"sparse_csc_tensor.ccol_row_value_size(%c, %p, %v, [3, 3]", values, by_rows.t()},
      {"sparse_csc_tensor.ccol_row_value(%c, %p, %v", values, by_rows.t()},
      {"_sparse_csc_tensor_unsafe.default(%c, %p, %v, [3, 3]", values, by_rows.t()},
      {"sparse_bsr_tensor.crow_col_value_size(%c, %p, %v, [3, 3]", blocks, by_rows},
      {"sparse_bsr_tensor.crow_col_value(%c, %p, %v", blocks, by_rows},
      {"_sparse_bsr_tensor_unsafe.default(%c, %p, %v, [3, 3]", blocks, by_rows},
      {"sparse_bsc_tensor.ccol_row_value_size(%c, %p, %v, [3, 3]", blocks, by_rows.t()},
      {"sparse_bsc_tensor.ccol_row_value(%c, %p, %v", blocks, by_rows.t()},
      {"_sparse_bsc_tensor_unsafe.default(%c, %p, %v, [3, 3]", blocks, by_rows.t()},
  };
  // torch.export writes the layout.
  for (const char* layout : {"sparse_coo", "sparse_csr"}) {
    const auto made = run(absl::StrCat("sparse_csr_tensor.crow_col_value_size(%c, %p, %v, [3, 3], "
                                       "layout = torch.",
                                       layout),
                          outer, inner, values);
    EXPECT_EQ(made.ok(), absl::string_view(layout) == "sparse_csr") << made.status();
  }
  const auto by_pairs = RunText(
      "graph @forward(%p, %v) {\n"
      "  %s = aten.sparse_coo_tensor.indices_size(%p, %v, [3, 3], dtype = torch.float32, layout = "
      "torch.sparse_coo, device = device(\"cpu\"), pin_memory = False)\n"
      "  %d = aten.to_dense.default(%s)\n  return (%d,)\n}\n",
      {ints({0, 2, 2, 2, 0, 1}).view({2, 3}), values});
  ASSERT_OK(by_pairs);
  EXPECT_TRUE(at::equal((*by_pairs)[0].toTensor(), by_rows));
  EXPECT_FALSE(RunText("graph @forward(%v) {\n  %s = aten.zeros.default([3], layout = "
                       "torch.sparse_coo)\n  return (%v,)\n}\n",
                       {values})
                   .ok());
  for (const auto& test : cases) {
    SCOPED_TRACE(test.call);
    // A later write to the indices does not reach the tensor.
    const auto made = run(test.call, outer, inner, test.values);
    ASSERT_OK(made);
    EXPECT_TRUE(at::equal((*made)[0].toTensor(), test.expected)) << (*made)[0].toTensor();
    const bool has_size = absl::StrContains(test.call, "[3, 3]");
    const std::pair<at::Tensor, at::Tensor> hostile[] = {
        {ints({0, 1, 100, 3}), inner}, {ints({0, 1, 0, 3}), inner},
        {ints({0, 1, 1, 300}), inner}, {ints({-1, 1, 1, 3}), inner},
        {outer, ints({-2, 0, 1})},     {ints({0, 1, 3}), inner},
        {outer, ints({2, 0, 100})},    {outer, ints({2, 0})},
        {outer.view({1, 4}), inner},   {at::zeros({0}, at::kLong), inner}};
    for (const auto& [wrong_outer, wrong_inner] : hostile) {
      // Without a size, these two describe other tensors.
      const bool may_be_fine =
          !has_size && (wrong_inner.equal(ints({2, 0, 100})) || wrong_outer.equal(ints({0, 1, 3})));
      if (!may_be_fine) {
        EXPECT_FALSE(run(test.call, wrong_outer, wrong_inner, test.values).ok())
            << wrong_outer << wrong_inner;
      }
    }
  }
}

// Kernels of some operators of core ATen do not check their operands. Each of these operators runs,
// but operands that would make it read out of bounds are refused.
TEST(ExecutableTest, GuardsUncheckedOperandsOfCoreAten) {
  const auto fails = [](absl::string_view call, std::vector<c10::IValue> inputs) {
    return std::string(
        RunText(absl::StrCat("graph @forward(%x, %y) {\n  %a = ", call, "\n  return (%a,)\n}\n"),
                std::move(inputs))
            .status()
            .message());
  };
  const at::Tensor real = at::rand({3, 4}), complex = at::rand({3, 4}, at::kComplexFloat);
  const auto ints = [](const std::vector<int64_t>& values) {
    return at::tensor(values, at::kLong);
  };
  const auto rows = [&](const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    return at::stack({ints(a), ints(b)});
  };
  const struct {
    const char* call;
    std::vector<c10::IValue> inputs;
    const char* error;  // empty if it runs
  } cases[] = {
      {"aten._fft_r2c.default(%x, [1], 0, True)", {real, real}, ""},
      {"aten._fft_r2c.default(%x, [1, 0], 2, False)", {real, real}, ""},
      {"aten._fft_r2c.default(%x, [2], 0, True)", {real, real}, "there is no dimension 2"},
      {"aten._fft_r2c.default(%x, [-1], 0, True)", {real, real}, "there is no dimension -1"},
      {"aten._fft_r2c.default(%x, [], 0, True)", {real, real}, "expected a dimension"},
      {"aten._fft_r2c.default(%x, [1, 1], 0, True)", {real, real}, "occurs twice"},
      {"aten._fft_r2c.default(%x, [1], 7, True)", {real, real}, "no normalization 7"},
      {"aten._fft_r2c.default(%x, [1], 0, True)", {at::ones({3, 0}), real}, "at least one element"},
      {"aten._fft_c2c.default(%x, [0, 1], 0, True)", {complex, real}, ""},
      {"aten._fft_c2c.default(%x, [9], 0, True)", {complex, real}, "there is no dimension 9"},
      {"aten._fft_c2r.default(%x, [1], 0, 6)", {complex, real}, ""},
      {"aten._fft_c2r.default(%x, [1], 0, 7)", {complex, real}, ""},
      {"aten._fft_c2r.default(%x, [1], 0, 8)",
       {complex, real},
       "expected 5 elements for a size of 8"},
      {"aten._fft_c2r.default(%x, [1], 0, 0)", {complex, real}, "for a size of 0"},
      {"aten.native_batch_norm.default(%x, None, None, None, None, True, 0.1, 1e-05)",
       {real, real},
       ""},
      {"aten.native_batch_norm.default(%x, None, None, %y, %y, False, 0.1, 1e-05)",
       {real, at::ones({4})},
       ""},
      {"aten.native_batch_norm.default(%x, None, None, %y, %y, False, 0.1, 1e-05)",
       {real, at::ones({3})},
       "expected 4 elements in running_mean, not 3"},
      {"aten.native_batch_norm.default(%x, %y, None, None, None, True, 0.1, 1e-05)",
       {real, at::ones({1})},
       "expected 4 elements in weight, not 1"},
      {"aten.native_batch_norm.default(%x, None, None, None, None, False, 0.1, 1e-05)",
       {real, real},
       "are needed outside of training"},
      {"aten._native_batch_norm_legit.no_stats(%x, None, None, True, 0.1, 1e-05)",
       {real, real},
       ""},
      {"aten._native_batch_norm_legit.no_stats(%x, None, None, False, 0.1, 1e-05)",
       {real, real},
       "are needed outside of training"},
      {"aten._native_batch_norm_legit.no_stats(%x, None, None, True, 0.1, 1e-05)",
       {at::ones({3}), real},
       "expected an input of 2 dimensions"},
      {"aten._embedding_bag.default(%x, %y, %y)", {real, ints({0, 2})}, ""},
      {"aten._embedding_bag_forward_only.default(%x, %y, %y)", {real, ints({0, 1})}, ""},
      {"aten._embedding_bag.default(%x, %y, %y)", {real, ints({0, 3})}, "an index is out of range"},
      {"aten._embedding_bag.default(%x, %y, %y)",
       {real, ints({0, -1})},
       "an index is out of range"},
      {"aten._embedding_bag.default(%x, %y, %y)", {real, ints({0, 2, 1})}, "offsets decrease"},
      {"aten._embedding_bag.default(%x, %y, %y, False, 7)", {real, ints({0, 1})}, "no mode 7"},
      {"aten.embedding_bag.default(%x, %y, %y)", {real, ints({0, 3})}, "an index is out of range"},
      {"aten._embedding_bag.default(%x, %x, %y)", {real, ints({0})}, "be int32 or int64"},
      // Bags of quantised tables. A row of 12 numbers has 12, 6 or 3 bytes and those of parameters.
      {"quantized.embedding_bag_byte_rowwise_offsets.default(%x, %y, %y)",
       {at::ones({3, 20}, at::kByte), ints({0, 2})},
       ""},
      {"quantized.embedding_bag_4bit_rowwise_offsets.default(%x, %y, %y)",
       {at::ones({3, 10}, at::kByte), ints({0, 2})},
       ""},
      {"quantized.embedding_bag_2bit_rowwise_offsets.default(%x, %y, %y)",
       {at::ones({3, 7}, at::kByte), ints({0, 2})},
       ""},
      {"quantized.embedding_bag_byte_rowwise_offsets.default(%x, %y, %y)",
       {at::ones({3, 20}, at::kByte), ints({0, 3})},
       "an index is out of range"},
      {"quantized.embedding_bag_4bit_rowwise_offsets.default(%x, %y, %y)",
       {at::ones({9, 10}, at::kByte), ints({0, 3})},
       "an offset is out of range"},
      {"quantized.embedding_bag_2bit_rowwise_offsets.default(%x, %y, %y)",
       {at::ones({9, 7}, at::kByte), ints({0, 2, 1})},
       "offsets decrease"},
      {"quantized.embedding_bag_byte_rowwise_offsets.default(%x, %y, %y)",
       {at::ones({3, 8}, at::kByte), ints({0, 2})},
       "whose rows end with 8 bytes"},
      {"quantized.embedding_bag_4bit_rowwise_offsets.default(%x, %y, %y)",
       {at::ones({3, 4}, at::kByte), ints({0, 2})},
       "whose rows end with 4 bytes"},
      {"quantized.embedding_bag_byte_rowwise_offsets.default(%x, %y)",
       {at::ones({3, 20}, at::kByte), ints({0, 2})},
       "indices and offsets"},
      {"quantized.embedding_bag_byte_rowwise_offsets.default(%x, %y, %y, False, 0, True)",
       {at::ones({3, 20}, at::kByte), ints({0, 2})},
       "pruned tables"},
      {"quantized.embedding_bag_byte_rowwise_offsets.default(%x, %y, %y, False, 0, False, %x)",
       {at::ones({3, 20}, at::kByte), ints({0, 2})},
       "a per_sample_weight of type float32"},
      // Sparse tensors. The indices are a row for each dimension.
      {"aten.sparse_coo_tensor.indices_size(%y, %x, [3, 3])",
       {at::ones({2}), rows({0, 2}, {1, 2})},
       ""},
      {"aten.sparse_coo_tensor.indices(%y, %x)", {at::ones({2}), rows({0, 2}, {1, 2})}, ""},
      {"aten.sparse_coo_tensor.indices_size(%y, %x, [3, 3])",
       {at::ones({2}), rows({0, 3}, {1, 2})},
       "but found index 3"},
      {"aten.sparse_coo_tensor.indices_size(%y, %x, [3, 3])",
       {at::ones({2}), rows({0, -1}, {1, 2})},
       "negative index"},
      {"aten.sparse_coo_tensor.indices(%y, %x)",
       {at::ones({2}), rows({0, -1}, {1, 2})},
       "negative index"},
      {"aten.sparse_coo_tensor.indices_size(%y, %x, [3, 3])",
       {at::ones({3}), rows({0, 2}, {1, 2})},
       "must have same nnz"},
      {"aten._sparse_coo_tensor_unsafe.default(%y, %x, [3, 3])",
       {at::ones({2}), rows({0, 9}, {1, 2})},
       "but found index 9"},
      {"aten._sparse_coo_tensor_with_dims_and_tensors.default(2, 0, [3, 3], %y, %x)",
       {at::ones({2}), rows({0, 9}, {1, 2})},
       "but found index 9"},
      {"aten._sparse_coo_tensor_with_dims_and_tensors.default(1, 0, [3], %y, %x)",
       {at::ones({2}), rows({0, 2}, {1, 2})},
       "a row of indices for each sparse dimension"},
      {"aten._jagged_to_padded_dense_forward.default(%x, [%y], [3])",
       {at::ones({4, 2}), ints({0, 1, 4})},
       ""},
      {"aten._jagged_to_padded_dense_forward.default(%x, [%y], [2])",
       {at::ones({4, 2}), ints({0, 1, 4})},
       ""},
      {"aten._jagged_to_padded_dense_forward.default(%x, [%y], [3])",
       {at::ones({4, 2}), ints({0, 1, 5})},
       "an offset is out of range"},
      {"aten._jagged_to_padded_dense_forward.default(%x, [%y], [3])",
       {at::ones({4, 2}), ints({-1, 1, 4})},
       "an offset is out of range"},
      {"aten._jagged_to_padded_dense_forward.default(%x, [%y], [3])",
       {at::ones({4, 2}), ints({0, 4, 1})},
       "offsets decrease"},
      {"aten._jagged_to_padded_dense_forward.default(%x, [%y], [-3])",
       {at::ones({4, 2}), ints({0, 1, 4})},
       "a length is negative"},
      {"aten._jagged_to_padded_dense_forward.default(%x, [%x], [3])",
       {at::ones({4}), ints({0})},
       "be int32 or int64"},
  };
  for (const auto& test : cases) {
    const std::string error = fails(test.call, test.inputs);
    if (*test.error == 0) {
      EXPECT_EQ(error, "") << test.call;
    } else {
      EXPECT_THAT(error, HasSubstr(test.error)) << test.call;
    }
  }
}

// Lists and strings that double with each call end with an error before memory runs out.
TEST(ExecutableTest, SequencesThatGrowAreBounded) {
  const auto doubled = [](absl::string_view first, absl::string_view step, absl::string_view last) {
    std::string text = absl::StrCat("graph @forward(%x) {\n  %v0 = ", first, "\n");
    for (int i = 1; i <= 40; ++i) {
      absl::StrAppend(&text, "  %v", i, " = ",
                      absl::StrReplaceAll(step, {{"V", absl::StrCat("%v", i - 1)}}), "\n");
    }
    absl::StrAppend(&text, "  %o = ", absl::StrReplaceAll(last, {{"V", "%v40"}}),
                    "\n  return (%x, %o)\n}\n");
    return std::string(RunText(text, {at::ones({2})}).status().message());
  };
  EXPECT_THAT(doubled("prim.ListConstruct(1, 2)", "operator.add(V, V)", "builtins.len(V)"),
              HasSubstr("a sequence of 1048576 elements"));
  EXPECT_THAT(doubled("operator.add(\"ab\", \"cd\")", "operator.add(V, V)", "builtins.len(V)"),
              HasSubstr("a text of "));
  for (const char* step : {"aten.add.str(V, V)", "aten.format.default(\"{}, {}\", V, V)",
                           "aten.join.default(V, %l)", "aten.replace.default(V, \"a\", V, -1)"}) {
    EXPECT_THAT(
        doubled("aten.str.default(\"aaaaaaaa\")\n  %l = prim.ListConstruct(\"a\", \"a\", \"a\")",
                step, "aten.len.str(V)"),
        HasSubstr("a text of more than 1000000 characters"))
        << step;
  }
  EXPECT_THAT(doubled("prim.ListConstruct(1)", "prim.ListConstruct(V, V)", "operator.eq(V, V)"),
              HasSubstr("sequences of more than 10000000 elements are compared"));
  for (const char* text : {"aten.str.default(V)", "aten.format.default(\"{}\", V)"}) {
    EXPECT_THAT(doubled("prim.ListConstruct(1)", "prim.ListConstruct(V, V)", text),
                HasSubstr("a text of more than 1000000 characters"))
        << text;
  }
  EXPECT_THAT(doubled("prim.ListConstruct(1)", "prim.ListConstruct(V, V)", "torch.tensor(V)"),
              HasSubstr("a tensor of lists with more than 10000000 elements"));
}

// PyTorch frees values by recursion, so 100,000 nested tuples overflowed the stack.
TEST(ExecutableTest, NestingOfSequencesIsBounded) {
  const auto nested = [](absl::string_view before, absl::string_view after, int depth) {
    std::string text = "graph @forward(%v0) {\n";
    for (int i = 0; i < depth; ++i)
      absl::StrAppend(&text, "  %v", i + 1, " = ", before, "%v", i, after, ")\n");
    return absl::StrCat(text, "  return (%v0,)\n}\n");
  };
  for (const auto& [before, after] :
       std::vector<std::pair<std::string, std::string>>{{"prim.TupleConstruct(", ""},
                                                        {"prim.ListConstruct(", ""},
                                                        {"prim.DictConstruct(\"a\", ", ""},
                                                        {"operator.add((), (", ",)"}}) {
    EXPECT_TRUE(RunText(nested(before, after, 200), {at::ones({2})}).ok()) << before;
    EXPECT_THAT(
        std::string(RunText(nested(before, after, 100'000), {at::ones({2})}).status().message()),
        HasSubstr("a value nests deeper than 200"))
        << before;
  }
}

}  // namespace
}  // namespace graphnet

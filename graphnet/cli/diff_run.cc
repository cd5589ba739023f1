#include "graphnet/cli/diff_run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "CLI/CLI.hpp"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/torch/tensors.h"

namespace graphnet {
namespace {

struct Options {
  std::string a;
  std::string b;
  InputOptions inputs;
  uint64_t seed = 0;
  int threads = 0;
  bool trust = false;
};

// What a value is, in a number; 0 for what is no tensor.
absl::StatusOr<size_t> Digest(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return 0;
  ASSIGN_OR_RETURN(const TensorData data, ToTensorData(value.toTensor()));
  return absl::HashOf(data.dtype, data.shape, absl::string_view(*data.bytes)) | 1;
}

// Whether it is a batched value of a level of vmap that is open: it has no memory to
// compare.
bool IsBatched(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && !value.toTensor().has_storage();
}

using Values = std::map<std::string, TensorData>;

absl::StatusOr<std::vector<c10::IValue>> RunOne(const Module& module, Values values, uint64_t seed,
                                                const Observer& observer) {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(module, std::move(values)));
  return prepared.executable->Run(std::move(prepared.inputs), {.seed = seed, .observer = observer});
}

// Prints one line on two outputs; whether they are bit for bit the same.
absl::StatusOr<bool> CompareOutput(size_t i, const c10::IValue& a, const c10::IValue& b) {
  if (!a.isTensor() || !b.isTensor()) {
    const bool same = a.tagKind() == b.tagKind() && (a.isNone() || a == b);
    std::printf("o%-3zu %s\n", i, same ? "equal" : "DIFFERENT, not tensors");
    return same;
  }
  ASSIGN_OR_RETURN(const size_t x, Digest(a));
  ASSIGN_OR_RETURN(const size_t y, Digest(b));
  const at::Tensor& s = a.toTensor();
  const at::Tensor& t = b.toTensor();
  if (x == y) {
    std::printf("o%-3zu bit-equal\n", i);
    return true;
  }
  if (s.sizes() != t.sizes() || s.scalar_type() != t.scalar_type()) {
    std::printf("o%-3zu DIFFERENT in shape or dtype\n", i);
    return false;
  }
  const at::Tensor difference = at::sub(s.to(at::kDouble), t.to(at::kDouble)).abs();
  std::printf("o%-3zu DIFFERENT: at most %.3g, on average %.3g, in %lld of %lld elements\n", i,
              difference.max().item<double>(), difference.mean().item<double>(),
              static_cast<long long>(s.ne(t).sum().item<int64_t>()),
              static_cast<long long>(s.numel()));
  return false;
}

absl::StatusOr<int> Run(const Options& options) {
  SetNumThreads(options.threads);
  ASSIGN_OR_RETURN(Sample a, LoadSample(options.a, {.trust = options.trust, .weights = true}));
  ASSIGN_OR_RETURN(Sample b, LoadSample(options.b, {.trust = options.trust, .weights = true}));
  std::vector<std::string> names = NamesOfValues(a);
  const std::vector<std::string> more = NamesOfValues(b);
  names.insert(names.end(), more.begin(), more.end());
  ASSIGN_OR_RETURN(const Values given, ReadValues(options.inputs.file, names));
  for (auto& [name, data] : given) a.weights[name] = b.weights[name] = data;
  DrawOptions draw;
  draw.seed = options.seed;
  ASSIGN_OR_RETURN(Values values_a, ReadInputs({.words = options.inputs.words}, draw, &a));
  // Both get the same: what b has another value for only is drawn by its own metas.
  for (const auto& [name, data] : values_a) b.weights[name] = data;
  ASSIGN_OR_RETURN(Values values_b, DrawInputs(b, draw));

  absl::flat_hash_map<std::string, size_t> digests;
  const Observer remember = [&](const Node& node, const c10::IValue& value) -> absl::Status {
    if (IsBatched(value)) return absl::OkStatus();
    ASSIGN_OR_RETURN(digests[std::string(node.name())], Digest(value));
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const auto out_a,
                   RunOne(*a.module, std::move(values_a), options.seed, remember));
  size_t common = 0;
  size_t different = 0;
  std::string first;
  const Observer compare = [&](const Node& node, const c10::IValue& value) -> absl::Status {
    const auto it = digests.find(std::string(node.name()));
    if (it == digests.end() || IsBatched(value)) return absl::OkStatus();
    ++common;
    ASSIGN_OR_RETURN(const size_t digest, Digest(value));
    if (digest == it->second) return absl::OkStatus();
    if (++different == 1) first = absl::StrCat(node.name(), " = ", node.target());
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const auto out_b, RunOne(*b.module, std::move(values_b), options.seed, compare));
  std::printf("%zu values of one name, %zu of them different\n", common, different);
  if (different > 0) std::printf("first difference: %s\n", first.c_str());
  bool same = out_a.size() == out_b.size();
  if (!same) std::printf("%zu outputs and %zu\n", out_a.size(), out_b.size());
  for (size_t i = 0; i < std::min(out_a.size(), out_b.size()); ++i) {
    ASSIGN_OR_RETURN(const bool equal, CompareOutput(i, out_a[i], out_b[i]));
    same = same && equal;
  }
  if (same && different > 0) {
    std::printf(
        "note: values differ inside, and no output shows it: with these values the outputs do not "
        "depend on them. Try --input, which draws values that reach further, or --seed\n");
  }
  return same ? 0 : 1;
}

}  // namespace

void RegisterDiffRun(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("diff-run", "Run two graphs on the same inputs and compare");
  command->add_option("a", options->a, "The first graph")->required();
  command->add_option("b", options->b, "The second graph")->required();
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  AddSeedOption(command, &options->seed);
  AddThreadsOption(command, &options->threads);
  AddTrustOption(command, &options->trust);
  command->callback([options, run] { *run = [options] { return Run(*options); }; });
}

}  // namespace graphnet

#include "graphnet/evaluate/bench_rewrite.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/compose.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

constexpr absl::string_view kPass = "pass:";
constexpr absl::string_view kDecompose = "decompose:";

// Returns the pipeline in ParsePipeline's syntax. A "+" within braces stays: it separates a list
// there.
std::string PipelineText(absl::string_view text) {
  std::string made;
  int depth = 0;
  for (const char c : text) {
    if (c == '{') ++depth;
    if (c == '}') --depth;
    made.push_back(depth == 0 && c == '+' ? ',' : depth > 0 && c == ';' ? ',' : c);
  }
  return made;
}

struct Scheme {
  absl::string_view name;
  DecomposeMode mode;
  bool takes_number;
};
constexpr Scheme kSchemes[] = {
    {"balanced", DecomposeMode::kBalanced, true},    {"blocks", DecomposeMode::kBlocks, false},
    {"by-module", DecomposeMode::kModulePath, true}, {"every", DecomposeMode::kFixedSize, true},
    {"pieces", DecomposeMode::kEqual, true},         {"single-op", DecomposeMode::kSingleOp, false},
};

// Parses "pieces=3".
absl::StatusOr<DecomposeConfig> ParseScheme(absl::string_view text) {
  const size_t end = text.find('=');
  const absl::string_view name = text.substr(0, end);
  const auto* const scheme =
      absl::c_find_if(kSchemes, [&](const Scheme& known) { return known.name == name; });
  if (scheme == std::end(kSchemes)) {
    std::vector<absl::string_view> names;
    for (const Scheme& known : kSchemes) names.push_back(known.name);
    const std::string hint = NearMissHint(name, names);
    return absl::InvalidArgumentError(
        absl::StrCat("there is no scheme ", Printable(name),
                     hint.empty() ? absl::StrCat("; ", absl::StrJoin(names, ", ")) : hint));
  }
  DecomposeConfig config;
  config.mode = scheme->mode;
  if (!scheme->takes_number) {
    if (end == absl::string_view::npos) return config;
    return absl::InvalidArgumentError(absl::StrCat("scheme ", name, " takes no number"));
  }
  if (end == absl::string_view::npos || !absl::SimpleAtoi(text.substr(end + 1), &config.number) ||
      config.number < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("scheme ", name, " takes a number of at least 1: ", name, "=3"));
  }
  return config;
}

absl::Status DecomposeAndCompose(const DecomposeConfig& config, Sample* sample) {
  ASSIGN_OR_RETURN(const Decomposition made, Decompose(*sample, config));
  ASSIGN_OR_RETURN(std::unique_ptr<Module> composed,
                   made.config.cut.style == Style::kChain
                       ? ComposeChain(made.pieces, sample->module.get())
                       : ComposeDag(made.pieces, sample->module.get()));
  sample->module = std::move(composed);
  return absl::OkStatus();
}

}  // namespace

bool IsRewriteName(absl::string_view name) {
  return absl::StartsWith(name, kPass) || absl::StartsWith(name, kDecompose);
}

absl::StatusOr<Rewriter> RewriterOf(absl::string_view name) {
  absl::string_view rest = name;
  if (absl::ConsumePrefix(&rest, kPass)) {
    absl::StatusOr<Pipeline> pipeline = ParsePipeline(PipelineText(rest));
    if (!pipeline.ok())
      return Annotate(pipeline.status(), absl::StrCat("backend ", Printable(name)));
    return [steps = *std::move(pipeline)](Sample* sample) {
      return RunPipeline(steps, sample).status();
    };
  }
  absl::ConsumePrefix(&rest, kDecompose);
  absl::StatusOr<DecomposeConfig> config = ParseScheme(rest);
  if (!config.ok()) return Annotate(config.status(), absl::StrCat("backend ", Printable(name)));
  return
      [scheme = *std::move(config)](Sample* sample) { return DecomposeAndCompose(scheme, sample); };
}

}  // namespace graphnet

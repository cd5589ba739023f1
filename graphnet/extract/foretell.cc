#include "graphnet/extract/foretell.h"

#include <utility>

#include "graphnet/base/status.h"
#include "graphnet/extract/break_rules.h"
#include "graphnet/extract/foreteller.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/interp/torch/status.h"

namespace graphnet {
namespace {

using extract::Foreteller;

SourcePlace PlaceOf(const extract::StepPlan& step) {
  const torchscript::Place& place = extract::PlaceOfStep(step);
  return {place.file, static_cast<int64_t>(place.line), static_cast<int64_t>(place.column),
          extract::SourceLineOf(step)};
}

// Keeps one break for each place and reason: the one with the fewest conditions.
std::vector<ForetoldBreak> ByPlace(const std::vector<Foreteller::Found>& all) {
  std::vector<ForetoldBreak> breaks;
  std::map<std::tuple<std::string, int64_t, int64_t, BreakReason>, size_t> by_place;
  for (const Foreteller::Found& found : all) {
    ForetoldBreak told = {found.reason, found.op, PlaceOf(*found.step), {}};
    for (const Foreteller::Condition& condition : found.conditions)
      told.conditions.push_back({condition.kind, condition.on_data, PlaceOf(*condition.step)});
    const SourcePlace& place = told.place;
    const auto [it, is_new] =
        by_place.try_emplace({place.file, place.line, place.column, told.reason}, breaks.size());
    if (is_new) {
      breaks.push_back(std::move(told));
    } else if (told.conditions.size() < breaks[it->second].conditions.size()) {
      breaks[it->second] = std::move(told);
    }
  }
  return breaks;
}

}  // namespace

absl::StatusOr<ForetoldBreaks> ForetellBreaks(const torch::jit::Module& module,
                                              const CaptureOptions& options) {
  return Guarded([&]() -> absl::StatusOr<ForetoldBreaks> {
    ASSIGN_OR_RETURN(torch::jit::GraphFunction* const function,
                     FindTorchScriptMethod(module, options.method, "foretell"));
    if (options.max_unroll < 1) return absl::InvalidArgumentError("max_unroll must be at least 1");
    function->ensure_defined();
    Foreteller foreteller(options);
    ASSIGN_OR_RETURN(const bool completes, foreteller.Run(module, *function));
    return ForetoldBreaks{ByPlace(foreteller.found()), !completes};
  });
}

}  // namespace graphnet

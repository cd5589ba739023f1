#include "graphnet/shard/report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/rounding.h"
#include "graphnet/shard/reshard.h"

namespace graphnet {
namespace {

bool IsDivided(const spmd::LaidOutTensor& tensor) { return !tensor.sharding.is_replicated(); }

// Number of calls and bytes over all links, for one collective.
struct Collective {
  int64_t times = 0;
  int64_t bytes = 0;
};
std::map<std::string, Collective> CollectivesOf(const spmd::ShardPlan& plan) {
  std::map<std::string, Collective> collective;
  for (const spmd::Communication& communication : plan.communication) {
    Collective& row = collective[std::string(spmd::ReshardKindName(communication.step.kind))];
    ++row.times;
    row.bytes += communication.step.bytes_per_link * communication.step.num_links;
  }
  return collective;
}

const char* StateName(RankOutput::State state) {
  switch (state) {
    case RankOutput::State::kBitEqual: return "bit-equal";
    case RankOutput::State::kClose: return "close";
    case RankOutput::State::kDifferent: return "different";
  }
  return "";
}

}  // namespace

Report ReportOf(const spmd::ShardPlan& plan) {
  Report report;
  std::string meshes = absl::StrCat("mesh ", spmd::MeshName(plan.meshes[0].mesh));
  if (plan.meshes.size() == 1) {
    report.Add("mesh", spmd::MeshName(plan.meshes[0].mesh));
  } else {
    Json names = Json::Object();
    for (const auto& [name, mesh] : plan.meshes) names[name] = spmd::MeshName(mesh);
    report.Add("meshes", std::move(names));
    meshes = absl::StrCat("meshes ",
                          absl::StrJoin(plan.meshes, ", ", [](std::string* out, const auto& m) {
                            absl::StrAppend(out, Printable(m.name), "=", spmd::MeshName(m.mesh));
                          }));
  }
  const int64_t inputs = absl::c_count_if(plan.inputs, IsDivided);
  const int64_t outputs = absl::c_count_if(plan.outputs, IsDivided);
  report.Add("ranks", plan.num_ranks());
  report.Add("num_inputs", plan.inputs.size());
  report.Add("divided_inputs", inputs);
  report.Add("num_outputs", plan.outputs.size());
  report.Add("divided_outputs", outputs);
  report.Say(absl::StrCat(meshes, ": ", plan.num_ranks(), " ranks, ", inputs, " of ",
                          plan.inputs.size(), " inputs divided, ", outputs, " of ",
                          plan.outputs.size(), " outputs"));
  Table communication = {{"call", "communication"}, {"times", "times"}, {"bytes", "bytes"}};
  communication.set_form({.by_name = true});
  for (const auto& [call, row] : CollectivesOf(plan))
    communication.Add({call, row.times, row.bytes});
  report.Add("communication", std::move(communication));
  Table replicated = {{"target"}, {"times"}};
  replicated.set_form({.by_name = true});
  for (const auto& [target, times] : plan.replicated) {
    replicated.Add({target, times});
    report.Say(absl::StrCat("whole on each rank: ", Printable(target), ", ", times, " times"));
  }
  report.Add("replicated", std::move(replicated));
  return report;
}

Report ReportOf(const RankOutput& output) {
  const bool same = output.state != RankOutput::State::kDifferent;
  Report report;
  report.Add("name", output.name);
  report.Add("state", StateName(output.state));
  report.Add("max_difference", output.max_difference);
  if (!output.how.empty()) report.Add("how", output.how);
  if (output.rounding.has_value()) {
    report.Add("rounding", RoundingVerdictName(output.rounding->verdict));
    report.Add("rounding_ratio", output.rounding->ratio);
  }
  if (!output.blind.empty()) report.Add("blind", output.blind);
  report.Say(
      absl::StrFormat(
          "%-4s %s%s%s%s%s", Printable(output.name), same ? StateName(output.state) : "DIFFERENT",
          output.how.empty() ? "" : ", ", Printable(output.how, 1000),
          output.rounding.has_value() ? absl::StrCat("; ", output.rounding->Text()) : "",
          output.blind.empty() ? ""
                               : absl::StrCat(", but blind: ", output.blind, " would have passed")),
      same ? Tone::kGood : Tone::kBad);
  if (output.elements.empty()) return report;
  report.Add("shape", Json::List(output.shape));
  report.Add("elements", Json::List(output.elements));
  // Print one line per row of the last dimension.
  const size_t width =
      output.shape.empty() ? 1 : static_cast<size_t>(std::max<int64_t>(output.shape.back(), 1));
  for (size_t i = 0; i < output.elements.size(); i += width) {
    const auto row = absl::MakeConstSpan(output.elements).subspan(i, width);
    report.Say(absl::StrCat("     ", absl::StrJoin(row, " ")));
  }
  return report;
}

}  // namespace graphnet

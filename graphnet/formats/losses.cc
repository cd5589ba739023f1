#include "graphnet/formats/losses.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/report.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node.h"

namespace graphnet {
namespace {

bool SaysSomething(const DrawSpec* spec) {
  return spec != nullptr && (spec->has_mean || spec->has_std || !spec->data.is_none() ||
                             !spec->min.is_none() || !spec->max.is_none());
}

std::string Plural(size_t count, absl::string_view what, absl::string_view behind = "") {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s", behind);
}

}  // namespace

void Losses::Add(const Losses& other) {
  weights += other.weights;
  weight_bytes += other.weight_bytes;
  metas += other.metas;
  module_paths += other.module_paths;
  annotations += other.annotations;
  draw_specs += other.draw_specs;
  samples += other.samples;
  drawn_inputs += other.drawn_inputs;
  drawn_samples += other.drawn_samples;
}

std::string Losses::Text() const {
  std::vector<std::string> parts;
  if (weights > 0) {
    parts.push_back(Plural(weights, "weight",
                           absl::StrCat(" (", BytesText(static_cast<int64_t>(weight_bytes)), ")")));
  }
  if (metas > 0) parts.push_back(Plural(metas, "shape", " of values"));
  if (module_paths > 0) parts.push_back(Plural(module_paths, "module path"));
  if (annotations > 0) parts.push_back(Plural(annotations, "annotation", " of types"));
  if (draw_specs > 0) parts.push_back(Plural(draw_specs, "record", " of how inputs are drawn"));
  return absl::StrJoin(parts, ", ");
}

void Losses::AddTo(Report* sample) const {
  if (drawn_inputs > 0) sample->Add("drawn_inputs", drawn_inputs);
  if (!any()) return;
  Report lost;
  const auto add = [&](const char* key, uint64_t count) {
    if (count > 0) lost.Add(key, count);
  };
  add("weights", weights);
  if (weights > 0) lost.Add("weight_bytes", weight_bytes);
  add("metas", metas);
  add("module_paths", module_paths);
  add("annotations", annotations);
  add("draw_specs", draw_specs);
  sample->Add("lost", std::move(lost));
}

Losses LossesOf(const Sample& sample, const Lacks& lacks) {
  Losses losses;
  if (lacks.weights) {
    losses.weights = sample.weights.size();
    for (const auto& [name, data] : sample.weights)
      losses.weight_bytes += data.bytes == nullptr ? 0 : data.bytes->size();
  }
  const Graph* const main = sample.module->main();
  for (const Graph* graph : sample.module->graphs()) {
    for (const Node* node : graph->nodes()) {
      const bool is_input = graph == main && node->is_placeholder();
      const bool is_attribute = node->op() == Op::kGetAttr;
      const bool lacks_meta = is_input ? lacks.input_metas : lacks.metas && !is_attribute;
      if (lacks_meta && node->meta() != nullptr) ++losses.metas;
      if (lacks.module_paths && !node->module_path().empty()) ++losses.module_paths;
      if (lacks.annotations && !node->is_placeholder() && !node->annotation().empty())
        ++losses.annotations;
      const bool is_lost = graph == main ? lacks.draw_specs : lacks.draw_specs_of_bodies;
      if (is_lost && SaysSomething(node->draw_spec())) ++losses.draw_specs;
    }
  }
  for (const Attribute& attribute : sample.module->attributes()) {
    // Kept values replace their draw spec.
    if (lacks.draw_specs && SaysSomething(attribute.draw_spec) &&
        !sample.weights.contains(std::string(attribute.name)))
      ++losses.draw_specs;
  }
  losses.samples = losses.Text().empty() ? 0 : 1;
  return losses;
}

}  // namespace graphnet

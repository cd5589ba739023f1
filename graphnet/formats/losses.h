// Counts the parts of a sample that an output format cannot hold.
#ifndef GRAPHNET_FORMATS_LOSSES_H_
#define GRAPHNET_FORMATS_LOSSES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "graphnet/base/report.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct Losses {
  size_t weights = 0;  // weights with known values
  uint64_t weight_bytes = 0;
  size_t metas = 0;         // shapes and dtypes of values
  size_t module_paths = 0;  // of nodes
  size_t annotations = 0;   // types of values that are no inputs
  size_t draw_specs = 0;    // of inputs and attributes
  size_t samples = 0;       // samples that lose something

  size_t drawn_inputs = 0;   // example inputs that are not lost but were never known
  size_t drawn_samples = 0;  // samples that have some

  void Add(const Losses& other);
  bool any() const { return samples > 0; }
  // Returns "2 weights (1.5 MiB), 30 shapes of values, 4 module paths"; empty if nothing is lost.
  std::string Text() const;
  // Adds "lost" to a report, for JSON alone, if anything is lost, and drawn_inputs if there are any.
  void AddTo(Report* sample) const;
};

// Returns what a format that lacks these things loses of a sample.
Losses LossesOf(const Sample& sample, const Lacks& lacks);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_LOSSES_H_

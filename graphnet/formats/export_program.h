// The program that torch.export would make of a sample, in the forms that compilers read.
#ifndef GRAPHNET_FORMATS_EXPORT_PROGRAM_H_
#define GRAPHNET_FORMATS_EXPORT_PROGRAM_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/mlir/exporter.h"
#include "graphnet/formats/pt2/exporter.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Each counts in `missing`, if it is there, all that it cannot write, as far as that can be told by
// going on after the first; nothing of what ends before that.

// The passes by which a sample becomes what benchmarks give to compilers: without vmap, of the sizes
// that the inputs have and, as all devices are one, on the CPU. functionalize follows.
inline constexpr absl::string_view kPassesBeforeCompilers =
    "change-device{to=cpu},revert-vmap,expand-vmap,specialize,fold-constants,expand-functions";

// An archive of torch.export (`flat_calls`: PreparePt2). What vmap maps is written out, and shapes
// that are not known are found first.
absl::StatusOr<Pt2Archive> ExportPt2Program(const Sample& sample, bool flat_calls = false,
                                            MissingCalls* missing = nullptr);

// A TorchScript archive, without regions that have no effect; what vmap maps is written out.
absl::StatusOr<std::string> ExportTorchScriptProgram(const Sample& sample);
// Whether it would be written.
absl::Status CheckTorchScriptProgram(const Sample& sample, MissingCalls* missing);

// Regions without effect are inlined. Writes become values, those to inputs and attributes further
// results, and of several ways to write a call one is taken.
absl::StatusOr<MlirProgram> ExportMlirProgram(const Sample& sample,
                                              MissingCalls* missing = nullptr);

// A copy of the module, with the weights and files that go with it.
Sample CopyOf(const Sample& sample);

// A copy without what ONNX has not: regions, devices, vmap and writes.
absl::StatusOr<Sample> WithoutEffects(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_EXPORT_PROGRAM_H_

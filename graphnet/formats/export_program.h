// Prepares a sample and writes it as the program that torch.export would make of it, in the forms
// that compilers read.
#ifndef GRAPHNET_FORMATS_EXPORT_PROGRAM_H_
#define GRAPHNET_FORMATS_EXPORT_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/mlir/exporter.h"
#include "graphnet/formats/pt2/exporter.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The functions below count in `missing`, unless it is null, every call that they cannot write, as
// far as they can go on after the first. If an earlier step fails, they count nothing.

// The passes, before functionalize, that prepare a sample for the compilers of a benchmark. They
// expand vmap, fix sizes to those of the inputs, and move everything to the CPU, so that all
// devices are one.
inline constexpr absl::string_view kPassesBeforeCompilers =
    "change-device{to=cpu},revert-vmap,expand-vmap,specialize,fold-constants,expand-functions";

// Returns an archive of torch.export. Expands vmap and infers missing shapes first. PreparePt2
// explains `flat_calls` and `knows`. Given values of inputs that are floats, truths or texts are
// written as constants, and those of ints if the program cannot be written for all ints; not with
// `flat_calls`. `notes` gets what the program does not keep; a program that assigns attributes
// which torch.export has no place for is an error if `notes` is null.
absl::StatusOr<Pt2Archive> ExportPt2Program(const Sample& sample, bool flat_calls = false,
                                            MissingCalls* missing = nullptr,
                                            const pt2::KnowsClass& knows = nullptr,
                                            std::vector<std::string>* notes = nullptr);

// Returns the bytes of a TorchScript archive. Inlines regions that have no effect and expands vmap
// first.
absl::StatusOr<std::string> ExportTorchScriptProgram(const Sample& sample,
                                                     std::vector<std::string>* notes = nullptr);
// Returns OK if ExportTorchScriptProgram would write the sample, else its error.
absl::Status CheckTorchScriptProgram(const Sample& sample, MissingCalls* missing);

// Returns a program in MLIR's torch dialect. Inlines regions that have no effect, and gives each
// call its canonical form. Writes become values; new values of inputs and attributes become
// further results.
absl::StatusOr<MlirProgram> ExportMlirProgram(const Sample& sample, MissingCalls* missing = nullptr,
                                              std::vector<std::string>* notes = nullptr);

// Returns a copy of the sample's name and module, with the weights and extra files that go with it.
Sample CopyOf(const Sample& sample);

// Returns a copy without the things that ONNX lacks: regions, devices, vmap and writes.
absl::StatusOr<Sample> WithoutEffects(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_EXPORT_PROGRAM_H_

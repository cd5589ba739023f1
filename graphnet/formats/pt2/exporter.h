// Writes archives of torch.export (.pt2) that torch.export.load reads.
//
//   RETURN_IF_ERROR(ExportPt2(sample, "resnet18.pt2"));
//
// If a sample was read from such an archive and has not changed, its original program is written.
// A program for any other sample is made anew:
//  - Placeholders become the user's inputs. Attributes become parameters, buffers and constants as
//    in the original program; without one, their annotation marks parameters, the rest are buffers.
//  - ATen overloads, higher-order calls and Python's arithmetic on sizes become nodes. Other calls
//    (torch.*, methods) are lowered first (ops/lowering.h). A function that no operator implements
//    is an error: the pass expand-functions writes it out.
//  - Everything that follows from known shapes is computed now: sizes, lists of them, dtypes, which
//    branch is taken. So TorchScript becomes the program that torch.export would make for these
//    shapes, and it holds for these shapes only.
//  - Facts that the IR does not hold, such as strides and stack traces, come from the original
//    program if it has a value of the same name, dtype and sizes. Else tensors are row-major.
//  - Example inputs are saved with the program if all of them are known.
//  - Inputs and outputs keep the original program's structures. A tuple replaces an instance of a
//    class that PyTorch alone does not know, such as transformers' ModelOutput.
//
// Works without LibTorch, so the shapes of all values (Node::meta) must be known; interp/shapes.h
// finds them.
#ifndef GRAPHNET_FORMATS_PT2_EXPORTER_H_
#define GRAPHNET_FORMATS_PT2_EXPORTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {
namespace pt2 {
struct Program;
}  // namespace pt2

// An archive that is ready to be written. It shares the weights of its sample and does not copy
// them.
class Pt2Archive {
 public:
  // Made by PreparePt2().
  explicit Pt2Archive(std::shared_ptr<const pt2::Program> program) : program_(std::move(program)) {}

  // Returns the program as JSON (models/NAME.json), without its tensors.
  absl::string_view graph() const;
  // Reads graph() back as a module and verifies it.
  absl::StatusOr<std::unique_ptr<Module>> ReadModule() const;

  // Returns how many bytes of weights the archive will hold.
  uint64_t weight_bytes() const;
  // Returns the names of the classes that tuples replaced.
  const std::vector<std::string>& classes() const;
  // Returns how many guards of the original program are left out, because its inputs are others now
  // or because PyTorch would evaluate one of the guards as Python.
  size_t num_dropped_guards() const;
  // Returns "input a b is a_b" for each input that has another name in the program.
  const std::vector<std::string>& renamed() const;
  // Writes the archive. Weights in a mapped file are brought into memory one at a time.
  absl::Status WriteTo(const ByteSink& sink) const;
  // Returns the bytes of the whole archive.
  std::string ToString() const;

 private:
  std::shared_ptr<const pt2::Program> program_;
};

// Makes the archive of a sample. With `flat_calls`, which is meant for compilers, the program takes
// its tensors and numbers by position and returns no class instances, whatever the original program
// does. InvalidArgument names the first node that torch.export cannot express, or about which too
// little is known; `missing` counts all such calls. A program that is written unchanged keeps the
// classes of its arguments and results, but with `knows` only those that it knows and PyTorch's.
absl::StatusOr<Pt2Archive> PreparePt2(const Sample& sample, bool flat_calls = false,
                                      MissingCalls* missing = nullptr,
                                      const pt2::KnowsClass& knows = nullptr);
// Writes the archive of a sample to the file `path`; errors as for PreparePt2().
absl::Status ExportPt2(const Sample& sample, const std::string& path);
// Returns the archive's bytes instead.
absl::StatusOr<std::string> ExportPt2ToString(const Sample& sample);

// Returns the lowered sample that an export would write, so that its shapes can be found before;
// null if `sample` needs no lowering. Errors are those of LowerToAten; `missing` counts all of
// them.
absl::StatusOr<std::unique_ptr<Sample>> LowerForPt2(const Sample& sample,
                                                    MissingCalls* missing = nullptr);
// True if the shape or dtype of any value of the main graph is unknown.
bool LacksMetas(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PT2_EXPORTER_H_

// Writes archives of torch.export (.pt2), which torch.export.load takes.
//
//   RETURN_IF_ERROR(ExportPt2(sample, "resnet18.pt2"));
//
// A sample that was read from such an archive and is as it was read is written with the very
// program that it had. Any other is written anew:
//  - Placeholders are the user's inputs; attributes are parameters, buffers and constants, as they
//    were in the original program, else parameters by their annotation and buffers.
//  - ATen overloads, higher-order calls and Python's arithmetic on sizes are nodes. What is
//    written otherwise (torch.*, methods) is lowered first (ops/lowering.h). Functions that no
//    operator stands for are an error: expand-functions writes them out.
//  - What follows from shapes that are known is computed now: sizes, lists of them, dtypes, which
//    branch is taken. So TorchScript becomes the program that torch.export makes of it, which
//    holds for these shapes.
//  - What the IR says nothing of is as the original program had it, where that has a value of the
//    same name, dtype and sizes: strides, stack traces. Else tensors lie in row-major order.
//  - The inputs that it was saved with go with it if all are known.
//  - Structures of inputs and outputs are the original program's. Where one is of a class that
//    PyTorch alone does not know, such as transformers' ModelOutput, a tuple is in its place.
//
// Needs no LibTorch, and thus all values' shapes (Node::meta); interp/shapes.h finds them.
#ifndef GRAPHNET_FORMATS_PT2_EXPORTER_H_
#define GRAPHNET_FORMATS_PT2_EXPORTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {
namespace pt2 {
struct Program;
}  // namespace pt2

// An archive that can be written. It holds the weights of its sample, but has no copy of them.
class Pt2Archive {
 public:
  explicit Pt2Archive(std::shared_ptr<const pt2::Program> program) : program_(std::move(program)) {}

  // The program in JSON (models/NAME.json). Its tensors are not in it.
  absl::string_view graph() const;
  // What is read of that. It verifies.
  absl::StatusOr<std::unique_ptr<Module>> ReadModule() const;

  uint64_t weight_bytes() const;
  // The classes in whose place tuples were written.
  const std::vector<std::string>& classes() const;
  // Weights that lie in a file that is mapped are in memory one at a time.
  absl::Status WriteTo(const ByteSink& sink) const;
  std::string ToString() const;

 private:
  std::shared_ptr<const pt2::Program> program_;
};

// With `flat_calls`, the program is called with its tensors and numbers by position, and returns
// nothing of a class, whatever the original program does: for compilers. InvalidArgument names the
// node that torch.export has nothing for, or of which too little is known; with `missing`, all such
// calls are counted there.
absl::StatusOr<Pt2Archive> PreparePt2(const Sample& sample, bool flat_calls = false,
                                      MissingCalls* missing = nullptr);
// The same, and writes it.
absl::Status ExportPt2(const Sample& sample, const std::string& path);
absl::StatusOr<std::string> ExportPt2ToString(const Sample& sample);

// The sample that is written: lowered where it has to be. Null: as it is. So that its shapes can
// be found beforehand. Its errors are those of LowerToAten; with `missing`, all are counted there.
absl::StatusOr<std::unique_ptr<Sample>> LowerForPt2(const Sample& sample,
                                                    MissingCalls* missing = nullptr);
// Whether the shape or dtype of a value of the main graph is not known.
bool LacksMetas(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PT2_EXPORTER_H_

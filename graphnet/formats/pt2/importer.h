// Reads archives of torch.export (`torch.export.save`, .pt2): zip, JSON of schema 8, tensors.
//
//   ASSIGN_OR_RETURN(Sample sample, ImportPt2File("resnet18.pt2"));
//
// What becomes of an ExportedProgram, whose graph takes all tensors as inputs:
//  - The user's inputs are placeholders, under the names that the graph gives them.
//    Constants among them, which a caller can only repeat, are left out.
//  - Parameters, buffers and constants are attributes under their names in the module
//    ("layer1.0.conv1.weight") that get_attr nodes read. Tensors that are one under several
//    names are one attribute; those that overlap in memory otherwise are as_strided views of
//    one. What no node reads stays an attribute.
//  - Calls are call_function nodes: aten.add.Tensor, operator.mul, torch.sym_max,
//    torch.ops.higher_order.cond, whose graphs are graphs of the module. What yields several
//    values is taken apart by operator.getitem.
//  - What the signature says to be written to a buffer or input is an aten.copy_ at the end,
//    as program.module() has it.
//  - Outputs have the structure that the program returns: lists, tuples and dicts. Instances of
//    other classes are tuples of what they hold.
//  - Sizes that are symbolic are expressions over the module's symbols, their ranges relations.
//
// The program itself, of which the IR cannot say all (the stack traces, strides, what trees
// are made of), goes with the sample as it was: kProgramFile and the two beside it among
// Sample::extra_files.
//
// Files that the user stored with the programs (extra_files) go with each sample
// (kProgramExtraFiles). Nothing of the archive is executed, and nothing in it is trusted. What it
// has besides, such as compiled code, is passed over.
#ifndef GRAPHNET_FORMATS_PT2_IMPORTER_H_
#define GRAPHNET_FORMATS_PT2_IMPORTER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct Pt2ImportOptions {
  // Which of the programs of an archive; empty: the one that it has.
  std::string program;
  // Fill Sample::weights with the values of the attributes, and with those of the inputs that
  // the program was saved with. Else the archive's tensors are not looked at.
  bool weights = true;
};

// Names among Sample::extra_files: the JSON of the program and of the two configurations that
// say where its tensors are.
inline constexpr absl::string_view kProgramFile = "torch_export.json";
inline constexpr absl::string_view kProgramWeightsFile = "torch_export_weights.json";
inline constexpr absl::string_view kProgramConstantsFile = "torch_export_constants.json";
// And the user's own files, if there are any (extra_files.h).
inline constexpr absl::string_view kProgramExtraFiles = "torch_export_extra_files.json";

// The JSON of one program.
inline constexpr size_t kMaxProgramBytes = size_t{256} << 20;

// The verified sample is named after the file, and after the program where there are several.
// The file is mapped into memory: of its tensors only those pages are read that are asked for.
// InvalidArgument, "m.pt2: models/model.json: node linear: …", for what is not as it should be.
// The layout of before torch 2.8 is read, too, where its schema is of major version 7 or 8: from
// torch 2.5 on.
absl::StatusOr<Sample> ImportPt2File(const std::string& path, const Pt2ImportOptions& options = {});
// Ditto, where `name` stands for the path in messages and for what the sample is named after.
absl::StatusOr<Sample> ImportPt2File(const std::string& path, const std::string& name,
                                     const Pt2ImportOptions& options);

// Ditto, from memory. `name` stands for the path in messages.
absl::StatusOr<Sample> ImportPt2(absl::string_view bytes, const std::string& name,
                                 const Pt2ImportOptions& options = {});

// The names of the programs in an archive, sorted. Errors as above.
absl::StatusOr<std::vector<std::string>> ListPt2Programs(absl::string_view bytes,
                                                         const std::string& name);

// Whether the content is meant to be such an archive, a whole one.
bool LooksLikePt2(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PT2_IMPORTER_H_

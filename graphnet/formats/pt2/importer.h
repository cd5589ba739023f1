// Reads archives of torch.export (`torch.export.save`, .pt2): zip, JSON of schema 8, tensors.
//
//   ASSIGN_OR_RETURN(Sample sample, ImportPt2File("resnet18.pt2"));
//
// The graph of an ExportedProgram takes all tensors as inputs. The import represents it so:
//  - The user's inputs become placeholders with the names that the graph gives them.
//    Constants among them, which a caller must repeat unchanged, are left out.
//  - Parameters, buffers and constants become attributes with their names in the module
//    ("layer1.0.conv1.weight"), which get_attr nodes read. A tensor with several names becomes one
//    attribute. Other tensors that overlap in memory become as_strided views of one attribute.
//    Attributes that no node reads are kept.
//  - Calls become call_function nodes: aten.add.Tensor, operator.mul, torch.sym_max,
//    torch.ops.higher_order.cond, whose graphs become graphs of the module. operator.getitem takes
//    apart a result with several values.
//  - A mutation of a buffer or input in the signature becomes an aten.copy_ at the end, as in
//    program.module().
//  - Outputs keep the structure that the program returns: lists, tuples and dicts. An instance of
//    another class becomes a tuple of its fields.
//  - Symbolic sizes become expressions over the module's symbols, and their ranges relations.
//
// The IR cannot hold all of a program (stack traces, strides, the classes of structures), so the
// original JSON stays with the sample: kProgramFile and the two files after it in
// Sample::extra_files.
//
// Each sample also keeps the files that the user stored with the programs (kProgramExtraFiles).
// The import executes nothing from the archive, trusts nothing in it, and ignores the rest of it,
// such as compiled code.
#ifndef GRAPHNET_FORMATS_PT2_IMPORTER_H_
#define GRAPHNET_FORMATS_PT2_IMPORTER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/missing_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Options of ImportPt2File() and ImportPt2(). An archive that lacks values of attributes is refused
// unless the options allow it.
struct Pt2ImportOptions {
  // Name of the program to read; may be empty if the archive has only one.
  std::string program;
  // Fill Sample::weights with the values of the attributes and of the saved example inputs. If
  // false, the archive's tensors are not read.
  bool weights = true;
  // The values that the archive may lack if `weights` is set.
  MissingValues missing = MissingValues::kRefused;
};

// Names in Sample::extra_files: the JSON of the program, and the two configurations that list where
// its tensors are stored.
inline constexpr absl::string_view kProgramFile = "torch_export.json";
inline constexpr absl::string_view kProgramWeightsFile = "torch_export_weights.json";
inline constexpr absl::string_view kProgramConstantsFile = "torch_export_constants.json";
// The user's own files, if there are any (extra_files.h).
inline constexpr absl::string_view kProgramExtraFiles = "torch_export_extra_files.json";

// Most bytes of one program's JSON.
inline constexpr size_t kMaxProgramBytes = size_t{256} << 20;

// Reads a program and returns the verified sample, which is named after the file, and after the
// program if there are several. The file is mapped into memory; only the pages of tensors that are
// used are read. InvalidArgument, "m.pt2: models/model.json: node linear: …", for an archive that
// is malformed. The layout before torch 2.8 is supported for schemas of major version 7 or 8, that
// is, from torch 2.5 on.
absl::StatusOr<Sample> ImportPt2File(const std::string& path, const Pt2ImportOptions& options = {});
// Does the same, but takes `name` instead of the path in messages and in the sample's name.
absl::StatusOr<Sample> ImportPt2File(const std::string& path, const std::string& name,
                                     const Pt2ImportOptions& options);

// Does the same from memory. `name` replaces the path in messages and in the sample's name.
absl::StatusOr<Sample> ImportPt2(absl::string_view bytes, const std::string& name,
                                 const Pt2ImportOptions& options = {});

// Returns the sorted names of the programs in an archive. Errors as above.
absl::StatusOr<std::vector<std::string>> ListPt2Programs(absl::string_view bytes,
                                                         const std::string& name);

// True if the content looks like a whole archive of torch.export. It may still be malformed.
bool LooksLikePt2(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PT2_IMPORTER_H_

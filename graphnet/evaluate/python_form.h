// A sample as Python that runs without graphnet.
#ifndef GRAPHNET_EVALUATE_PYTHON_FORM_H_
#define GRAPHNET_EVALUATE_PYTHON_FORM_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// A parameter of forward in the model.py of a folder.
struct PythonArgument {
  std::string name;        // as model.py spells it
  std::string source;      // the input or attribute of the sample
  std::string annotation;  // of the sample
  bool is_attribute = false;
};
// A sample as the files of a GraphNet folder, of which model.py runs without graphnet.
struct PythonForm {
  GraphNetFileMap files;
  std::vector<PythonArgument> arguments;  // in order
};
// Returns the form of a sample. TorchScript's lists and conditions are evaluated for the shapes of its
// inputs, as torch.export does. Unimplemented, with the reason, if a folder cannot hold it.
absl::StatusOr<PythonForm> PythonFormOf(Sample sample);

// Returns the form of a sample that has none of these operators.
absl::StatusOr<PythonForm> FolderAsPython(const Sample& sample);

// Returns whether a program has operators that TorchScript alone has. Many of them, such as those on
// lists, cannot be called from Python.
bool HasOperatorsOfTorchScript(const Module& module);
// Returns the program as torch.export has it, which has none of these operators and takes the same
// inputs, with their values.
absl::StatusOr<Sample> WithoutTorchScript(const Sample& sample,
                                          const std::map<std::string, TensorData>& values);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_PYTHON_FORM_H_

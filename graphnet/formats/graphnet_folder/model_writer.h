// Writes model.py: valid Python that PyTorch runs, and that ParseModelPy reads
// back to the same module.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_MODEL_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_MODEL_WRITER_H_

#include <string>

#include "graphnet/ir/module.h"

namespace graphnet {

// `module` must be in FolderForm (see folder_form.h) and verified. Values are
// released after their last use, as torch.fx prints them.
std::string WriteModelPy(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_MODEL_WRITER_H_

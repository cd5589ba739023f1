// FolderForm: a module as a GraphNet folder can hold it.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_FOLDER_FORM_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_FOLDER_FORM_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// A copy of `module` in which
//  - attributes are arguments of forward (their names in `original_name`),
//  - names are Python identifiers that clash with nothing the text uses,
//  - only the arguments of forward have metas, and each has a draw spec,
//  - module paths are gone, unless they are kept for what is to be cut by them.
// Writing that copy as a folder and reading it gives it back. Unimplemented, with
// the reason, for what a folder cannot hold: call_module, symbolic integers as
// arguments, attributes read inside a body, targets and symbols without a Python spelling, calls
// of more than kMaxKeywords keywords, and calls and constants of the other framework.
absl::StatusOr<std::unique_ptr<Module>> FolderForm(const Module& module, Framework framework,
                                                   bool keep_module_paths = false);

// The keyword arguments that one call in model.py may have.
inline constexpr size_t kMaxKeywords = 255;

// Whether `target` can be called from model.py.
bool HasPythonSpelling(absl::string_view target, Framework framework);

// Builtins that model.py calls by their bare names ("max" for builtins.max).
bool IsBuiltinFunction(absl::string_view name);

bool IsPythonKeyword(absl::string_view name);
// "foo.bar" is no identifier, nor is a keyword.
bool IsPythonIdentifier(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_FOLDER_FORM_H_

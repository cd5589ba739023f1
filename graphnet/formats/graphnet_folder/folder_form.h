// FolderForm gives a module the form that a GraphNet folder can hold.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_FOLDER_FORM_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_FOLDER_FORM_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Returns a copy of `module` in which
//  - attributes are arguments of forward (with their names in `original_name`),
//  - names are Python identifiers that clash with nothing in the text,
//  - only the arguments of forward have metas, and each has a draw spec,
//  - nodes have no module paths, unless `keep_module_paths`, for callers that cut by them.
// A folder that is written from the copy reads back as the same module. Unimplemented, with the
// reason, if the module has something that a folder cannot hold: call_module, symbolic integers as
// arguments, attributes read inside a body, targets and symbols without a Python spelling, calls
// with more than kMaxKeywords keywords, or calls and constants of the other framework.
absl::StatusOr<std::unique_ptr<Module>> FolderForm(const Module& module, Framework framework,
                                                   bool keep_module_paths = false);

// Keyword arguments that one call in model.py may have.
inline constexpr size_t kMaxKeywords = 255;

// Returns whether model.py can call `target`.
bool HasPythonSpelling(absl::string_view target, Framework framework);

// Returns whether model.py calls this builtin by its bare name ("max" for builtins.max).
bool IsBuiltinFunction(absl::string_view name);

bool IsPythonKeyword(absl::string_view name);
// Neither "foo.bar" nor a keyword is an identifier.
bool IsPythonIdentifier(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_FOLDER_FORM_H_

// The parser of input_tensor_constraints.py: symbols of dynamic dimensions,
// their example values, relations between them, and the shapes of the arguments
// in terms of them. Nothing is executed.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_CONSTRAINT_PARSER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_CONSTRAINT_PARSER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Declares the symbols and relations in `module` and puts symbolic dimensions
// into the metas of the placeholders of its main graph. `has_constraints` is
// false for an empty file. `order` lists the arguments as the file does, unless
// it lists all of them sorted by name. A shape that contradicts weight_meta.py
// at the example values is an error.
absl::Status ParseConstraintsPy(const std::string& text, absl::string_view file_name,
                                Module* module, bool* has_constraints,
                                std::vector<std::string>* order);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_CONSTRAINT_PARSER_H_

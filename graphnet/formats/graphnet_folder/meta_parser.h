// The parser of weight_meta.py and input_meta.py: one class a forward argument,
// with plain literals as attributes. Nothing is executed. `None` as shape, dtype
// or device says that it is not known.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_META_PARSER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_META_PARSER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Which of the two files is read: they differ in the prefix of the class names.
enum class MetaFile { kWeightMeta, kInputMeta };

// Gives the placeholders of the module's main graph their metas and draw specs.
// A record of an unknown argument, a second record of one, and a record that
// contradicts itself are errors with file, line and column.
absl::Status ParseMetaPy(const std::string& text, absl::string_view file_name, MetaFile kind,
                         Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_META_PARSER_H_

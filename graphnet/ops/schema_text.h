// Internal: the text of the tables in this folder, which are built in.
#ifndef GRAPHNET_OPS_SCHEMA_TEXT_H_
#define GRAPHNET_OPS_SCHEMA_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view SchemaText();       // schemas.txt
absl::string_view SignatureText();    // signatures.txt
absl::string_view CallableText();     // callables.txt
absl::string_view FusedText();        // fused.txt
absl::string_view WordText();         // words.txt
absl::string_view OutText();          // outs.txt
absl::string_view PublicText();       // public.txt
absl::string_view TorchScriptText();  // torchscript.txt

}  // namespace graphnet

#endif  // GRAPHNET_OPS_SCHEMA_TEXT_H_

// The text of schemas.txt and signatures.txt, built in.
#ifndef GRAPHNET_OPS_SCHEMA_TEXT_H_
#define GRAPHNET_OPS_SCHEMA_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view SchemaText();
absl::string_view SignatureText();

}  // namespace graphnet

#endif  // GRAPHNET_OPS_SCHEMA_TEXT_H_

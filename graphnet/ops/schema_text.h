// The text of schemas.txt, signatures.txt and public.txt, built in.
#ifndef GRAPHNET_OPS_SCHEMA_TEXT_H_
#define GRAPHNET_OPS_SCHEMA_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view SchemaText();
absl::string_view SignatureText();
absl::string_view PublicText();

}  // namespace graphnet

#endif  // GRAPHNET_OPS_SCHEMA_TEXT_H_

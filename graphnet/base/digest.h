// SHA-256 of bytes.
#ifndef GRAPHNET_BASE_DIGEST_H_
#define GRAPHNET_BASE_DIGEST_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Returns 64 hexadecimal digits, as sha256sum prints them.
std::string Sha256(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_DIGEST_H_

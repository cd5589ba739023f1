#include "graphnet/base/digest.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"
#include "graphnet/base/check.h"

namespace graphnet {

std::string Sha256(absl::string_view bytes) {
  unsigned char out[32];
  unsigned int size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), out, &size, EVP_sha256(), nullptr) == 1);
  CHECK(size == sizeof out);
  return absl::BytesToHexString({reinterpret_cast<const char*>(out), sizeof out});
}

}  // namespace graphnet

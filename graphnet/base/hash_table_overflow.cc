// Abseil 20220623 of Debian 12 calls a function of its own when a table grows beyond all memory. Ubuntu
// 24.04 ships an Abseil of the same number without it. This weak definition lets programs that were
// compiled against Debian's headers link there. Where Abseil has the function, its own is taken.
#include <cstdlib>

#include "absl/base/config.h"

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace container_internal {

[[noreturn]] __attribute__((weak)) void HashTableSizeOverflow();
void HashTableSizeOverflow() { std::abort(); }

}  // namespace container_internal
ABSL_NAMESPACE_END
}  // namespace absl

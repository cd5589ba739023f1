// Reads any bytes as a pickle. They are refused with the position, or give a graph of values in
// which each comes after its children. The check of TorchScript archives on them never does more
// than refuse.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/archive/pickle_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto pickle = Pickle::Parse(bytes);
  if (!pickle.ok()) {
    CHECK(pickle.status().message().substr(0, 5) == "byte ");
    return 0;
  }
  CHECK(pickle->postorder().size() == pickle->size());
  CHECK(pickle->postorder().back() == pickle->root());
  std::vector<bool> seen(pickle->size());
  for (const Pickle::Id id : pickle->postorder()) {
    CHECK(pickle->offset(id) < size);
    for (const Pickle::Id child : pickle->children(id)) CHECK(seen[child]);
    seen[id] = true;
    if (pickle->kind(id) == PickleKind::kString) CHECK(pickle->text(id).size() <= size);
  }
  return 0;
}

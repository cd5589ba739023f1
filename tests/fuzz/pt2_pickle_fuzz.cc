// Any bytes as the pickle of what torch.save wrote: refused with one line, or tensors that are as
// long as they say, of one storage.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/pt2/pickled_tensors.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "tests/formats/archive/zip_builder.h"

namespace {

void CheckLength(const graphnet::TensorData& tensor) {
  size_t expected = static_cast<size_t>(graphnet::DTypeBytes(tensor.dtype));
  for (const int64_t extent : tensor.shape) expected *= static_cast<size_t>(extent);
  CHECK(tensor.bytes->size() == expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const std::string pickle(reinterpret_cast<const char*>(data), size);
  const std::string bytes = MakeZip({.files = {{.name = "archive/data.pkl", .content = pickle},
                                               {.name = "archive/data/0", .content = "12345678"}}});
  const auto tensor = pt2::ReadPickledTensor(bytes);
  if (tensor.ok()) {
    CheckLength(*tensor);
  } else {
    CHECK(tensor.status().message().find('\n') == absl::string_view::npos);
  }
  // ((x, [y, z]), {"a": w})
  using Tree = pt2::TreeSpec;
  Tree leaf, list, args, kwargs, root;
  list.kind = Tree::Kind::kList;
  list.children = {leaf, leaf};
  args.kind = root.kind = Tree::Kind::kTuple;
  args.children = {leaf, list};
  kwargs.kind = Tree::Kind::kDict;
  kwargs.children = {leaf};
  kwargs.keys = {std::string("a")};
  root.children = {args, kwargs};
  const auto leaves = pt2::ReadPickledLeaves(bytes, root);
  if (!leaves.ok()) return 0;
  CHECK(leaves->size() == 4);
  for (const auto& found : *leaves) {
    if (found) CheckLength(*found);
  }
  return 0;
}

#include "graphnet/shard/tensor_pieces.h"

#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/base/strided_copy.h"

namespace graphnet::spmd {
namespace {

// Returns the offset of a part in the whole, in elements.
int64_t OffsetOf(absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides,
                 const Sharding& sharding, const Mesh& mesh, size_t position) {
  int64_t offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int axis = sharding.dims_mapping[i];
    if (axis >= 0)
      offset += mesh.Coordinate(position, axis) * (sizes[i] / mesh.size(axis)) * strides[i];
  }
  return offset;
}

absl::StatusOr<size_t> WidthOf(const TensorData& tensor) {
  int64_t elements = 1;
  for (const int64_t size : tensor.shape) elements *= size;
  const int64_t width = DTypeBytes(tensor.dtype);
  if (width < 1 || tensor.bytes == nullptr ||
      static_cast<int64_t>(tensor.bytes->size()) != elements * width)
    return absl::InvalidArgumentError("does not have as many bytes as its shape needs");
  return static_cast<size_t>(width);
}

}  // namespace

std::vector<size_t> PlacesOfPiece(absl::Span<const int64_t> sizes, const Sharding& sharding,
                                  const Mesh& mesh, size_t position) {
  const std::vector<int64_t> strides = RowMajorStrides(sizes);
  const std::vector<int64_t> local = LocalSizes(sharding, mesh, sizes);
  size_t count = 1;
  for (const int64_t size : local) count *= static_cast<size_t>(size);
  std::vector<size_t> places(count);
  const int64_t offset = OffsetOf(sizes, strides, sharding, mesh, position);
  for (size_t n = 0; n < count; ++n) {
    auto rest = static_cast<int64_t>(n);
    int64_t place = offset;
    for (size_t i = local.size(); i-- > 0;) {
      place += rest % local[i] * strides[i];
      rest /= local[i];
    }
    places[n] = static_cast<size_t>(place);
  }
  return places;
}

absl::StatusOr<TensorData> PieceOf(const TensorData& whole, const Sharding& sharding,
                                   const Mesh& mesh, size_t position) {
  if (sharding.is_replicated()) return whole;
  RETURN_IF_ERROR(CheckSharding(sharding, mesh, whole.shape));
  ASSIGN_OR_RETURN(const size_t width, WidthOf(whole));
  if (!whole.strides.empty() && whole.strides != RowMajorStrides(whole.shape))
    return absl::InvalidArgumentError("is not in row-major order in memory");
  TensorData piece = {.dtype = whole.dtype, .shape = LocalSizes(sharding, mesh, whole.shape)};
  int64_t elements = 1;
  for (const int64_t size : piece.shape) elements *= size;
  auto bytes = std::make_shared<std::string>(static_cast<size_t>(elements) * width, '\0');
  if (elements > 0) {
    const std::vector<int64_t> strides = RowMajorStrides(whole.shape);
    const int64_t offset = OffsetOf(whole.shape, strides, sharding, mesh, position);
    StridedCopy(width, piece.shape, whole.bytes->data() + static_cast<size_t>(offset) * width,
                strides, bytes->data(), RowMajorStrides(piece.shape));
  }
  piece.bytes = std::move(bytes);
  return piece;
}

absl::StatusOr<TensorData> WholeOf(absl::Span<const TensorData> pieces, const Sharding& sharding,
                                   const Mesh& mesh, absl::Span<const int64_t> sizes) {
  if (pieces.size() != mesh.num_ranks())
    return absl::InvalidArgumentError(
        absl::StrCat(pieces.size(), " parts of ", mesh.num_ranks(), " ranks"));
  const bool is_whole = sharding.is_replicated();
  if (!is_whole) RETURN_IF_ERROR(CheckSharding(sharding, mesh, sizes));
  const std::vector<int64_t> local = is_whole ? pieces[0].shape : LocalSizes(sharding, mesh, sizes);
  std::vector<int64_t> coordinates;  // coordinates of the part and the first rank that holds it
  std::vector<size_t> first(pieces.size());
  std::shared_ptr<std::string> bytes;
  const std::vector<int64_t> strides = RowMajorStrides(sizes);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].shape != local || pieces[i].dtype != pieces[0].dtype)
      return absl::InvalidArgumentError(absl::StrCat("is [", absl::StrJoin(pieces[i].shape, ", "),
                                                     "] on rank ", mesh.ranks[i], ", not [",
                                                     absl::StrJoin(local, ", "), "]"));
    ASSIGN_OR_RETURN(const size_t width, WidthOf(pieces[i]));
    const int64_t offset = is_whole ? 0 : OffsetOf(sizes, strides, sharding, mesh, i);
    coordinates.push_back(offset);
    first[i] = i;
    for (size_t j = 0; j < i; ++j) {
      if (coordinates[j] != offset) continue;
      first[i] = j;
      break;
    }
    if (first[i] != i) {
      if (*pieces[i].bytes != *pieces[first[i]].bytes)
        return absl::InvalidArgumentError(absl::StrCat("is not the same on ranks ",
                                                       mesh.ranks[first[i]], " and ", mesh.ranks[i],
                                                       ", which hold the same part"));
      continue;
    }
    if (is_whole) continue;
    if (bytes == nullptr) {
      int64_t elements = 1;
      for (const int64_t size : sizes) elements *= size;
      bytes = std::make_shared<std::string>(static_cast<size_t>(elements) * width, '\0');
    }
    if (!pieces[i].bytes->empty())
      StridedCopy(width, local, pieces[i].bytes->data(), RowMajorStrides(local),
                  bytes->data() + static_cast<size_t>(offset) * width, strides);
  }
  if (is_whole) return pieces[0];
  TensorData whole = {.dtype = pieces[0].dtype,
                      .shape = std::vector<int64_t>(sizes.begin(), sizes.end())};
  whole.bytes = std::move(bytes);
  return whole;
}

}  // namespace graphnet::spmd

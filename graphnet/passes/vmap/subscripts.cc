// The effect of operator.getitem and setitem on a tensor, following
// torch/csrc/autograd/python_variable_indexing.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "graphnet/facts/memory/view_steps.h"

namespace graphnet {

std::optional<Subscript> ViewReader::ReadSubscript(int rank, const Argument& index) const {
  const absl::Span<const Argument> elements =
      index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  const auto is_full = [](const Argument& a) {
    return a.kind() == Argument::Kind::kSlice &&
           absl::c_all_of(a.elements(), [](const Argument& x) { return x.is_none(); });
  };
  const auto takes_dim = [](const Argument& a) {
    return !a.is_none() && a.kind() != Argument::Kind::kEllipsis;
  };
  auto left = static_cast<int64_t>(absl::c_count_if(elements, takes_dim));
  Subscript read;
  // The position of the next element in the result so far, before an Ellipsis. Behind an Ellipsis,
  // views count from the end (-left), and tensors and lists need the rank.
  int64_t dim = 0;
  bool from_end = false;
  size_t tensors = 0;
  bool mask_before = false;  // a mask that may take more than one dimension
  for (const Argument& element : elements) {
    const int64_t at = from_end ? -left : dim;
    const int now = rank < 0 ? -1 : rank + read.rank_change;
    if (takes_dim(element)) {
      if (mask_before && !is_full(element)) return std::nullopt;
      --left;
    }
    switch (element.kind()) {
      case Argument::Kind::kEllipsis:
        if (from_end || mask_before) return std::nullopt;
        from_end = true;
        break;
      case Argument::Kind::kNone:
        read.steps.push_back(Unsqueeze(!from_end ? dim : now < 0 ? -left - 1 : now - left));
        ++read.rank_change;
        ++dim;
        break;
      case Argument::Kind::kInt:
        read.steps.push_back(Select(now, at, element));
        --read.rank_change;
        break;
      case Argument::Kind::kSlice: {
        const absl::Span<const Argument> bounds = element.elements();
        if (!is_full(element)) {
          read.steps.push_back(
              Slice(now, at, bounds[0], bounds[1], bounds[2].is_none() ? Argument(1) : bounds[2]));
        }
        ++dim;
        break;
      }
      case Argument::Kind::kNode: {
        const TensorFacts facts = facts_.Of(element.node());
        if (facts.kind == TensorFacts::Kind::kOther) {
          read.steps.push_back(Select(now, at, element));
          --read.rank_change;
          break;
        }
        // After an Ellipsis, only the rank tells the position.
        const int64_t place = !from_end ? dim : now < 0 ? -1 : now - left - 1;
        if (!facts.is_tensor() || facts.dtype == DType::kUInt8 || place < 0 ||
            (from_end && !facts.is_index() && facts.rank() != 1)) {
          return std::nullopt;
        }
        read.indices.resize(static_cast<size_t>(place));
        read.indices.push_back(element);
        read.may_be_view |= facts.rank() <= 0 && facts.dtype != DType::kBool;
        read.may_be_switch |= facts.rank() <= 0 && !facts.is_index();
        mask_before |= !facts.is_index() && facts.rank() != 1;
        ++tensors;
        ++dim;
        break;
      }
      case Argument::Kind::kList: {
        const int64_t place = !from_end ? dim : now < 0 ? -1 : now - left - 1;
        bool numbers = !element.elements().empty();
        for (const Argument& number : element.elements()) numbers &= number.is_int();
        if (!numbers || place < 0) return std::nullopt;
        read.indices.resize(static_cast<size_t>(place));
        read.indices.push_back(element);
        ++tensors;
        ++dim;
        break;
      }
      default: return std::nullopt;
    }
  }
  // A tensor that stands for a number removes its dimension before the other indices apply.
  if (read.may_be_view && tensors > 1) return std::nullopt;
  if (read.steps.empty() && read.indices.empty()) {
    read.steps.push_back({"aten.alias.default", {}, Inverse::kSame, {}, {}});
  }
  return read;
}

}  // namespace graphnet

// Follows nodes, subscripts and constant sizes.
#include "graphnet/facts/shapes/dim_propagation.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/parameter_names.h"

namespace graphnet {

DimPropagation::Names DimPropagation::Words(absl::string_view text) {
  return absl::StrSplit(text, ' ');
}

std::optional<int> DimPropagation::DimIn(const Argument* argument, int rank, int otherwise) {
  if (argument == nullptr || argument->is_none()) return otherwise;
  if (!argument->is_int()) return std::nullopt;
  const int64_t dim = argument->integer() + (argument->integer() < 0 ? rank : 0);
  if (dim < 0 || dim >= rank) return std::nullopt;
  return static_cast<int>(dim);
}

std::optional<SymbolicSizes> DimPropagation::FromMeta(const ValueMeta* meta) const {
  SymbolicSizes extent;
  if (meta == nullptr) return std::nullopt;
  if (meta->is_tuple) {
    extent.kind = SymbolicSizes::Kind::kTuple;
    for (const ValueMeta* element : meta->elements) {
      std::optional<SymbolicSizes> of = element == nullptr ? std::nullopt : FromMeta(element);
      extent.elements.push_back(of.value_or(SymbolicSizes()));
    }
    return extent;
  }
  if (meta->tensor == nullptr || !meta->tensor->has_shape) return std::nullopt;
  extent.kind = SymbolicSizes::Kind::kTensor;
  for (const Dim& dim : meta->tensor->shape) {
    const auto size = dim.is_static() ? dim.value : EvaluateWithExamples(module_, *dim.expr);
    if (!size.has_value()) return std::nullopt;
    extent.sizes.push_back(*size);
  }
  extent.grows.assign(extent.sizes.size(), 0);
  return extent;
}

std::vector<Argument> DimPropagation::PositionalArgs(const Node& node) {
  std::vector<Argument> args(node.args().begin(), node.args().end());
  if (node.kwargs().empty()) return args;
  const std::vector<PositionalParameter> names = PositionalParameters(node, CalleeOf(node));
  while (args.size() < names.size()) {
    const Argument* value = node.kwarg(names[args.size()].name);
    if (value == nullptr) break;
    args.push_back(*value);
  }
  return args;
}

absl::Span<const Argument> DimPropagation::ListOf(const Argument* list) {
  if (list == nullptr || list->is_none()) return {};
  if (list->is_list() || list->is_tuple()) return list->elements();
  return absl::MakeConstSpan(list, 1);
}

const SymbolicSizes& DimPropagation::Of(const Argument& argument) const {
  static const SymbolicSizes kNone;
  return argument.is_node() ? values_[argument.node()] : kNone;
}

SymbolicSizes DimPropagation::SymbolicSizesOf(const Argument& argument) const {
  if (argument.is_node()) return Of(argument);
  if (argument.is_int()) return SymbolicSizes::Number(argument.integer());
  if (argument.is_bool() || argument.is_float()) return SymbolicSizes::Number(std::nullopt);
  SymbolicSizes extent;
  if (!argument.is_list() && !argument.is_tuple()) return extent;
  extent.kind = SymbolicSizes::Kind::kTuple;
  for (const Argument& element : argument.elements())
    extent.elements.push_back(SymbolicSizesOf(element));
  return extent;
}

absl::Status DimPropagation::Visit(Node* node) {
  if (node->is_placeholder() || node->op() == Op::kGetAttr) {
    const ValueMeta* meta = node->meta();
    if (const Attribute* attribute = module_.FindAttribute(node->target());
        node->op() == Op::kGetAttr && meta == nullptr && attribute != nullptr &&
        attribute->meta != nullptr) {
      meta = module_.InternValueMeta(*attribute->meta);
    }
    SymbolicSizes extent = FromMeta(meta).value_or(SymbolicSizes());
    // Tracing puts numbers into tensors.
    if (const Attribute* attribute = module_.FindAttribute(node->target());
        node->op() == Op::kGetAttr && attribute != nullptr && attribute->draw_spec != nullptr &&
        extent.is_tensor() && extent.rank() == 0 && attribute->draw_spec->data.is_list() &&
        attribute->draw_spec->data.elements().size() == 1 &&
        attribute->draw_spec->data.elements()[0].is_int()) {
      extent = SymbolicSizes::Number(attribute->draw_spec->data.elements()[0].integer());
      extent.kind = SymbolicSizes::Kind::kTensor;
      extent.holds_number = true;
    }
    if (NumberDType(node->annotation()).has_value()) {
      const Symbol* symbol = module_.FindSymbol(node->target());
      extent = SymbolicSizes::Number(symbol == nullptr ? std::nullopt : symbol->example);
      extent.number_grows = symbol_ != nullptr && node->target() == symbol_->name;
    } else if (absl::c_linear_search(inputs_, node)) {
      extent.grows[dim_] = 1;
    }
    if (symbol_ != nullptr && node->tensor_meta() != nullptr && extent.is_tensor()) {
      for (size_t i = 0; i < extent.sizes.size(); ++i) {
        const Dim& dim = node->tensor_meta()->shape[i];
        extent.grows[i] |= !dim.is_static() && *dim.expr == *symbol_;
      }
    }
    values_[node] = std::move(extent);
    return absl::OkStatus();
  }
  if (!node->is_call()) return absl::OkStatus();
  SymbolicSizes extent = FromMeta(node->meta()).value_or(SymbolicSizes());
  bool any = forced_.contains(node);
  // A value without sizes may be a number or a list of numbers.
  bool numbers = extent.kind == SymbolicSizes::Kind::kOther;
  node->ForEachOperand([&](const Node* operand) {
    const SymbolicSizes& of = values_[operand];
    any |= of.any();
    numbers |= of.is_number() || (of.is_tuple() && operand->meta() == nullptr);
  });
  if (any || numbers) {
    // An error does not matter if nothing grows.
    const absl::Status status = Follow(node, &extent);
    if (any && !status.ok()) return Refuse(*node, status.message());
    for (size_t i = 0; extent.is_tensor() && i < extent.sizes.size(); ++i) {
      if (extent.grows[i] && extent.sizes[i] % example_ != 0)
        return Refuse(*node, "has a size that does not grow in proportion");
    }
  }
  values_[node] = std::move(extent);
  return absl::OkStatus();
}

absl::Status DimPropagation::Refuse(const Node& node, absl::string_view why) {
  return absl::FailedPreconditionError(NodeError(node, why).message());
}

absl::Status DimPropagation::Follow(Node* node, SymbolicSizes* out) {
  const absl::string_view name = OperatorName(*node);
  const std::vector<Argument> args = PositionalArgs(*node);
  if (name == "getattr" && args.size() > 1 && args[1].is_string()) {
    const absl::string_view attribute = args[1].string();
    if (attribute == "shape") return FollowSize(*node, out);
    if (attribute != "T" && attribute != "mT") return absl::OkStatus();  // device, dtype, …
    *out = Of(args[0]);
    if (out->rank() < 2) return absl::OkStatus();
    if (attribute == "T") {
      absl::c_reverse(out->sizes);
      absl::c_reverse(out->grows);
    } else {
      std::swap(out->sizes[out->sizes.size() - 1], out->sizes[out->sizes.size() - 2]);
      std::swap(out->grows[out->grows.size() - 1], out->grows[out->grows.size() - 2]);
    }
    return absl::OkStatus();
  }
  if (name == "size" || name == "sym_size" || name == "shape") return FollowSize(*node, out);
  if (FollowNumbers(*node, name, args, out)) return absl::OkStatus();
  if (name == "getitem" || name == "__getitem__") return FollowSubscript(*node, out);
  if (name == "setitem" || name == "copy") return FollowWrite(*node, out);
  if (name.empty() || node->op() == Op::kCallModule || node->HasBody())
    return absl::FailedPreconditionError("no rule says how it changes sizes");
  if (!out->is_tensor() && !out->is_tuple()) {
    if (!node->has_uses()) return absl::OkStatus();
    return absl::FailedPreconditionError("its sizes are unknown; `graphnet shapes` infers them");
  }
  return FollowTensor(node, name, out);
}

absl::Status DimPropagation::FollowSize(const Node& node, SymbolicSizes* out) {
  const Argument* const self = node.FindArg("self", 0);
  if (self == nullptr) return absl::FailedPreconditionError("has unexpected arguments");
  const SymbolicSizes& in = Of(*self);
  *out = {};
  if (!in.is_tensor()) return absl::FailedPreconditionError("asks for an unknown size");
  const auto number = [&](size_t i) {
    SymbolicSizes one = SymbolicSizes::Number(in.sizes[i]);
    one.number_grows = in.grows[i] != 0;
    const TensorMeta* meta = self->node()->tensor_meta();
    if (meta != nullptr && i < meta->shape.size() && !meta->shape[i].is_static()) {
      one.multiple = 1;
      one.is_computed = true;
    }
    return one;
  };
  const Argument* dim = OperatorName(node) == "getattr" ? nullptr : node.FindArg("dim", 1);
  if (dim != nullptr) {
    const std::optional<int> at = DimIn(dim, in.rank(), 0);
    if (!at.has_value()) return absl::FailedPreconditionError("asks for an unknown size");
    *out = number(static_cast<size_t>(*at));
    return absl::OkStatus();
  }
  out->kind = SymbolicSizes::Kind::kTuple;
  for (size_t i = 0; i < in.sizes.size(); ++i) out->elements.push_back(number(i));
  return absl::OkStatus();
}

absl::Status DimPropagation::FollowSubscript(const Node& node, SymbolicSizes* out) {
  if (node.args().size() < 2) return absl::FailedPreconditionError("has unexpected arguments");
  const SymbolicSizes& in = Of(node.args()[0]);
  const Argument& index = node.args()[1];
  if (in.is_tuple()) {
    const auto size = static_cast<int64_t>(in.elements.size());
    if (index.is_int()) {
      const int64_t i = index.integer() + (index.integer() < 0 ? size : 0);
      if (i < 0 || i >= size)
        return absl::FailedPreconditionError("takes an element that does not exist");
      *out = in.elements[static_cast<size_t>(i)];
      return absl::OkStatus();
    }
    if (index.kind() == Argument::Kind::kSlice && index.elements().size() == 3) {
      const auto parts = index.elements();
      const auto at = [&](const Argument& a, int64_t otherwise) {
        if (!a.is_int()) return otherwise;
        return std::clamp<int64_t>(a.integer() + (a.integer() < 0 ? size : 0), 0, size);
      };
      *out = in;
      const int64_t begin = at(parts[0], 0), end = std::max(begin, at(parts[1], size));
      out->elements.assign(in.elements.begin() + begin, in.elements.begin() + end);
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError("takes an unknown part");
  }
  if (!in.is_tensor())
    return absl::FailedPreconditionError("takes a part of a value with unknown sizes");
  const auto elements = index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  std::vector<uint8_t> grows;
  size_t next = 0;
  std::optional<size_t> tensors_at;  // position of the dimensions of indices
  std::vector<uint8_t> index_grows;
  bool apart = false, last_was_tensor = false;
  const auto taken = absl::c_count_if(elements, [](const Argument& a) {
    return !a.is_none() && a.kind() != Argument::Kind::kEllipsis;
  });
  for (const Argument& element : elements) {
    const bool is_tensor = element.is_node() && !Of(element).is_number();
    if (element.is_none()) {
      grows.push_back(0);
    } else if (element.kind() == Argument::Kind::kEllipsis) {
      for (auto i = taken; i < in.rank() && next < in.grows.size(); ++i)
        grows.push_back(in.grows[next++]);
    } else if (next >= in.sizes.size()) {
      return absl::FailedPreconditionError("indexes more dimensions than there are");
    } else if (element.is_int() || (element.is_node() && !is_tensor)) {
      ++next;
    } else if (element.kind() == Argument::Kind::kSlice && element.elements().size() == 3) {
      const bool whole =
          (element.elements()[0].is_none() ||
           (element.elements()[0].is_int() && element.elements()[0].integer() == 0)) &&
          (element.elements()[1].is_none() ||
           (element.elements()[1].is_int() &&
            element.elements()[1].integer() == std::numeric_limits<int64_t>::max())) &&
          (element.elements()[2].is_none() ||
           (element.elements()[2].is_int() && element.elements()[2].integer() == 1));
      if (in.grows[next] && !whole) {
        // An end that grows with the dimension takes all of it.
        const Argument& stop = element.elements()[1];
        if (!(stop.is_node() && Of(stop).number_grows && element.elements()[0].is_none()))
          return absl::FailedPreconditionError("slices the dimension");
      }
      grows.push_back(in.grows[next++]);
    } else if (is_tensor) {
      const SymbolicSizes& by = Of(element);
      if (!by.is_tensor()) return absl::FailedPreconditionError("is indexed with an unknown value");
      const TensorMeta* meta = element.node()->tensor_meta();
      if (meta != nullptr && meta->dtype == DType::kBool)
        return absl::FailedPreconditionError("is indexed with a mask");
      if (tensors_at.has_value() && !last_was_tensor) apart = true;
      if (!tensors_at.has_value()) tensors_at = grows.size();
      std::vector<uint8_t> joined(std::max(index_grows.size(), by.grows.size()), 0);
      for (size_t i = 0; i < joined.size(); ++i) {
        if (i < index_grows.size())
          joined[joined.size() - 1 - i] |= index_grows[index_grows.size() - 1 - i];
        if (i < by.grows.size()) joined[joined.size() - 1 - i] |= by.grows[by.grows.size() - 1 - i];
      }
      index_grows = joined;
      ++next;
    } else {
      return absl::FailedPreconditionError("is indexed in an unknown way");
    }
    last_was_tensor = is_tensor;
  }
  while (next < in.sizes.size()) grows.push_back(in.grows[next++]);
  if (tensors_at.has_value()) {
    const size_t at = apart ? 0 : *tensors_at;
    grows.insert(grows.begin() + static_cast<ptrdiff_t>(at), index_grows.begin(),
                 index_grows.end());
  }
  if (!out->is_tensor() || grows.size() != out->sizes.size())
    return absl::FailedPreconditionError("its sizes are unknown; `graphnet shapes` infers them");
  out->grows = std::move(grows);
  return absl::OkStatus();
}

absl::Status DimPropagation::FollowWrite(const Node& node, SymbolicSizes* out) {
  if (node.args().size() < 2) return absl::FailedPreconditionError("has unexpected arguments");
  const SymbolicSizes& to = Of(node.args()[0]);
  const Argument& value = node.args()[node.args().size() - 1];
  const SymbolicSizes& from = Of(value);
  *out = to;
  if (!from.any()) return absl::OkStatus();
  if (to.any()) return absl::OkStatus();
  // Dimensions correspond from the last one on.
  bool forced = from.is_tensor() && from.rank() <= to.rank();
  for (int i = 0; forced && i < from.rank(); ++i) {
    if (from.grows[static_cast<size_t>(from.rank() - 1 - i)])
      forced &= Force(node.args()[0], static_cast<size_t>(to.rank() - 1 - i));
  }
  return forced ? absl::OkStatus()
                : absl::FailedPreconditionError("writes a value that grows to one that does not");
}

DimPropagation::SizeList DimPropagation::SizesOf(const Node& node, size_t position,
                                                 absl::string_view name) const {
  SizeList list;
  const Argument* given = node.FindArg(name, position);
  if (given == nullptr) return list;
  if (given->is_list() || given->is_tuple()) {
    for (const Argument& size : given->elements()) list.sizes.push_back(&size);
  } else if (Of(*given).is_tuple()) {
    list.extents = Of(*given).elements;
    list.is_computed = true;
    return list;
  } else {
    for (size_t i = position; i < node.args().size(); ++i) list.sizes.push_back(&node.args()[i]);
    if (position >= node.args().size()) list.sizes.push_back(given);
  }
  for (const Argument* size : list.sizes) list.extents.push_back(SymbolicSizesOf(*size));
  return list;
}

DimPropagation::SizeList DimPropagation::NamedSizes(const Node& node, absl::string_view name,
                                                    size_t position) const {
  const std::vector<PositionalParameter> names = PositionalParameters(node, CalleeOf(node));
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].name == name) position = i;
  }
  return SizesOf(node, position, name);
}

void DimPropagation::Edit(Node* node, const Argument* size, int64_t value) {
  edits_[node].push_back({size, value / example_});
}

absl::Status DimPropagation::WriteSizes(Node* node, const SizeList& list,
                                        const SymbolicSizes& out) {
  for (size_t i = 0; i < list.extents.size() && i < out.sizes.size(); ++i) {
    const SymbolicSizes& size = list.extents[i];
    if (!out.grows[i]) {
      if (size.any()) return absl::FailedPreconditionError("has a size that grows but should not");
      continue;
    }
    if (!size.is_number()) return absl::FailedPreconditionError("has an unknown size");
    if (size.number_varies ||
        (size.number_grows && size.number.value_or(out.sizes[i]) != out.sizes[i]))
      return absl::FailedPreconditionError("has a size that does not grow in proportion");
    if (size.number_grows || size.number == -1) continue;
    if (out.sizes[i] % example_ != 0)
      return absl::FailedPreconditionError("has a size that does not grow in proportion");
    if (list.is_computed || size.number.value_or(1) != out.sizes[i])
      return absl::FailedPreconditionError("has a size that should grow but does not");
    if (size.is_computed && size.multiple % example_ == 0) {
      edits_[node].push_back({list.sizes[i], 0});
      continue;
    }
    // A size taken from another value does not grow, unless it was forced to.
    if (list.sizes[i]->is_node() && out.sizes[i] != 1 &&
        (size.is_computed || !forced_.contains(node))) {
      return absl::FailedPreconditionError("has a size that should grow but does not");
    }
    Edit(node, list.sizes[i], out.sizes[i]);
  }
  return absl::OkStatus();
}

absl::Status DimPropagation::FollowReshape(Node* node, absl::string_view name,
                                           const SymbolicSizes& in, SymbolicSizes* out) {
  if (!in.is_tensor() || !out->is_tensor()) return Fits(*out);
  if (node->args().size() == 2 && node->args()[1].kind() == Argument::Kind::kDType) {
    out->grows = in.grows;
    return in.sizes == out->sizes ? absl::OkStatus() : Fits(SymbolicSizes());
  }
  if (name == "flatten" || name == "view_as" || name == "reshape_as")
    return SplitAndJoin(in, {}, out);
  if (name == "unflatten") {
    RETURN_IF_ERROR(SplitAndJoin(in, {}, out));
    const std::optional<int> dim = DimIn(node->FindArg("dim", 1), in.rank(), 0);
    const SizeList list = SizesOf(*node, 2, "sizes");
    if (!dim.has_value()) return absl::FailedPreconditionError("splits an unknown dimension up");
    SymbolicSizes part = *out;
    part.sizes.erase(part.sizes.begin(), part.sizes.begin() + *dim);
    part.grows.erase(part.grows.begin(), part.grows.begin() + *dim);
    return WriteSizes(node, list, part);
  }
  const SizeList list = SizesOf(*node, 1, name == "reshape" ? "shape" : "size");
  if (list.extents.size() != out->sizes.size())
    return absl::FailedPreconditionError("has unknown sizes");
  RETURN_IF_ERROR(SplitAndJoin(in, list, out));
  return WriteSizes(node, list, *out);
}

absl::Status DimPropagation::SplitAndJoin(const SymbolicSizes& in, const SizeList& list,
                                          SymbolicSizes* out) const {
  size_t i = 0, j = 0;
  while (i < in.sizes.size() || j < out->sizes.size()) {
    const size_t i0 = i, j0 = j;
    int64_t a = i < in.sizes.size() ? in.sizes[i++] : 1;
    int64_t b = j < out->sizes.size() ? out->sizes[j++] : 1;
    while (a != b) {
      if (a < b && i < in.sizes.size()) {
        a *= in.sizes[i++];
      } else if (b < a && j < out->sizes.size()) {
        b *= out->sizes[j++];
      } else {
        return absl::FailedPreconditionError("has sizes that do not fit");
      }
    }
    const bool grows =
        absl::c_linear_search(absl::MakeConstSpan(in.grows).subspan(i0, i - i0), uint8_t{1});
    if (!grows) continue;
    if (absl::c_count(absl::MakeConstSpan(in.grows).subspan(i0, i - i0), uint8_t{1}) > 1)
      return absl::FailedPreconditionError("joins two dimensions that grow");
    if (j == j0) return absl::FailedPreconditionError("takes the dimension away");
    // Prefer a dimension that the list says grows, then one of the example's size, then the first
    // multiple of it.
    size_t at = j;
    for (size_t k = j; k-- > j0;) {
      if (out->sizes[k] % example_ == 0) at = k;
    }
    for (size_t k = j; k-- > j0;) {
      if (out->sizes[k] == example_) at = k;
    }
    for (size_t k = j; k-- > j0;) {
      if (k < list.extents.size() && list.extents[k].number_grows) at = k;
    }
    if (at == j) return absl::FailedPreconditionError("splits the dimension");
    // Dimensions before it in its group would have to be outer ones.
    if (j - j0 > 1 && i - i0 > 1 && in.grows[i0] == 0 && at == j0)
      return absl::FailedPreconditionError("mixes the dimension with others");
    out->grows[at] = 1;
  }
  return absl::OkStatus();
}

absl::Status DimPropagation::FollowExpand(Node* node, const SymbolicSizes& in, SymbolicSizes* out) {
  if (!in.is_tensor() || !out->is_tensor() || out->rank() < in.rank()) return Fits(SymbolicSizes());
  const size_t lead = out->sizes.size() - in.sizes.size();
  for (size_t i = 0; i < in.sizes.size(); ++i) out->grows[lead + i] = in.grows[i];
  const SizeList list = NamedSizes(*node, "size", 1);
  if (list.extents.size() != out->sizes.size())
    return absl::FailedPreconditionError("has unknown sizes");
  for (size_t i = 0; i < list.extents.size(); ++i) out->grows[i] |= list.extents[i].number_grows;
  if (const auto forced = forced_.find(node); forced != forced_.end()) {
    for (const size_t i : forced->second) out->grows[i] = 1;
  }
  return WriteSizes(node, list, *out);
}

absl::Status DimPropagation::FollowFactory(Node* node, absl::string_view name, SymbolicSizes* out) {
  if (!out->is_tensor()) return Fits(*out);
  const SizeList list = NamedSizes(*node, "size", absl::StartsWith(name, "new_") ? 1 : 0);
  if (list.extents.size() < out->sizes.size())
    return absl::FailedPreconditionError("has unknown sizes");
  for (size_t i = 0; i < out->sizes.size(); ++i) out->grows[i] |= list.extents[i].number_grows;
  if (const auto forced = forced_.find(node); forced != forced_.end()) {
    for (const size_t i : forced->second) out->grows[i] = 1;
  }
  return WriteSizes(node, list, *out);
}

absl::Status DimPropagation::MarkNumbers(Node* node, SymbolicSizes* out) {
  const SizeList list = NamedSizes(*node, OperatorName(*node) == "tile" ? "dims" : "repeats", 1);
  if (const auto forced = forced_.find(node); forced != forced_.end()) {
    for (const size_t i : forced->second) {
      if (!out->grows[i] && !list.extents[i].number_grows) Edit(node, list.sizes[i], out->sizes[i]);
      out->grows[i] = 1;
    }
    return absl::OkStatus();
  }
  for (size_t i = 0; i < list.extents.size() && i < out->sizes.size(); ++i) {
    if (list.extents[i].number_varies || (list.extents[i].number_grows && out->grows[i]))
      return absl::FailedPreconditionError("has a size that does not grow in proportion");
    out->grows[i] |= list.extents[i].number_grows;
  }
  return absl::OkStatus();
}

bool DimPropagation::Expand(Node* node, const Argument& argument, size_t dim) {
  const SymbolicSizes& of = values_[argument.node()];
  if (of.sizes[dim] != 1 || example_ != 1) return false;
  expands_[node][argument.node()].insert(dim);
  return true;
}

}  // namespace graphnet

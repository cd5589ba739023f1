// Infers the sizes of the results of a call.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "graphnet/base/check.h"
#include "graphnet/facts/shapes/call_facts.h"

namespace graphnet {
namespace {

// A negative size is unknown. A result that overflows is unknown, too.
int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}
int64_t Plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}
int64_t Product(absl::Span<const int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product = Times(product, size);
  return product;
}

// Returns one number for each of `length` dimensions; a single number counts for all.
std::optional<Sizes> NumbersOf(const Argument& value, size_t length) {
  if (value.is_int()) return Sizes(length, value.integer());
  std::optional<Sizes> numbers = NumbersOf(value);
  if (numbers.has_value() && numbers->size() == 1) numbers->resize(length, (*numbers)[0]);
  return numbers.has_value() && numbers->size() == length ? numbers : std::nullopt;
}

// Returns the sizes in a list, including unknown ones.
std::optional<Sizes> ListedIn(const Argument& list) {
  if (list.is_int()) return Sizes(1, std::max<int64_t>(list.integer(), -1));
  if (!list.is_sequence()) return std::nullopt;
  Sizes sizes;
  for (const Argument& size : list.elements())
    sizes.push_back(size.is_int() ? std::max<int64_t>(size.integer(), -1) : -1);
  return sizes;
}

std::optional<size_t> DimOf(const Argument& dim, size_t rank) {
  const auto dims = DimsOf(dim, static_cast<int>(rank));
  return dims.has_value() && dims->size() == 1 ? std::optional((*dims)[0]) : std::nullopt;
}

// Returns the sizes to which tensors broadcast.
Sizes Broadcast(absl::Span<const Sizes> all) {
  Sizes made;
  for (const Sizes& sizes : all) {
    if (sizes.size() > made.size()) made.insert(made.begin(), sizes.size() - made.size(), 1);
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t& to = made[made.size() - sizes.size() + i];
      if (sizes[i] == 1 || to == sizes[i]) continue;
      if (to == 1 || (to < 0 && sizes[i] >= 0)) {
        to = sizes[i];
      } else if (to >= 0 && sizes[i] >= 0) {
        to = -1;  // The call fails.
      }
    }
  }
  return made;
}

// Returns the sizes after a reshape. A single -1 in `to` follows from the other sizes if these are
// known.
Sizes Reshaped(const Sizes& from, const Argument& to) {
  Sizes made = *ListedIn(to);
  const int64_t all = Product(from);
  const auto open = absl::c_count_if(made, [](int64_t size) { return size < 0; });
  if (open != 1 || all < 0 || to.is_int()) return made;
  const auto at = absl::c_find_if(made, [](int64_t size) { return size < 0; }) - made.begin();
  if (!to.elements()[static_cast<size_t>(at)].is_int()) return made;
  made[static_cast<size_t>(at)] = 1;
  const int64_t known = Product(made);
  made[static_cast<size_t>(at)] = known > 0 && all % known == 0 ? all / known : -1;
  return made;
}

// Returns the number of windows of `kernel` elements in `size`.
int64_t Windows(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                int64_t more = 0) {
  constexpr int64_t kMost = int64_t{1} << 40;  // beyond it, products do not fit
  for (const int64_t n : {size, kernel, stride, padding, dilation}) {
    if (n < 0 || n > kMost) return -1;
  }
  const int64_t reach = Times(dilation, kernel - 1);
  if (stride == 0 || reach < 0) return -1;
  const int64_t room = size + 2 * padding - reach - 1;
  return room < 0 ? -1 : (room + more) / stride + 1;
}

// --- Rules -------------------------------------------------------------------------

using Result = std::optional<Sizes>;

Sizes Ranked(size_t rank) { return Sizes(rank, -1); }
Sizes::iterator At(Sizes* sizes, size_t i) { return sizes->begin() + static_cast<ptrdiff_t>(i); }
Result Given(const CallFacts& call, absl::string_view parameter) {
  const Argument value = call[parameter];
  return value.is_node() ? call.of(value).sizes : std::nullopt;
}
// Returns 2 for "avg_pool2d" and "avg_pool2d_", 0 for a name without a digit.
size_t Digit(const CallFacts& call) {
  const auto digit = absl::c_find_if(
      call.schema.name, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  return digit == call.schema.name.end() ? 0 : static_cast<size_t>(*digit - '0');
}

Result BroadcastAll(const CallFacts& call) {
  if (call.schema.mutates()) return call.tensor(0).sizes;
  std::vector<Sizes> all;
  if (call.condition.has_value()) {
    if (!call.condition->sizes.has_value()) return std::nullopt;
    all.push_back(*call.condition->sizes);
  }
  for (const TensorFacts& tensor : call.tensors) {
    if (!tensor.sizes.has_value()) return std::nullopt;
    all.push_back(*tensor.sizes);
  }
  return all.empty() ? std::nullopt : Result(Broadcast(all));
}

Result Masked(const CallFacts& call) {
  const TensorFacts x = call.tensor(0), mask = call.tensor(1);
  if (call.schema.mutates() || !x.sizes.has_value() || !mask.sizes.has_value())
    return call.schema.mutates() ? x.sizes : std::nullopt;
  return Broadcast({*x.sizes, *mask.sizes});
}

Result Arange(const CallFacts& call) {
  const Argument start = call["start"], end = call["end"], step = call["step"];
  const auto is = [](const Argument& a) { return a.is_int() || a.is_none(); };
  const int64_t by = step.is_int() ? step.integer() : 1;
  int64_t length = 0;
  if (!end.is_int() || !is(start) || !is(step) || by <= 0 ||
      __builtin_sub_overflow(end.integer(), start.is_int() ? start.integer() : 0, &length)) {
    return Ranked(1);
  }
  return Sizes{length <= 0 ? 0 : (length - 1) / by + 1};
}

Result Joined(const CallFacts& call, bool is_new) {
  // The length of a list that is a value is unknown.
  if (const TensorFacts list = call.tensor(0);
      list.kind == TensorFacts::Kind::kList && list.sizes.has_value()) {
    return Ranked(list.sizes->size() + (is_new ? 1 : 0));
  }
  Result made;
  std::optional<size_t> dim;
  for (const TensorFacts& tensor : call.tensors) {
    if (!tensor.sizes.has_value()) return std::nullopt;
    const Sizes& sizes = *tensor.sizes;
    if (!is_new && sizes.size() == 1 && sizes[0] == 0) continue;  // cat skips an empty tensor.
    if (!made.has_value()) {
      const size_t rank = sizes.size() + (is_new ? 1 : 0);
      dim = DimOf(call["dim"], rank);
      if (!dim.has_value()) return Ranked(rank);
      made = sizes;
      continue;
    }
    if (sizes.size() != made->size()) return std::nullopt;
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t& to = (*made)[i];
      if (!is_new && i == *dim) {
        to = Plus(to, sizes[i]);
      } else if (to < 0) {
        to = sizes[i];
      }
    }
  }
  if (made.has_value() && is_new)
    made->insert(At(&*made, *dim), static_cast<int64_t>(call.tensors.size()));
  return made;
}

Result Multiplied(const TensorFacts& a, const TensorFacts& b) {
  if (a.rank() < 1 || b.rank() < 1) return std::nullopt;
  Sizes left = *a.sizes, right = *b.sizes;
  const bool is_row = left.size() == 1, is_column = right.size() == 1;
  const int64_t rows = is_row ? 1 : left[left.size() - 2], columns = right.back();
  left.resize(is_row ? 0 : left.size() - 2);
  right.resize(is_column ? 0 : right.size() - 2);
  Sizes made = Broadcast({left, right});
  if (!is_row) made.push_back(rows);
  if (!is_column) made.push_back(columns);
  return made;
}

Result Einsum(const CallFacts& call) {
  const Argument equation = call["equation"], tensors = call["tensors"];
  if (!equation.is_string()) return std::nullopt;
  const auto letters = [](absl::string_view term) {
    return static_cast<size_t>(absl::c_count_if(
        term, [](char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }));
  };
  const std::string output = OutputOfEinsum(equation.string());
  if (!absl::StrContains(output, "...")) return Ranked(letters(output));
  const std::vector<absl::string_view> terms =
      absl::StrSplit(equation.string().substr(0, equation.string().find("->")), ',');
  if (!tensors.is_sequence() || terms.size() != tensors.elements().size()) return std::nullopt;
  size_t others = 0;  // number of dimensions of the ellipsis
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!absl::StrContains(terms[i], "...")) continue;
    const int rank = call.of(tensors.elements()[i]).rank();
    if (rank < static_cast<int>(letters(terms[i]))) return std::nullopt;
    others = std::max(others, static_cast<size_t>(rank) - letters(terms[i]));
  }
  return Ranked(letters(output) + others);
}

Result View(const CallFacts& call) {
  const Result& x = call.tensor(0).sizes;
  if (!call.has("size") && !call.has("shape"))  // a view as another dtype
    return x.has_value() ? Result(Ranked(x->size())) : std::nullopt;
  const Argument to = call[call.has("size") ? "size" : "shape"];
  return x.has_value() && to.is_sequence() ? Result(Reshaped(*x, to)) : ListedIn(to);
}

Result Expanded(const CallFacts& call) {
  const Argument to = call["size"];
  Result made = ListedIn(to);
  const Result x = call.tensor(0).sizes;
  if (!made.has_value() || !x.has_value()) return made;
  for (size_t i = 0; i < made->size(); ++i) {
    const size_t behind = made->size() - i;
    const Argument& given = to.is_int() ? to : to.elements()[i];
    if (given.is_int() && given.integer() == -1 && behind <= x->size())
      (*made)[i] = (*x)[x->size() - behind];
  }
  return made;
}

Result Repeated(const CallFacts& call) {
  Result made = ListedIn(call["repeats"]);
  const Result x = call.tensor(0).sizes;
  if (!made.has_value()) return made;
  if (!x.has_value() || x->size() > made->size()) return Ranked(made->size());
  for (size_t i = 0; i < x->size(); ++i) {
    int64_t& to = (*made)[made->size() - x->size() + i];
    to = Times(to, (*x)[i]);
  }
  return made;
}

Result Embedding(const CallFacts& call) {
  Result made = Given(call, "indices");
  const Result weight = Given(call, "weight");
  if (made.has_value()) made->push_back(weight && weight->size() == 2 ? weight->back() : -1);
  return made;
}

// --- Rules that change the sizes of the first tensor -------------------------------
// They return false if nothing is known, except perhaps the rank (ResultRule::rank).

bool Become(Sizes sizes, Sizes* x) {
  *x = std::move(sizes);
  return true;
}

bool Linear(const CallFacts& call, Sizes& x) {
  const Result weight = Given(call, "weight");
  if (!weight.has_value() || weight->empty() || x.empty()) return false;
  // A bias with more dimensions adds dimensions to the result.
  if (call.of(call["bias"]).rank() > (weight->size() > 1 ? 1 : 0)) return false;
  x.pop_back();
  if (weight->size() > 1) x.push_back((*weight)[0]);
  return true;
}

bool Attention(const CallFacts& call, Sizes& x) {
  const Result value = Given(call, "value");
  if (!value.has_value() || value->empty() || x.empty()) return false;
  x.back() = value->back();
  return true;
}

bool Convolved(const CallFacts& call, Sizes& x) {
  const Result weight = Given(call, "weight");
  const Argument transposed = call["transposed"];
  if (!weight || weight->size() < 3 || transposed.is_node() ||
      (transposed.is_bool() && transposed.boolean())) {
    return false;
  }
  const size_t dims = weight->size() - 2;
  if (x.size() != dims + 2 && x.size() != dims + 1) return false;
  Argument given = call["padding"];
  const size_t first = x.size() - dims;
  x[first - 1] = (*weight)[0];
  const bool is_same = given.is_string() && given.string() == "same";
  if (given.is_string()) given = 0;
  const auto stride = NumbersOf(call["stride"], dims), padding = NumbersOf(given, dims),
             dilation = NumbersOf(call["dilation"], dims);
  for (size_t i = 0; i < dims; ++i) {
    int64_t& size = x[first + i];
    if (!stride || !padding || !dilation) {
      size = -1;
    } else if (is_same) {
      size = Windows(size, 1, (*stride)[i], 0, 1);
    } else {
      size = Windows(size, (*weight)[2 + i], (*stride)[i], (*padding)[i], (*dilation)[i]);
    }
  }
  return true;
}

bool Pooled(const CallFacts& call, Sizes& x) {
  const size_t dims = Digit(call);
  const auto kernel = NumbersOf(call["kernel_size"], dims);
  const auto padding = NumbersOf(call["padding"], dims);
  const Argument given = call["dilation"];
  const auto dilation = given.is_none() ? Sizes(dims, 1) : NumbersOf(given, dims);
  const Argument ceil = call["ceil_mode"];
  auto stride = NumbersOf(call["stride"], dims);
  if (!stride) stride = kernel;
  if (!kernel || !padding || !dilation || x.size() < dims || !ceil.is_bool()) return false;
  for (size_t i = 0; i < dims; ++i) {
    int64_t& size = x[x.size() - dims + i];
    const int64_t s = (*stride)[i], p = (*padding)[i];
    const int64_t more = ceil.boolean() && s > 0 ? s - 1 : 0;
    int64_t out = Windows(size, (*kernel)[i], s, p, (*dilation)[i], more);
    // The last window has to begin inside the tensor.
    if (more > 0 && out > 0 && (out - 1) * s >= size + p) --out;
    size = out;
  }
  return true;
}

bool Adapted(const CallFacts& call, Sizes& x) {
  const size_t dims = Digit(call);
  const auto to = NumbersOf(call["output_size"], dims);
  if (!to || x.size() < dims) return false;
  absl::c_copy(*to, x.end() - static_cast<ptrdiff_t>(dims));
  return true;
}

bool Flattened(const CallFacts& call, Sizes& x) {
  if (x.empty()) return Become(Sizes{1}, &x);
  const auto start = DimOf(call["start_dim"], x.size()), end = DimOf(call["end_dim"], x.size());
  if (!start || !end || *start > *end) return false;
  x[*start] = Product(absl::MakeConstSpan(x).subspan(*start, *end - *start + 1));
  x.erase(At(&x, *start + 1), At(&x, *end + 1));
  return true;
}

bool Unflattened(const CallFacts& call, Sizes& x) {
  const auto dim = DimOf(call["dim"], x.size());
  const Argument to = call["sizes"];
  if (!to.is_sequence() || x.empty()) return false;
  if (!dim) return Become(Ranked(x.size() + to.elements().size() - 1), &x);
  const Sizes parts = Reshaped({x[*dim]}, to);
  x.erase(At(&x, *dim));
  x.insert(At(&x, *dim), parts.begin(), parts.end());
  return true;
}

bool Unsqueezed(const CallFacts& call, Sizes& x) {
  const auto dim = DimOf(call["dim"], x.size() + 1);
  if (!dim) return false;
  x.insert(At(&x, *dim), 1);
  return true;
}

bool Squeezed(const CallFacts& call, Sizes& x) {
  if (x.empty()) return true;
  const auto dims = DimsOf(call["dim"], static_cast<int>(x.size()));
  if (!dims.has_value()) return false;
  Sizes left;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool named = !call.has("dim") || absl::c_linear_search(*dims, i);
    if (named && x[i] < 0) return false;
    if (!named || x[i] != 1) left.push_back(x[i]);
  }
  return Become(std::move(left), &x);
}

bool Transposed(const CallFacts& call, Sizes& x) {
  if (x.empty()) return true;
  const auto dim = [&](size_t i) { return DimOf(call[call.schema.arguments[i].name], x.size()); };
  if (!dim(1) || !dim(2)) return false;
  std::swap(x[*dim(1)], x[*dim(2)]);
  return true;
}

bool Reversed(const CallFacts& /*call*/, Sizes& x) {
  absl::c_reverse(x);
  return true;
}

bool MatrixTransposed(const CallFacts& /*call*/, Sizes& x) {
  if (x.size() > 1) std::swap(x.back(), x[x.size() - 2]);
  return true;
}

bool Permuted(const CallFacts& call, Sizes& x) {
  const auto dims = DimsOf(call["dims"], static_cast<int>(x.size()));
  if (!dims || dims->size() != x.size()) return false;
  Sizes made;
  for (const size_t dim : *dims) made.push_back(x[dim]);
  return Become(std::move(made), &x);
}

bool Selected(const CallFacts& call, Sizes& x) {
  const auto dim = DimOf(call["dim"], x.size());
  if (!dim) return false;
  x.erase(At(&x, *dim));
  return true;
}

bool Sliced(const CallFacts& call, Sizes& x) {
  const auto dim = DimOf(call["dim"], x.size());
  if (!dim) return false;
  const int64_t size = std::exchange(x[*dim], -1);
  const Argument step = call["step"];
  const auto clip = [&](const Argument& value, int64_t otherwise) -> std::optional<int64_t> {
    if (value.is_none()) return otherwise;
    if (!value.is_int()) return std::nullopt;
    return std::clamp<int64_t>(value.integer() + (value.integer() < 0 ? size : 0), 0, size);
  };
  if (size < 0 || !step.is_int() || step.integer() < 1) return true;
  const auto start = clip(call["start"], 0), end = clip(call["end"], size);
  if (start && end) x[*dim] = *end <= *start ? 0 : (*end - *start - 1) / step.integer() + 1;
  return true;
}

bool Narrowed(const CallFacts& call, Sizes& x) {
  const auto dim = DimOf(call["dim"], x.size());
  const Argument length = call["length"];
  if (!dim) return false;
  x[*dim] = length.is_int() ? length.integer() : -1;
  return true;
}

bool Parted(const CallFacts& call, Sizes& x) {
  const auto dim = DimOf(call["dim"], x.size());
  if (!dim) return false;
  if (call.schema.name == "unbind") {
    x.erase(At(&x, *dim));
  } else {
    x[*dim] = -1;
  }
  return true;
}

bool Padded(const CallFacts& call, Sizes& x) {
  const auto pad = NumbersOf(call["pad"]);
  if (!pad || pad->size() % 2 != 0 || pad->size() / 2 > x.size()) return false;
  for (size_t i = 0; i < pad->size(); ++i) {
    int64_t& size = x[x.size() - 1 - i / 2];
    if (size >= 0 && __builtin_add_overflow(size, (*pad)[i], &size)) size = -1;
  }
  return true;
}

bool PixelShuffled(const CallFacts& call, Sizes& x) {
  const Argument factor = call["upscale_factor"];
  if (!factor.is_int() || x.size() < 3) return false;
  const int64_t square = Times(factor.integer(), factor.integer());
  int64_t* const last = &x.back();
  last[-2] = square > 0 && last[-2] >= 0 ? last[-2] / square : -1;
  last[-1] = Times(last[-1], factor.integer());
  last[0] = Times(last[0], factor.integer());
  return true;
}

bool Halved(const CallFacts& call, Sizes& x) {
  const auto dim = DimOf(call["dim"], x.size());
  if (!dim) return false;
  if (x[*dim] >= 0) x[*dim] /= 2;
  return true;
}

bool Differenced(const CallFacts& call, Sizes& x) {
  const auto dim = DimOf(call["dim"], x.size());
  const Argument n = call["n"];
  if (!dim || !n.is_int() || n.integer() < 0) return false;
  int64_t& size = x[*dim];
  for (const absl::string_view more : {"prepend", "append"}) {
    if (call[more].is_none()) continue;
    const Result sizes = Given(call, more);
    size = sizes && sizes->size() == x.size() ? Plus(size, (*sizes)[*dim]) : -1;
  }
  if (size >= 0) size = std::max<int64_t>(size - n.integer(), 0);
  return true;
}

// The sizes behind the first two are given, or each is multiplied by a factor and rounded down.
bool Upsampled(const CallFacts& call, Sizes& x) {
  if (x.size() < 3) return false;
  const size_t dims = x.size() - 2;
  std::optional<Sizes> sizes = NumbersOf(call["output_size"]);
  const Argument factors = call.has("scale_factors") ? call["scale_factors"] : Argument();
  if (!sizes && factors.is_aggregate() && factors.elements().size() == dims) {
    sizes.emplace(dims, -1);
    for (size_t i = 0; i < dims; ++i) {
      const Argument& factor = factors.elements()[i];
      if (!factor.is_float() && !factor.is_int()) continue;
      const double by = factor.is_int() ? static_cast<double>(factor.integer()) : factor.real();
      const double size = static_cast<double>(x[i + 2]) * by;
      if (x[i + 2] >= 0 && size >= 0 && size < 1e15) (*sizes)[i] = static_cast<int64_t>(size);
    }
  }
  if (!sizes || sizes->size() != dims) return false;
  std::copy(sizes->begin(), sizes->end(), x.begin() + 2);
  return true;
}

bool IndexSelected(const CallFacts& call, Sizes& x) {
  const auto dim = DimOf(call["dim"], x.size());
  const Result index = Given(call, "index");
  if (!dim) return false;
  x[*dim] = index && index->size() == 1 ? (*index)[0] : -1;
  return true;
}

bool Indexed(const CallFacts& call, Sizes& x) {
  const Argument indices = call["indices"];
  if (!indices.is_sequence() || indices.elements().size() > x.size()) return false;
  Sizes made;
  std::vector<Sizes> index;
  size_t place = 0, last = 0;
  bool is_apart = false;  // the index tensors are not adjacent
  for (size_t i = 0; i < x.size(); ++i) {
    if (i >= indices.elements().size() || indices.elements()[i].is_none()) {
      made.push_back(x[i]);
      continue;
    }
    const TensorFacts of = call.of(indices.elements()[i]);
    if (!of.is_index() || of.dtype == DType::kUInt8) return false;  // It may be a mask.
    is_apart |= !index.empty() && last + 1 != i;
    if (index.empty()) place = made.size();
    last = i;
    index.push_back(*of.sizes);
  }
  const Sizes joint = Broadcast(index);
  made.insert(At(&made, is_apart ? 0 : place), joint.begin(), joint.end());
  return Become(std::move(made), &x);
}

// The result has one dimension per tensor.
Result Meshed(const CallFacts& call) {
  const Argument tensors = call["tensors"];
  if (!tensors.is_sequence()) return std::nullopt;
  return Ranked(tensors.elements().size());
}

bool RepeatInterleaved(const CallFacts& call, Sizes& x) {
  if (call["dim"].is_none()) return Become(Ranked(1), &x);
  if (const auto dim = DimOf(call["dim"], x.size())) {
    const Argument repeats = call["repeats"];
    x[*dim] = repeats.is_int() ? Times(x[*dim], repeats.integer()) : -1;
    return true;
  }
  return Become(Ranked(x.size()), &x);
}

bool Reduced(const CallFacts& call, Sizes& x) {
  const SchemaArgument* parameter = call.schema.FindArgument("dim");
  if (parameter == nullptr) return Become({}, &x);
  const Argument given = call["dim"], keep = call["keepdim"];
  // A default such as [-2, -1] has no value here.
  const bool is_other = given.is_none() && parameter->has_default &&
                        parameter->default_text != "None" && parameter->default_text != "[]";
  if (is_other || keep.is_node()) return false;
  if (x.empty()) return true;
  const bool keeps = keep.is_bool() && keep.boolean();
  // An empty list means all dimensions, except for any() and all().
  const bool whole = given.is_none() ||
                     (given.is_sequence() && given.elements().empty() && call.rule.type != "bool");
  const auto dims = DimsOf(given, static_cast<int>(x.size()));
  if (!dims.has_value()) {
    const size_t removed = keeps ? 0 : given.is_sequence() ? given.elements().size() : 1;
    return removed <= x.size() && Become(Ranked(x.size() - removed), &x);
  }
  Sizes made;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool reduced = whole || absl::c_linear_search(*dims, i);
    if (reduced && keeps) made.push_back(1);
    if (!reduced) made.push_back(x[i]);
  }
  return Become(std::move(made), &x);
}

struct Rule {
  absl::string_view word;
  Result (*of_all)(const CallFacts&);
  bool (*of_first)(const CallFacts&, Sizes&) = nullptr;
};
constexpr Rule kRules[] = {
    {"-", [](const CallFacts&) { return Result(); }},
    {"same", [](const CallFacts& c) { return c.tensor(0).sizes; }},
    {"second", [](const CallFacts& c) { return c.tensor(1).sizes; }},
    {"listed", [](const CallFacts& c) { return ListedIn(c["size"]); }},
    {"gather", [](const CallFacts& c) { return Given(c, "index"); }},
    {"cat", [](const CallFacts& c) { return Joined(c, false); }},
    {"stack", [](const CallFacts& c) { return Joined(c, true); }},
    {"meshgrid", Meshed},
    {"matmul", [](const CallFacts& c) { return Multiplied(c.tensor(0), c.tensor(1)); }},
    {"addmm", [](const CallFacts& c) { return Multiplied(c.tensor(1), c.tensor(2)); }},
    {"broadcast", [](const CallFacts&) { return Result(); }},  // BroadcastAll handles these
    {"masked", Masked},
    {"arange", Arange},
    {"einsum", Einsum},
    {"view", View},
    {"expand", Expanded},
    {"repeat", Repeated},
    {"embedding", Embedding},
    {"linear", nullptr, Linear},
    {"attention", nullptr, Attention},
    {"conv", nullptr, Convolved},
    {"pool", nullptr, Pooled},
    {"adaptive", nullptr, Adapted},
    {"flatten", nullptr, Flattened},
    {"unflatten", nullptr, Unflattened},
    {"unsqueeze", nullptr, Unsqueezed},
    {"squeeze", nullptr, Squeezed},
    {"transpose", nullptr, Transposed},
    {"reverse", nullptr, Reversed},
    {"matrix", nullptr, MatrixTransposed},
    {"permute", nullptr, Permuted},
    {"select", nullptr, Selected},
    {"slice", nullptr, Sliced},
    {"narrow", nullptr, Narrowed},
    {"pieces", nullptr, Parted},
    {"pad", nullptr, Padded},
    {"pixel_shuffle", nullptr, PixelShuffled},
    {"diff", nullptr, Differenced},
    {"halved", nullptr, Halved},
    {"upsample", nullptr, Upsampled},
    {"index", nullptr, Indexed},
    {"index_select", nullptr, IndexSelected},
    {"repeat_interleave", nullptr, RepeatInterleaved},
    {"reduce", nullptr, Reduced},
};

}  // namespace

std::optional<Sizes> SizesOfResult(const CallFacts& call) {
  if (IsPointwise(call.schema)) return BroadcastAll(call);
  Result made = call.tensor(0).sizes;
  const auto rank = made.has_value() ? static_cast<int>(made->size()) : -1;
  const Rule* const rule =
      absl::c_find_if(kRules, [&](const Rule& r) { return r.word == call.rule.sizes; });
  CHECK(rule != std::end(kRules));  // A test checks all rows.
  if (rule->of_all != nullptr) {
    made = rule->of_all(call);
  } else if (made.has_value() && !rule->of_first(call, *made)) {
    made.reset();
  }
  if (made.has_value() || !call.rule.rank.has_value()) return made;
  const int otherwise = *call.rule.rank + (call.rule.adds_rank ? rank : 0);
  if ((call.rule.adds_rank && rank < 0) || otherwise < 0) return std::nullopt;
  return Ranked(static_cast<size_t>(otherwise));
}

std::vector<Sizes> SizesOfPieces(const CallFacts& call, const Sizes& all) {
  constexpr int64_t kMost = 100'000;
  const absl::string_view name = call.schema.name;
  const Sizes x = call.tensor(0).sizes.value_or(Sizes());
  const auto dim = DimOf(call["dim"], x.size());
  if (call.rule.sizes != "pieces" || !dim || x[*dim] < 0) return {};
  const int64_t size = x[*dim];
  if (name == "unbind")
    return std::vector<Sizes>(size <= kMost ? static_cast<size_t>(size) : 0, all);
  Sizes lengths;
  const auto cut = [&](int64_t length) {
    if (length <= 0 || size / length >= kMost) return;
    for (int64_t left = size; left > 0; left -= length) lengths.push_back(std::min(left, length));
  };
  const Argument chunks = call["chunks"], split = call["split_size"];
  if (name == "chunk" && chunks.is_int() && chunks.integer() > 0) {
    cut((size - 1) / chunks.integer() + 1);
  } else if (name == "split" && split.is_int()) {
    cut(split.integer());
  } else if (name == "split" || name == "split_with_sizes") {
    lengths = NumbersOf(call[name == "split" ? "split_size" : "split_sizes"]).value_or(Sizes());
  }
  std::vector<Sizes> pieces(lengths.size(), all);
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i][*dim] = lengths[i];
  return pieces;
}

}  // namespace graphnet

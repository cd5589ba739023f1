#include "graphnet/passes/generalize_dims.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/parameter_names.h"
#include "graphnet/ops/result_rules.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/ops/tensor_facts.h"
#include "graphnet/passes/rename_inputs.h"

namespace graphnet {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

constexpr int kMaxRounds = 64;

Names Words(absl::string_view text) { return absl::StrSplit(text, ' '); }

// What is known of a value: the sizes with the example, and which of them grow with the
// symbol, each by a factor.
struct Extent {
  enum class Kind { kOther, kTensor, kNumber, kTuple };
  Kind kind = Kind::kOther;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> grows;
  bool number_grows = false;
  std::vector<Extent> elements;

  bool any() const {
    return number_grows || absl::c_linear_search(grows, uint8_t{1}) ||
           absl::c_any_of(elements, [](const Extent& e) { return e.any(); });
  }
  bool is_tensor() const { return kind == Kind::kTensor; }
  int rank() const { return static_cast<int>(sizes.size()); }
};

std::optional<int> DimIn(const Argument* argument, int rank, int otherwise) {
  if (argument == nullptr || argument->is_none()) return otherwise;
  if (!argument->is_int()) return std::nullopt;
  const int64_t dim = argument->integer() + (argument->integer() < 0 ? rank : 0);
  if (dim < 0 || dim >= rank) return std::nullopt;
  return static_cast<int>(dim);
}

class Generalization {
 public:
  Generalization(Module* module, PassRun* run) : module_(*module), run_(*run) {}

  absl::StatusOr<bool> Run() {
    RETURN_IF_ERROR(ChooseInputs());
    if (inputs_.empty()) return false;
    for (int round = 0;; ++round) {
      again_ = false;
      edits_.clear();
      expands_.clear();
      values_ = NodeTable<Extent>(module_);
      for (Node* node : module_.main()->nodes()) {
        RETURN_IF_ERROR(Visit(node));
      }
      if (!again_) break;
      if (round == kMaxRounds)
        return absl::FailedPreconditionError("sizes depend on each other in too many places");
    }
    return Apply();
  }

 private:
  // --- What is to grow -----------------------------------------------------------

  absl::Status ChooseInputs() {
    int64_t dim = 0;
    if (!run_.option("dim").empty() && (!absl::SimpleAtoi(run_.option("dim"), &dim) || dim < 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("dim is a number from 0, not \"", Printable(run_.option("dim")), "\""));
    }
    dim_ = static_cast<size_t>(dim);
    const std::vector<std::string> wanted = run_.list("inputs");
    std::set<absl::string_view> found;
    const SymExpr* symbol = nullptr;
    size_t others = 0;
    for (Node* node : module_.main()->placeholders()) {
      const bool is_wanted = absl::c_linear_search(wanted, node->target());
      if (is_wanted) found.insert(node->target());
      const TensorMeta* meta = node->tensor_meta();
      const bool fits = meta != nullptr && meta->has_shape && meta->shape.size() > dim_ &&
                        !NumberDType(node->annotation()).has_value();
      if (is_wanted && !fits) {
        return absl::FailedPreconditionError(absl::StrCat(
            "input ", Printable(node->target()), " is not known to have a dimension ", dim_));
      }
      if (!fits || (wanted.empty() ? IsWeight(*node) : !is_wanted)) continue;
      const Dim& size = meta->shape[dim_];
      if (inputs_.empty()) {
        symbol = size.expr;
        const auto example =
            size.is_static() ? size.value : EvaluateWithExamples(module_, *size.expr);
        if (!example.has_value() || *example <= 0 ||
            (symbol != nullptr && symbol->kind != SymExpr::Kind::kSymbol)) {
          return absl::FailedPreconditionError(
              absl::StrCat("input ", Printable(node->target()), ", dimension ", dim_,
                           ": neither a size above 0 nor a symbol with an example"));
        }
        example_ = *example;
      } else if (size.is_static() ? symbol != nullptr || size.value != example_
                                  : symbol == nullptr || !(*size.expr == *symbol)) {
        if (is_wanted) {
          return absl::FailedPreconditionError(
              absl::StrCat("input ", Printable(node->target()), ", dimension ", dim_,
                           ": not of the size that ", Printable(inputs_[0]->target()), " has"));
        }
        ++others;
        continue;
      }
      inputs_.push_back(node);
    }
    for (const std::string& name : wanted) {
      if (!found.contains(name))
        return absl::InvalidArgumentError(absl::StrCat("there is no input ", Printable(name)));
    }
    if (inputs_.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("no data input is known to have a dimension ", dim_));
    }
    if (others > 0) run_.Note("inputs have another size there and keep it", others);
    symbol_ = symbol;
    return absl::OkStatus();
  }

  // --- Following -----------------------------------------------------------------

  // Sizes from the meta, none of which grows.
  std::optional<Extent> FromMeta(const ValueMeta* meta) const {
    Extent extent;
    if (meta == nullptr) return std::nullopt;
    if (meta->is_tuple) {
      extent.kind = Extent::Kind::kTuple;
      for (const ValueMeta* element : meta->elements) {
        std::optional<Extent> of = element == nullptr ? std::nullopt : FromMeta(element);
        extent.elements.push_back(of.value_or(Extent()));
      }
      return extent;
    }
    if (meta->tensor == nullptr || !meta->tensor->has_shape) return std::nullopt;
    extent.kind = Extent::Kind::kTensor;
    for (const Dim& dim : meta->tensor->shape) {
      const auto size = dim.is_static() ? dim.value : EvaluateWithExamples(module_, *dim.expr);
      if (!size.has_value()) return std::nullopt;
      extent.sizes.push_back(*size);
    }
    extent.grows.assign(extent.sizes.size(), 0);
    return extent;
  }

  // The arguments by position, those by keyword that come next among them.
  static std::vector<Argument> PositionalArgs(const Node& node) {
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

  // The elements of a list that is written out, or the one number that stands for it.
  static absl::Span<const Argument> ListOf(const Argument* list) {
    if (list == nullptr || list->is_none()) return {};
    if (list->is_list() || list->is_tuple()) return list->elements();
    return absl::MakeConstSpan(list, 1);
  }

  const Extent& Of(const Argument& argument) const {
    static const Extent kNone;
    return argument.is_node() ? values_[argument.node()] : kNone;
  }

  absl::Status Visit(Node* node) {
    if (node->is_placeholder() || node->op() == Op::kGetAttr) {
      const ValueMeta* meta = node->meta();
      if (const Attribute* attribute = module_.FindAttribute(node->target());
          node->op() == Op::kGetAttr && meta == nullptr && attribute != nullptr &&
          attribute->meta != nullptr) {
        meta = module_.InternValueMeta(*attribute->meta);
      }
      Extent extent = FromMeta(meta).value_or(Extent());
      if (NumberDType(node->annotation()).has_value()) {
        extent = {};
        extent.kind = Extent::Kind::kNumber;
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
    bool any = forced_.contains(node), numbers = false;
    node->ForEachOperand([&](const Node* operand) {
      const Extent& of = values_[operand];
      any |= of.any();
      numbers |= of.kind == Extent::Kind::kNumber ||
                 (of.kind == Extent::Kind::kTuple && operand->meta() == nullptr);
    });
    Extent extent = FromMeta(node->meta()).value_or(Extent());
    if (any || numbers || BareName(*node) == "size" || BareName(*node) == "getattr") {
      // What does not grow need not be understood.
      const absl::Status status = Follow(node, &extent);
      if (any && !status.ok()) return Refuse(*node, status.message());
      for (size_t i = 0; extent.is_tensor() && i < extent.sizes.size(); ++i) {
        if (extent.grows[i] && extent.sizes[i] % example_ != 0)
          return Refuse(*node, "has a size that grows not by a factor");
      }
    }
    values_[node] = std::move(extent);
    return absl::OkStatus();
  }

  static absl::Status Refuse(const Node& node, absl::string_view why) {
    return absl::FailedPreconditionError(NodeError(node, why).message());
  }

  // What `out`, which has the sizes of the meta, grows by.
  absl::Status Follow(Node* node, Extent* out) {
    const absl::string_view name = BareName(*node);
    const std::vector<Argument> args = PositionalArgs(*node);
    static const auto* const numbers = new Names(
        Words("size shape dim ndimension numel nelement item tolist _local_scalar_dense len int "
              "float sym_int sym_float is_floating_point stride"));
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
    if (name == "size") return FollowSize(*node, out);
    if (numbers->contains(name)) {
      *out = {};
      out->kind = Extent::Kind::kNumber;
      node->ForEachOperand([&](const Node* operand) {
        out->number_grows |=
            values_[operand].number_grows || (name == "numel" && values_[operand].any());
      });
      return absl::OkStatus();
    }
    // Arithmetic of numbers.
    const bool only_numbers = absl::c_none_of(args, [&](const Argument& a) {
      return a.is_node() && Of(a).kind != Extent::Kind::kNumber;
    });
    if (only_numbers && absl::StartsWith(node->target(), "operator.")) {
      *out = {};
      out->kind = Extent::Kind::kNumber;
      out->number_grows = true;
      return absl::OkStatus();
    }
    if (name == "getitem") return FollowSubscript(*node, out);
    if (name == "setitem" || name == "copy") return FollowWrite(*node, out);
    if (name.empty() || node->op() == Op::kCallModule || node->HasBody())
      return absl::FailedPreconditionError("no rule is known of what it does to sizes");
    if (!out->is_tensor() && out->kind != Extent::Kind::kTuple) {
      if (!node->has_uses()) return absl::OkStatus();
      return absl::FailedPreconditionError(
          "nothing is known of its sizes; `graphnet shapes` infers them");
    }
    return FollowTensor(node, name, out);
  }

  absl::Status FollowSize(const Node& node, Extent* out) {
    if (node.args().empty()) return absl::FailedPreconditionError("is called in an unknown way");
    const Extent& in = Of(node.args()[0]);
    *out = {};
    const auto number = [&](size_t i) {
      Extent one;
      one.kind = Extent::Kind::kNumber;
      one.number_grows = in.grows[i] != 0;
      return one;
    };
    const Argument* dim = node.is_call_method("size") ? node.FindArg("dim", 1) : nullptr;
    if (dim != nullptr) {
      const std::optional<int> at = DimIn(dim, in.rank(), 0);
      if (!in.is_tensor() || !at.has_value())
        return absl::FailedPreconditionError("asks for an unknown size");
      *out = number(static_cast<size_t>(*at));
      return absl::OkStatus();
    }
    out->kind = Extent::Kind::kTuple;
    for (size_t i = 0; i < in.sizes.size(); ++i) out->elements.push_back(number(i));
    return absl::OkStatus();
  }

  absl::Status FollowSubscript(const Node& node, Extent* out) {
    if (node.args().size() < 2) return absl::FailedPreconditionError("is called in an unknown way");
    const Extent& in = Of(node.args()[0]);
    const Argument& index = node.args()[1];
    if (in.kind == Extent::Kind::kTuple) {
      const auto size = static_cast<int64_t>(in.elements.size());
      if (index.is_int()) {
        const int64_t i = index.integer() + (index.integer() < 0 ? size : 0);
        if (i < 0 || i >= size) return absl::FailedPreconditionError("takes what is not there");
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
      return absl::FailedPreconditionError("takes a part of what has no known sizes");
    const auto elements = index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
    std::vector<uint8_t> grows;
    size_t next = 0;
    std::optional<size_t> tensors_at;  // where the dimensions of indices go
    std::vector<uint8_t> index_grows;
    bool apart = false, last_was_tensor = false;
    const auto taken = absl::c_count_if(elements, [](const Argument& a) {
      return !a.is_none() && a.kind() != Argument::Kind::kEllipsis;
    });
    for (const Argument& element : elements) {
      const bool is_tensor = element.is_node() && Of(element).kind != Extent::Kind::kNumber;
      if (element.is_none()) {
        grows.push_back(0);
      } else if (element.kind() == Argument::Kind::kEllipsis) {
        for (auto i = taken; i < in.rank() && next < in.grows.size(); ++i)
          grows.push_back(in.grows[next++]);
      } else if (next >= in.sizes.size()) {
        return absl::FailedPreconditionError("takes more dimensions than there are");
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
          // An end that grows with it takes all.
          const Argument& stop = element.elements()[1];
          if (!(stop.is_node() && Of(stop).number_grows && element.elements()[0].is_none()))
            return absl::FailedPreconditionError("slices the dimension");
        }
        grows.push_back(in.grows[next++]);
      } else if (is_tensor) {
        const Extent& by = Of(element);
        if (!by.is_tensor())
          return absl::FailedPreconditionError("is indexed with something unknown");
        const TensorMeta* meta = element.node()->tensor_meta();
        if (meta != nullptr && meta->dtype == DType::kBool)
          return absl::FailedPreconditionError("is indexed with a mask");
        if (tensors_at.has_value() && !last_was_tensor) apart = true;
        if (!tensors_at.has_value()) tensors_at = grows.size();
        std::vector<uint8_t> joined(std::max(index_grows.size(), by.grows.size()), 0);
        for (size_t i = 0; i < joined.size(); ++i) {
          if (i < index_grows.size())
            joined[joined.size() - 1 - i] |= index_grows[index_grows.size() - 1 - i];
          if (i < by.grows.size())
            joined[joined.size() - 1 - i] |= by.grows[by.grows.size() - 1 - i];
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
      return absl::FailedPreconditionError(
          "nothing is known of its sizes; `graphnet shapes` infers them");
    out->grows = std::move(grows);
    return absl::OkStatus();
  }

  // What is written has to fit what it is written to.
  absl::Status FollowWrite(const Node& node, Extent* out) {
    if (node.args().size() < 2) return absl::FailedPreconditionError("is called in an unknown way");
    const Extent& to = Of(node.args()[0]);
    const Argument& value = node.args()[node.args().size() - 1];
    const Extent& from = Of(value);
    *out = to;
    if (!from.any()) return absl::OkStatus();
    if (to.any()) return absl::OkStatus();
    // The last dimensions of both go together.
    bool forced = from.is_tensor() && from.rank() <= to.rank();
    for (int i = 0; forced && i < from.rank(); ++i) {
      if (from.grows[static_cast<size_t>(from.rank() - 1 - i)])
        forced &= Force(node.args()[0], static_cast<size_t>(to.rank() - 1 - i));
    }
    return forced ? absl::OkStatus()
                  : absl::FailedPreconditionError("writes what grows to what does not");
  }

  absl::Status FollowTensor(Node* node, absl::string_view name, Extent* out) {
    const std::vector<Argument> args = PositionalArgs(*node);
    static const auto* const same = new Names(Words(
        "dropout dropout1d dropout2d dropout3d feature_dropout alpha_dropout feature_alpha_dropout "
        "softmax log_softmax softmin layer_norm rms_norm contiguous clone detach detach_copy to "
        "float half double bfloat16 type type_as long int bool short byte char cpu cuda cumsum "
        "cumprod flip roll triu tril normalize zeros_like ones_like empty_like rand_like "
        "randn_like full_like requires_grad fill zero alias lift_fresh relu relu6 gelu silu mish "
        "elu selu celu leaky_relu hardswish hardsigmoid hardtanh sigmoid tanh softplus softsign "
        "logsigmoid threshold rrelu masked_fill masked_scatter index_put scatter scatter_add "
        "scatter_reduce index_fill index_copy index_add nan_to_num argsort local_response_norm "
        "_to_copy expand_copy bernoulli gumbel_softmax checkpoint"));
    static const auto* const batch_first = new Names(Words(
        "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d max_pool1d "
        "max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d "
        "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
        "batch_norm group_norm instance_norm interpolate upsample pixel_shuffle pixel_unshuffle "
        "channel_shuffle unfold fold grid_sample affine_grid lp_pool2d prelu upsample_nearest2d "
        "upsample_bilinear2d upsample_bicubic2d convolution _convolution"));
    static const auto* const reshapes =
        new Names(Words("view reshape flatten unflatten view_as reshape_as"));
    static const auto* const reductions = new Names(Words(
        "mean sum amax amin max min prod std var norm vector_norm linalg_vector_norm "
        "linalg_norm argmax argmin all any logsumexp median count_nonzero std_mean var_mean"));
    const Extent& in = args.empty() ? Of(Argument()) : Of(args[0]);
    if (name == "expand_as" && args.size() == 2) {
      out->grows = Of(args[1]).grows;
      return Fits(*out);
    }

    if (name == "expand") return FollowExpand(node, in, out);
    if (reshapes->contains(name)) return FollowReshape(node, name, in, out);
    if (absl::c_any_of(FindSchemas(name), [](const Schema& s) { return IsPointwise(s); }) ||
        IsPythonPointwise(*node)) {
      return FollowPointwise(node, out);
    }
    if (same->contains(name)) {
      if (!in.is_tensor() || in.sizes != out->sizes)
        return absl::FailedPreconditionError("yields sizes unlike those that it is given");
      if (absl::StrContains(name, "_norm") && in.rank() > 0 && in.grows.back())
        return absl::FailedPreconditionError("works on the dimension");
      out->grows = in.grows;
      return absl::OkStatus();
    }
    if (batch_first->contains(name)) {
      if (!in.is_tensor() || !out->is_tensor() || out->sizes.empty() || in.rank() < 2 ||
          absl::c_linear_search(absl::MakeConstSpan(in.grows).subspan(1), uint8_t{1})) {
        return absl::FailedPreconditionError("works on the dimension, or may");
      }
      for (size_t i = 1; i < args.size(); ++i) {
        if (name != "grid_sample" && Of(args[i]).any())
          return absl::FailedPreconditionError("has weights that grow");
      }
      out->grows[0] = in.grows[0];
      if (in.grows[0] && out->sizes[0] != in.sizes[0])
        return absl::FailedPreconditionError("changes the size of the dimension");
      return absl::OkStatus();
    }
    if (reductions->contains(name)) return FollowReduction(*node, in, out);
    if (name == "linear") {
      if (!in.is_tensor() || in.rank() == 0 || in.grows.back() || args.size() < 2 ||
          Of(args[1]).any())
        return absl::FailedPreconditionError("multiplies over the dimension");
      if (out->rank() != in.rank()) return Fits(Extent());
      std::copy(in.grows.begin(), in.grows.end() - 1, out->grows.begin());
      return absl::OkStatus();
    }
    if (name == "matmul" || name == "bmm" || name == "mm" || name == "__matmul__" || name == "mv")
      return FollowMatmul(node, 0, out);
    if (name == "baddbmm" || name == "addmm") return FollowMatmul(node, 1, out);
    if (name == "scaled_dot_product_attention") {
      if (args.size() < 3 || !in.is_tensor() || out->rank() != in.rank()) return Fits(Extent());
      for (size_t i = 0; i + 1 < in.sizes.size(); ++i) {
        out->grows[i] = in.grows[i];
        if (i + 2 < in.sizes.size()) {
          for (size_t k = 1; k < 3; ++k) {
            const Extent& other = Of(args[k]);
            if (!other.is_tensor() || other.rank() != in.rank() || other.grows[i] != in.grows[i])
              return absl::FailedPreconditionError("has operands of which not all grow");
          }
        }
      }
      return absl::OkStatus();
    }
    if (name == "einsum") return FollowEinsum(*node, out);
    if (name == "transpose" || name == "swapaxes" || name == "swapdims" || name == "permute" ||
        name == "t" || name == "movedim" || name == "moveaxis") {
      return FollowPermute(*node, name, in, out);
    }
    if (name == "unsqueeze" || name == "squeeze") return FollowSqueeze(*node, name, in, out);
    if (name == "cat" || name == "concat" || name == "concatenate" || name == "stack")
      return FollowCat(node, name == "stack", out);
    if (name == "chunk" || name == "split" || name == "tensor_split" ||
        name == "split_with_sizes" || name == "unbind" || name == "topk" || name == "sort" ||
        name == "topk") {
      const std::optional<int> dim =
          DimIn(node->FindArg("dim", name == "unbind" ? 1
                                     : name == "sort" ? 1
                                                      : 2),
                in.rank(), name == "topk" || name == "sort" ? in.rank() - 1 : 0);
      if (!in.is_tensor() || !dim.has_value() || in.grows[static_cast<size_t>(*dim)])
        return absl::FailedPreconditionError("takes the dimension apart");
      for (Extent& element : out->elements) {
        std::vector<uint8_t> grows = in.grows;
        if (name == "unbind") grows.erase(grows.begin() + *dim);
        if (grows.size() != element.sizes.size())
          return absl::FailedPreconditionError("yields something unknown");
        element.grows = std::move(grows);
      }
      return absl::OkStatus();
    }
    if (name == "select" || name == "narrow" || name == "index_select" || name == "gather") {
      const Argument* index = node->FindArg("index", 2);
      if (name != "select" && name != "narrow" && index == nullptr)
        return absl::FailedPreconditionError("is called in an unknown way");
      if (name == "gather") {
        out->grows = Of(*index).grows;
        return Fits(*out);
      }
      const std::optional<int> dim = DimIn(node->FindArg("dim", 1), in.rank(), 0);
      if (!in.is_tensor() || !dim.has_value())
        return absl::FailedPreconditionError("takes an unknown part");
      out->grows = in.grows;
      if (name == "select") {
        out->grows.erase(out->grows.begin() + *dim);
      } else if (name == "index_select") {
        out->grows[static_cast<size_t>(*dim)] = Of(*index).any();
      } else if (in.grows[static_cast<size_t>(*dim)]) {
        return absl::FailedPreconditionError("slices the dimension");
      }
      return Fits(*out);
    }
    if (name == "embedding" || name == "one_hot") {
      // torch's function takes the indices first, ATen's the weight.
      const Extent& index = name == "embedding" && !in.any() && args.size() > 1 ? Of(args[1]) : in;
      out->grows = index.grows;
      out->grows.push_back(0);
      return Fits(*out);
    }
    if (name == "repeat" || name == "tile") {
      if (!in.is_tensor() || out->rank() < in.rank()) return Fits(Extent());
      const size_t lead = out->sizes.size() - in.sizes.size();
      for (size_t i = 0; i < in.grows.size(); ++i) out->grows[lead + i] = in.grows[i];
      return MarkNumbers(*node, out);
    }
    if (name == "repeat_interleave") {
      const std::optional<int> dim = DimIn(node->FindArg("dim", 2), in.rank(), -1);
      if (!in.is_tensor() || !dim.has_value() || *dim < 0 || args.size() < 2 || !args[1].is_int())
        return absl::FailedPreconditionError("repeats in an unknown way");
      out->grows = in.grows;
      return Fits(*out);
    }
    if (name == "pad" || name == "constant_pad_nd") {
      const Argument* pad = node->FindArg("pad", 1);
      const absl::Span<const Argument> amounts = ListOf(pad);
      const size_t padded = (amounts.size() + 1) / 2;
      out->grows = in.grows;
      for (size_t i = in.grows.size() - std::min(padded, in.grows.size()); i < in.grows.size();
           ++i) {
        const size_t at = 2 * (in.grows.size() - 1 - i);
        const auto is_zero = [&](size_t k) {
          return k < amounts.size() && amounts[k].is_int() && amounts[k].integer() == 0;
        };
        if (in.grows[i] && !(is_zero(at) && is_zero(at + 1)))
          return absl::FailedPreconditionError("pads the dimension");
      }
      return Fits(*out);
    }
    if (name == "multi_head_attention_forward") {
      if (!in.is_tensor() || out->elements.empty() || in.rank() != 3 || in.grows[0] || in.grows[2])
        return absl::FailedPreconditionError("attends over the dimension, or may");
      out->elements[0].grows = in.grows;
      if (out->elements.size() > 1 && out->elements[1].rank() > 0) out->elements[1].grows[0] = 1;
      return absl::OkStatus();
    }
    static const auto* const factories = new Names(
        Words("zeros ones full empty rand randn new_zeros new_ones new_full new_empty arange"));
    if (factories->contains(name)) return FollowFactory(node, name, out);
    return absl::FailedPreconditionError("no rule is known of what it does to sizes");
  }

  static bool IsPythonPointwise(const Node& node) {
    const Callable callee = CalleeOf(node);
    if (callee.python_operator == nullptr || callee.python_operator->aten.empty()) return false;
    return absl::c_any_of(FindSchemas(callee.python_operator->aten),
                          [](const Schema& s) { return IsPointwise(s); });
  }

  absl::Status Fits(const Extent& out) const {
    if (out.is_tensor() && out.grows.size() == out.sizes.size()) return absl::OkStatus();
    return absl::FailedPreconditionError("yields sizes that are not understood");
  }

  absl::Status FollowPointwise(Node* node, Extent* out) {
    if (!out->is_tensor()) return Fits(*out);
    const auto each = [&](const auto& fn) {
      node->ForEachArgument([&](const Argument& a) {
        if (a.is_node() && Of(a).is_tensor()) fn(a, Of(a));
      });
    };
    each([&](const Argument&, const Extent& of) {
      for (int i = 0; i < of.rank() && i < out->rank(); ++i) {
        out->grows[static_cast<size_t>(out->rank() - 1 - i)] |=
            of.grows[static_cast<size_t>(of.rank() - 1 - i)];
      }
    });
    // What does not grow has to have one element there.
    absl::Status status;
    each([&](const Argument& a, const Extent& of) {
      for (int i = 0; i < of.rank() && i < out->rank(); ++i) {
        const auto at = static_cast<size_t>(of.rank() - 1 - i);
        if (!out->grows[static_cast<size_t>(out->rank() - 1 - i)] || of.grows[at]) continue;
        if (of.sizes[at] == 1 && !WritesTo(*node, a)) continue;
        if (!Force(a, at))
          status = absl::FailedPreconditionError("has operands of which not all grow");
      }
    });
    return status;
  }
  static bool WritesTo(const Node& node, const Argument& argument) {
    if (node.args().empty()) return false;
    const bool in_place =
        absl::EndsWith(node.target(), "_") || absl::StartsWith(node.target(), "operator.i");
    return in_place && node.args()[0] == argument;
  }

  absl::Status FollowReduction(const Node& node, const Extent& in, Extent* out) {
    const std::vector<Argument> args = PositionalArgs(node);
    if (!in.is_tensor()) return Fits(*out);
    if (args.size() > 1 && Of(args[1]).is_tensor())
      return FollowPointwise(const_cast<Node*>(&node), out);  // max(x, y)
    const absl::string_view name = BareName(node);
    const bool has_order = name == "norm" || name == "vector_norm" ||
                           name == "linalg_vector_norm" || name == "linalg_norm";
    const Argument* dims = node.FindArg("dim", has_order ? 2 : 1);
    if (dims == nullptr) dims = node.kwarg("axis");
    std::vector<uint8_t> reduced(in.sizes.size(), dims == nullptr || dims->is_none());
    if (dims != nullptr && !dims->is_none()) {
      for (const Argument& one : ListOf(dims)) {
        const std::optional<int> dim = DimIn(&one, in.rank(), 0);
        if (!dim.has_value()) return absl::FailedPreconditionError("reduces unknown dimensions");
        reduced[static_cast<size_t>(*dim)] = 1;
      }
    }
    std::vector<uint8_t> kept, left;
    for (size_t i = 0; i < in.sizes.size(); ++i) {
      kept.push_back(reduced[i] ? 0 : in.grows[i]);
      if (!reduced[i]) left.push_back(in.grows[i]);
    }
    const auto set = [&](Extent* of) {
      if (!of->is_tensor()) return false;
      if (of->sizes.size() == kept.size()) {
        of->grows = kept;
      } else if (of->sizes.size() == left.size()) {
        of->grows = left;
      } else {
        return false;
      }
      return true;
    };
    if (out->kind == Extent::Kind::kTuple) {
      for (Extent& element : out->elements) {
        if (!set(&element)) return Fits(element);
      }
      return absl::OkStatus();
    }
    return set(out) ? absl::OkStatus() : Fits(Extent());
  }

  absl::Status FollowMatmul(Node* node, size_t first, Extent* out) {
    const std::vector<Argument> args = PositionalArgs(*node);
    if (args.size() < first + 2)
      return absl::FailedPreconditionError("is called in an unknown way");
    const Extent& a = Of(args[first]);
    const Extent& b = Of(args[first + 1]);
    if (!a.is_tensor() || !b.is_tensor() || a.rank() == 0 || b.rank() == 0 || !out->is_tensor())
      return absl::FailedPreconditionError("multiplies what is not known");
    const uint8_t inner_a = a.grows.back();
    const uint8_t inner_b = b.grows[b.grows.size() - (b.rank() > 1 ? 2 : 1)];
    if (inner_a != inner_b) return absl::FailedPreconditionError("multiplies over the dimension");
    if (a.rank() < 2 || b.rank() < 2) {
      if (a.rank() >= 2 && out->rank() == a.rank() - 1)
        std::copy(a.grows.begin(), a.grows.end() - 1, out->grows.begin());
      return b.any() && a.rank() < 2 ? absl::FailedPreconditionError("multiplies in an unknown way")
                                     : absl::OkStatus();
    }
    const auto n = out->sizes.size();
    if (n < 2) return Fits(Extent());
    out->grows[n - 2] = a.grows[a.grows.size() - 2];
    out->grows[n - 1] = b.grows.back();
    absl::Status status;
    for (size_t i = 0; i + 2 < n; ++i) {
      const auto of = [&](const Extent& e) -> std::optional<size_t> {
        const size_t back = n - i;
        if (e.sizes.size() < back) return std::nullopt;
        return e.sizes.size() - back;
      };
      const auto at_a = of(a), at_b = of(b);
      const bool grows = (at_a && a.grows[*at_a]) || (at_b && b.grows[*at_b]);
      out->grows[i] = grows;
      if (!grows) continue;
      const bool broadcasts = absl::StrContains(BareName(*node), "matmul");
      for (size_t k = 0; k < 2; ++k) {
        const auto at = k == 0 ? at_a : at_b;
        const Extent& e = k == 0 ? a : b;
        if (!at || e.grows[*at] || (broadcasts && e.sizes[*at] == 1)) continue;
        if (!Force(args[first + k], *at) && !Expand(node, args[first + k], *at))
          status = absl::FailedPreconditionError("multiplies what grows with what does not");
      }
    }
    return status;
  }

  absl::Status FollowEinsum(const Node& node, Extent* out) {
    const std::vector<Argument> args = PositionalArgs(node);
    if (args.empty() || !args[0].is_string())
      return absl::FailedPreconditionError("is called in an unknown way");
    std::string equation(args[0].string());
    equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
    if (absl::StrContains(equation, "..."))
      return absl::FailedPreconditionError("has dots in its equation");
    const std::string output = OutputOfEinsum(equation);
    const std::vector<std::string> terms =
        absl::StrSplit(equation.substr(0, equation.find("->")), ',');
    if (args.size() < 2) return absl::FailedPreconditionError("is called in an unknown way");
    std::vector<Argument> operands(args.begin() + 1, args.end());
    if (operands.size() == 1 && operands[0].is_aggregate())
      operands.assign(operands[0].elements().begin(), operands[0].elements().end());
    std::map<char, std::pair<bool, bool>> letters;  // grows somewhere, does not
    for (size_t i = 0; i < terms.size() && i < operands.size(); ++i) {
      const Extent& of = Of(operands[i]);
      if (!of.is_tensor() || of.sizes.size() != terms[i].size())
        return absl::FailedPreconditionError("is called in an unknown way");
      for (size_t d = 0; d < of.sizes.size(); ++d)
        (of.grows[d] ? letters[terms[i][d]].first : letters[terms[i][d]].second) = true;
    }
    for (size_t d = 0; d < output.size() && d < out->grows.size(); ++d)
      out->grows[d] = letters[output[d]].first;
    for (const auto& [letter, how] : letters) {
      if (how.first && how.second)
        return absl::FailedPreconditionError("has operands of which not all grow");
    }
    return absl::OkStatus();
  }

  absl::Status FollowPermute(const Node& node, absl::string_view name, const Extent& in,
                             Extent* out) {
    const std::vector<Argument> args = PositionalArgs(node);
    if (!in.is_tensor()) return Fits(*out);
    out->grows = in.grows;
    if (name == "t") {
      if (in.rank() == 2) std::swap(out->grows[0], out->grows[1]);
      return Fits(*out);
    }
    if (name == "permute") {
      const Argument* dims = node.FindArg("dims", 1);
      const auto list =
          dims != nullptr && dims->is_int() ? absl::MakeConstSpan(args).subspan(1) : ListOf(dims);
      if (list.size() != in.sizes.size())
        return absl::FailedPreconditionError("permutes in an unknown way");
      for (size_t i = 0; i < list.size(); ++i) {
        const std::optional<int> dim = DimIn(&list[i], in.rank(), 0);
        if (!dim.has_value()) return absl::FailedPreconditionError("permutes in an unknown way");
        out->grows[i] = in.grows[static_cast<size_t>(*dim)];
      }
      return Fits(*out);
    }
    const bool moves = name == "movedim" || name == "moveaxis";
    const Argument* from = node.FindArg(moves ? "source" : "dim0", 1);
    const Argument* to = node.FindArg(moves ? "destination" : "dim1", 2);
    if (from == nullptr) from = node.kwarg("axis0");
    if (to == nullptr) to = node.kwarg("axis1");
    if (from == nullptr || to == nullptr)
      return absl::FailedPreconditionError("permutes in an unknown way");
    const std::optional<int> a = DimIn(from, in.rank(), 0), b = DimIn(to, in.rank(), 0);
    if (!a.has_value() || !b.has_value())
      return absl::FailedPreconditionError("permutes in an unknown way");
    if (moves) {
      const uint8_t grows = out->grows[static_cast<size_t>(*a)];
      out->grows.erase(out->grows.begin() + *a);
      out->grows.insert(out->grows.begin() + *b, grows);
    } else {
      std::swap(out->grows[static_cast<size_t>(*a)], out->grows[static_cast<size_t>(*b)]);
    }
    return Fits(*out);
  }

  absl::Status FollowSqueeze(const Node& node, absl::string_view name, const Extent& in,
                             Extent* out) {
    if (!in.is_tensor()) return Fits(*out);
    out->grows = in.grows;
    const Argument* given = node.FindArg("dim", 1);
    if (name == "unsqueeze") {
      const std::optional<int> dim = DimIn(given, in.rank() + 1, 0);
      if (!dim.has_value()) return absl::FailedPreconditionError("adds an unknown dimension");
      out->grows.insert(out->grows.begin() + *dim, 0);
      return Fits(*out);
    }
    std::vector<size_t> gone;
    for (size_t i = 0; i < in.sizes.size(); ++i) {
      bool named = given == nullptr || given->is_none();
      if (!named) {
        for (const Argument& one : ListOf(given))
          named |= DimIn(&one, in.rank(), 0) == static_cast<int>(i);
      }
      if (!named || in.sizes[i] != 1) continue;
      if (in.grows[i])
        return absl::FailedPreconditionError("takes the dimension away where its size is 1");
      gone.push_back(i);
    }
    for (auto i = gone.rbegin(); i != gone.rend(); ++i)
      out->grows.erase(out->grows.begin() + static_cast<ptrdiff_t>(*i));
    return Fits(*out);
  }

  absl::Status FollowCat(Node* node, bool stacks, Extent* out) {
    const std::vector<Argument> args = PositionalArgs(*node);
    const Argument list = args.empty() ? Argument() : args[0];
    if (!list.is_aggregate() || !out->is_tensor())
      return absl::FailedPreconditionError("joins an unknown list");
    const std::optional<int> dim =
        DimIn(node->FindArg("dim", 1) != nullptr ? node->FindArg("dim", 1) : node->kwarg("axis"),
              out->rank(), 0);
    if (!dim.has_value()) return absl::FailedPreconditionError("joins along an unknown dimension");
    const auto along = static_cast<size_t>(*dim);
    const auto place = [&](size_t i) { return stacks && i >= along ? i + 1 : i; };
    size_t grows_along = 0;
    for (const Argument& element : list.elements()) {
      const Extent& of = Of(element);
      if (!of.is_tensor()) return absl::FailedPreconditionError("joins what is not known");
      if (of.sizes.size() != out->sizes.size() - (stacks ? 1 : 0)) continue;  // of no elements
      for (size_t i = 0; i < of.sizes.size(); ++i) out->grows[place(i)] |= of.grows[i];
      grows_along += !stacks && of.grows[along] ? 1 : 0;
    }
    if (grows_along != 0 && grows_along != list.elements().size())
      return absl::FailedPreconditionError("joins what grows with what does not");
    absl::Status status;
    for (const Argument& element : list.elements()) {
      const Extent& of = Of(element);
      for (size_t i = 0; i < of.sizes.size(); ++i) {
        if (of.sizes.size() != out->sizes.size() - (stacks ? 1 : 0)) continue;
        if (!out->grows[place(i)] || of.grows[i]) continue;
        if (!Force(element, i) && !Expand(node, element, i))
          status = absl::FailedPreconditionError("joins what grows with what does not");
      }
    }
    return status;
  }

  // --- Sizes that are written out --------------------------------------------------

  // The arguments that say sizes: the position of the first and how many, or of a list.
  struct SizeList {
    std::vector<const Argument*> sizes;
    bool in_list = false;
  };
  SizeList SizesOf(const Node& node, size_t position, absl::string_view name) const {
    SizeList list;
    const Argument* given = node.FindArg(name, position);
    if (given == nullptr) return list;
    if (given->is_list() || given->is_tuple()) {
      list.in_list = true;
      for (const Argument& size : given->elements()) list.sizes.push_back(&size);
    } else {
      for (size_t i = position; i < node.args().size(); ++i) list.sizes.push_back(&node.args()[i]);
      if (position >= node.args().size()) list.sizes.push_back(given);
    }
    return list;
  }

  // That the i-th size of a call is to be written as a product of the symbol.
  void Edit(Node* node, const Argument* size, int64_t value) {
    edits_[node].push_back({size, value / example_});
  }

  // Checks that sizes of `out` which grow are not written as numbers, or will not be.
  absl::Status WriteSizes(Node* node, const SizeList& list, const Extent& out) {
    for (size_t i = 0; i < list.sizes.size() && i < out.sizes.size(); ++i) {
      const Argument& size = *list.sizes[i];
      if (!out.grows[i]) {
        if (size.is_node() && Of(size).number_grows)
          return absl::FailedPreconditionError("has a size that grows where none should");
        continue;
      }
      if (size.is_node()) {
        if (!Of(size).number_grows && out.sizes[i] != 1)
          return absl::FailedPreconditionError("has a size that does not grow where one should");
        if (!Of(size).number_grows) Edit(node, &size, out.sizes[i]);
        continue;
      }
      if (!size.is_int()) return absl::FailedPreconditionError("has an unknown size");
      if (size.integer() == -1) continue;
      if (out.sizes[i] % example_ != 0)
        return absl::FailedPreconditionError("has a size that grows not by a factor");
      Edit(node, &size, out.sizes[i]);
    }
    return absl::OkStatus();
  }

  absl::Status FollowReshape(Node* node, absl::string_view name, const Extent& in, Extent* out) {
    if (!in.is_tensor() || !out->is_tensor()) return Fits(*out);
    if (node->args().size() == 2 && node->args()[1].kind() == Argument::Kind::kDType) {
      out->grows = in.grows;
      return in.sizes == out->sizes ? absl::OkStatus() : Fits(Extent());
    }
    RETURN_IF_ERROR(SplitAndJoin(in, out));
    if (name == "flatten" || name == "view_as" || name == "reshape_as") return absl::OkStatus();
    if (name == "unflatten") {
      const std::optional<int> dim = DimIn(node->FindArg("dim", 1), in.rank(), 0);
      const SizeList list = SizesOf(*node, 2, "sizes");
      if (!dim.has_value())
        return absl::FailedPreconditionError("takes an unknown dimension apart");
      Extent part = *out;
      part.sizes.erase(part.sizes.begin(), part.sizes.begin() + *dim);
      part.grows.erase(part.grows.begin(), part.grows.begin() + *dim);
      return WriteSizes(node, list, part);
    }
    const SizeList list = SizesOf(*node, 1, name == "reshape" ? "shape" : "size");
    if (list.sizes.size() != out->sizes.size())
      return absl::FailedPreconditionError("has unknown sizes");
    return WriteSizes(node, list, *out);
  }

  // Which sizes of `out` grow if `in` is given them: dimensions that are split or joined
  // have equal products.
  absl::Status SplitAndJoin(const Extent& in, Extent* out) const {
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
      // The one of its very size, else the first that is a multiple of it.
      size_t at = j;
      for (size_t k = j; k-- > j0;) {
        if (out->sizes[k] % example_ == 0) at = k;
      }
      for (size_t k = j; k-- > j0;) {
        if (out->sizes[k] == example_) at = k;
      }
      if (at == j) return absl::FailedPreconditionError("splits the dimension");
      // What comes before it in its group would have to be outside of it.
      if (j - j0 > 1 && i - i0 > 1 && in.grows[i0] == 0 && at == j0)
        return absl::FailedPreconditionError("mixes the dimension with others");
      out->grows[at] = 1;
    }
    return absl::OkStatus();
  }

  absl::Status FollowExpand(Node* node, const Extent& in, Extent* out) {
    if (!in.is_tensor() || !out->is_tensor() || out->rank() < in.rank()) return Fits(Extent());
    const size_t lead = out->sizes.size() - in.sizes.size();
    for (size_t i = 0; i < in.sizes.size(); ++i) out->grows[lead + i] = in.grows[i];
    const SizeList list = SizesOf(*node, 1, "size");
    if (list.sizes.size() != out->sizes.size())
      return absl::FailedPreconditionError("has unknown sizes");
    for (size_t i = 0; i < list.sizes.size(); ++i)
      out->grows[i] |= list.sizes[i]->is_node() && Of(*list.sizes[i]).number_grows;
    if (const auto forced = forced_.find(node); forced != forced_.end()) {
      for (const size_t i : forced->second) out->grows[i] = 1;
    }
    return WriteSizes(node, list, *out);
  }

  absl::Status FollowFactory(Node* node, absl::string_view name, Extent* out) {
    if (!out->is_tensor()) return Fits(*out);
    if (name == "arange") {
      if (out->rank() != 1) return Fits(Extent());
      node->ForEachOperand(
          [&](const Node* operand) { out->grows[0] |= values_[operand].number_grows; });
      return absl::OkStatus();
    }
    const SizeList list = SizesOf(*node, absl::StartsWith(name, "new_") ? 1 : 0, "size");
    if (list.sizes.size() < out->sizes.size())
      return absl::FailedPreconditionError("has unknown sizes");
    for (size_t i = 0; i < out->sizes.size(); ++i)
      out->grows[i] |= list.sizes[i]->is_node() && Of(*list.sizes[i]).number_grows;
    if (const auto forced = forced_.find(node); forced != forced_.end()) {
      for (const size_t i : forced->second) out->grows[i] = 1;
    }
    return WriteSizes(node, list, *out);
  }

  // Sizes of `out` grow where the call is given numbers that do.
  absl::Status MarkNumbers(const Node& node, Extent* out) const {
    const SizeList list = SizesOf(node, 1, "repeats");
    for (size_t i = 0; i < list.sizes.size() && i < out->sizes.size(); ++i)
      out->grows[i] |= list.sizes[i]->is_node() && Of(*list.sizes[i]).number_grows;
    return absl::OkStatus();
  }

  // Makes a value grow that a call with written sizes yields; false if it is no such.
  bool Force(const Argument& argument, size_t dim) {
    Node* node = argument.node();
    static const auto* const makers = new Names(
        Words("expand zeros ones full empty rand randn new_zeros new_ones new_full new_empty"));
    static const auto* const copies =
        new Names(Words("clone contiguous to detach float half double bfloat16 type type_as"));
    if (!node->is_call()) return false;
    const Extent& of = values_[node];
    if (copies->contains(BareName(*node)) && !node->args().empty() && node->args()[0].is_node() &&
        Of(node->args()[0]).sizes == of.sizes) {
      return Force(node->args()[0], dim);
    }
    if (!makers->contains(BareName(*node))) return false;
    if (dim >= of.sizes.size() || of.sizes[dim] != example_) return false;
    if (BareName(*node) == "expand") {
      // Not what has as many elements of its own.
      const Extent& in = Of(node->args()[0]);
      if (of.rank() < in.rank()) return false;
      const size_t lead = of.sizes.size() - in.sizes.size();
      if (dim >= lead && in.sizes[dim - lead] != 1) return false;
    }
    again_ |= forced_[node].insert(dim).second;
    return true;
  }
  // Has an operand of one element expanded for a call.
  bool Expand(Node* node, const Argument& argument, size_t dim) {
    const Extent& of = values_[argument.node()];
    if (of.sizes[dim] != 1 || example_ != 1) return false;
    expands_[node][argument.node()].insert(dim);
    return true;
  }

  // --- Changing --------------------------------------------------------------------

  const SymExpr* Times(int64_t factor) {
    const SymExpr* name = module_.SymSymbol(symbol_->name);
    return factor == 1 ? name
                       : module_.SymBinary(SymExpr::Kind::kMul, module_.SymInt(factor), name);
  }

  Node* SizeNode() {
    if (size_ != nullptr) return size_;
    Node* place = module_.main()->first();
    while (place->is_placeholder()) place = place->next();
    const InsertionGuard guard(module_.main(), place);
    size_ = module_.main()->CallMethod("size", {inputs_[0], static_cast<int64_t>(dim_)});
    return size_;
  }
  Argument SizeBefore(Node* place, int64_t factor) {
    Node* size = SizeNode();
    if (factor == 1) return size;
    const InsertionGuard guard(module_.main(), place);
    Node* product = module_.main()->CallFunction("operator.mul", {size, factor});
    product->set_location(place->location());
    product->set_module_path(place->module_path());
    return product;
  }

  absl::StatusOr<bool> Apply() {
    if (symbol_ == nullptr) {
      int64_t next = 0;
      for (const Symbol& symbol : module_.symbols()) {
        int64_t number = 0;
        absl::string_view text = symbol.name;
        if (absl::ConsumePrefix(&text, "S") && absl::SimpleAtoi(text, &number))
          next = std::max(next, number + 1);
      }
      const std::string name = absl::StrCat("S", next);
      module_.AddSymbol(name, example_);
      symbol_ = module_.SymSymbol(name);
      changed_ = true;
    }
    std::vector<Node*> nodes;
    for (Node* node : module_.main()->nodes()) nodes.push_back(node);
    size_t written = 0, expanded = 0;
    for (Node* node : nodes) {
      if (const auto edit = edits_.find(node); edit != edits_.end()) {
        written += edit->second.size();
        std::map<const Argument*, Argument> by_place;
        for (const auto& [place, factor] : edit->second) by_place[place] = SizeBefore(node, factor);
        ReplaceSizes(node, by_place);
      }
      if (const auto expand = expands_.find(node); expand != expands_.end()) {
        expanded += expand->second.size();
        for (const auto& [operand, dims] : expand->second) ExpandFor(node, operand, dims);
      }
      const Extent& extent = values_[node];
      if (extent.any() && node->meta() != nullptr) {
        const ValueMeta* meta = WithSymbols(*node->meta(), extent);
        changed_ |= meta != node->meta();
        node->set_meta(meta);
      }
    }
    if (written > 0) run_.Note("sizes are written with that of the input", written);
    if (expanded > 0) run_.Note("operands of one element are expanded", expanded);
    return changed_;
  }

  // Arguments are replaced by where they lie.
  void ReplaceSizes(Node* node, const std::map<const Argument*, Argument>& by_place) {
    changed_ = true;
    Arena arena;
    const auto replaced = [&](const Argument& argument) -> Argument {
      const auto it = by_place.find(&argument);
      if (it != by_place.end()) return it->second;
      if (!argument.is_list() && !argument.is_tuple()) return argument;
      std::vector<Argument> elements;
      for (const Argument& element : argument.elements()) {
        const auto place = by_place.find(&element);
        elements.push_back(place == by_place.end() ? element : place->second);
      }
      return Argument::Aggregate(argument.kind(), arena.Copy(absl::MakeConstSpan(elements)));
    };
    std::vector<Argument> args;
    for (const Argument& argument : node->args()) args.push_back(replaced(argument));
    std::vector<KwArg> kwargs;
    for (const KwArg& kwarg : node->kwargs()) kwargs.push_back({kwarg.name, replaced(kwarg.value)});
    node->set_args(args);
    node->set_kwargs(kwargs);
  }

  void ExpandFor(Node* node, Node* operand, const std::set<size_t>& dims) {
    changed_ = true;
    std::vector<Argument> args = {operand};
    for (size_t i = 0; i < values_[operand].sizes.size(); ++i)
      args.push_back(dims.contains(i) ? Argument(SizeNode()) : Argument(-1));
    Node* made;
    {
      const InsertionGuard guard(module_.main(), node);
      made = module_.main()->CallMethod("expand", args);
    }
    made->set_location(node->location());
    made->set_module_path(node->module_path());
    if (operand->meta() != nullptr) {
      Extent extent = values_[operand];
      for (const size_t i : dims) extent.grows[i] = 1;
      made->set_meta(WithSymbols(*operand->meta(), extent));
    }
    node->ReplaceInput(operand, made);
  }

  const ValueMeta* WithSymbols(const ValueMeta& meta, const Extent& extent) {
    if (meta.is_tuple) {
      std::vector<const ValueMeta*> elements;
      for (size_t i = 0; i < meta.elements.size(); ++i) {
        const ValueMeta* element = meta.elements[i];
        elements.push_back(element == nullptr || i >= extent.elements.size()
                               ? element
                               : WithSymbols(*element, extent.elements[i]));
      }
      return module_.InternTupleMeta(elements);
    }
    if (meta.tensor == nullptr || !extent.is_tensor()) return &meta;
    TensorMeta tensor = *meta.tensor;
    std::vector<Dim> shape(tensor.shape.begin(), tensor.shape.end());
    for (size_t i = 0; i < shape.size() && i < extent.grows.size(); ++i) {
      if (extent.grows[i]) shape[i] = Dim(Times(extent.sizes[i] / example_));
    }
    tensor.shape = shape;
    return module_.InternValueMeta(tensor);
  }

  Module& module_;
  PassRun& run_;
  size_t dim_ = 0;
  std::vector<Node*> inputs_;
  int64_t example_ = 1;
  const SymExpr* symbol_ = nullptr;  // null: to be made
  NodeTable<Extent> values_;
  // By call, the dimensions that have to grow though no operand does.
  std::map<const Node*, std::set<size_t>> forced_;
  bool again_ = false;  // since something was found that has to
  struct SizeEdit {
    const Argument* place;
    int64_t factor;
  };
  std::map<const Node*, std::vector<SizeEdit>> edits_;
  std::map<const Node*, std::map<Node*, std::set<size_t>>> expands_;
  Node* size_ = nullptr;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> GeneralizeDims(Module* module, PassRun& run) {
  if (module->main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  return Generalization(module, &run).Run();
}

}  // namespace graphnet

#include "graphnet/passes/canonical_calls.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

class Rewriter {
 public:
  explicit Rewriter(Module* module) : module_(*module), frozen_(*module) {
    const Effects effects(*module);
    const MemoryGroups groups(*module, effects);
    for (const Graph* graph : module->graphs()) {
      for (const Node* node : graph->nodes()) {
        frozen_[node] = groups.IsWritten(node);
        const absl::string_view name = AtenName(*node);
        sees_strides_ |= absl::StartsWith(name, "as_strided") || name == "stride" ||
                         name == "is_contiguous" || name == "storage_offset" || name == "set_" ||
                         name == "view_as_real" || name == "view_as_complex";
      }
    }
  }

  void Run() {
    for (Graph* graph : module_.graphs()) {
      for (Node* node : graph->nodes()) {
        if (node->is_call()) Rewrite(node);
      }
    }
  }

 private:
  // --- The call that is being rewritten ---------------------------------------

  Argument Get(absl::string_view parameter) const {
    return ArgumentOf(*node_, *schema_, parameter);
  }
  std::vector<Argument> GetAll(std::initializer_list<absl::string_view> parameters) const {
    std::vector<Argument> all;
    for (const absl::string_view parameter : parameters) all.push_back(Get(parameter));
    return all;
  }
  bool Is(std::initializer_list<absl::string_view> names) const {
    return absl::c_linear_search(names, name_);
  }
  Argument List(const Sizes& numbers) {
    std::vector<Argument> elements(numbers.begin(), numbers.end());
    return module_.CopyArgument(Argument::List(elements));
  }
  void Become(absl::string_view target, absl::Span<const Argument> args,
              absl::Span<const KwArg> kwargs = {}) {
    const std::vector<Argument> kept(args.begin(), args.end());
    const std::vector<KwArg> named(kwargs.begin(), kwargs.end());
    node_->set_kwargs({});
    node_->set_args(kept);
    node_->set_kwargs(named);
    node_->set_target(target);
    Look();
  }
  // Replaces the call by the value of another node. The call must not be used afterwards.
  void Vanish(Node* value) {
    if (value->meta() == nullptr && node_->meta() != nullptr) value->set_meta(node_->meta());
    node_->ReplaceAllUsesWith(value);
    node_->graph()->EraseNode(node_);
    node_ = nullptr;
  }
  void Look() {
    name_ = AtenName(*node_);
    schema_ = name_.empty() ? nullptr : FindOverload(node_->target());
  }
  bool IsFrozen(const Node* node) const { return sees_strides_ || frozen_[node]; }

  void Rewrite(Node* node) {
    node_ = node;
    InferMeta(node);
    Look();
    bool is_free = !IsFrozen(node);
    node->ForEachOperand([&](const Node* operand) { is_free = is_free && !IsFrozen(operand); });
    if (node->is_call_function("operator.getitem")) {
      if (is_free) Element();
      return;
    }
    if (schema_ == nullptr) return;
    CommonSpelling();
    is_free_ = is_free;
    if (is_free) {
      Sequence();
    } else {
      Slice();
    }
    if (node_ == nullptr || schema_ == nullptr) return;
    DropDefaults();
  }

  // Applies the rules that change which values share memory.
  void Sequence() {
    for (const auto rule : {&Rewriter::Copy, &Rewriter::Reshape, &Rewriter::Permute,
                            &Rewriter::Expand, &Rewriter::Slice}) {
      (this->*rule)();
      if (node_ == nullptr || schema_ == nullptr) return;
    }
  }

  // --- Rules on values that are not written to ---------------------------------

  // Removes calls that yield an equal tensor; gives conversions to a dtype one form.
  void Copy() {
    const Argument x = node_->args().empty() ? Argument() : node_->args()[0];
    if (!x.is_node()) return;
    if (Is({"alias", "detach", "lift_fresh", "lift_fresh_copy", "contiguous", "clone"}))
      return Vanish(x.node());
    if (Is({"dropout", "feature_dropout", "alpha_dropout"}) && Get("train") == Argument(false))
      return Vanish(x.node());
    if (Is({"pad", "constant_pad_nd"})) {
      const auto pad = NumbersOf(Get("pad"));
      if (pad.has_value() && absl::c_all_of(*pad, [](int64_t n) { return n == 0; }))
        return Vanish(x.node());
      return;
    }
    if (!Is({"to", "_to_copy", "type_as"})) return;
    const TensorMeta* meta = x.node()->tensor_meta();
    const bool is_on_cpu =
        meta != nullptr && meta->has_device && meta->device.type == DeviceType::kCpu;
    const Argument device = Get("device");
    const bool stays = device.is_none() || (device.kind() == Argument::Kind::kDevice &&
                                            device.device().type == DeviceType::kCpu && is_on_cpu);
    const Argument layout = Get("layout");
    if (!stays || !(layout.is_none() || (layout.kind() == Argument::Kind::kLayout &&
                                         layout.layout() == Layout::kStrided))) {
      return;
    }
    const Argument given = Get("dtype");
    const bool is_like = name_ == "type_as" || schema_->overload == "other";
    DType dtype = DTypeOf(x);
    if (is_like) {
      dtype = DTypeOf(Get("other"));
      if (dtype == DType::kUnknown) return;
    } else if (given.kind() == Argument::Kind::kDType) {
      dtype = given.dtype();
    } else if (!given.is_none()) {
      return;
    }
    if (dtype == DTypeOf(x)) return Vanish(x.node());
    const KwArg kwargs[] = {{"dtype", dtype}};
    Become("aten._to_copy.default", {&x, 1}, kwargs);
  }

  // Unifies the calls that only give the elements other sizes.
  void Reshape() {
    if (!Is({"view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze",
             "view_as", "reshape_as"}) ||
        schema_->overload == "dtype" || node_->args().empty() || !node_->args()[0].is_node()) {
      return;
    }
    const auto to = SizesOf(node_);
    if (!to.has_value()) {
      // A view may become impossible once copies are gone.
      const std::vector<Argument> args(node_->args().begin(), node_->args().end());
      if (args.size() != 2 || !node_->kwargs().empty()) return;
      if (Is({"view", "_unsafe_view"})) Become("aten.reshape.default", args);
      if (name_ == "view_as") Become("aten.reshape_as.default", args);
      return;
    }
    Node* x = node_->args()[0].node();
    if (AtenName(*x) == "reshape") x = x->args()[0].node();
    if (SizesOf(x) == to) return Vanish(x);
    const Argument args[] = {x, List(*to)};
    Become("aten.reshape.default", args);
  }

  void Permute() {
    if (!Is({"transpose", "t", "permute", "swapaxes", "swapdims", "numpy_T", "mT"}) ||
        !node_->args()[0].is_node()) {
      return;
    }
    Node* x = node_->args()[0].node();
    const int rank = RankOf(x);
    if (rank < 0) return;
    Sizes dims(static_cast<size_t>(rank));
    std::iota(dims.begin(), dims.end(), 0);
    if (name_ == "permute") {
      const auto given = NumbersOf(Get("dims"));
      if (!given.has_value() || given->size() != dims.size()) return;
      for (size_t i = 0; i < dims.size(); ++i)
        dims[i] = (*given)[i] < 0 ? (*given)[i] + rank : (*given)[i];
    } else if (name_ == "t" || name_ == "mT" || name_ == "numpy_T") {
      if (rank < 2 || (rank > 2 && name_ != "mT")) return;
      std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    } else {
      if (node_->args().size() != 3 || !node_->args()[1].is_int() || !node_->args()[2].is_int())
        return;
      const auto place = [&](const Argument& a) -> size_t {
        return static_cast<size_t>(a.integer() < 0 ? a.integer() + rank : a.integer());
      };
      const size_t a = place(node_->args()[1]), b = place(node_->args()[2]);
      if (a >= dims.size() || b >= dims.size()) return;
      std::swap(dims[a], dims[b]);
    }
    if (absl::c_any_of(dims, [&](int64_t d) { return d < 0 || d >= rank; })) return;
    if (AtenName(*x) == "permute") {
      if (const auto before = NumbersOf(x->args()[1]); before.has_value()) {
        for (int64_t& dim : dims) dim = (*before)[static_cast<size_t>(dim)];
        x = x->args()[0].node();
      }
    }
    if (absl::c_is_sorted(dims)) return Vanish(x);
    const Argument args[] = {x, List(dims)};
    Become("aten.permute.default", args);
  }

  void Expand() {
    if (!Is({"expand", "expand_as"}) || !node_->args()[0].is_node()) return;
    const auto to = SizesOf(node_);
    if (!to.has_value()) return;
    Node* x = node_->args()[0].node();
    if (SizesOf(x) == to) return Vanish(x);
    const Argument args[] = {x, List(*to)};
    Become("aten.expand.default", args);
  }

  void Slice() {
    if (!Is({"slice", "narrow", "select"}) || schema_->overload == "str" ||
        !node_->args()[0].is_node()) {
      return;
    }
    Node* x = node_->args()[0].node();
    const auto sizes = SizesOf(x);
    const Argument dim = Get("dim");
    if (!sizes.has_value() || !dim.is_int()) return;
    const auto rank = static_cast<int64_t>(sizes->size());
    const int64_t at = dim.integer() < 0 ? dim.integer() + rank : dim.integer();
    if (at < 0 || at >= rank) return;
    const int64_t size = (*sizes)[static_cast<size_t>(at)];
    const auto bound = [&](const Argument& a, int64_t otherwise) -> std::optional<int64_t> {
      if (a.is_none()) return otherwise;
      if (!a.is_int()) return std::nullopt;
      return a.integer() < 0 ? a.integer() + size : a.integer();
    };
    if (name_ == "select") {
      const auto index = bound(Get("index"), 0);
      if (!index.has_value()) return;
      const Argument args[] = {x, at, *index};
      return Become("aten.select.int", args);
    }
    auto start = bound(Get("start"), 0);
    auto end = name_ == "narrow" ? std::optional<int64_t>() : bound(Get("end"), size);
    const Argument step = name_ == "narrow" ? Argument(1) : Get("step");
    if (name_ == "narrow" && start.has_value() && Get("length").is_int())
      end = *start + Get("length").integer();
    if (!start || !end || !step.is_int()) return;
    *start = std::clamp<int64_t>(*start, 0, size);
    *end = std::clamp<int64_t>(*end, *start, size);
    if (*start == 0 && *end == size && step.integer() == 1 && is_free_) return Vanish(x);
    const Argument args[] = {x, at, *start, *end, step};
    Become("aten.slice.Tensor", args);
  }

  // Takes pieces apart, and takes the one used value of norms that yield more.
  void Element() {
    if (node_->args().size() != 2 || !node_->args()[0].is_node() || !node_->args()[1].is_int())
      return;
    const Node& whole = *node_->args()[0].node();
    const absl::string_view name = AtenName(whole);
    const Schema* schema = name.empty() ? nullptr : FindOverload(whole.target());
    if (schema == nullptr) return;
    const int64_t i = node_->args()[1].integer();
    const auto get = [&](absl::string_view parameter) {
      return ArgumentOf(whole, *schema, parameter);
    };
    if (i == 0 && (name == "native_batch_norm" || name == "_native_batch_norm_legit_no_training")) {
      if (name == "native_batch_norm" && get("training") != Argument(false)) return;
      const Argument args[] = {
          get("input"), get("weight"), get("bias"), get("running_mean"), get("running_var"), false,
          0.0,          get("eps"),    false};
      return Become("aten.batch_norm.default", args);
    }
    if (i == 0 && name == "native_layer_norm") {
      const Argument args[] = {get("input"), get("normalized_shape"), get("weight"), get("bias"),
                               get("eps")};
      Become("aten.layer_norm.default", args);
      return DropDefaults();
    }
    const bool is_pieces = name == "chunk" || name == "split" || name == "split_with_sizes" ||
                           name == "unbind" || name == "tensor_split";
    if (!is_pieces || !whole.args()[0].is_node()) return;
    Node* x = whole.args()[0].node();
    const auto sizes = SizesOf(x);
    if (!sizes.has_value() || whole.meta() == nullptr || !whole.meta()->is_tuple) return;
    const auto count = static_cast<int64_t>(whole.meta()->elements.size());
    const auto rank = static_cast<int64_t>(sizes->size());
    const Argument given = get("dim");
    if (!given.is_int()) return;
    const int64_t dim = given.integer() < 0 ? given.integer() + rank : given.integer();
    const int64_t piece = i < 0 ? i + count : i;
    if (dim < 0 || dim >= rank || piece < 0 || piece >= count) return;
    if (name == "unbind") {
      const Argument args[] = {x, dim, piece};
      return Become("aten.select.int", args);
    }
    int64_t start = 0, length = 0;
    for (int64_t k = 0; k <= piece; ++k) {
      const ValueMeta* meta = whole.meta()->elements[static_cast<size_t>(k)];
      if (meta->tensor == nullptr || !meta->tensor->has_shape ||
          static_cast<int64_t>(meta->tensor->shape.size()) != rank || !meta->tensor->is_static()) {
        return;
      }
      start += length;
      length = meta->tensor->shape[static_cast<size_t>(dim)].value;
    }
    if (start == 0 && length == (*sizes)[static_cast<size_t>(dim)]) return Vanish(x);
    const Argument args[] = {x, dim, start, start + length};
    Become("aten.slice.Tensor", args);
  }

  // --- Rules on any call --------------------------------------------------------

  void CommonSpelling() {
    Rename();
    ScalarOperand();
    Convolution();
    Linear();
    Norms();
    Fill();
    Others();
    Creation();
    NonNegativeDims();
  }

  void BecomeOverload(absl::string_view name) {
    const std::string target = absl::StrCat("aten.", name, ".", schema_->overload);
    const Schema* other = FindOverload(target);
    if (other == nullptr || other->arguments.size() != schema_->arguments.size()) return;
    for (size_t i = 0; i < other->arguments.size(); ++i) {
      if (other->arguments[i].type.kind != schema_->arguments[i].type.kind) return;
      if (i > 0 && other->arguments[i].name != schema_->arguments[i].name) return;
    }
    node_->set_target(other->target);
    Look();
  }

  void Rename() {
    const absl::string_view common = CommonName(name_);
    if (common != name_) BecomeOverload(common);
  }

  // Passes a number as such and not as a tensor: add.Tensor(x, 1) becomes add.Scalar(x, 1).
  void ScalarOperand() {
    const bool has_mode = schema_->overload == "Tensor_mode";
    if ((schema_->overload != "Tensor" && !has_mode) || node_->args().size() < 2) return;
    Argument other = node_->args()[1];
    if (other.is_node() && other.node()->target() == "prim.NumToTensor.Scalar" &&
        other.node()->args()[0].is_int() && IsFloatingPoint(DTypeOf(node_->args()[0]))) {
      other = other.node()->args()[0];
    } else if (other.is_node() && !frozen_[other.node()] &&
               IsFloatingPoint(DTypeOf(node_->args()[0])) && RankOf(node_->args()[0]) > 0) {
      // Small integers are exact in any precision.
      const std::optional<Argument> constant = ConstantOf(*other.node());
      if (constant.has_value() && constant->is_int() && std::abs(constant->integer()) < 1024)
        other = *constant;
    }
    if (!other.is_int() && !other.is_float() && !other.is_bool()) return;
    const Schema* scalar =
        FindOverload(absl::StrCat("aten.", name_, has_mode ? ".Scalar_mode" : ".Scalar"));
    if (scalar == nullptr || scalar->arguments.size() != schema_->arguments.size() ||
        scalar->arguments[0].type.kind != SchemaType::Kind::kTensor ||
        scalar->arguments[1].type.kind != SchemaType::Kind::kScalar) {
      return;
    }
    std::vector<Argument> args(node_->args().begin(), node_->args().end());
    args[1] = other;
    const std::vector<KwArg> kwargs(node_->kwargs().begin(), node_->kwargs().end());
    Become(scalar->target, args, kwargs);
  }

  void Convolution() {
    // Drop backend flags: they choose an algorithm, not the result.
    if (name_ == "_convolution") {
      return Become("aten.convolution.default",
                    GetAll({"input", "weight", "bias", "stride", "padding", "dilation",
                            "transposed", "output_padding", "groups"}));
    }
    if (!Is({"conv1d", "conv2d", "conv3d"})) return;
    const int dims = name_[4] - '0';
    const auto weight = SizesOf(Get("weight"));
    // A call without a batch is a different one.
    if (RankOf(Get("input")) != dims + 2 || !weight.has_value()) return;
    const auto spread = [&](const Argument& a) -> std::optional<Sizes> {
      const auto n = static_cast<size_t>(dims);
      if (a.is_int()) return Sizes(n, a.integer());
      auto numbers = NumbersOf(a);
      if (numbers.has_value() && numbers->size() == 1) numbers->resize(n, (*numbers)[0]);
      return numbers.has_value() && numbers->size() == n ? numbers : std::nullopt;
    };
    const auto stride = spread(Get("stride")), dilation = spread(Get("dilation"));
    std::optional<Sizes> padding = spread(Get("padding"));
    if (!stride || !dilation) return;
    if (Get("padding").is_string()) {
      padding.emplace(static_cast<size_t>(dims), 0);
      for (size_t i = 0; i < padding->size() && Get("padding").string() == "same"; ++i) {
        const int64_t both = (*dilation)[i] * ((*weight)[2 + i] - 1);
        if (both % 2 != 0 || (*stride)[i] != 1) return;
        (*padding)[i] = both / 2;
      }
    }
    if (!padding) return;
    const Argument args[] = {
        Get("input"),   Get("weight"),   Get("bias"), List(*stride),
        List(*padding), List(*dilation), false,       List(Sizes(static_cast<size_t>(dims), 0)),
        Get("groups")};
    Become("aten.convolution.default", args);
  }

  // Puts a linear together again from the calls that it was taken apart into.
  void Linear() {
    const bool has_bias = name_ == "addmm" && schema_->overload == "default";
    if (!has_bias && !(name_ == "mm" && schema_->overload == "default")) return;
    const Argument x = Get(has_bias ? "mat1" : "self"), w = Get("mat2");
    if (!w.is_node() || AtenName(*w.node()) != "permute" || frozen_[w.node()] || RankOf(w) != 2)
      return;
    std::vector<Argument> args = {x, w.node()->args()[0]};
    if (has_bias) {
      if (!IsOne(Get("beta")) || !IsOne(Get("alpha")) || RankOf(Get("self")) != 1) return;
      const auto bias = SizesOf(Get("self")), weight = SizesOf(w);
      if (!bias || !weight || (*bias)[0] != (*weight)[1]) return;
      args.push_back(Get("self"));
    }
    Become("aten.linear.default", args);
  }
  static bool IsOne(const Argument& a) {
    return (a.is_int() && a.integer() == 1) || (a.is_float() && a.real() == 1);
  }

  void Norms() {
    if (name_ == "batch_norm" && Get("training") == Argument(false)) {
      std::vector<Argument> args =
          GetAll({"input", "weight", "bias", "running_mean", "running_var"});
      if (args[3].is_none() || args[4].is_none()) return;
      // The momentum matters only in training.
      args.insert(args.end(), {false, 0.0, Get("eps"), false});
      return Become("aten.batch_norm.default", args);
    }
    if (!Is({"layer_norm", "group_norm"})) return;
    const absl::string_view flag = name_ == "layer_norm" ? "cudnn_enable" : "cudnn_enabled";
    const int i = schema_->IndexOf(flag);
    std::vector<Argument> args(node_->args().begin(), node_->args().end());
    if (i >= 0 && args.size() > static_cast<size_t>(i)) args.resize(static_cast<size_t>(i));
    std::vector<KwArg> kwargs;
    for (const KwArg& kwarg : node_->kwargs()) {
      if (kwarg.name != flag) kwargs.push_back(kwarg);
    }
    Become(node_->target(), args, kwargs);
  }

  // Writes a tensor of equal elements by its one number.
  void Fill() {
    std::optional<Argument> number;
    const Argument value = node_->args().size() < 2 ? Argument() : node_->args()[1];
    if (!value.is_node()) return;
    if ((name_ == "fill_" || name_ == "fill") && !frozen_[value.node()])
      number = ConstantOf(*value.node());
    const bool is_copy = name_ == "copy_" || name_ == "copy";
    const absl::string_view from = value.node()->target();
    if (is_copy && (from == "aten.tensor.int" || from == "aten.tensor.float") &&
        !value.node()->args().empty()) {
      number = value.node()->args()[0];
      // This holds only if the tensor stores the number exactly.
      const Argument* dtype = value.node()->kwarg("dtype");
      const bool is_same = dtype != nullptr && dtype->kind() == Argument::Kind::kDType &&
                           dtype->dtype() == DTypeOf(node_->args()[0]);
      if (!is_same && !((dtype == nullptr || dtype->is_none()) && number->is_int())) return;
    }
    if (!number.has_value() || !(number->is_int() || number->is_float())) return;
    const Argument args[] = {node_->args()[0], *number};
    Become(absl::EndsWith(name_, "_") ? "aten.fill_.Scalar" : "aten.fill.Scalar", args);
    // Effects does not know that this call only makes a tensor, so erase it here.
    if (is_copy && !value.node()->has_uses()) value.node()->graph()->EraseNode(value.node());
  }

  void Others() {
    // Drop the arguments that only gradients depend on.
    if (name_ == "embedding") {
      const Argument args[] = {Get("weight"), Get("indices")};
      return Become("aten.embedding.default", args);
    }
    if (name_ == "_softmax" && Get("half_to_float") == Argument(false)) {
      const Argument args[] = {Get("self"), Get("dim")};
      return Become("aten.softmax.int", args);
    }
    if (name_ == "norm" && absl::EndsWith(schema_->overload, "Opt_dim")) {
      const Argument ord = Get("p").is_none() ? Argument(2) : Get("p");
      const Argument args[] = {Get("self"), ord, Get("dim"), Get("keepdim")};
      return Become("aten.linalg_vector_norm.default", args);
    }
    if (name_ == "relu6") {
      const Argument args[] = {Get("self"), 0, 6};
      return Become("aten.hardtanh.default", args);
    }
    if (name_ == "pad" && Get("mode").is_string() && Get("mode").string() == "constant") {
      const Argument value = Get("value").is_none() ? Argument(0) : Get("value");
      const Argument args[] = {Get("self"), Get("pad"), value};
      return Become("aten.constant_pad_nd.default", args);
    }
    if (name_ == "arange") {
      const Argument start = Get("start"), step = Get("step");
      const bool from_zero = start.is_none() || start == Argument(0);
      if (schema_->overload == "default" || !(step.is_none() || step == Argument(1))) return;
      std::vector<Argument> args;
      if (!from_zero) args.push_back(start);
      args.push_back(Get("end"));
      const std::vector<KwArg> kwargs(node_->kwargs().begin(), node_->kwargs().end());
      return Become(from_zero ? "aten.arange.default" : "aten.arange.start", args, kwargs);
    }
    if (Is({"max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"})) {
      const Argument stride = Get("stride");
      const bool is_given = stride.is_aggregate() ? !stride.elements().empty() : !stride.is_none();
      std::vector<Argument> args(node_->args().begin(), node_->args().end());
      if (is_given || args.size() < 2 || !node_->kwargs().empty()) return;
      args.resize(std::max<size_t>(args.size(), 3));
      args[2] = args[1];
      return Become(node_->target(), args);
    }
  }

  // For new tensors, writes the dtype out and drops the options that are defaults.
  void Creation() {
    if (schema_->FindArgument("pin_memory") == nullptr ||
        schema_->FindArgument("layout") == nullptr)
      return;
    std::vector<KwArg> kwargs;
    bool has_dtype = false;
    for (const KwArg& kwarg : node_->kwargs()) {
      const Argument& value = kwarg.value;
      const bool is_cpu =
          value.kind() == Argument::Kind::kDevice && value.device().type == DeviceType::kCpu;
      const bool is_strided =
          value.kind() == Argument::Kind::kLayout && value.layout() == Layout::kStrided;
      const bool is_off = value.is_bool() && !value.boolean();
      if (value.is_none() || (kwarg.name == "device" && is_cpu && IsOnCpu()) ||
          (kwarg.name == "layout" && is_strided) || (kwarg.name == "pin_memory" && is_off)) {
        continue;
      }
      has_dtype |= kwarg.name == "dtype";
      kwargs.push_back(kwarg);
    }
    if (!has_dtype && DTypeOf(node_) != DType::kUnknown && name_ != "_to_copy" && name_ != "to")
      kwargs.push_back({"dtype", DTypeOf(node_)});
    const std::vector<Argument> args(node_->args().begin(), node_->args().end());
    Become(node_->target(), args, kwargs);
  }
  // Returns whether all operands, if any, are on the CPU.
  bool IsOnCpu() const {
    bool is_on_cpu = true;
    node_->ForEachOperand([&](const Node* operand) {
      const TensorMeta* meta = operand->tensor_meta();
      is_on_cpu &= meta != nullptr && meta->has_device && meta->device.type == DeviceType::kCpu;
    });
    return is_on_cpu;
  }

  // Counts dimensions from the front. Calls that add a dimension count those of the result.
  void NonNegativeDims() {
    const int rank = schema_->arguments.empty() ? -1 : RankOf(Get(schema_->arguments[0].name));
    int of = rank;
    if (Is({"cat", "stack"})) {
      const Argument tensors = Get("tensors");
      if (!tensors.is_list() || tensors.elements().empty()) return;
      of = RankOf(tensors.elements()[0]);
      if (of >= 0 && name_ == "stack") ++of;
    } else if (name_ == "unsqueeze" && of >= 0) {
      ++of;
    }
    if (of <= 0 || Is({"expand", "repeat", "roll", "permute"})) return;
    const auto wrap = [&](const Argument& a) {
      return a.is_int() && a.integer() < 0 && a.integer() >= -of ? Argument(a.integer() + of) : a;
    };
    bool changed = false;
    std::vector<Argument> args(node_->args().begin(), node_->args().end());
    for (size_t i = 0; i < args.size() && i < schema_->arguments.size(); ++i) {
      const SchemaArgument& parameter = schema_->arguments[i];
      if (parameter.type.kind != SchemaType::Kind::kInt) continue;
      const absl::string_view p = parameter.name;
      if (p != "dim" && p != "dims" && p != "dim0" && p != "dim1" && p != "start_dim" &&
          p != "end_dim")
        continue;
      if (args[i].is_int()) {
        const Argument wrapped = wrap(args[i]);
        changed |= wrapped != args[i];
        args[i] = wrapped;
      } else if (const auto numbers = NumbersOf(args[i]); numbers.has_value()) {
        Sizes dims;
        for (const int64_t n : *numbers) dims.push_back(wrap(Argument(n)).integer());
        if (dims == *numbers) continue;
        changed = true;
        args[i] = List(dims);
      }
    }
    if (!changed) return;
    const std::vector<KwArg> kwargs(node_->kwargs().begin(), node_->kwargs().end());
    Become(node_->target(), args, kwargs);
  }

  // Writes arguments by position as far as possible, lists as lists, and drops trailing defaults.
  void DropDefaults() {
    std::vector<std::optional<Argument>> given;
    for (size_t i = 0; i < schema_->arguments.size(); ++i) {
      const SchemaArgument& parameter = schema_->arguments[i];
      const Argument* value = schema_->Given(*node_, i);
      if (value == nullptr && i == 0) value = node_->kwarg("input");
      given.emplace_back();
      if (value == nullptr) continue;
      Argument made = *value;
      if (parameter.type.is_list && made.is_tuple()) {
        made = module_.CopyArgument(Argument::List(made.elements()));
      }
      const size_t length = parameter.type.list_size;
      if (parameter.type.is_list && length > 0 && parameter.type.kind == SchemaType::Kind::kInt &&
          !absl::StartsWith(parameter.name, "dim")) {
        std::optional<Sizes> numbers = NumbersOf(made);
        if (made.is_int()) numbers = Sizes{made.integer()};
        if (numbers.has_value() && numbers->size() == 1) {
          numbers->resize(length, (*numbers)[0]);
          made = List(*numbers);
        }
      }
      if (parameter.type.kind == SchemaType::Kind::kScalar && made.is_float() && IsOnFloats())
        made = WholeNumber(made);
      if (parameter.IsDefault(made)) continue;
      given.back() = made;
    }
    size_t positional = 0;  // the number of arguments by position
    for (size_t i = 0; i < given.size() && !schema_->arguments[i].keyword_only; ++i) {
      if (given[i].has_value()) positional = i + 1;
    }
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    for (size_t i = 0; i < given.size(); ++i) {
      const SchemaArgument& parameter = schema_->arguments[i];
      if (i < positional) {
        if (!given[i].has_value() && parameter.default_text == "[]") {
          args.push_back(Argument::List({}));
        } else if (!given[i].has_value()) {
          if (!parameter.has_default) return;
          if (parameter.default_value.is_none() && parameter.default_text != "None") return;
          args.push_back(parameter.default_value);
        } else {
          args.push_back(*given[i]);
        }
      } else if (given[i].has_value()) {
        kwargs.push_back({parameter.name, *given[i]});
      }
    }
    const std::string target = schema_->target;
    Become(target, args, kwargs);
  }

  // Returns whether the first argument is a floating-point tensor, for which 2 means 2.0.
  bool IsOnFloats() const {
    return !schema_->arguments.empty() && IsFloatingPoint(DTypeOf(Get(schema_->arguments[0].name)));
  }
  static Argument WholeNumber(const Argument& number) {
    const double real = number.real();
    const bool is_whole = std::abs(real) < 1e9 && std::trunc(real) == real && !std::signbit(real);
    return is_whole ? Argument(static_cast<int64_t>(real)) : number;
  }

  Module& module_;
  NodeTable<bool> frozen_;  // shares memory that is written to
  bool sees_strides_ = false;
  bool is_free_ = false;  // True if the call may share other memory than before.
  Node* node_ = nullptr;
  const Schema* schema_ = nullptr;
  absl::string_view name_;
};

}  // namespace

void CanonicalizeCalls(Module* module) { Rewriter(module).Run(); }

}  // namespace graphnet

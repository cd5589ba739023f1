#include "graphnet/interp/random_rounding.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "ATen/Functions.h"
#include "ATen/MemoryOverlap.h"
#include "ATen/Parallel.h"
#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/functorch/BatchedTensorImpl.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "c10/core/impl/LocalDispatchKeySet.h"
#include "graphnet/interp/inputs/random_noise.h"
#include "graphnet/interp/rounding_rules.h"
#include "graphnet/interp/torch/comparison.h"
#include "torch/library.h"

namespace graphnet {
namespace {

using interp::RoundingKind;
using interp::RoundingRule;

// A key that LibTorch keeps for modes that see all calls, and that nothing else in it uses.
constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

thread_local RandomRounding* current = nullptr;

// Rounding errors of n terms that are added one after the other are random steps. Each is 0.29 units
// of a partial sum, which grows with the square root of its terms, so together they are 0.2 times the
// square root of n. Random moves by -1, 0 or 1 have 0.8 units.
float UnitsOfSum(int64_t terms) { return std::max(1.0F, std::sqrt(static_cast<float>(terms)) / 4); }

// Ranks and kernels add the terms of a sum of 16-bit floats in two to four parts, each of which is rounded to
// 16 bits. This is half a unit for each term: a quarter of them move by one.
constexpr float kUnitsOfParts = 4.0F / 9;

bool IsNarrow(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

bool IsMoved(const at::Tensor& tensor) {
  if (!tensor.defined() || !(tensor.is_floating_point() || tensor.is_complex())) return false;
  if (tensor.layout() != at::kStrided || tensor.is_nested() || tensor.is_quantized()) return false;
  return tensor.device().is_cpu() && c10::elementSize(tensor.scalar_type()) > 1 &&
         tensor.numel() > 0;
}

// Moves the elements of a tensor whose memory has no gaps.
void MoveDense(const at::Tensor& tensor, const Noise& noise) {
  const int64_t count = tensor.numel() * (tensor.is_complex() ? 2 : 1);
  void* const data = tensor.mutable_data_ptr();
  const auto each = [&](auto* bits, auto add) {
    at::parallel_for(0, count, 1 << 16, [&](int64_t begin, int64_t end) {
      add(bits + begin, static_cast<size_t>(end - begin), static_cast<uint32_t>(begin), noise);
    });
  };
  switch (c10::toRealValueType(tensor.scalar_type())) {
    case at::kFloat: each(static_cast<uint32_t*>(data), AddNoiseF32); break;
    case at::kDouble: each(static_cast<uint64_t*>(data), AddNoiseF64); break;
    case at::kHalf: each(static_cast<uint16_t*>(data), AddNoiseF16); break;
    case at::kBFloat16: each(static_cast<uint16_t*>(data), AddNoiseBF16); break;
    default: break;
  }
}

void Move(at::Tensor tensor, const Noise& noise) {
  while (const auto* batched = at::functorch::maybeGetBatchedImpl(tensor))
    tensor = batched->value();
  if (!IsMoved(tensor)) return;
  if (tensor.is_conj() || tensor.is_neg()) return;  // a view of what has moved
  if (tensor.is_non_overlapping_and_dense()) return MoveDense(tensor, noise);
  const at::Tensor dense = tensor.clone(at::MemoryFormat::Contiguous);
  MoveDense(dense, noise);
  if (at::has_internal_overlap(tensor) == at::MemOverlap::No) tensor.copy_(dense);
}

struct KnownOperator {
  RoundingRule rule;
  bool is_composite = false;  // LibTorch calls other operators for it
  bool makes_view = false;
  std::string name;
};

const KnownOperator& Know(const c10::OperatorHandle& op) {
  // One map for each thread: no lock, and few threads round at random.
  static thread_local auto* const known =
      new absl::flat_hash_map<const c10::FunctionSchema*, std::unique_ptr<KnownOperator>>;
  std::unique_ptr<KnownOperator>& made = (*known)[&op.schema()];
  if (made != nullptr) return *made;
  made = std::make_unique<KnownOperator>();
  made->name = op.schema().name();
  absl::string_view base = made->name;
  base.remove_prefix(base.rfind(':') + 1);
  made->rule = interp::RoundingRuleOf(base);
  if (base == "index_put" || base == "index_put_") {
    made->rule = {};  // it may add
  } else if (base == "max" || base == "min" || base == "median" || base == "kthvalue") {
    if (op.schema().returns().size() > 1) made->rule = {RoundingKind::kDecides};
  }
  made->is_composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
                       !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
  made->makes_view = std::any_of(
      op.schema().returns().begin(), op.schema().returns().end(), [](const c10::Argument& result) {
        return result.alias_info() != nullptr && !result.alias_info()->isWrite();
      });
  return *made;
}

// Calls `visit` with each tensor of a value.
template <typename Visit>
void EachTensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      if (element.isTensor() && element.toTensor().defined()) visit(element.toTensor());
    }
  }
}

// Returns whether a tensor of floats has whole numbers alone, as masks and counts do.
bool IsWholeTensor(const at::Tensor& tensor) {
  if (!tensor.is_floating_point()) return !tensor.is_complex();
  if (!IsMoved(tensor) || at::functorch::maybeGetBatchedImpl(tensor) != nullptr) return false;
  constexpr int64_t kMostToCopy = 1 << 16;
  if (!tensor.is_non_overlapping_and_dense() && tensor.numel() > kMostToCopy) return false;
  const at::Tensor dense =
      tensor.is_non_overlapping_and_dense() ? tensor : tensor.clone(at::MemoryFormat::Contiguous);
  const void* const data = dense.const_data_ptr();
  const auto count = static_cast<size_t>(dense.numel());
  switch (dense.scalar_type()) {
    case at::kFloat: return AreWholeF32(static_cast<const float*>(data), count);
    case at::kDouble: return AreWholeF64(static_cast<const double*>(data), count);
    case at::kHalf: return AreWholeF16(static_cast<const uint16_t*>(data), count);
    case at::kBFloat16: return AreWholeBF16(static_cast<const uint16_t*>(data), count);
    default: return false;
  }
}

// Returns whether a call computes with whole numbers alone.
bool TakesWhole(c10::ArrayRef<c10::IValue> arguments) {
  bool whole = true;
  for (const c10::IValue& argument : arguments) {
    if (argument.isDouble())
      whole = whole && std::trunc(argument.toDouble()) == argument.toDouble();
    EachTensor(argument, [&](const at::Tensor& tensor) { whole = whole && IsWholeTensor(tensor); });
    if (!whole) return false;
  }
  return true;
}

bool TakesFloats(c10::ArrayRef<c10::IValue> arguments) {
  bool found = false;
  for (const c10::IValue& argument : arguments) {
    EachTensor(argument, [&](const at::Tensor& tensor) {
      found |= tensor.is_floating_point() || tensor.is_complex();
    });
  }
  return found;
}

}  // namespace

// One call of an operator under random rounding.
class RoundingCall {
 public:
  RoundingCall(RandomRounding* mode, const c10::OperatorHandle& op) : mode_(*mode), op_(op) {}

  void Run(torch::jit::Stack* stack) {
    const KnownOperator& known = Know(op_);
    const c10::impl::ExcludeDispatchKeyGuard guard(kKey);
    const size_t num_arguments = op_.schema().arguments().size();
    const c10::ArrayRef<c10::IValue> arguments(stack->data() + stack->size() - num_arguments,
                                               num_arguments);
    if (known.makes_view) return op_.callBoxed(stack);
    const bool takes_floats = TakesFloats(arguments);
    const RoundingKind kind = known.rule.kind;
    Noise noise{mode_.options_.size,
                mode_.options_.seed * 0x9E3779B1U + ++mode_.calls_ * 0x7FEB352DU};
    const bool moves =
        mode_.options_.size > 0 && kind != RoundingKind::kExact && kind != RoundingKind::kDecides;
    noise.leaves_whole = moves && TakesWhole(arguments);
    at::Tensor first;
    at::ScalarType from = at::kDouble;
    if (kind == RoundingKind::kConverts) {
      EachTensor(arguments[op_.schema().is_mutable() ? std::min<size_t>(1, num_arguments - 1) : 0],
                 [&](const at::Tensor& tensor) { from = tensor.scalar_type(); });
    } else if (kind == RoundingKind::kCancels) {
      if (arguments[0].isTensor()) first = arguments[0].toTensor();
    } else if (kind == RoundingKind::kAccumulates && takes_floats && moves) {
      noise.units *= Terms(known.rule, stack, num_arguments);
    }
    op_.callBoxed(stack);
    const size_t num_results = op_.schema().returns().size();
    const c10::ArrayRef<c10::IValue> results(stack->data() + stack->size() - num_results,
                                             num_results);
    if (takes_floats) Record(known, results);
    if (!moves) return;
    for (const c10::IValue& result : results) {
      EachTensor(result, [&](const at::Tensor& tensor) {
        if (kind == RoundingKind::kConverts && !Narrows(from, tensor.scalar_type())) return;
        if (kind == RoundingKind::kCancels && first.defined() && first.sizes() == tensor.sizes() &&
            IsMoved(tensor) && tensor.scalar_type() == at::kFloat) {
          return AddRelativeTo(first, tensor, noise);
        }
        Move(tensor, noise);
      });
    }
  }

 private:
  static bool Narrows(at::ScalarType from, at::ScalarType to) {
    if (!c10::isFloatingType(from)) return false;
    return c10::elementSize(to) < c10::elementSize(from) ||
           (from == at::kBFloat16 && to == at::kHalf) || (from == at::kHalf && to == at::kBFloat16);
  }

  // Moves the terms of a sum, and returns by how much its result moves, in units.
  float Terms(const RoundingRule& rule, torch::jit::Stack* stack, size_t num_arguments) {
    c10::IValue* const arguments = stack->data() + stack->size() - num_arguments;
    const float units = UnitsOfSum(interp::TermsOfCall(
        rule, op_.schema(), c10::ArrayRef<c10::IValue>(arguments, num_arguments)));
    if (rule.operand >= num_arguments || !arguments[rule.operand].isTensor()) return units;
    const at::Tensor& x = arguments[rule.operand].toTensor();
    // Sums of 16-bit floats are made in float32 and rounded once, or in a few parts.
    const bool is_narrow = IsNarrow(x.scalar_type());
    const float of_result = is_narrow ? 1 : units;
    if (!IsMoved(x) || op_.schema().is_mutable() ||
        at::functorch::maybeGetBatchedImpl(x) != nullptr)
      return of_result;
    const at::Tensor moved = x.clone();
    Move(moved, {mode_.options_.size * (is_narrow ? kUnitsOfParts : units),
                 mode_.options_.seed * 0x85EBCA77U + mode_.calls_ * 0xC2B2AE3DU});
    arguments[rule.operand] = moved;
    return of_result;
  }

  // Adds noise as large as that of `x` to a result.
  static void AddRelativeTo(const at::Tensor& x, const at::Tensor& result, const Noise& noise) {
    const at::Tensor moved = x.clone();
    Move(moved, noise);
    result.add_(moved.sub_(x), 0.5);
    Move(result, noise);
  }

  void Record(const KnownOperator& known, c10::ArrayRef<c10::IValue> results) {
    const bool decides = known.rule.kind == RoundingKind::kDecides;
    size_t digest = 0;
    bool found = false;
    for (const c10::IValue& result : results) {
      EachTensor(result, [&](const at::Tensor& tensor) {
        const bool is_whole = !tensor.is_floating_point() && !tensor.is_complex();
        // The decision of topk and sort is the places.
        if (!(is_whole || (decides && results.size() == 1))) return;
        if (known.rule.kind == RoundingKind::kExact) return;
        if (const std::optional<size_t> of_tensor = DigestOf(tensor)) {
          digest = absl::HashOf(digest, *of_tensor);
          found = true;
        }
      });
    }
    if (found) mode_.decisions_.push_back({known.name, nullptr, digest});
  }

  RandomRounding& mode_;
  const c10::OperatorHandle& op_;
};

namespace {

void RoundingFallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                      torch::jit::Stack* stack) {
  if (current != nullptr && !Know(op).is_composite) return RoundingCall(current, op).Run(stack);
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
}

void RegisterRoundingFallback() {
  static auto* const library = [] {
    auto* made = new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
    made->fallback(torch::CppFunction::makeFromBoxedFunction<&RoundingFallback>());
    return made;
  }();
  (void)library;
}

}  // namespace

RandomRounding::RandomRounding(const RandomRoundingOptions& options)
    : options_(options), outer_(current) {
  RegisterRoundingFallback();
  current = this;
  c10::impl::tls_set_dispatch_key_included(kKey, true);
}

RandomRounding::~RandomRounding() {
  current = outer_;
  c10::impl::tls_set_dispatch_key_included(kKey, outer_ != nullptr);
}

void RandomRounding::CallsOf(const Node& node) {
  for (; named_ < decisions_.size(); ++named_) decisions_[named_].node = &node;
}

}  // namespace graphnet

#include "graphnet/extract/value_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/attributes.h"
#include "graphnet/interp/values.h"
#include "torch/csrc/jit/frontend/script_type_parser.h"

namespace graphnet::extract {
namespace {

using c10::IValue;
using Kind = ValueTree::Kind;

constexpr int kMaxDepth = 64;  // What the manifest's reader takes.

// What is there instead of what was expected.
bool Differs(std::string* why, absl::string_view name, absl::string_view expected,
             absl::string_view found) {
  if (why != nullptr) *why = absl::StrCat(name, ": expected ", expected, ", found ", found);
  return false;
}

std::string Describe(const IValue& value) {
  if (value.isInt()) return absl::StrCat(value.toInt());
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isDouble()) return absl::StrCat(value.toDouble());
  if (value.isString()) return absl::StrCat("\"", Printable(value.toStringRef()), "\"");
  return absl::StrCat("a value of kind ", value.tagKind());
}

std::string Sizes(at::IntArrayRef sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

int64_t LargestNumber(const ValueTree& tree) {
  int64_t largest = tree.kind == Kind::kTensor ? tree.number : -1;
  for (const ValueTree& element : tree.elements)
    largest = std::max(largest, LargestNumber(element));
  return largest;
}

bool SameBits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

absl::StatusOr<ValueTree> ToTree(const IValue& value, TensorNumber number, int depth) {
  ValueTree tree;
  if (depth > kMaxDepth) return absl::UnimplementedError("a value that nests too deep");
  const auto add = [&](const IValue& element) -> absl::Status {
    ASSIGN_OR_RETURN(ValueTree made, ToTree(element, number, depth + 1));
    tree.elements.push_back(std::move(made));
    return absl::OkStatus();
  };
  if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return tree;
  if (value.isTensor()) {
    tree.kind = Kind::kTensor;
    ASSIGN_OR_RETURN(tree.number, number(value.toTensor()));
  } else if (value.isBool()) {
    tree.kind = Kind::kBool;
    tree.number = value.toBool() ? 1 : 0;
  } else if (value.isInt()) {
    tree.kind = Kind::kInt;
    tree.number = value.toInt();
  } else if (value.isDouble()) {
    tree.kind = Kind::kFloat;
    tree.real = value.toDouble();
  } else if (value.isComplexDouble()) {
    tree.kind = Kind::kComplex;
    tree.real = value.toComplexDouble().real();
    tree.imaginary = value.toComplexDouble().imag();
  } else if (value.isString()) {
    tree.kind = Kind::kString;
    tree.text = value.toStringRef();
  } else if (value.isDevice()) {
    tree.kind = Kind::kDevice;
    tree.text = value.toDevice().str();
  } else if (value.isList()) {
    tree.kind = Kind::kList;
    tree.text = torchscript::TypeText(*value.type());
    for (const IValue& element : value.toListRef()) RETURN_IF_ERROR(add(element));
  } else if (value.isTuple()) {
    tree.kind = Kind::kTuple;
    for (const IValue& element : value.toTupleRef().elements()) RETURN_IF_ERROR(add(element));
  } else if (value.isGenericDict()) {
    tree.kind = Kind::kDict;
    tree.text = torchscript::TypeText(*value.type());
    for (const auto& entry : value.toGenericDict()) {
      RETURN_IF_ERROR(add(entry.key()));
      RETURN_IF_ERROR(add(entry.value()));
    }
  } else {
    return absl::UnimplementedError(
        absl::StrCat("a value of kind ", value.tagKind(), " outside a subgraph"));
  }
  return tree;
}

TensorGuard GuardOf(const at::Tensor& tensor) {
  return {torchscript::DTypeOf(tensor.scalar_type()), tensor.device().str(), tensor.sizes().vec()};
}

TensorTable::TensorTable(const StitchManifest& manifest) {
  int64_t largest = LargestNumber(manifest.result);
  for (const auto& input : manifest.inputs)
    largest = std::max(largest, LargestNumber(input.pattern));
  for (const auto& state : manifest.states)
    largest = std::max(largest, LargestNumber(state.pattern));
  for (const StitchStep& step : manifest.steps) {
    for (const int64_t n : step.outputs) largest = std::max(largest, n);
    for (const ValueTree& operand : step.operands)
      largest = std::max(largest, LargestNumber(operand));
    for (const ValueTree& result : step.results) largest = std::max(largest, LargestNumber(result));
  }
  if (!manifest.constants.empty()) largest = std::max(largest, manifest.constants.rbegin()->first);
  if (!manifest.tensors.empty()) largest = std::max(largest, manifest.tensors.rbegin()->first);
  tensors_.resize(static_cast<size_t>(largest + 1));
  guards_.resize(tensors_.size());
  for (const auto& [number, guard] : manifest.tensors) {
    guards_[static_cast<size_t>(number)] = {true, interp::ToScalarType(guard.dtype),
                                            c10::Device(guard.device), guard.sizes};
  }
}

void TensorTable::Clear() { std::fill(tensors_.begin(), tensors_.end(), at::Tensor()); }

IValue TensorTable::Make(const ValueTree& tree) const {
  switch (tree.kind) {
    case Kind::kNone: return IValue();
    case Kind::kTensor: return Get(tree.number);
    case Kind::kBool: return tree.number != 0;
    case Kind::kInt: return tree.number;
    case Kind::kFloat: return tree.real;
    case Kind::kComplex: return c10::complex<double>(tree.real, tree.imaginary);
    case Kind::kString: return tree.text;
    case Kind::kDevice: return c10::Device(tree.text);
    case Kind::kTuple: {
      std::vector<IValue> elements;
      for (const ValueTree& element : tree.elements) elements.push_back(Make(element));
      return c10::ivalue::Tuple::create(std::move(elements));
    }
    case Kind::kList: {
      const c10::TypePtr type = torch::jit::ScriptTypeParser().parseType(tree.text);
      TORCH_CHECK(type->kind() == c10::TypeKind::ListType, "no list type: ", tree.text);
      c10::impl::GenericList list(type->containedType(0));
      for (const ValueTree& element : tree.elements) list.push_back(Make(element));
      return list;
    }
    case Kind::kDict: {
      const c10::TypePtr type = torch::jit::ScriptTypeParser().parseType(tree.text);
      TORCH_CHECK(type->kind() == c10::TypeKind::DictType, "no dict type: ", tree.text);
      c10::impl::GenericDict dict(type->containedType(0), type->containedType(1));
      for (size_t i = 0; i + 1 < tree.elements.size(); i += 2) {
        dict.insert_or_assign(Make(tree.elements[i]), Make(tree.elements[i + 1]));
      }
      return dict;
    }
  }
  return IValue();
}

bool TensorTable::MatchTensor(int64_t number, const at::Tensor& tensor, absl::string_view name,
                              std::string* why) {
  at::Tensor& slot = tensors_[static_cast<size_t>(number)];
  const Guard& guard = guards_[static_cast<size_t>(number)];
  if (guard.is_set) {
    if (tensor.scalar_type() != guard.dtype) {
      return Differs(why, name, c10::toString(guard.dtype), c10::toString(tensor.scalar_type()));
    }
    if (tensor.device() != guard.device)
      return Differs(why, name, guard.device.str(), tensor.device().str());
    const at::IntArrayRef sizes = tensor.sizes();
    if (sizes.size() != guard.sizes.size()) {
      return Differs(why, name, absl::StrCat("rank ", guard.sizes.size()),
                     absl::StrCat("rank ", sizes.size()));
    }
    if (!std::equal(sizes.begin(), sizes.end(), guard.sizes.begin())) {
      return Differs(why, name, absl::StrCat("sizes ", Sizes(guard.sizes)),
                     absl::StrCat("sizes ", Sizes(sizes)));
    }
    if (tensor.requires_grad())
      return Differs(why, name, "no gradient to be asked for", "requires_grad");
  }
  if (slot.defined() && !slot.is_same(tensor)) {
    return Differs(why, name, "the same tensor as elsewhere", "another one");
  }
  slot = tensor;
  return true;
}

bool TensorTable::Match(const ValueTree& pattern, const IValue& value, absl::string_view name,
                        std::string* why) {
  const auto elements = [&](const auto& found, size_t size) {
    if (size != pattern.elements.size()) {
      return Differs(why, name, absl::StrCat(pattern.elements.size(), " elements"),
                     absl::StrCat(size));
    }
    for (size_t i = 0; i < size; ++i) {
      const IValue element = found[i];
      const std::string inner = why == nullptr ? std::string() : absl::StrCat(name, "[", i, "]");
      if (!Match(pattern.elements[i], element, inner, why)) return false;
    }
    return true;
  };
  switch (pattern.kind) {
    case Kind::kNone:
      if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return true;
      break;
    case Kind::kTensor:
      if (value.isTensor() && value.toTensor().defined())
        return MatchTensor(pattern.number, value.toTensor(), name, why);
      return Differs(why, name, "a tensor", Describe(value));
    case Kind::kBool:
      if (value.isBool() && value.toBool() == (pattern.number != 0)) return true;
      break;
    case Kind::kInt:
      if (value.isInt() && value.toInt() == pattern.number) return true;
      break;
    case Kind::kFloat:
      if (value.isDouble() && SameBits(value.toDouble(), pattern.real)) return true;
      break;
    case Kind::kComplex:
      if (value.isComplexDouble() && SameBits(value.toComplexDouble().real(), pattern.real) &&
          SameBits(value.toComplexDouble().imag(), pattern.imaginary)) {
        return true;
      }
      break;
    case Kind::kString:
      if (value.isString() && value.toStringRef() == pattern.text) return true;
      break;
    case Kind::kDevice:
      if (value.isDevice() && value.toDevice().str() == pattern.text) return true;
      break;
    case Kind::kList:
      if (value.isList()) return elements(value.toList(), value.toList().size());
      break;
    case Kind::kTuple:
      if (value.isTuple())
        return elements(value.toTupleRef().elements(), value.toTupleRef().elements().size());
      break;
    case Kind::kDict: {
      if (!value.isGenericDict()) break;
      std::vector<IValue> entries;
      for (const auto& entry : value.toGenericDict()) {
        entries.push_back(entry.key());
        entries.push_back(entry.value());
      }
      return elements(entries, entries.size());
    }
  }
  return Differs(why, name, PrintValueTree(pattern), Describe(value));
}

size_t NumGuards(const ValueTree& pattern, const StitchManifest& manifest) {
  size_t count = 1;
  if (pattern.kind == Kind::kTensor) {
    const auto it = manifest.tensors.find(pattern.number);
    if (it != manifest.tensors.end()) count += 3 + it->second.sizes.size();
  }
  for (const ValueTree& element : pattern.elements) count += NumGuards(element, manifest);
  return count;
}

}  // namespace graphnet::extract

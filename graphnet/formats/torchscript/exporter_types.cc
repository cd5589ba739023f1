#include "graphnet/formats/torchscript/exporter_types.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/formats/torchscript/attributes.h"
#include "graphnet/formats/torchscript/exporter_attributes.h"
#include "graphnet/interp/torch/annotation.h"
#include "graphnet/ir/tensor_meta.h"
#include "torch/csrc/jit/frontend/resolver.h"

namespace graphnet::torchscript {
namespace {

class ClassResolver : public torch::jit::Resolver {
 public:
  explicit ClassResolver(const TypeTable* types) : types_(types) {}
  c10::TypePtr resolveType(const std::string& name, const torch::jit::SourceRange&) override {
    return types_->FindClass(name);
  }

 private:
  const TypeTable* types_;
};

}  // namespace

bool IsGarbled(const c10::IValue& constant) {
  const auto is_garbled = [](double value) {
    if (value == 0) return std::signbit(value);
    return std::abs(value) >= 1e10 && std::abs(value) < 1e18 && std::floor(value) == value;
  };
  if (constant.isDouble()) return is_garbled(constant.toDouble());
  if (constant.isComplexDouble()) {
    const c10::complex<double> value = constant.toComplexDouble();
    return is_garbled(value.real()) || is_garbled(value.imag()) || !std::isfinite(value.real()) ||
           !std::isfinite(value.imag());
  }
  return constant.isString() && absl::StrContains(constant.toStringRef(), '\r');
}

c10::TypePtr WithoutOptional(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional == nullptr ? type : optional->getElementType();
}

c10::TypePtr WithNumbers(const c10::TypePtr& type) {
  const auto* const list = type->castRaw<c10::ListType>();
  return list == nullptr ? WithoutOptional(type)
                         : c10::ListType::create(WithNumbers(list->getElementType()));
}

c10::ClassTypePtr TypeTable::AddClass(const std::string& name) {
  c10::ClassTypePtr& type = classes_[name];
  if (type != nullptr) return type;
  std::string safe = "__torch__";
  for (const absl::string_view part : absl::StrSplit(absl::StripPrefix(name, "__torch__."), '.')) {
    absl::StrAppend(&safe, ".", Identifier(part));
  }
  c10::QualifiedName qualified(safe);
  if (unit_->get_type(qualified) != nullptr) qualified = unit_->mangle(qualified);
  type = c10::ClassType::create(qualified, unit_);
  unit_->register_type(type);
  return type;
}

c10::TypePtr TypeTable::FindClass(const std::string& name) const {
  const auto it = classes_.find(name);
  return it == classes_.end() ? nullptr : it->second;
}

void TypeTable::FillEmptyClasses() {
  for (const auto& [name, type] : classes_) {
    if (type->numAttributes() == 0) type->addAttribute("unused", c10::NoneType::get());
  }
}

absl::StatusOr<c10::TypePtr> TypeTable::Parse(absl::string_view annotation) const {
  return ParseAnnotation(annotation, std::make_shared<ClassResolver>(this));
}

}  // namespace graphnet::torchscript

#include "graphnet/ops/binder.h"

#include <algorithm>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/check.h"
#include "graphnet/base/near_miss.h"

namespace graphnet {

using Kind = ValueType::Kind;

namespace {

// Returns the name of the parameter that a keyword stands for: Python's parser accepts other names
// for some.
absl::string_view CanonicalKeyword(absl::string_view name, const Schema& schema) {
  if (schema.is_python || schema.FindArgument(name) != nullptr) return name;
  if (name == "axis") return "dim";
  if (name == "keepdims") return "keepdim";
  if (name == "x2") return "other";
  if ((name == "input" || name == "x" || name == "x1" || name == "a") &&
      !schema.arguments.empty()) {
    return schema.arguments[0].name;
  }
  return name;
}

// Returns whether a keyword means nothing to an operator that has no such parameter.
bool SaysNothing(const KwArg& kwarg, const Schema& schema) {
  if (schema.is_python) return false;
  if (kwarg.name == "requires_grad") return kwarg.value.is_none() || kwarg.value.is_bool();
  return kwarg.value.is_none() &&
         (kwarg.name == "out" || kwarg.name == "names" || kwarg.name == "generator");
}

// Returns whether a function accepts any keyword, as torch.ops.higher_order.print does, and as those
// do whose keywords change only how gradients are computed. Its row calls the last parameter
// *named_values.
bool TakesAnyKeyword(const Schema& schema) {
  return !schema.arguments.empty() && schema.arguments.back().is_variadic &&
         schema.arguments.back().name == "named_values";
}

// How freely arguments are matched: exactly as Python does; optional parameters without a default
// may also be omitted; conversions such as tensors for numbers are allowed; numbers are tensors, too;
// any type is allowed. Python's parser takes a tensor without dimensions for a number of any
// operator, but a number for a tensor only of a few, so an overload that wants the latter comes last.
enum class Round { kExact, kOmitted, kLenient, kNumbersAreTensors, kUntyped };

}  // namespace

// Tries one overload.
class Matcher {
 public:
  Matcher(const Schema& schema, CallForm form, Round round, TypeOfNode type_of_node)
      : schema_(schema),
        self_(form == CallForm::kMethod ? static_cast<size_t>(std::max(schema.IndexOf("self"), 0))
                                        : 0),
        may_omit_(round != Round::kExact),
        lenient_(round >= Round::kLenient),
        numbers_are_tensors_(round >= Round::kNumbersAreTensors),
        untyped_(round == Round::kUntyped),
        type_of_node_(type_of_node) {}

  bool Match(absl::Span<const Argument> args, absl::Span<const KwArg> kwargs) {
    call_.given_.assign(schema_.arguments.size(), nullptr);
    if (!PlacePositional(args) || !PlaceKeywords(kwargs)) return false;
    for (size_t i = 0; i < call_.given_.size(); ++i) {
      if (!Take(schema_.arguments[i], &call_.given_[i])) return false;
    }
    return true;
  }

  BoundCall Result() {
    call_.schema_ = &schema_;
    return std::move(call_);
  }
  const std::string& error() const { return error_; }

 private:
  bool Fail(std::string error) {
    error_ = std::move(error);
    return false;
  }

  // Returns whether the parameter accepts its argument.
  bool Take(const SchemaArgument& parameter, const Argument** given) {
    if (*given == nullptr) {
      if (parameter.has_default) return true;
      if (!may_omit_ || !parameter.type.optional || schema_.is_python) {
        return Fail(absl::StrCat(parameter.name, " is missing"));
      }
      static const Argument* const none = new Argument;
      *given = none;  // The operator still needs an argument.
      return true;
    }
    const Argument& value = **given;
    if (value.is_none() && parameter.default_text == "[]") {
      *given = nullptr;  // Python accepts None for it.
      return true;
    }
    if (!parameter.words.empty() && value.is_string() &&
        !absl::c_linear_search(parameter.words, value.string())) {
      return Fail(absl::StrCat(parameter.name, " is one of ", absl::StrJoin(parameter.words, ", "),
                               ", not ", value.string()));
    }
    if (!Fits(value, parameter.type) && !untyped_) {
      return Fail(
          absl::StrCat(parameter.name, " cannot be a ", TypeName(TypeOf(value, type_of_node_))));
    }
    // For "SymInt[2]" the Python API accepts a single number, torch.ops does not.
    if (parameter.type.is_symbolic && parameter.type.list_size > 0 &&
        IsInt(TypeOf(value, type_of_node_))) {
      *given = Gather(std::vector<Argument>(parameter.type.list_size, value));
    }
    return true;
  }

  const Argument* Gather(std::vector<Argument> elements) {
    BoundCall::Gathered& made =
        *call_.gathered_.emplace_back(std::make_unique<BoundCall::Gathered>());
    made.elements = std::move(elements);
    made.list = Argument::List(made.elements);
    return &made.list;
  }

  bool PlacePositional(absl::Span<const Argument> args) {
    size_t num_positional = 0;
    while (num_positional < schema_.arguments.size() &&
           !schema_.arguments[num_positional].keyword_only &&
           !schema_.arguments[num_positional].is_variadic) {
      ++num_positional;
    }
    if (num_positional < schema_.arguments.size() &&
        schema_.arguments[num_positional].is_variadic) {
      const size_t n = std::min(num_positional, args.size());
      call_.given_[num_positional] =
          Gather(std::vector<Argument>(args.begin() + static_cast<ptrdiff_t>(n), args.end()));
      args = args.first(n);
    }
    // x.view(2, 3): allowed only if the list is the only parameter besides self.
    if (num_positional > 0 && num_positional <= 2 && args.size() >= num_positional) {
      const SchemaType& last = schema_.arguments[num_positional - 1].type;
      const bool after_self =
          num_positional == 1 || schema_.arguments[0].type.kind == SchemaType::Kind::kTensor;
      const absl::Span<const Argument> rest = args.subspan(num_positional - 1);
      // A tensor of integers without dimensions is a size, too.
      const auto is_int = [this](const Argument& a) {
        const ValueType type = TypeOf(a, type_of_node_);
        return IsInt(type) || (lenient_ && type.is_tensor());
      };
      if (last.is_list && last.kind == SchemaType::Kind::kInt && after_self &&
          (rest.size() > 1 || last.list_size == 0) && absl::c_all_of(rest, is_int)) {
        call_.given_[num_positional - 1] = Gather({rest.begin(), rest.end()});
        args = args.first(num_positional - 1);
      }
    }
    if (args.size() > num_positional) {
      return Fail(absl::StrCat("takes ", num_positional, " arguments, not ", args.size()));
    }
    for (size_t i = 0; i < args.size(); ++i) {
      call_.given_[i == 0 ? self_ : i <= self_ ? i - 1 : i] = &args[i];
    }
    return true;
  }

  bool PlaceKeywords(absl::Span<const KwArg> kwargs) {
    for (const KwArg& kwarg : kwargs) {
      const absl::string_view name = CanonicalKeyword(kwarg.name, schema_);
      const int i = schema_.IndexOf(name);
      if (i < 0 || schema_.arguments[static_cast<size_t>(i)].is_variadic) {
        if (SaysNothing(kwarg, schema_) || TakesAnyKeyword(schema_)) continue;
        return Fail(absl::StrCat("takes no ", kwarg.name));
      }
      if (schema_.arguments[static_cast<size_t>(i)].positional_only) {
        return Fail(absl::StrCat("takes ", name, " by position only"));
      }
      const Argument*& place = call_.given_[static_cast<size_t>(i)];
      if (place != nullptr) return Fail(absl::StrCat(name, " is given twice"));
      place = &kwarg.value;
    }
    return true;
  }

  static bool IsInt(const ValueType& type) {
    return type.kind == Kind::kInt || type.kind == Kind::kNumber;
  }

  bool Fits(const Argument& argument, const SchemaType& type) const {
    if (argument.is_none()) return type.optional;
    const ValueType value = TypeOf(argument, type_of_node_);
    if (value.kind == Kind::kNone) return type.optional;
    if (!type.is_list) return FitsOne(value, type);
    if (type.list_size > 0 && !value.is_sequence()) return FitsOne(value, type);
    if (value.kind == Kind::kUnknown) return lenient_;
    if (!value.is_sequence()) return false;
    return absl::c_all_of(value.elements, [&](const ValueType& e) {
      return (e.kind == Kind::kNone && type.optional_elements) || FitsOne(e, type);
    });
  }

  bool FitsOne(const ValueType& value, const SchemaType& type) const {
    if (value.kind == Kind::kUnknown) return lenient_;
    switch (type.kind) {
      case SchemaType::Kind::kTensor:
        return value.is_tensor() || (numbers_are_tensors_ && value.is_number());
      case SchemaType::Kind::kScalar: return value.is_number() || (lenient_ && value.is_tensor());
      case SchemaType::Kind::kInt:
        return IsInt(value) || (lenient_ && (value.kind == Kind::kBool || value.is_tensor()));
      case SchemaType::Kind::kFloat:
        return IsInt(value) || value.kind == Kind::kFloat ||
               (lenient_ && (value.kind == Kind::kBool || value.is_tensor()));
      case SchemaType::Kind::kBool:
        return value.kind == Kind::kBool || (lenient_ && (IsInt(value) || value.is_tensor()));
      case SchemaType::Kind::kString: return value.kind == Kind::kString;
      case SchemaType::Kind::kDType: return value.kind == Kind::kDType;
      case SchemaType::Kind::kLayout: return value.kind == Kind::kLayout;
      case SchemaType::Kind::kDevice:
        return value.kind == Kind::kDevice || value.kind == Kind::kString ||
               (lenient_ && IsInt(value));
      case SchemaType::Kind::kMemoryFormat: return value.kind == Kind::kMemoryFormat;
      case SchemaType::Kind::kAny: return true;
      case SchemaType::Kind::kOther: return false;
    }
    return false;
  }

  const Schema& schema_;
  const size_t self_;  // index of the parameter of the first argument, which is a method's object
  const bool may_omit_;
  const bool lenient_;
  const bool numbers_are_tensors_;
  const bool untyped_;
  const TypeOfNode type_of_node_;
  BoundCall call_;
  std::string error_;
};

namespace {

bool IsVisible(const Schema& schema, CallForm form) {
  if (schema.is_python) return true;
  return form == CallForm::kMethod ? schema.is_method : schema.function_module != 0;
}

// Returns an error about the first keyword that no overload has; empty if all are known.
std::string UnknownKeyword(absl::Span<const Schema> overloads, absl::Span<const KwArg> kwargs) {
  for (const KwArg& kwarg : kwargs) {
    std::vector<absl::string_view> names;
    bool is_known = false;
    for (const Schema& schema : overloads) {
      is_known |= SaysNothing(kwarg, schema) || TakesAnyKeyword(schema) ||
                  schema.FindArgument(CanonicalKeyword(kwarg.name, schema)) != nullptr;
      for (const SchemaArgument& argument : schema.arguments) {
        if (!argument.positional_only && !argument.is_variadic) names.push_back(argument.name);
      }
    }
    if (is_known) continue;
    return absl::StrCat("takes no ", kwarg.name, NearMissHint(kwarg.name, names));
  }
  return "";
}

}  // namespace

ValueType TypeOf(const Argument& argument, TypeOfNode type_of_node) {
  switch (argument.kind()) {
    case Argument::Kind::kNone: return Kind::kNone;
    case Argument::Kind::kNode: return type_of_node(argument.node());
    case Argument::Kind::kBool: return Kind::kBool;
    case Argument::Kind::kInt:
    case Argument::Kind::kSymInt: return Kind::kInt;
    case Argument::Kind::kFloat: return Kind::kFloat;
    case Argument::Kind::kComplex: return Kind::kComplex;
    case Argument::Kind::kString: return Kind::kString;
    case Argument::Kind::kDType: return Kind::kDType;
    case Argument::Kind::kDevice: return Kind::kDevice;
    case Argument::Kind::kLayout: return Kind::kLayout;
    case Argument::Kind::kMemoryFormat: return Kind::kMemoryFormat;
    case Argument::Kind::kGraph: return Kind::kGraph;
    case Argument::Kind::kList:
    case Argument::Kind::kTuple: {
      // Choosing an overload needs no nested types. A sequence has one element type if its elements
      // agree; different types of numbers count as number.
      if (argument.elements().empty()) return ValueType(Kind::kTuple);
      Kind common = TypeOf(argument.elements()[0], type_of_node).kind;
      for (const Argument& element : argument.elements().subspan(1)) {
        const Kind kind = TypeOf(element, type_of_node).kind;
        if (kind == common) continue;
        const auto is_number = [](Kind k) { return ValueType(k).is_number(); };
        const auto is_tensor_or_none = [](Kind k) {
          return k == Kind::kTensor || k == Kind::kNone;
        };
        if (is_number(kind) && is_number(common)) {
          common = kind == Kind::kFloat || common == Kind::kFloat ? Kind::kFloat : Kind::kNumber;
        } else if (is_tensor_or_none(kind) && is_tensor_or_none(common)) {
          // The type is None only if all elements are None: Tensor?[].
          static const ValueType* const both = new ValueType[2]{Kind::kTensor, Kind::kNone};
          return ValueType(Kind::kTuple, absl::MakeConstSpan(both, 2));
        } else {
          common = Kind::kUnknown;
          break;
        }
      }
      return ListOf(common);
    }
    case Argument::Kind::kDict:
    case Argument::Kind::kSlice:
    case Argument::Kind::kEllipsis: return Kind::kUnknown;
  }
  return Kind::kUnknown;
}

const Argument& BoundCall::operator[](absl::string_view name) const {
  const int i = schema_->IndexOf(name);
  CHECK(i >= 0);  // The caller knows the parameters.
  return (*this)[static_cast<size_t>(i)];
}

std::vector<Argument> BoundCall::all() const {
  std::vector<Argument> all;
  for (size_t i = 0; i < given_.size(); ++i) all.push_back((*this)[i]);
  return all;
}

bool BoundCall::is_true(absl::string_view name) const {
  const Argument& value = (*this)[name];
  return (value.is_bool() && value.boolean()) || (value.is_int() && value.integer() != 0);
}

absl::Span<const Argument> BoundCall::variadic() const {
  for (size_t i = 0; i < given_.size(); ++i) {
    if (schema_->arguments[i].is_variadic) return given_[i]->elements();
  }
  return {};
}

void BoundCall::AppendTo(std::vector<Argument>* args, std::vector<KwArg>* kwargs) const {
  bool gap = false;
  for (size_t i = 0; i < given_.size(); ++i) {
    const SchemaArgument& parameter = schema_->arguments[i];
    if (given_[i] == nullptr) {
      gap = true;
    } else if (parameter.is_variadic) {
      const absl::Span<const Argument> elements = given_[i]->elements();
      args->insert(args->end(), elements.begin(), elements.end());
    } else if (parameter.keyword_only || (gap && !parameter.positional_only)) {
      kwargs->push_back({parameter.name, *given_[i]});
    } else {
      args->push_back(*given_[i]);
    }
  }
}

absl::StatusOr<BoundCall> Bind(const Callable& callee, absl::Span<const Argument> args,
                               absl::Span<const KwArg> kwargs, TypeOfNode type_of_node) {
  std::string reason;
  for (const Round round : {Round::kExact, Round::kOmitted, Round::kLenient,
                            Round::kNumbersAreTensors, Round::kUntyped}) {
    if (round == Round::kUntyped && !callee.names_overload) continue;
    for (const bool visible : {true, false}) {
      for (const Schema& schema : callee.overloads) {
        if (IsVisible(schema, callee.form) != visible) continue;
        Matcher matcher(schema, callee.form, round, type_of_node);
        if (matcher.Match(args, kwargs)) return matcher.Result();
        if (reason.empty() || (visible && round >= Round::kLenient)) {
          reason = schema.is_python ? matcher.error()
                                    : absl::StrCat(schema.target, ": ", matcher.error());
        }
      }
    }
  }
  if (std::string unknown = UnknownKeyword(callee.overloads, kwargs); !unknown.empty()) {
    reason = std::move(unknown);
  }
  return absl::InvalidArgumentError(reason);
}

}  // namespace graphnet

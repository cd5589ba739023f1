#include "graphnet/ops/binder.h"

#include <algorithm>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphnet {
namespace {

using Kind = ValueType::Kind;

// What the Python parser takes for a keyword besides the name in the schema.
absl::string_view CanonicalKeyword(absl::string_view name, const Schema& schema) {
  if (schema.FindArgument(name) != nullptr) return name;
  if (name == "axis") return "dim";
  if (name == "keepdims") return "keepdim";
  if (name == "x2") return "other";
  if ((name == "input" || name == "x" || name == "x1" || name == "a") &&
      !schema.arguments.empty()) {
    return schema.arguments[0].name;
  }
  return name;
}

// What a call may leave to the overload: nothing that has no default, as Python has it;
// what may be None; and numbers for tensors, and the like.
enum class Round { kExact, kOmitted, kLenient };

class Matcher {
 public:
  Matcher(const Schema& schema, Round round, TypeOfNode type_of_node)
      : schema_(schema),
        may_omit_(round != Round::kExact),
        lenient_(round == Round::kLenient),
        type_of_node_(type_of_node) {}

  bool Match(absl::Span<const Argument> args, absl::Span<const KwArg> kwargs) {
    given_.assign(schema_.arguments.size(), nullptr);
    if (!PlacePositional(args) || !PlaceKeywords(kwargs)) return false;
    for (size_t i = 0; i < given_.size(); ++i) {
      const SchemaArgument& parameter = schema_.arguments[i];
      if (given_[i] == nullptr) {
        if (!parameter.has_default && !(may_omit_ && parameter.type.optional)) {
          return Fail(absl::StrCat(parameter.name, " is missing"));
        }
      } else if (given_[i]->is_none() && parameter.default_text == "[]") {
        // Python takes None for it.
        given_[i] = nullptr;
      } else if (!Fits(*given_[i], parameter.type)) {
        return Fail(absl::StrCat(parameter.name, " cannot be a ",
                                 TypeName(TypeOf(*given_[i], type_of_node_))));
      }
    }
    return true;
  }

  BoundCall Result() {
    BoundCall call;
    call.schema = &schema_;
    bool gap = false;
    for (size_t i = 0; i < given_.size(); ++i) {
      const SchemaArgument& parameter = schema_.arguments[i];
      if (given_[i] == nullptr) {
        // An optional one without a default must still be passed.
        if (parameter.has_default) {
          gap = true;
        } else if (gap || parameter.keyword_only) {
          call.kwargs.push_back({parameter.name, Argument()});
        } else {
          call.args.push_back(Argument());
        }
      } else if (gap || parameter.keyword_only) {
        call.kwargs.push_back({parameter.name, AsList(*given_[i], parameter.type, &call)});
      } else {
        call.args.push_back(AsList(*given_[i], parameter.type, &call));
      }
    }
    // Keeps its address.
    if (!gathered_.empty()) call.lists.push_back(std::move(gathered_));
    return call;
  }

  const std::string& error() const { return error_; }

 private:
  bool Fail(std::string error) {
    error_ = std::move(error);
    return false;
  }

  bool PlacePositional(absl::Span<const Argument> args) {
    size_t num_positional = 0;
    while (num_positional < schema_.arguments.size() &&
           !schema_.arguments[num_positional].keyword_only) {
      ++num_positional;
    }
    // x.view(2, 3): only where the list is all that there is, but for self.
    if (num_positional > 0 && num_positional <= 2 && args.size() >= num_positional) {
      const SchemaType& last = schema_.arguments[num_positional - 1].type;
      const bool after_self =
          num_positional == 1 || schema_.arguments[0].type.kind == SchemaType::Kind::kTensor;
      const absl::Span<const Argument> rest = args.subspan(num_positional - 1);
      const auto is_int = [this](const Argument& a) { return IsInt(TypeOf(a, type_of_node_)); };
      if (last.is_list && last.kind == SchemaType::Kind::kInt && after_self &&
          (rest.size() > 1 || last.list_size == 0) && absl::c_all_of(rest, is_int)) {
        gathered_.assign(rest.begin(), rest.end());
        list_ = Argument::List(gathered_);
        given_[num_positional - 1] = &list_;
        args = args.first(num_positional - 1);
      }
    }
    if (args.size() > num_positional) {
      return Fail(absl::StrCat("takes ", num_positional, " arguments, not ", args.size()));
    }
    for (size_t i = 0; i < args.size(); ++i) given_[i] = &args[i];
    return true;
  }

  bool PlaceKeywords(absl::Span<const KwArg> kwargs) {
    for (const KwArg& kwarg : kwargs) {
      const absl::string_view name = CanonicalKeyword(kwarg.name, schema_);
      const auto it = absl::c_find_if(schema_.arguments,
                                      [&](const SchemaArgument& a) { return a.name == name; });
      if (it == schema_.arguments.end()) {
        const bool says_nothing =
            kwarg.value.is_none() || (kwarg.name == "requires_grad" && kwarg.value.is_bool());
        if (says_nothing && (kwarg.name == "out" || kwarg.name == "requires_grad" ||
                             kwarg.name == "names" || kwarg.name == "generator")) {
          continue;
        }
        return Fail(absl::StrCat("takes no ", kwarg.name));
      }
      const Argument*& place = given_[it - schema_.arguments.begin()];
      if (place != nullptr) return Fail(absl::StrCat(name, " is given twice"));
      place = &kwarg.value;
    }
    return true;
  }

  // Of "SymInt[2]", for which torch.ops takes no single number as the Python API does.
  Argument AsList(const Argument& argument, const SchemaType& type, BoundCall* call) const {
    const bool one =
        type.is_symbolic && type.list_size > 0 && IsInt(TypeOf(argument, type_of_node_));
    if (!one) return argument;
    return Argument::List(call->lists.emplace_back(type.list_size, argument));
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
      case SchemaType::Kind::kTensor: return value.is_tensor() || (lenient_ && value.is_number());
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
        return value.kind == Kind::kDevice || value.kind == Kind::kString;
      case SchemaType::Kind::kMemoryFormat: return value.kind == Kind::kMemoryFormat;
      case SchemaType::Kind::kOther: return false;
    }
    return false;
  }

  const Schema& schema_;
  const bool may_omit_;
  const bool lenient_;
  const TypeOfNode type_of_node_;
  // By parameter; null when not given.
  std::vector<const Argument*> given_;
  std::vector<Argument> gathered_;
  Argument list_;
  std::string error_;
};

bool IsVisible(const Schema& schema, CallForm form) {
  return form == CallForm::kMethod ? schema.is_method : schema.function_module != 0;
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
      // Nested types are not needed to choose an overload: the elements of a
      // sequence count as one type if they are, and numbers of several as number.
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
          // As None only where every one of them is: Tensor?[].
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

absl::StatusOr<BoundCall> Bind(absl::Span<const Schema> overloads, CallForm form,
                               absl::Span<const Argument> args, absl::Span<const KwArg> kwargs,
                               TypeOfNode type_of_node) {
  std::string reason;
  for (const Round round : {Round::kExact, Round::kOmitted, Round::kLenient}) {
    for (const bool visible : {true, false}) {
      for (const Schema& schema : overloads) {
        if (IsVisible(schema, form) != visible) continue;
        Matcher matcher(schema, round, type_of_node);
        // A method's object is the one called self, wherever it stands.
        std::vector<Argument> reordered;
        if (form == CallForm::kMethod && !args.empty() && !schema.arguments.empty() &&
            schema.arguments[0].name != "self") {
          const auto self = absl::c_find_if(
              schema.arguments, [](const SchemaArgument& a) { return a.name == "self"; });
          const auto place = static_cast<size_t>(self - schema.arguments.begin());
          if (place < args.size()) {
            reordered.assign(args.begin(), args.end());
            std::rotate(reordered.begin(), reordered.begin() + 1,
                        reordered.begin() + static_cast<ptrdiff_t>(place) + 1);
          }
        }
        if (matcher.Match(reordered.empty() ? args : reordered, kwargs)) return matcher.Result();
        if (reason.empty() || (visible && round == Round::kLenient)) {
          reason = absl::StrCat(schema.target, ": ", matcher.error());
        }
      }
    }
  }
  return absl::InvalidArgumentError(reason);
}

}  // namespace graphnet

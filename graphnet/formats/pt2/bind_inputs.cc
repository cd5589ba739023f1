#include "graphnet/formats/pt2/bind_inputs.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet::pt2 {
namespace {

absl::string_view KindName(const Argument& value) {
  switch (value.kind()) {
    case Argument::Kind::kNone: return "None";
    case Argument::Kind::kBool: return "a bool";
    case Argument::Kind::kInt:
    case Argument::Kind::kSymInt: return "an int";
    case Argument::Kind::kFloat: return "a float";
    case Argument::Kind::kComplex: return "a complex number";
    case Argument::Kind::kString: return "a string";
    case Argument::Kind::kDType: return "a dtype";
    case Argument::Kind::kDevice: return "a device";
    case Argument::Kind::kLayout: return "a layout";
    case Argument::Kind::kMemoryFormat: return "a memory format";
    case Argument::Kind::kList:
    case Argument::Kind::kTuple: return "a list";
    case Argument::Kind::kGraph: return "a graph";
    case Argument::Kind::kDict: return "a dict";
    default: return "a value";
  }
}

// True if Python accepts the value for a parameter of this type. A value of the graph is always
// accepted: only a run shows its type.
bool TakesOne(const SchemaType& type, const Argument& value) {
  const auto is_number = [&] {
    return value.is_bool() || value.is_int() || value.is_float() ||
           value.kind() == Argument::Kind::kComplex;
  };
  if (value.is_node()) return true;
  switch (type.kind) {
    case SchemaType::Kind::kTensor:
    case SchemaType::Kind::kScalar: return is_number();
    case SchemaType::Kind::kInt: return value.is_int() || value.is_bool();
    case SchemaType::Kind::kFloat: return value.is_float() || value.is_int() || value.is_bool();
    case SchemaType::Kind::kBool: return value.is_bool();
    case SchemaType::Kind::kString: return value.is_string();
    case SchemaType::Kind::kDType: return value.kind() == Argument::Kind::kDType || value.is_int();
    case SchemaType::Kind::kLayout: return value.kind() == Argument::Kind::kLayout;
    case SchemaType::Kind::kDevice:
      return value.kind() == Argument::Kind::kDevice || value.is_string();
    case SchemaType::Kind::kMemoryFormat: return value.kind() == Argument::Kind::kMemoryFormat;
    case SchemaType::Kind::kAny:
    case SchemaType::Kind::kOther: return true;
  }
  return true;
}

bool Takes(const SchemaType& type, const Argument& value) {
  if (value.is_none()) return type.optional || type.kind == SchemaType::Kind::kAny;
  const bool is_list = value.is_list() || value.is_tuple();
  if (!is_list)
    return (!type.is_list || type.list_size > 0 || value.is_node()) && TakesOne(type, value);
  if (!type.is_list) {
    return type.kind == SchemaType::Kind::kAny || type.kind == SchemaType::Kind::kOther;
  }
  return absl::c_all_of(value.elements(), [&](const Argument& element) {
    return element.is_none() ? type.optional_elements : TakesOne(type, element);
  });
}

absl::string_view TypeName(const SchemaType& type) {
  switch (type.kind) {
    case SchemaType::Kind::kTensor: return "tensor";
    case SchemaType::Kind::kScalar: return "number";
    case SchemaType::Kind::kInt: return "int";
    case SchemaType::Kind::kFloat: return "float";
    case SchemaType::Kind::kBool: return "bool";
    case SchemaType::Kind::kString: return "string";
    case SchemaType::Kind::kDType: return "dtype";
    case SchemaType::Kind::kLayout: return "layout";
    case SchemaType::Kind::kDevice: return "device";
    case SchemaType::Kind::kMemoryFormat: return "memory format";
    default: return "value";
  }
}

// Python's own keywords cannot name an argument, so such a parameter is passed by position.
bool IsPythonKeyword(absl::string_view name) {
  return name == "from" || name == "lambda" || name == "global" || name == "in" || name == "is";
}

// True if the parameter is passed by position, by the rule of torch.export.load.
bool IsPositional(const SchemaArgument& parameter, int64_t kind) {
  if (kind == kPositional) return true;
  if (IsPythonKeyword(parameter.name)) return true;
  return kind != kKeyword && !parameter.has_default && !parameter.keyword_only;
}

}  // namespace

absl::Status BindInputs(const Schema& schema, absl::Span<const NamedInput> inputs,
                        std::vector<Argument>* args, std::vector<KwArg>* kwargs, size_t* at) {
  std::vector<const NamedInput*> given(schema.arguments.size(), nullptr);
  for (*at = 0; *at < inputs.size(); ++*at) {
    const NamedInput& input = inputs[*at];
    const int i = schema.IndexOf(input.name);
    if (i < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the operator has no argument named ", Printable(input.name)));
    }
    const SchemaType& type = schema.arguments[static_cast<size_t>(i)].type;
    if (!Takes(type, input.value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the operator takes a ", type.is_list ? "list of type " : "", TypeName(type),
                       ", not ", KindName(input.value)));
    }
    if (given[static_cast<size_t>(i)] != nullptr) {
      return absl::InvalidArgumentError("the argument is given twice");
    }
    given[static_cast<size_t>(i)] = &input;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const SchemaArgument& parameter = schema.arguments[i];
    if (given[i] == nullptr) {
      if (parameter.has_default) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the argument ", parameter.name, " is missing and has no default"));
    }
    if (IsPositional(parameter, given[i]->kind)) {
      args->push_back(given[i]->value);
    } else {
      kwargs->push_back({parameter.name, given[i]->value});
    }
  }
  return absl::OkStatus();
}

absl::Status BindInputs(absl::Span<const NamedInput> inputs, std::vector<Argument>* args,
                        std::vector<KwArg>* kwargs, size_t* at) {
  absl::flat_hash_set<absl::string_view> names;
  for (*at = 0; *at < inputs.size(); ++*at) {
    const NamedInput& input = inputs[*at];
    if (!input.name.empty() && !names.insert(input.name).second) {
      return absl::InvalidArgumentError("the argument is given twice");
    }
    if (input.name.empty() || input.kind == kPositional) {
      args->push_back(input.value);
    } else {
      kwargs->push_back({input.name, input.value});
    }
  }
  return absl::OkStatus();
}

}  // namespace graphnet::pt2

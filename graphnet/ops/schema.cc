#include "graphnet/ops/schema.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text), rest_(text) {}

  absl::Status Parse(Schema* schema) {
    schema->name = Identifier();
    if (schema->name.empty()) return Expected("a name");
    schema->overload = Eat(".") ? Identifier() : "default";
    schema->target = absl::StrCat("aten.", schema->name, ".", schema->overload);
    if (!Eat("(")) return Expected("(");
    bool keyword_only = false;
    while (!Eat(")")) {
      if (Eat("*")) {
        keyword_only = true;
      } else {
        SchemaArgument argument;
        argument.keyword_only = keyword_only;
        RETURN_IF_ERROR(Type(&argument.type));
        argument.name = Identifier();
        if (argument.name.empty()) return Expected("an argument's name");
        if (Eat("=")) {
          argument.has_default = true;
          argument.default_text = Value();
        }
        schema->arguments.push_back(argument);
      }
      if (!Eat(",") && rest_.substr(0, 1) != ")") return Expected(", or )");
    }
    if (!Eat("->")) return Expected("->");
    const bool many = Eat("(");
    while (!rest_.empty() && !(many && Eat(")"))) {
      SchemaType type;
      RETURN_IF_ERROR(Type(&type));
      Identifier();  // results may have names
      schema->returns.push_back(type);
      Eat(",");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Expected(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("schema ", text_, ": expected ", what, " at ", text_.size() - rest_.size()));
  }
  bool Eat(absl::string_view token) {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    if (!absl::ConsumePrefix(&rest_, token)) return false;
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return true;
  }
  absl::string_view Identifier() {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    size_t n = 0;
    while (n < rest_.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_')) {
      ++n;
    }
    const absl::string_view name = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return name;
  }
  absl::Status Type(SchemaType* type) {
    using Kind = SchemaType::Kind;
    const absl::string_view name = Identifier();
    if (name.empty()) return Expected("a type");
    if (name == "Tensor") {
      type->kind = Kind::kTensor;
    } else if (name == "Scalar") {
      type->kind = Kind::kScalar;
    } else if (name == "int" || name == "SymInt" || name == "DeviceIndex") {
      type->kind = Kind::kInt;
      type->is_symbolic = name == "SymInt";
    } else if (name == "float") {
      type->kind = Kind::kFloat;
    } else if (name == "bool") {
      type->kind = Kind::kBool;
    } else if (name == "str") {
      type->kind = Kind::kString;
    } else if (name == "ScalarType") {
      type->kind = Kind::kDType;
    } else if (name == "Layout") {
      type->kind = Kind::kLayout;
    } else if (name == "Device") {
      type->kind = Kind::kDevice;
    } else if (name == "MemoryFormat") {
      type->kind = Kind::kMemoryFormat;
    }
    if (absl::ConsumePrefix(&rest_, "(")) {
      type->is_alias = true;
      const size_t end = rest_.find(')');
      if (end == absl::string_view::npos) return Expected(")");
      type->is_mutated = rest_.substr(0, end).find('!') != absl::string_view::npos;
      rest_.remove_prefix(end + 1);
    }
    while (true) {
      if (absl::ConsumePrefix(&rest_, "?")) {
        type->optional = true;
      } else if (absl::ConsumePrefix(&rest_, "[")) {
        const size_t end = rest_.find(']');
        if (end == absl::string_view::npos) return Expected("]");
        type->is_list = true;
        type->optional_elements = type->optional;
        type->optional = false;
        int size = 0;
        if (end > 0 && !absl::SimpleAtoi(rest_.substr(0, end), &size)) return Expected("a size");
        type->list_size = static_cast<uint8_t>(size);
        rest_.remove_prefix(end + 1);
      } else {
        return absl::OkStatus();
      }
    }
  }
  // A default: up to the comma or bracket that ends the argument.
  absl::string_view Value() {
    int depth = 0;
    size_t i = 0;
    for (; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (depth == 0 && (c == ',' || c == ')')) break;
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
    }
    const absl::string_view value = rest_.substr(0, i);
    rest_.remove_prefix(i);
    return value;
  }

  const absl::string_view text_;
  absl::string_view rest_;
};

}  // namespace

const SchemaArgument* Schema::FindArgument(absl::string_view argument) const {
  for (const SchemaArgument& a : arguments) {
    if (a.name == argument) return &a;
  }
  return nullptr;
}

bool Schema::mutates() const {
  for (const SchemaArgument& a : arguments) {
    if (a.type.is_mutated) return true;
  }
  return false;
}

absl::StatusOr<Schema> ParseSchema(absl::string_view line) {
  const size_t space = line.find(' ');
  if (space == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("schema ", line, ": expected flags"));
  }
  Schema schema;
  for (const char flag : line.substr(0, space)) {
    if (flag == 'm') {
      schema.is_method = true;
    } else if (flag == 'r') {
      schema.is_random = true;
    } else if (flag == 'a') {
      schema.may_alias = true;
    } else if (flag == 'u') {
      schema.updates_statistics = true;
    } else if (flag == 'e') {
      schema.is_pointwise = true;
    } else if (flag == 'f') {
      if (schema.function_module == 0) schema.function_module = 't';
    } else if (flag != '-') {
      schema.function_module = flag;
    }
  }
  RETURN_IF_ERROR(Parser(line.substr(space + 1)).Parse(&schema));
  return schema;
}

}  // namespace graphnet

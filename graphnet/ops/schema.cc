#include "graphnet/ops/schema.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node.h"

namespace graphnet {
namespace {

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text), rest_(text) {}

  absl::Status Parse(Schema* schema) {
    RETURN_IF_ERROR(Name(schema));
    if (!Eat("(")) return Expected("(");
    bool keyword_only = false;
    while (!Eat(")")) {
      if (Eat("/")) {
        for (SchemaArgument& argument : schema->arguments) argument.positional_only = true;
      } else if (Eat("**")) {
        Identifier();  // Its names are unknown, so no keyword is accepted for it.
      } else {
        SchemaArgument argument;
        argument.is_variadic = Eat("*");
        argument.keyword_only = keyword_only;
        keyword_only |= argument.is_variadic;
        // A bare star is not an argument; the arguments after it are keyword-only.
        if (!argument.is_variadic || (rest_.substr(0, 1) != "," && rest_.substr(0, 1) != ")")) {
          RETURN_IF_ERROR(AddArgument(argument, schema));
        }
      }
      if (!Eat(",") && rest_.substr(0, 1) != ")") return Expected(", or )");
    }
    if (schema->is_python && rest_.empty()) {  // inspect.signature writes no result.
      schema->returns.push_back(kAnything);
      return absl::OkStatus();
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
  static constexpr SchemaType kAnything = {.kind = SchemaType::Kind::kAny, .optional = true};

  // Reads "conv2d.padding" or "torch.nn.functional.relu".
  absl::Status Name(Schema* schema) {
    if (schema->is_python) {
      schema->name = rest_.substr(0, rest_.find('('));
      schema->target = std::string(schema->name);
      rest_.remove_prefix(schema->name.size());
    } else {
      schema->name = Identifier();
      schema->overload = Eat(".") ? Identifier() : "default";
      schema->target = absl::StrCat("aten.", schema->name, ".", schema->overload);
    }
    return schema->name.empty() ? Expected("a name") : absl::OkStatus();
  }
  absl::Status AddArgument(SchemaArgument argument, Schema* schema) {
    const absl::string_view begin = rest_;
    if (const absl::string_view name = Identifier();
        rest_.empty() || absl::StrContains(",=)", rest_[0])) {
      argument.name = name;  // Python gives no type.
      argument.type = kAnything;
    } else {
      rest_ = begin;
      RETURN_IF_ERROR(Type(&argument.type));
      argument.name = Identifier();
    }
    if (argument.name.empty()) return Expected("an argument's name");
    if (Eat("=")) {
      argument.has_default = true;
      argument.default_text = Value();
      argument.default_value = Literal(argument.default_text);
    }
    schema->arguments.push_back(argument);
    return absl::OkStatus();
  }
  // Returns the value of a literal that occurs as a default; anything else counts as None.
  static Argument Literal(absl::string_view text) {
    if (text == "True" || text == "False") return text == "True";
    if (text == "()") return Argument::Tuple({});
    if (text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0]) {
      return text.substr(1, text.size() - 2);
    }
    if (int64_t integer = 0; absl::SimpleAtoi(text, &integer)) return integer;
    if (double real = 0; absl::SimpleAtod(text, &real)) return real;
    return Argument();
  }
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
    } else if (name == "Any") {
      type->kind = Kind::kAny;
      type->optional = true;
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
  // Reads a default, up to the comma or bracket that ends the argument.
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

bool SchemaArgument::IsDefault(const Argument& value) const {
  if (!has_default) return false;
  if (value.is_none()) return default_text == "None" || default_text == "[]";
  if (value.is_int() && default_text == "Mean") return value.integer() == 1;
  // 1, 1.0 and True are equal.
  const auto number = [](const Argument& a) -> std::optional<double> {
    if (a.is_bool()) return a.boolean();
    if (a.is_int()) return static_cast<double>(a.integer());
    return a.is_float() ? std::optional<double>(a.real()) : std::nullopt;
  };
  if (const std::optional<double> n = number(value)) return n == number(default_value);
  if (!value.is_list() && !value.is_tuple()) return value == default_value;
  if (value.elements().empty()) return default_text == "[]" || default_text == "()";
  // "int[2] padding=0" means [0, 0].
  return type.list_size > 0 && !default_text.empty() && default_text[0] != '[' &&
         absl::c_all_of(value.elements(), [&](const Argument& e) { return IsDefault(e); });
}

int Schema::IndexOf(absl::string_view argument) const {
  const auto it =
      absl::c_find_if(arguments, [&](const SchemaArgument& a) { return a.name == argument; });
  return it == arguments.end() ? -1 : static_cast<int>(it - arguments.begin());
}

const SchemaArgument* Schema::FindArgument(absl::string_view argument) const {
  const int i = IndexOf(argument);
  return i < 0 ? nullptr : &arguments[static_cast<size_t>(i)];
}

const Argument* Schema::Given(const Node& call, size_t i) const {
  if (i < call.args().size()) return &call.args()[i];
  return i < arguments.size() ? call.kwarg(arguments[i].name) : nullptr;
}

const Argument* Schema::Given(const Node& call, absl::string_view argument) const {
  const int i = IndexOf(argument);
  return i < 0 ? nullptr : Given(call, static_cast<size_t>(i));
}

bool Schema::mutates() const {
  return absl::c_any_of(arguments, [](const SchemaArgument& a) { return a.type.is_mutated; });
}

absl::StatusOr<Schema> ParseSchema(absl::string_view line) {
  Schema schema;
  const absl::string_view flags = line.substr(0, line.find_first_of(" ("));
  schema.is_python = line.size() > flags.size() && line[flags.size()] == '(';
  for (const char flag : schema.is_python ? "" : flags) {
    switch (flag) {
      case '-': break;
      case 'm': schema.is_method = true; break;
      case 'r': schema.is_random = true; break;
      case 'a': schema.may_alias = true; break;
      case 'u': schema.updates_statistics = true; break;
      case 'e': schema.is_pointwise = true; break;
      case 'c': schema.may_run = true; break;
      case 'f':
        if (schema.function_module == 0) schema.function_module = 't';
        break;
      case 'P': schema.is_python = true; break;
      case 'A': schema.keeps_all = true; [[fallthrough]];
      case 'k': schema.is_kept = true; break;
      case 'x': schema.is_dropped = true; break;
      case 'S': schema.is_statement = true; break;
      case 'V': schema.bracket = Schema::Bracket::kVmapOpen; break;
      case 'v': schema.bracket = Schema::Bracket::kVmapClose; break;
      case 'C': schema.bracket = Schema::Bracket::kAutocastOpen; break;
      case 'K': schema.bracket = Schema::Bracket::kAutocastClose; break;
      default: schema.function_module = flag;
    }
  }
  if (flags.size() != line.find('(')) line.remove_prefix(std::min(flags.size() + 1, line.size()));
  RETURN_IF_ERROR(Parser(line).Parse(&schema));
  return schema;
}

}  // namespace graphnet

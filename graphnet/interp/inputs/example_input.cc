#include "graphnet/interp/inputs/example_input.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/listed_names.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/scalar_type.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

using Kind = ExampleInput::Kind;

constexpr char kExpected[] =
    "expected a dtype and sizes, such as f32[1,3,224,224], or int=3, float=0.5, bool=true, "
    "str=abc, None, list(…,…), tuple(…,…), dict(key=…,…)";

// Parses a number or truth without a type before it. Any other text is a string.
void ParseLiteral(absl::string_view text, ExampleInput* input) {
  input->is_literal = true;
  input->text = std::string(text);
  bool truth = false;
  if (absl::SimpleAtoi(text, &input->integer)) {
    input->kind = Kind::kInt;
    input->real = static_cast<double>(input->integer);
  } else if (absl::SimpleAtod(text, &input->real)) {
    input->kind = Kind::kFloat;
  } else if (absl::EqualsIgnoreCase(text, "true") || absl::EqualsIgnoreCase(text, "false")) {
    input->kind = Kind::kBool;
    if (absl::SimpleAtob(text, &truth)) input->integer = truth ? 1 : 0;
  } else if (absl::string_view rest = text; absl::ConsumeSuffix(&rest, "j")) {
    // 2j, 1+2j, 1e-3-2j: the last sign that belongs to no exponent begins the imaginary part.
    size_t sign = rest.find_last_of("+-");
    while (sign != absl::string_view::npos && sign > 0 && (rest[sign - 1] | 0x20) == 'e')
      sign = rest.substr(0, sign).find_last_of("+-");
    const size_t cut = sign == absl::string_view::npos ? 0 : sign;
    input->real = 0;
    const bool is_number = (cut == 0 || absl::SimpleAtod(rest.substr(0, cut), &input->real)) &&
                           absl::SimpleAtod(rest.substr(cut), &input->imaginary);
    input->kind = is_number ? Kind::kComplex : Kind::kString;
  } else {
    input->kind = Kind::kString;
  }
}

absl::Status ErrorIn(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--input ", Printable(text), ": ", what));
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  absl::StatusOr<ExampleInput> Parse(absl::string_view rest, int depth = 0) {
    if (depth > kMaxNesting) return Error("nests too deep");
    ExampleInput input;
    if (rest == "None") return input;
    if (absl::ConsumePrefix(&rest, "str=")) {
      input.kind = Kind::kString;
      input.text = std::string(rest);
    } else if (absl::ConsumePrefix(&rest, "int=")) {
      input.kind = Kind::kInt;
      if (!absl::SimpleAtoi(rest, &input.integer)) return Error("not an integer");
    } else if (absl::ConsumePrefix(&rest, "float=")) {
      input.kind = Kind::kFloat;
      if (!absl::SimpleAtod(rest, &input.real)) return Error("not a number");
    } else if (absl::ConsumePrefix(&rest, "bool=")) {
      input.kind = Kind::kBool;
      bool value = false;
      if (!absl::SimpleAtob(rest, &value)) return Error("neither true nor false");
      input.integer = value ? 1 : 0;
    } else if (absl::ConsumePrefix(&rest, "list(")) {
      input.kind = Kind::kList;
      RETURN_IF_ERROR(ParseElements(rest, depth, &input));
    } else if (absl::ConsumePrefix(&rest, "tuple(")) {
      input.kind = Kind::kTuple;
      RETURN_IF_ERROR(ParseElements(rest, depth, &input));
    } else if (absl::ConsumePrefix(&rest, "dict(")) {
      input.kind = Kind::kDict;
      RETURN_IF_ERROR(ParseElements(rest, depth, &input));
    } else if (absl::ConsumePrefix(&rest, "{")) {
      input.kind = Kind::kDict;
      RETURN_IF_ERROR(ParseElements(rest, depth, &input, "}"));
    } else if (absl::ConsumePrefix(&rest, "[")) {
      input.kind = Kind::kList;
      input.is_literal = true;
      RETURN_IF_ERROR(ParseElements(rest, depth, &input, "]"));
    } else if (absl::ConsumePrefix(&rest, "(")) {
      input.kind = Kind::kTuple;
      RETURN_IF_ERROR(ParseElements(rest, depth, &input));
    } else if (absl::StrContains(rest, "[")) {
      input.kind = Kind::kTensor;
      RETURN_IF_ERROR(ParseTensor(rest, &input));
    } else {
      ParseLiteral(rest, &input);
    }
    return input;
  }

  // Parses an input with a name in front: the longest of `names` that stands there, or else what is
  // not one of the words above.
  absl::StatusOr<ExampleInput> ParseNamed(absl::Span<const absl::string_view> names) {
    std::optional<absl::string_view> known;
    for (const absl::string_view name : names) {
      if (absl::StartsWith(text_, name) && text_.size() > name.size() &&
          text_[name.size()] == '=' && (!known.has_value() || known->size() < name.size()))
        known = name;
    }
    if (known.has_value()) {
      ASSIGN_OR_RETURN(ExampleInput input,
                       Parse(absl::string_view(text_).substr(known->size() + 1)));
      input.name = std::string(*known);
      return input;
    }
    static constexpr absl::string_view kWords[] = {"int", "float", "bool", "str"};
    const size_t equal = text_.find('=');
    const absl::string_view before = absl::string_view(text_).substr(0, equal);
    if (equal == std::string::npos || before.find_first_of("([{") != absl::string_view::npos ||
        std::find(std::begin(kWords), std::end(kWords), before) != std::end(kWords)) {
      return Parse(text_);
    }
    ASSIGN_OR_RETURN(ExampleInput input, Parse(absl::string_view(text_).substr(equal + 1)));
    input.name = std::string(before);
    return input;
  }

 private:
  absl::Status Error(absl::string_view what) const { return ErrorIn(text_, what); }

  absl::Status ParseElements(absl::string_view rest, int depth, ExampleInput* input,
                             absl::string_view end = ")") {
    const bool closed = absl::ConsumeSuffix(&rest, end);
    const auto elements = SplitOutsideBrackets(rest);
    if (!closed || !elements) return Error("brackets do not match");
    for (absl::string_view element : *elements) {
      if (input->kind == Kind::kDict) {
        const size_t equal = element.find_first_of(end == "}" ? "=:" : "=");
        if (equal == absl::string_view::npos) return Error("expected key=…");
        input->keys.emplace_back(absl::StripAsciiWhitespace(element.substr(0, equal)));
        if (std::find(input->keys.begin(), input->keys.end() - 1, input->keys.back()) !=
            input->keys.end() - 1) {
          return Error("a key occurs twice");
        }
        element.remove_prefix(equal + 1);
      }
      ASSIGN_OR_RETURN(input->elements.emplace_back(),
                       Parse(absl::StripAsciiWhitespace(element), depth + 1));
    }
    return absl::OkStatus();
  }

  absl::Status ParseTensor(absl::string_view rest, ExampleInput* input) const {
    const size_t open = rest.find('[');
    const size_t close = rest.find(']');
    if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) {
      return Error(kExpected);
    }
    std::optional<DType> dtype = ParseDTypeShortName(rest.substr(0, open));
    if (!dtype) dtype = ParseDType(rest.substr(0, open));
    if (!dtype) {
      std::vector<absl::string_view> names;
      for (int i = 1; i < kNumDTypes; ++i) names.push_back(DTypeShortName(static_cast<DType>(i)));
      return Error(absl::StrCat("unknown dtype; the dtypes are ", absl::StrJoin(names, ", ")));
    }
    input->dtype = *dtype;
    const absl::string_view sizes = rest.substr(open + 1, close - open - 1);
    for (const absl::string_view size : absl::StrSplit(sizes, ',', absl::SkipWhitespace())) {
      if (!absl::SimpleAtoi(size, &input->sizes.emplace_back()) || input->sizes.back() < 0)
        return Error("a size is not a number");
    }
    rest.remove_prefix(close + 1);
    if (rest.empty()) return absl::OkStatus();
    const std::vector<absl::string_view> bounds = absl::StrSplit(rest.substr(1), "..");
    input->has_bounds = true;
    if (rest[0] != ':' || bounds.size() != 2 || !absl::SimpleAtoi(bounds[0], &input->low) ||
        !absl::SimpleAtoi(bounds[1], &input->high) || input->low > input->high) {
      return Error("expected bounds, such as :0..900, after the sizes");
    }
    return absl::OkStatus();
  }

  const std::string& text_;
};

std::string TextOf(const TensorMeta& meta) {
  const auto size = [](std::string* out, const Dim& dim) {
    absl::StrAppend(out, dim.is_static() ? absl::StrCat(dim.value) : "…");
  };
  return absl::StrCat(DTypeShortName(meta.dtype), "[", absl::StrJoin(meta.shape, ",", size), "]");
}

class Describer {
 public:
  Describer(uint64_t seed, Sample* sample)
      : seed_(seed), sample_(*sample), module_(*sample->module) {
    for (Node* node : module_.main()->placeholders()) {
      inputs_.push_back(node);
      names_.push_back(node->target());
    }
  }

  // Returns "; the inputs are x, y and 3 more", without parameters.
  std::string ListOfNames() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] != nullptr && !IsParameter(*inputs_[i])) names.push_back(Printable(names_[i]));
    }
    if (names.empty()) return "; there are none";
    return absl::StrCat("; the inputs are ", ListedNames(names));
  }

  absl::Status Describe(absl::Span<const std::string> texts) {
    std::vector<std::pair<absl::string_view, ExampleInput>> unnamed;
    for (const std::string& text : texts) {
      ASSIGN_OR_RETURN(ExampleInput input, ParseExampleInput(text, names_));
      if (input.name.empty()) {
        unnamed.emplace_back(text, std::move(input));
        continue;
      }
      const auto it = std::find(names_.begin(), names_.end(), input.name);
      if (it == names_.end()) {
        const std::string hint = NearMissHint(input.name, names_);
        return ErrorIn(text, absl::StrCat("there is no input ", Printable(input.name),
                                          hint.empty() ? ListOfNames() : hint));
      }
      RETURN_IF_ERROR(DescribeOne(text, input, static_cast<size_t>(it - names_.begin())));
    }
    size_t i = 0;
    for (const auto& [text, input] : unnamed) {
      while (i < inputs_.size() && (inputs_[i] == nullptr || IsParameter(*inputs_[i]))) ++i;
      if (i == inputs_.size()) return ErrorIn(text, "there is no input for it");
      RETURN_IF_ERROR(DescribeOne(text, input, i));
    }
    for (const Node* node : described_) RETURN_IF_ERROR(CheckSizes(*node));
    if (!changed_) return absl::OkStatus();
    // The values of other inputs still have the old sizes.
    for (const Node* node : inputs_) {
      if (node != nullptr && node->tensor_meta() != nullptr && !node->tensor_meta()->is_static()) {
        sample_.weights.erase(std::string(node->target()));
      }
    }
    for (Node* node : module_.main()->nodes()) {
      if (!node->is_placeholder()) node->set_meta(nullptr);
    }
    return absl::OkStatus();
  }

 private:
  // Returns the start of a message: what the graph says of the type of an input.
  static std::string SaysType(const Node& node) {
    return absl::StrCat(Printable(node.target()), " is annotated ",
                        node.annotation().empty() ? "with no type" : Printable(node.annotation()));
  }

  static bool IsParameter(const Node& node) { return node.annotation() == kParameterAnnotation; }

  absl::Status DescribeOne(absl::string_view text, ExampleInput input, size_t i) {
    Node* node = std::exchange(inputs_[i], nullptr);
    if (node == nullptr) return ErrorIn(text, "this input is given twice");
    const absl::Status fits = FitTo(node->annotation(), &input);
    if (!fits.ok()) return ErrorIn(text, fits.message());
    sample_.weights.erase(std::string(node->target()));
    if (IsStructure(node->annotation()) || TakesSeveralKinds(node->annotation()) ||
        (node->meta() != nullptr && node->meta()->is_tuple)) {
      // Otherwise these are weights of a submodule.
      const auto elements = ElementsOf(sample_.weights, node->target());
      sample_.weights.erase(elements.begin(), elements.end());
    }
    if (TakesSeveralKinds(node->annotation()) && input.kind != Kind::kNone &&
        input.kind != Kind::kTensor) {
      // No draw spec says of which kind a value is.
      node->set_meta(nullptr);
      node->clear_draw_spec();
      return DrawExamples(input, std::string(node->target()), seed_, &sample_.weights);
    }
    switch (input.kind) {
      case Kind::kTensor: return DescribeTensor(text, input, node);
      case Kind::kComplex: return ErrorIn(text, SaysType(*node));
      case Kind::kInt:
      case Kind::kFloat:
      case Kind::kBool: return DescribeNumber(text, input, node);
      case Kind::kNone:
        if (!TakesNone(node->annotation()))
          return ErrorIn(text, absl::StrCat(Printable(node->target()), " is not Optional"));
        node->set_meta(nullptr);
        node->clear_draw_spec();
        return absl::OkStatus();
      case Kind::kString: return DescribeText(text, input, node);
      case Kind::kList:
      case Kind::kTuple:
      case Kind::kDict:
        if (!IsStructure(node->annotation())) {
          return ErrorIn(text, absl::StrCat(SaysType(*node), ", not as a list, tuple or dict"));
        }
        node->clear_draw_spec();
        return DrawExamples(input, std::string(node->target()), seed_, &sample_.weights);
    }
    return absl::OkStatus();
  }

  absl::Status DescribeTensor(absl::string_view text, const ExampleInput& input, Node* node) {
    if (NumberDType(InnerAnnotation(node->annotation())) || IsText(node->annotation()) ||
        IsStructure(node->annotation())) {
      return ErrorIn(text, SaysType(*node));
    }
    const TensorMeta* known = node->tensor_meta();
    if (known != nullptr && (known->dtype != DType::kUnknown && known->dtype != input.dtype)) {
      return ErrorIn(text,
                     absl::StrCat(Printable(node->target()), " is known to be ", TextOf(*known)));
    }
    const bool has_shape = known != nullptr && known->has_shape;
    if (has_shape && known->shape.size() != input.sizes.size()) {
      return ErrorIn(text,
                     absl::StrCat(Printable(node->target()), " is known to be ", TextOf(*known)));
    }
    std::vector<Dim> shape(input.sizes.begin(), input.sizes.end());
    bool same = has_shape;
    for (size_t d = 0; has_shape && d < shape.size(); ++d) {
      const Dim& dim = known->shape[d];
      if (dim.is_static()) {
        same = same && dim.value == input.sizes[d];
        continue;
      }
      shape[d] = dim;
      if (dim.expr->kind != SymExpr::Kind::kSymbol) continue;
      const Symbol* symbol = module_.FindSymbol(dim.expr->name);
      if (symbol != nullptr && symbol->example != input.sizes[d]) {
        module_.AddSymbol(dim.expr->name, input.sizes[d]);
        changed_ = true;
      }
    }
    described_.push_back(node);
    sizes_.emplace_back(text, input.sizes);
    TensorMeta meta = known != nullptr ? *known : TensorMeta();
    meta.dtype = input.dtype;
    meta.has_shape = true;
    meta.shape = shape;
    node->set_meta(module_.InternValueMeta(meta));
    changed_ = changed_ || (has_shape && !same);
    // The sample's own draw spec is better than our defaults.
    if (same && node->draw_spec() != nullptr && !input.has_bounds) return absl::OkStatus();
    DrawSpec spec = SpecOfExample(input);
    if (const DrawSpec* old = node->draw_spec()) {
      spec.original_name = old->original_name;
      spec.in_input_meta = old->in_input_meta;
    }
    node->set_draw_spec(spec);
    return absl::OkStatus();
  }

  static absl::Status DescribeText(absl::string_view text, const ExampleInput& input, Node* node) {
    if (!IsText(node->annotation())) {
      return ErrorIn(text, absl::StrCat(SaysType(*node), ", not as a str"));
    }
    std::vector<Argument> bytes;
    for (const char c : input.text) bytes.emplace_back(int64_t{static_cast<unsigned char>(c)});
    DrawSpec spec;
    spec.data = Argument::List(bytes);
    node->set_draw_spec(spec);
    return absl::OkStatus();
  }

  absl::Status DescribeNumber(absl::string_view text, const ExampleInput& input, Node* node) {
    const std::optional<DType> dtype = NumberDType(InnerAnnotation(node->annotation()));
    const DType given = input.kind == Kind::kInt    ? DType::kInt64
                        : input.kind == Kind::kBool ? DType::kBool
                                                    : DType::kFloat64;
    if (!dtype || *dtype != given) {
      return ErrorIn(text, SaysType(*node));
    }
    const Argument value = input.kind == Kind::kInt    ? Argument(input.integer)
                           : input.kind == Kind::kBool ? Argument(input.integer != 0)
                                                       : Argument(input.real);
    DrawSpec spec;
    if (node->draw_spec() != nullptr) spec = *node->draw_spec();
    spec.min = spec.max = Argument::None();
    spec.data = Argument::List({&value, 1});
    node->set_draw_spec(spec);
    if (module_.FindSymbol(node->target()) != nullptr && input.kind == Kind::kInt)
      module_.AddSymbol(node->target(), input.integer);
    return absl::OkStatus();
  }

  // Returns an error if the written sizes contradict the symbols that were set.
  absl::Status CheckSizes(const Node& node) const {
    const size_t i = static_cast<size_t>(std::find(described_.begin(), described_.end(), &node) -
                                         described_.begin());
    const auto& [text, sizes] = sizes_[i];
    const TensorMeta& meta = *node.tensor_meta();
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (meta.shape[d].is_static()) continue;
      const std::optional<int64_t> size = EvaluateWithExamples(module_, *meta.shape[d].expr);
      if (size == sizes[d]) continue;
      return ErrorIn(text, absl::StrCat("dimension ", d, " of ", Printable(node.target()), " is ",
                                        size ? absl::StrCat(*size) : "unknown",
                                        " by the symbols of the sample and other inputs"));
    }
    return absl::OkStatus();
  }

  const uint64_t seed_;
  Sample& sample_;
  Module& module_;
  std::vector<Node*> inputs_;  // null once they are described
  std::vector<absl::string_view> names_;
  std::vector<const Node*> described_;                                     // tensors
  std::vector<std::pair<absl::string_view, std::vector<int64_t>>> sizes_;  // of those
  bool changed_ = false;
};

template <typename T>
TensorData NumberData(DType dtype, T value) {
  return {dtype,
          {},
          std::make_shared<const std::string>(reinterpret_cast<const char*>(&value), sizeof(T))};
}

bool IsAggregate(Kind kind) {
  return kind == Kind::kList || kind == Kind::kTuple || kind == Kind::kDict;
}

absl::string_view WordOf(Kind kind) {
  switch (kind) {
    case Kind::kNone: return "None";
    case Kind::kInt: return "int";
    case Kind::kFloat: return "float";
    case Kind::kBool: return "bool";
    case Kind::kComplex: return "complex";
    case Kind::kString: return "str";
    case Kind::kTensor: return "Tensor";
    case Kind::kList: return "List";
    case Kind::kTuple: return "Tuple";
    case Kind::kDict: return "Dict";
  }
  return "";
}

// Returns whether an input that was fitted to a type, with all its elements, is of that type.
bool IsOf(absl::string_view annotation, const ExampleInput& input) {
  if (input.kind == Kind::kNone)
    return TakesNone(annotation) || annotation == "NoneType" || annotation == "None";
  const absl::string_view type = InnerAnnotation(annotation);
  if (type == "Any" || IsUnion(type)) return true;  // FitTo has chosen
  const absl::string_view name = type.substr(0, type.find('['));
  if (name == "number" || name == "Scalar")
    return !IsAggregate(input.kind) && input.kind != Kind::kString && input.kind != Kind::kTensor;
  if (name != WordOf(input.kind) && (name != "Device" || input.kind != Kind::kString)) return false;
  const std::vector<absl::string_view> types = MembersOf(type);
  if (name == "Tuple" && types.size() != input.elements.size()) return false;
  for (size_t i = 0; i < input.elements.size(); ++i) {
    const size_t k = name == "Tuple" ? i : name == "Dict" ? 1 : 0;
    if (k >= types.size() || !IsOf(types[k], input.elements[i])) return false;
  }
  return true;
}

bool HaveSameKinds(const ExampleInput& a, const ExampleInput& b) {
  if (a.kind != b.kind || a.elements.size() != b.elements.size()) return false;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (!HaveSameKinds(a.elements[i], b.elements[i])) return false;
  }
  return true;
}

void SayKinds(ExampleInput* input) {
  input->says_kind = true;
  for (ExampleInput& element : input->elements) SayKinds(&element);
}

// Gives inputs declared types. A budget bounds the members of unions that are tried: each member is
// tried on a copy of all that the input contains.
class Fitting {
 public:
  // FitTo of the header
  absl::Status Fit(absl::string_view annotation, ExampleInput* input);

 private:
  // Gives the input the first of the types that it has as it is written, or else the first that it
  // can be turned into: a number into a float before a complex number before a text. False if it
  // has none of them.
  absl::StatusOr<bool> ChooseMember(std::vector<absl::string_view> members, ExampleInput* input);

  int64_t budget_ = 1 << 20;  // values that may be copied
};

int64_t NumValues(const ExampleInput& input) {
  int64_t sum = 1;
  for (const ExampleInput& element : input.elements) sum += NumValues(element);
  return sum;
}

absl::StatusOr<bool> Fitting::ChooseMember(std::vector<absl::string_view> members,
                                           ExampleInput* input) {
  const auto rank = [](absl::string_view member) {
    return member == "float" ? 0 : member == "complex" ? 1 : member == "str" ? 3 : 2;
  };
  std::stable_sort(members.begin(), members.end(),
                   [&](absl::string_view a, absl::string_view b) { return rank(a) < rank(b); });
  const int64_t num_values = NumValues(*input);
  std::optional<ExampleInput> chosen;
  for (const absl::string_view member : members) {
    budget_ -= num_values;
    if (budget_ < 0)
      return absl::InvalidArgumentError(
          "the value and the unions of its type are too large: too many of their members "
          "would have to be tried");
    ExampleInput fitted = *input;
    absl::Status fits = Fit(member, &fitted);
    if (budget_ < 0) return fits;
    if (!fits.ok() || !IsOf(member, fitted)) continue;
    const bool as_written = HaveSameKinds(*input, fitted);
    if (as_written || !chosen.has_value()) chosen = std::move(fitted);
    if (as_written) break;
  }
  if (!chosen.has_value()) return false;
  *input = *std::move(chosen);
  SayKinds(input);
  return true;
}

// Returns the number by which TorchScript passes a dtype, layout or memory format, which it
// declares as an int.
std::optional<int64_t> NumberOfConstant(absl::string_view text) {
  static constexpr std::pair<absl::string_view, int64_t> kConstants[] = {
      {"strided", 0},           {"sparse_coo", 1},      {"sparse_csr", 2},
      {"contiguous_format", 0}, {"preserve_format", 1}, {"channels_last", 2},
      {"channels_last_3d", 3}};
  absl::ConsumePrefix(&text, "torch.");
  if (const std::optional<DType> dtype = ParseDType(text)) return TorchScalarType(*dtype);
  for (const auto& [name, number] : kConstants) {
    if (name == text) return number;
  }
  return std::nullopt;
}

absl::Status Fitting::Fit(absl::string_view annotation, ExampleInput* input) {
  const absl::string_view type = InnerAnnotation(annotation);
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(input->is_literal ? Printable(input->text) : "it", " is ", what));
  };
  if (IsUnion(type)) {
    if (input->kind == Kind::kNone && TakesNone(annotation)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool has_member, ChooseMember(MembersOf(type), input));
    if (has_member) return absl::OkStatus();
    return error(absl::StrCat("no value of type ", Printable(annotation)));
  }
  if (IsAggregate(input->kind)) {
    const absl::string_view name = type.substr(0, type.find('['));
    const std::vector<absl::string_view> types = MembersOf(type);
    if (input->kind == Kind::kList && input->is_literal && name == "Tuple")
      input->kind = Kind::kTuple;
    input->is_literal = false;
    for (size_t i = 0; i < input->elements.size(); ++i) {
      const size_t k = name == "Tuple" ? i : name == "Dict" ? 1 : 0;
      const absl::string_view element = type == "Any" ? type : k < types.size() ? types[k] : "";
      if (!element.empty()) RETURN_IF_ERROR(Fit(element, &input->elements[i]));
    }
    input->says_kind |= type == "Any";
    return absl::OkStatus();
  }
  input->says_kind |= type == "Any";
  if (!input->is_literal) return absl::OkStatus();
  const Kind kind = input->kind;
  const bool is_real = kind == Kind::kInt || kind == Kind::kFloat;
  if (const std::optional<DType> number = NumberDType(type)) {
    if (*number == DType::kInt64 && kind != Kind::kInt) {
      const std::optional<int64_t> constant = NumberOfConstant(input->text);
      if (!constant.has_value()) return error("no integer");
      input->kind = Kind::kInt;
      input->integer = *constant;
    }
    if (*number == DType::kBool && kind != Kind::kBool) return error("neither true nor false");
    if (*number == DType::kFloat64) {
      if (!is_real) return error("no number");
      input->kind = Kind::kFloat;
    }
  } else if (IsText(type) || type == "Device") {
    input->kind = Kind::kString;
  } else if (type == "complex") {
    if (!is_real && kind != Kind::kComplex) return error("no complex number");
    input->kind = Kind::kComplex;
  } else if (!TakesSeveralKinds(type)) {
    return absl::InvalidArgumentError(kExpected);
  }
  input->is_literal = false;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExampleInput> ParseExampleInput(const std::string& text,
                                               absl::Span<const absl::string_view> names) {
  return Parser(text).ParseNamed(names);
}

absl::Status FitTo(absl::string_view annotation, ExampleInput* input) {
  return Fitting().Fit(annotation, input);
}

DrawSpec SpecOfExample(const ExampleInput& tensor) {
  DrawSpec spec;
  spec.has_mean = spec.has_std = true;
  spec.std = 5;  // Drawing takes a fifth of it.
  const absl::string_view dtype = DTypeShortName(tensor.dtype);
  if (tensor.has_bounds) {
    spec.min = Argument(tensor.low);
    spec.max = Argument(tensor.high);
  } else if (absl::StartsWith(dtype, "i") || absl::StartsWith(dtype, "u")) {
    spec.min = Argument(0);
    spec.max = Argument(9);
  }
  return spec;
}

absl::StatusOr<TensorData> DrawExample(const ExampleInput& input, const std::string& name,
                                       uint64_t seed) {
  switch (input.kind) {
    case Kind::kInt: return NumberData(DType::kInt64, input.integer);
    case Kind::kFloat: return NumberData(DType::kFloat64, input.real);
    case Kind::kBool: return NumberData(DType::kBool, input.integer != 0);
    case Kind::kComplex:
      return NumberData(DType::kComplex128, std::complex<double>(input.real, input.imaginary));
    case Kind::kString: return TextData(input.text);
    case Kind::kTensor: break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Printable(name), " is not a tensor, number or string"));
  }
  const std::vector<Dim> shape(input.sizes.begin(), input.sizes.end());
  const DrawSpec spec = SpecOfExample(input);
  DrawOptions draw;
  draw.seed = seed;
  draw.max_bytes = AvailableMemoryBytes();
  return DrawTensor({.dtype = input.dtype, .has_shape = true, .shape = shape}, &spec, name, draw);
}

absl::Status DrawExamples(const ExampleInput& input, const std::string& name, uint64_t seed,
                          std::map<std::string, TensorData>* values) {
  switch (input.kind) {
    case Kind::kNone: AddKind(name, WordOf(input.kind), values); return absl::OkStatus();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
      for (size_t i = 0; i < input.elements.size(); ++i) {
        const std::string key = input.keys.empty() ? absl::StrCat(i) : input.keys[i];
        RETURN_IF_ERROR(
            DrawExamples(input.elements[i], absl::StrCat(name, ".", key), seed, values));
      }
      AddKeyOrder(name, input.keys, values);
      if (input.says_kind || input.elements.empty()) AddKind(name, WordOf(input.kind), values);
      return absl::OkStatus();
    default: {
      if (input.says_kind) AddKind(name, WordOf(input.kind), values);
      ASSIGN_OR_RETURN((*values)[name], DrawExample(input, name, seed));
      return absl::OkStatus();
    }
  }
}

absl::Status DescribeInputs(absl::Span<const std::string> texts, uint64_t seed, Sample* sample) {
  if (texts.empty()) return absl::OkStatus();
  return Describer(seed, sample).Describe(texts);
}

}  // namespace graphnet

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/name_hash.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/parsers.h"
#include "graphnet/formats/graphnet_folder/plain_cursor.h"
#include "graphnet/formats/graphnet_folder/scanner.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {
namespace {

constexpr absl::string_view kFields[] = {"name", "original_name", "shape", "dtype",   "device",
                                         "mean", "std",           "data",  "min_val", "max_val"};
enum Field { kName, kOriginalName, kShape, kDType, kDevice, kMean, kStd, kData, kMin, kMax };

// Returns the index of a word in kFields. Paddle's older samples call the bounds "low" and "high".
size_t FieldOf(absl::string_view word, Framework framework) {
  if (framework == Framework::kPaddle && word == "low") return kMin;
  if (framework == Framework::kPaddle && word == "high") return kMax;
  return static_cast<size_t>(absl::c_find(kFields, word) - std::begin(kFields));
}

class MetaParser {
 public:
  MetaParser(const std::string& text, absl::string_view file_name, MetaFile kind,
             Framework framework, Module* module)
      : scanner_(text, file_name), kind_(kind), framework_(framework), module_(module) {}

  absl::Status Run() {
    // Records are usually in the order of the arguments, so the next placeholder is tried before an
    // index by name is built.
    expected_ = module_->main()->first();
    while (scanner_.token().kind != TokenKind::kEnd) {
      if (TakePlainRecord()) {
        RETURN_IF_ERROR(Apply(expected_->target(), plain_name_begin_, expected_->target()));
      } else {
        RETURN_IF_ERROR(ParseRecord());
      }
    }
    return absl::OkStatus();
  }

 private:
  // --- Records in their usual spelling ---------------------------------------------
  // Writers of samples put one field on each line. Such records are read without tokens. Anything
  // unusual, and every error, is left to ParseRecord, so that both ways give the same results.

  // Reads the next record if it is that of the next argument and has the usual spelling.
  bool TakePlainRecord() {
    if (expected_ == nullptr || !expected_->is_placeholder() || framework_ != Framework::kTorch ||
        !scanner_.IsName("class") || scanner_.indent() != 0) {
      return false;
    }
    PlainCursor at = {scanner_.token().begin, scanner_.text_end()};
    uint32_t lines = 0;
    if (!TakePlainName(expected_->target(), &at, &lines)) return false;
    StartRecord();
    if (!at.Accept("    shape = ") || !TakePlainShape(&at) || !TakePlainTypes(&at)) return false;
    lines += 3;
    if (!TakePlainDetails(&at, &lines)) return false;
    while (at.Accept("\n")) ++lines;
    // Otherwise, the record has more fields.
    if (at.next != at.end && *at.next != 'c') return false;
    scanner_.ContinueAt(at.next, lines);
    return true;
  }

  // Takes the first two lines. Long names are in parentheses.
  bool TakePlainName(absl::string_view name, PlainCursor* at, uint32_t* lines) {
    if (!at->Accept(kind_ == MetaFile::kWeightMeta ? "class Program_weight_tensor_meta_"
                                                   : "class Program_input_tensor_meta_") ||
        !at->Accept(name) || !at->Accept(":\n    name = ")) {
      return false;
    }
    const bool parenthesised = at->Accept("(\n        ");
    plain_name_begin_ = at->next;
    if (!at->Accept("\"") || !at->Accept(name)) return false;
    *lines += parenthesised ? 4 : 2;
    return at->Accept(parenthesised ? "\"\n    )\n" : "\"\n");
  }

  // Takes "[64, 3]" and the end of the line.
  bool TakePlainShape(PlainCursor* at) {
    shape_begin_ = at->next;
    meta_.has_shape = true;
    if (at->Accept("[]\n")) return true;
    if (!at->Accept("[")) return false;
    int64_t elements = 1;
    do {
      const int64_t size = at->TakeDigits();
      if (size <= 0 || __builtin_mul_overflow(elements, size, &elements) ||
          elements > kMaxTensorElements || shape_.size() == kMaxRank) {
        return false;
      }
      shape_.push_back(size);
    } while (at->Accept(", "));
    elements_ = elements;
    return at->Accept("]\n");
  }

  // Takes the lines of the dtype and the device. Most are the same as in the record before.
  bool TakePlainTypes(PlainCursor* at) {
    const char* const begin = at->next;
    if (!plain_types_.empty() && at->Accept(plain_types_)) {
      meta_.dtype = plain_dtype_;
      meta_.device = plain_device_;
      meta_.has_device = true;
      return true;
    }
    absl::string_view dtype_text, device_text;
    if (!at->Accept("    dtype = ") || !at->TakeText(&dtype_text) ||
        !at->Accept("\n    device = ") || !at->TakeText(&device_text) || !at->Accept("\n")) {
      return false;
    }
    const std::optional<DType> dtype = ParseDTypeWord(dtype_text, framework_);
    const std::optional<Device> device = ParseDeviceWord(device_text, framework_);
    if (!dtype || !device) return false;
    meta_.dtype = plain_dtype_ = *dtype;
    meta_.device = plain_device_ = *device;
    meta_.has_device = true;
    plain_types_ = {begin, static_cast<size_t>(at->next - begin)};
    return true;
  }

  // Takes the fields after the device, in their usual order.
  bool TakePlainDetails(PlainCursor* at, uint32_t* lines) {
    const auto take_number = [&](absl::string_view field, Argument* number) {
      if (!at->Accept(field)) return true;
      ++*lines;
      return (at->Accept("None") || at->TakeNumber(number)) && at->Accept("\n");
    };
    Argument mean, std;
    if (!take_number("    mean = ", &mean) || !take_number("    std = ", &std) ||
        (at->Accept("    data = ") && !TakePlainData(at, lines)) ||
        !take_number("    min_val = ", &spec_.min) || !take_number("    max_val = ", &spec_.max)) {
      return false;
    }
    SetMoment(kMean, mean);
    SetMoment(kStd, std);
    return true;
  }

  bool TakePlainData(PlainCursor* at, uint32_t* lines) {
    ++*lines;
    if (at->Accept("None\n")) return true;
    data_begin_ = at->next;
    if (!at->Accept("[")) return false;
    spec_.data = Argument::List({});  // Apply sets the elements.
    at->SkipBlanks(lines);
    while (!at->Accept("]")) {
      Argument number;
      if (!at->TakeNumber(&number)) return false;
      data_.push_back(number);
      at->SkipBlanks(lines);
      const bool more = at->Accept(",");
      if (more) at->SkipBlanks(lines);
      if (!more && (at->next == at->end || *at->next != ']')) return false;
    }
    return at->Accept("\n");
  }

  // --- Records in any spelling -----------------------------------------------------
  void StartRecord() {
    spec_ = DrawSpec();
    spec_.in_input_meta = kind_ == MetaFile::kInputMeta;
    meta_ = TensorMeta();
    shape_.clear();
    data_.clear();
    elements_ = 1;
  }

  // Sets the mean or the standard deviation, unless it is None.
  void SetMoment(Field field, const Argument& number) {
    if (number.is_none()) return;
    const double real = number.is_int() ? static_cast<double>(number.integer()) : number.real();
    (field == kMean ? spec_.mean : spec_.std) = real;
    (field == kMean ? spec_.has_mean : spec_.has_std) = true;
  }

  absl::Status ParseRecord() {
    const char* const begin = scanner_.token().begin;
    if (!scanner_.IsName("class")) return scanner_.Expected("a class");
    if (scanner_.indent() != 0) return scanner_.Error("unexpected indentation");
    scanner_.Next();
    absl::string_view class_name = scanner_.token().text;
    const absl::string_view prefix = kind_ == MetaFile::kWeightMeta ? "Program_weight_tensor_meta_"
                                                                    : "Program_input_tensor_meta_";
    if (scanner_.token().kind != TokenKind::kName ||
        (!absl::ConsumePrefix(&class_name, prefix) && !ConsumePaddlePrefix(&class_name))) {
      return scanner_.Expected(absl::StrCat("a class named ", prefix, "…"));
    }
    scanner_.Next();
    RETURN_IF_ERROR(scanner_.Expect(Punct(":"), "after the class name"));
    RETURN_IF_ERROR(scanner_.ExpectNewline("after the class name"));

    StartRecord();
    absl::string_view name;
    const char* name_begin = begin;
    uint32_t seen = 0;
    const int indent = scanner_.indent();
    while (scanner_.token().kind == TokenKind::kName && scanner_.indent() > 0) {
      if (scanner_.indent() != indent) return scanner_.Error("unexpected indentation");
      const size_t field = FieldOf(scanner_.token().text, framework_);
      if (field == std::size(kFields))
        return scanner_.Error(absl::StrCat("unknown field ", scanner_.DescribeToken()));
      if (seen >> field & 1) {
        return scanner_.Error(absl::StrCat("field '", kFields[field], "' is given twice"));
      }
      seen |= 1u << field;
      scanner_.Next();
      RETURN_IF_ERROR(scanner_.Expect(Punct("="), "after the field name"));
      RETURN_IF_ERROR(scanner_.TakeParenthesised("after the value", [&] {
        if (field == kName) name_begin = scanner_.token().begin;
        return ParseField(static_cast<Field>(field), &name);
      }));
      RETURN_IF_ERROR(scanner_.ExpectNewline("after the value"));
    }
    for (int field : {kName, kShape, kDType, kDevice}) {
      if (field == kDevice && framework_ == Framework::kPaddle) continue;
      if (!(seen >> field & 1)) {
        return scanner_.ErrorAtOffset(
            begin, absl::StrCat("the record has no field '", kFields[field], "'"));
      }
    }
    return Apply(name, name_begin, class_name);
  }

  // Paddle's class names, such as "Program_weight_tensor_data_0", have one prefix in both files.
  bool ConsumePaddlePrefix(absl::string_view* name) const {
    return framework_ == Framework::kPaddle && absl::ConsumePrefix(name, "Program_weight_tensor_");
  }

  absl::Status ParseField(Field field, absl::string_view* name) {
    const Token value = scanner_.token();
    switch (field) {
      case kName: return ParseString(name);
      case kOriginalName:
        if (scanner_.AcceptName("None")) return absl::OkStatus();
        return ParseString(&spec_.original_name);
      case kShape: return ParseShape();
      case kDType: {
        std::optional<DType> dtype;
        RETURN_IF_ERROR(ParseWord("a dtype", ParseDTypeWord, DTypeWord, DType::kFloat32, &dtype));
        if (dtype) meta_.dtype = *dtype;
        return absl::OkStatus();
      }
      case kDevice: {
        std::optional<Device> device;
        RETURN_IF_ERROR(
            ParseWord("a device", ParseDeviceWord, DeviceWord, {DeviceType::kCuda, 0}, &device));
        if (device) meta_.device = *device;
        meta_.has_device = device.has_value();
        return absl::OkStatus();
      }
      case kMean:
      case kStd:
      case kMin:
      case kMax: {
        ASSIGN_OR_RETURN(const Argument number, ParseNumber());
        if (number.is_bool())
          return scanner_.ErrorAtOffset(value.begin, "expected a number or None");
        if (field == kMean || field == kStd) {
          SetMoment(field, number);
        } else {
          (field == kMin ? spec_.min : spec_.max) = number;
        }
        return absl::OkStatus();
      }
      case kData: return ParseData();
    }
    return absl::OkStatus();
  }

  absl::Status ParseString(absl::string_view* out) {
    const char* const begin = scanner_.token().begin;
    ASSIGN_OR_RETURN(*out, scanner_.TakeText("a string"));
    if (out->size() > kMaxNameBytes) return scanner_.ErrorAtOffset(begin, "the string is too long");
    return absl::OkStatus();
  }

  // Parses None or a string that `parse` knows. `print` spells the example in the error.
  template <typename T>
  absl::Status ParseWord(absl::string_view what,
                         std::optional<T> (*parse)(absl::string_view, Framework),
                         std::string (*print)(T, Framework), std::type_identity_t<T> example,
                         std::optional<T>* value) {
    if (scanner_.AcceptName("None")) return absl::OkStatus();
    const char* const begin = scanner_.token().begin;
    absl::string_view text;
    RETURN_IF_ERROR(ParseString(&text));
    *value = parse(text, framework_);
    if (value->has_value()) return absl::OkStatus();
    return scanner_.ErrorAtOffset(
        begin, absl::StrCat("expected ", what, " such as \"", print(example, framework_), "\""));
  }

  // Parses None, a bool, an int or a float, also one such as float('nan').
  absl::StatusOr<Argument> ParseNumber() {
    const bool negative = scanner_.Accept(Punct("-"));
    const Token token = scanner_.token();
    if (token.kind == TokenKind::kInt) {
      ASSIGN_OR_RETURN(const int64_t integer, scanner_.TakeInt("a number", negative));
      return Argument(integer);
    }
    double value = 0;
    if (token.kind == TokenKind::kFloat) {
      scanner_.Next();
      value = token.float_value;
    } else if (scanner_.AcceptName("float")) {
      RETURN_IF_ERROR(scanner_.Expect(Punct("("), "after float"));
      absl::string_view text;
      RETURN_IF_ERROR(ParseString(&text));
      const std::optional<double> known = ParseFloatWord(text, framework_);
      if (!known) {
        return scanner_.ErrorAtOffset(token.begin,
                                      "expected float('nan'), float('inf') or float('-inf')");
      }
      value = *known;
      scanner_.Accept(Punct(","));
      RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the string"));
    } else if (!negative && scanner_.AcceptName("None")) {
      return Argument();
    } else if (!negative && (scanner_.AcceptName("True") || scanner_.AcceptName("False"))) {
      return Argument(token.text == "True");
    } else {
      return scanner_.Expected("a number");
    }
    return Argument(negative ? -value : value);
  }

  absl::Status ParseShape() {
    elements_ = 1;
    meta_.has_shape = !scanner_.AcceptName("None");
    if (!meta_.has_shape) return absl::OkStatus();
    const char* const begin = scanner_.token().begin;
    RETURN_IF_ERROR(scanner_.Expect(Punct("["), "before the sizes"));
    int64_t elements = 1;  // product of the sizes that are not 0
    bool empty = false;
    RETURN_IF_ERROR(scanner_.TakeElements(Punct("]"), "after the sizes", [&]() -> absl::Status {
      const char* const at = scanner_.token().begin;
      ASSIGN_OR_RETURN(const int64_t size, scanner_.TakeInt("a size that is not negative"));
      empty |= size == 0;
      if (size > 0 &&
          (__builtin_mul_overflow(elements, size, &elements) || elements > kMaxTensorElements)) {
        return scanner_.ErrorAtOffset(at, "the tensor has too many elements");
      }
      shape_.push_back(size);
      if (shape_.size() <= kMaxRank) return absl::OkStatus();
      return scanner_.ErrorAtOffset(at, "the tensor has too many dimensions");
    }));
    elements_ = empty ? 0 : elements;
    shape_begin_ = begin;
    return absl::OkStatus();
  }

  absl::Status ParseData() {
    if (scanner_.AcceptName("None")) return absl::OkStatus();
    data_begin_ = scanner_.token().begin;
    RETURN_IF_ERROR(scanner_.Expect(Punct("["), "before the data"));
    spec_.data = Argument::List({});  // Apply sets the elements.
    return scanner_.TakeElements(Punct("]"), "after the data", [&]() -> absl::Status {
      const char* const begin = scanner_.token().begin;
      ASSIGN_OR_RETURN(const Argument number, ParseNumber());
      if (number.is_none()) return scanner_.ErrorAtOffset(begin, "expected a number");
      data_.push_back(number);
      return absl::OkStatus();
    });
  }

  absl::Status Apply(absl::string_view name, const char* name_begin, absl::string_view class_name) {
    if (class_name != name) {
      return scanner_.ErrorAtOffset(name_begin,
                                    absl::StrCat("the class is named after '", class_name,
                                                 "', the record after '", name, "'"));
    }
    if (expected_ == nullptr || !expected_->is_placeholder() || expected_->target() != name) {
      if (by_target_.empty()) {
        for (Node* node : module_->main()->nodes()) {
          if (!node->is_placeholder()) break;
          by_target_[node->target()] = node;
        }
      }
      const auto it = by_target_.find(name);
      if (it == by_target_.end()) {
        return scanner_.ErrorAtOffset(name_begin,
                                      absl::StrCat("forward has no argument '", name, "'"));
      }
      expected_ = it->second;
    }
    Node* node = expected_;
    if (node->draw_spec() != nullptr) {
      return scanner_.ErrorAtOffset(name_begin, absl::StrCat("a second record of '", name, "'"));
    }
    if (!spec_.data.is_none()) {
      if (meta_.has_shape && static_cast<int64_t>(data_.size()) != elements_) {
        return scanner_.ErrorAtOffset(
            data_begin_,
            absl::StrCat("the data has ", data_.size(), " elements, the shape ", elements_));
      }
      spec_.data = Argument::List(data_);
    }
    const int64_t bytes = elements_ * std::max(1, DTypeBytes(meta_.dtype));
    declared_bytes_ += bytes;
    if (declared_bytes_ > kMaxSampleBytes) {
      return scanner_.ErrorAtOffset(shape_begin_,
                                    "the tensors of the sample together are too large");
    }
    meta_.shape = shape_;
    if (meta_.has_shape || meta_.has_device || meta_.dtype != DType::kUnknown) {
      UncheckedBuilder(node->graph()).SetMeta(node, module_->InternValueMeta(meta_));
    }
    node->set_draw_spec(spec_);
    expected_ = node->next();
    return absl::OkStatus();
  }

  Scanner scanner_;
  MetaFile kind_;
  Framework framework_;
  Module* module_;
  Node* expected_ = nullptr;
  absl::flat_hash_map<absl::string_view, Node*, NameHash> by_target_;
  int64_t declared_bytes_ = 0;

  // State of the record that is being parsed:
  DrawSpec spec_;
  TensorMeta meta_;
  std::vector<Dim> shape_;
  std::vector<Argument> data_;
  int64_t elements_ = 1;
  const char* shape_begin_ = nullptr;
  const char* data_begin_ = nullptr;
  const char* plain_name_begin_ = nullptr;

  // The last lines of a dtype and a device, and the values in them.
  absl::string_view plain_types_;
  DType plain_dtype_ = DType::kUnknown;
  Device plain_device_;
};

}  // namespace

absl::Status ParseMetaPy(const std::string& text, absl::string_view file_name, MetaFile kind,
                         Framework framework, Module* module) {
  return MetaParser(text, file_name, kind, framework, module).Run();
}

}  // namespace graphnet

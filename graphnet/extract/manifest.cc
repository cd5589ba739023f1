#include "graphnet/extract/manifest.h"

#include <optional>

#include "absl/base/casts.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/coded_stream.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/stitch.pb.h"

namespace graphnet {
namespace {

constexpr char kMagic[] = "graphnet-stitch";
constexpr uint32_t kVersion = 1;
// Numbers of tensors are indices into a table.
constexpr int64_t kMaxNumber = int64_t{1} << 22;
// Each level of a value is a level of the protobuf message.
constexpr int kMaxValueDepth = 64;

bool IsNumbered(ValueTree::Kind kind) {
  return kind == ValueTree::Kind::kTensor || kind == ValueTree::Kind::kObject ||
         kind == ValueTree::Kind::kNumber;
}

bool IsText(ValueTree::Kind kind) {
  return kind == ValueTree::Kind::kString || kind == ValueTree::Kind::kDevice ||
         kind == ValueTree::Kind::kSize;
}

proto::StitchValue ToProto(const ValueTree& tree) {
  proto::StitchValue out;
  out.set_kind(static_cast<proto::StitchValue::Kind>(tree.kind));
  out.set_number(tree.number);
  out.set_real(tree.real);
  out.set_imaginary(tree.imaginary);
  if (IsText(tree.kind)) {
    out.set_text(tree.text);
  } else {
    out.set_type(tree.text);
  }
  for (const ValueTree& element : tree.elements) *out.add_elements() = ToProto(element);
  return out;
}

absl::StatusOr<ValueTree> FromProto(const proto::StitchValue& value, int depth = 0) {
  if (depth > kMaxValueDepth) return absl::InvalidArgumentError("values nest too deep");
  if (!proto::StitchValue::Kind_IsValid(value.kind()))
    return absl::InvalidArgumentError("a value has an unknown kind");
  ValueTree out;
  out.kind = static_cast<ValueTree::Kind>(value.kind());
  out.number = value.number();
  out.real = value.real();
  out.imaginary = value.imaginary();
  if (IsNumbered(out.kind) && (out.number < 0 || out.number >= kMaxNumber))
    return absl::InvalidArgumentError("the number of a value is out of range");
  out.text = IsText(out.kind) ? value.text() : value.type();
  if (!IsText(out.kind) && out.text.size() > 1000)
    return absl::InvalidArgumentError("a type is too long");
  const bool is_number = out.kind == ValueTree::Kind::kNumber;
  const bool is_structure =
      is_number || (out.kind >= ValueTree::Kind::kList && out.kind <= ValueTree::Kind::kDict);
  if (!is_structure && value.elements_size() > 0) {
    return absl::InvalidArgumentError("a value other than a structure has elements");
  }
  if (out.kind == ValueTree::Kind::kDict && value.elements_size() % 2 != 0) {
    return absl::InvalidArgumentError("a dict has a key without a value");
  }
  for (const proto::StitchValue& element : value.elements()) {
    ASSIGN_OR_RETURN(out.elements.emplace_back(), FromProto(element, depth + 1));
  }
  if (is_number && (out.elements.size() != 1 || (out.elements[0].kind != ValueTree::Kind::kInt &&
                                                 out.elements[0].kind != ValueTree::Kind::kFloat)))
    return absl::InvalidArgumentError("a number has no example");
  return out;
}

proto::StitchManifest ToProto(const StitchManifest& manifest) {
  proto::StitchManifest out;
  out.set_magic(kMagic);
  out.set_version(kVersion);
  out.set_name(manifest.name);
  out.set_archive(manifest.archive);
  for (const auto& symbol : manifest.symbols) {
    auto* to = out.add_symbols();
    to->set_name(symbol.name);
    to->set_example(symbol.example);
  }
  for (const auto& relation : manifest.relations) {
    auto* to = out.add_relations();
    to->set_text(relation.text);
    to->set_file(relation.file);
    to->set_line(relation.line);
  }
  for (const auto& input : manifest.inputs) {
    auto* to = out.add_inputs();
    to->set_name(input.name);
    *to->mutable_pattern() = ToProto(input.pattern);
    if (input.after) *to->mutable_after() = ToProto(*input.after);
  }
  for (const auto& state : manifest.states) {
    auto* to = out.add_states();
    to->set_path(state.path);
    to->set_name(state.name);
    *to->mutable_pattern() = ToProto(state.pattern);
  }
  for (const auto& [number, name] : manifest.constants) (*out.mutable_constants())[number] = name;
  for (const auto& [name, strides] : manifest.strides) {
    auto& to = (*out.mutable_strides())[name];
    for (const int64_t stride : strides) to.add_strides(stride);
  }
  for (const int64_t number : manifest.parameters) out.add_parameters(number);
  for (const auto& [number, path] : manifest.objects) (*out.mutable_objects())[number] = path;
  for (const auto& [number, guard] : manifest.tensors) {
    auto& to = (*out.mutable_tensors())[number];
    to.set_dtype(std::string(DTypeName(guard.dtype)));
    to.set_device(guard.device);
    for (const int64_t size : guard.sizes) to.add_sizes(size);
    for (const std::string& expression : guard.symbolic) to.add_symbolic(expression);
  }
  for (const auto& subgraph : manifest.subgraphs) {
    auto* to = out.add_subgraphs();
    to->set_name(subgraph.name);
    to->set_hash(subgraph.hash);
    to->set_duplicate_of(subgraph.duplicate_of);
    to->set_num_calls(subgraph.num_calls);
  }
  for (const StitchStep& step : manifest.steps) {
    auto* to = out.add_steps();
    if (step.subgraph >= 0) {
      to->mutable_run()->set_subgraph(step.subgraph);
      for (const int64_t number : step.inputs) to->mutable_run()->add_inputs(number);
      for (const int64_t number : step.outputs) to->mutable_run()->add_outputs(number);
      for (const std::string& symbol : step.symbols) to->mutable_run()->add_symbols(symbol);
      continue;
    }
    auto* operation = to->mutable_operation();
    operation->set_op(step.op);
    operation->set_overload(step.overload);
    for (const ValueTree& operand : step.operands) *operation->add_operands() = ToProto(operand);
    for (const ValueTree& result : step.results) *operation->add_results() = ToProto(result);
    operation->set_reason(std::string(TextOf(step.reason).name));
    operation->set_file(step.file);
    operation->set_line(step.line);
    operation->set_column(step.column);
    operation->set_source(step.source);
  }
  *out.mutable_result() = ToProto(manifest.result);
  return out;
}

bool IsPlainName(absl::string_view name) {
  return !name.empty() && name.size() <= 255 && name[0] != '.' &&
         name.find_first_of(absl::string_view("/\0", 2)) == absl::string_view::npos;
}

// Checks that tensors and objects are made before they are used.
class Checker {
 public:
  explicit Checker(const StitchManifest& manifest) : manifest_(manifest) {}

  absl::Status Run() {
    const auto in_range = [](int64_t number) { return number >= 0 && number < kMaxNumber; };
    for (const auto* names : {&manifest_.constants, &manifest_.objects}) {
      for (const auto& [number, name] : *names) {
        if (!in_range(number)) return Unknown(number);
        known_.insert(number);
      }
    }
    for (const int64_t number : manifest_.parameters) {
      if (manifest_.constants.find(number) == manifest_.constants.end()) return Unknown(number);
    }
    for (const auto& [number, guard] : manifest_.tensors) {
      if (!in_range(number)) return Unknown(number);
      if (!guard.symbolic.empty() && guard.symbolic.size() != guard.sizes.size())
        return absl::InvalidArgumentError(
            "the numbers of sizes and expressions of a tensor differ");
    }
    for (const auto& input : manifest_.inputs) Make(input.pattern);
    for (const auto& state : manifest_.states) Make(state.pattern);
    for (const auto& subgraph : manifest_.subgraphs) {
      if (!IsPlainName(subgraph.name)) {
        return absl::InvalidArgumentError(
            absl::StrCat("not a plain file name: ", Printable(subgraph.name)));
      }
    }
    int64_t expected = 0;
    for (const StitchStep& step : manifest_.steps) {
      if (step.subgraph >= 0) {
        if (step.subgraph != expected++ ||
            expected > static_cast<int64_t>(manifest_.subgraphs.size())) {
          return absl::InvalidArgumentError("the subgraphs do not run in order");
        }
        for (const int64_t number : step.inputs) {
          if (!known_.contains(number)) return Unknown(number);
        }
        for (const int64_t number : step.outputs) {
          if (!in_range(number)) return Unknown(number);
          known_.insert(number);
        }
        continue;
      }
      for (const ValueTree& operand : step.operands) RETURN_IF_ERROR(Use(operand));
      for (const ValueTree& result : step.results) Make(result);
    }
    for (const auto& input : manifest_.inputs) {
      if (input.after) RETURN_IF_ERROR(Use(*input.after));
    }
    return Use(manifest_.result);
  }

 private:
  static absl::Status Unknown(int64_t number) {
    return absl::InvalidArgumentError(absl::StrCat("v", number, " is used before it is made"));
  }
  void Make(const ValueTree& tree) {
    if (IsNumbered(tree.kind)) known_.insert(tree.number);
    for (const ValueTree& element : tree.elements) Make(element);
  }
  absl::Status Use(const ValueTree& tree) const {
    if (IsNumbered(tree.kind) && !known_.contains(tree.number)) return Unknown(tree.number);
    for (const ValueTree& element : tree.elements) RETURN_IF_ERROR(Use(element));
    return absl::OkStatus();
  }

  const StitchManifest& manifest_;
  absl::flat_hash_set<int64_t> known_;
};

absl::StatusOr<StitchManifest> FromProto(const proto::StitchManifest& from) {
  if (from.magic() != kMagic) return absl::InvalidArgumentError("not a stitch manifest");
  if (from.version() > kVersion) {
    return absl::UnimplementedError(
        absl::StrCat("version ", from.version(), " is newer than this program knows"));
  }
  StitchManifest out;
  out.name = from.name();
  out.archive = from.archive();
  for (const auto& symbol : from.symbols())
    out.symbols.push_back({symbol.name(), symbol.example()});
  for (const auto& relation : from.relations())
    out.relations.push_back({relation.text(), relation.file(), relation.line()});
  for (const auto& input : from.inputs()) {
    ASSIGN_OR_RETURN(ValueTree pattern, FromProto(input.pattern()));
    out.inputs.push_back({input.name(), std::move(pattern), std::nullopt});
    if (input.has_after()) {
      ASSIGN_OR_RETURN(out.inputs.back().after, FromProto(input.after()));
    }
  }
  for (const auto& state : from.states()) {
    ASSIGN_OR_RETURN(ValueTree pattern, FromProto(state.pattern()));
    out.states.push_back({state.path(), state.name(), std::move(pattern)});
  }
  out.constants.insert(from.constants().begin(), from.constants().end());
  for (const auto& [name, strides] : from.strides())
    out.strides[name].assign(strides.strides().begin(), strides.strides().end());
  out.parameters.assign(from.parameters().begin(), from.parameters().end());
  out.objects.insert(from.objects().begin(), from.objects().end());
  for (const auto& [number, guard] : from.tensors()) {
    const std::optional<DType> dtype = ParseDType(guard.dtype());
    if (!dtype)
      return absl::InvalidArgumentError(absl::StrCat("unknown dtype: ", Printable(guard.dtype())));
    out.tensors[number] = {*dtype,
                           guard.device(),
                           {guard.sizes().begin(), guard.sizes().end()},
                           {guard.symbolic().begin(), guard.symbolic().end()}};
  }
  for (const auto& subgraph : from.subgraphs()) {
    out.subgraphs.push_back(
        {subgraph.name(), subgraph.hash(), subgraph.duplicate_of(), subgraph.num_calls()});
  }
  for (const auto& step : from.steps()) {
    StitchStep& to = out.steps.emplace_back();
    if (step.has_run()) {
      if (step.run().subgraph() < 0) return absl::InvalidArgumentError("a step has no subgraph");
      to.subgraph = step.run().subgraph();
      to.inputs.assign(step.run().inputs().begin(), step.run().inputs().end());
      to.outputs.assign(step.run().outputs().begin(), step.run().outputs().end());
      to.symbols.assign(step.run().symbols().begin(), step.run().symbols().end());
      continue;
    }
    const auto& operation = step.operation();
    to.op = operation.op();
    to.overload = operation.overload();
    for (const auto& operand : operation.operands()) {
      ASSIGN_OR_RETURN(to.operands.emplace_back(), FromProto(operand));
    }
    for (const auto& result : operation.results()) {
      ASSIGN_OR_RETURN(to.results.emplace_back(), FromProto(result));
    }
    for (const BreakReasonText& text : BreakReasons()) {
      if (text.name == operation.reason()) to.reason = text.reason;
    }
    to.file = operation.file();
    to.line = operation.line();
    to.column = operation.column();
    to.source = operation.source();
  }
  ASSIGN_OR_RETURN(out.result, FromProto(from.result()));
  RETURN_IF_ERROR(Checker(out).Run());
  return out;
}

}  // namespace

bool ValueTree::operator==(const ValueTree& other) const {
  const auto bits = [](double value) { return absl::bit_cast<uint64_t>(value); };
  return kind == other.kind && number == other.number && bits(real) == bits(other.real) &&
         bits(imaginary) == bits(other.imaginary) && text == other.text &&
         elements == other.elements;
}

std::string PrintValueTree(const ValueTree& tree) {
  const auto join = [&](absl::string_view separator) {
    return absl::StrJoin(tree.elements, separator, [](std::string* out, const ValueTree& element) {
      absl::StrAppend(out, PrintValueTree(element));
    });
  };
  switch (tree.kind) {
    case ValueTree::Kind::kNone: return "None";
    case ValueTree::Kind::kTensor:
    case ValueTree::Kind::kObject:
    case ValueTree::Kind::kNumber: return absl::StrCat("v", tree.number);
    case ValueTree::Kind::kBool: return tree.number != 0 ? "True" : "False";
    case ValueTree::Kind::kInt: return absl::StrCat(tree.number);
    case ValueTree::Kind::kFloat: return absl::StrCat(tree.real);
    case ValueTree::Kind::kComplex: return absl::StrCat("(", tree.real, "+", tree.imaginary, "j)");
    case ValueTree::Kind::kString: return absl::StrCat("\"", Printable(tree.text), "\"");
    case ValueTree::Kind::kDevice:
    case ValueTree::Kind::kSize: return Printable(tree.text);
    case ValueTree::Kind::kList: return absl::StrCat("[", join(", "), "]");
    case ValueTree::Kind::kTuple:
      return absl::StrCat("(", join(", "), tree.elements.size() == 1 ? ",)" : ")");
    case ValueTree::Kind::kDict: {
      std::string out;
      for (size_t i = 0; i + 1 < tree.elements.size(); i += 2) {
        absl::StrAppend(&out, i > 0 ? ", " : "", PrintValueTree(tree.elements[i]), ": ",
                        PrintValueTree(tree.elements[i + 1]));
      }
      return absl::StrCat("{", out, "}");
    }
  }
  return "?";
}

std::string SerializeManifest(const StitchManifest& manifest) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  ToProto(manifest).SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

absl::StatusOr<StitchManifest> ParseManifest(absl::string_view bytes, absl::string_view name) {
  proto::StitchManifest message;
  const std::string file = Printable(name, 1000);
  if (bytes.size() > kMaxTextFileBytes)
    return absl::InvalidArgumentError(absl::StrCat(file, ": the manifest is too large"));
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": not a stitch manifest, or damaged"));
  }
  absl::StatusOr<StitchManifest> manifest = FromProto(message);
  if (!manifest.ok()) return Annotate(manifest.status(), file);
  return manifest;
}

}  // namespace graphnet

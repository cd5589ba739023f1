#include "graphnet/formats/pt2/upgrade.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"
#include "graphnet/formats/pt2/json_writer.h"

namespace graphnet::pt2 {
namespace {

// The minor version of the schema whose forms are written.
constexpr int64_t kMinor = 20;
// torch 2.1 calls this operator for tensors on the CPU, too; later versions have another for them.
constexpr absl::string_view kFlash = "torch.ops.aten._scaled_dot_product_flash_attention.default";
constexpr absl::string_view kFlashOnCpu =
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default";

bool IsObject(Json value) { return !value.is_null() && value.kind() == Json::Kind::kObject; }
bool IsArray(Json value) { return !value.is_null() && value.kind() == Json::Kind::kArray; }

// Returns the member of an object; absent if it has none.
Json Field(Json object, absl::string_view name) {
  Json found;
  if (IsObject(object)) ReadFields(object, {{name, &found, false}}).IgnoreError();
  return found;
}

absl::string_view TextOf(Json value) {
  return value.is_string() ? *value.String() : absl::string_view();
}

// torch 2.1 writes all members of a union; all but one are null. Returns the one, of kind "" if
// there is none.
JsonUnion TheOneOf(Json object) {
  JsonUnion found;
  object
      .ForEachMember([&](absl::string_view kind, Json value) {
        if (!value.is_null()) found = {kind, value};
        return absl::OkStatus();
      })
      .IgnoreError();
  return found;
}

// Returns whether the object is a union with the members that are not set.
bool IsWholeUnion(Json object) {
  if (object.size() <= 2) return false;
  bool is_union = true;
  int set = 0;
  object
      .ForEachMember([&](absl::string_view kind, Json value) {
        is_union = is_union && absl::StartsWith(kind, "as_");
        if (!value.is_null()) ++set;
        return absl::OkStatus();
      })
      .IgnoreError();
  return is_union && set <= 1;
}

// "L['self'].layers.0" is the module "layers.0", and "L['self']" is the whole program.
absl::string_view ModulePath(absl::string_view path) {
  if (!absl::StartsWith(path, "L['")) return path;
  const size_t end = path.find("']");
  if (end == path.npos) return path;
  path.remove_prefix(end + 2);
  absl::ConsumePrefix(&path, ".");
  return path;
}

// "KEY:(PATH,TYPE);…" of torch 2.1 and "KEY,PATH,TYPE;…" of the later versions are written as the
// latter, with paths of modules.
std::string ModuleStack(absl::string_view stack) {
  std::string out;
  for (absl::string_view frame : absl::StrSplit(stack, ';')) {
    const size_t open = frame.find(":(");
    const bool is_old = open != frame.npos && absl::EndsWith(frame, ")");
    const size_t comma = is_old ? open : frame.find(',');
    if (comma == frame.npos) return std::string(stack);
    const absl::string_view key = frame.substr(0, comma);
    frame.remove_prefix(comma + (is_old ? 2 : 1));
    if (is_old) frame.remove_suffix(1);
    const size_t end = frame.find(',');
    if (end == frame.npos) return std::string(stack);
    absl::StrAppend(&out, out.empty() ? "" : ";", key, ",", ModulePath(frame.substr(0, end)),
                    frame.substr(end));
  }
  return out;
}

class Upgrade {
 public:
  absl::StatusOr<std::string> Run(Json program) {
    out_.StartObject();
    RETURN_IF_ERROR(program.ForEachMember([&](absl::string_view name, Json value) -> absl::Status {
      // The dialect became the verifiers, and values that are equal have one symbol.
      if (name == "dialect" || name == "equality_constraints" || name == "example_inputs") {
        return absl::OkStatus();
      }
      out_.Member(name);
      if (name == "schema_version") {
        out_.StartObject();
        out_.Member("major").Int(kPt2SchemaMajor);
        out_.Member("minor").Int(kMinor);
        out_.EndObject();
      } else if (name == "graph_module") {
        return WriteGraphModule(value);
      } else {
        out_.Copy(value);
      }
      return absl::OkStatus();
    }));
    out_.EndObject();
    return std::string(out_.text());
  }

 private:
  absl::Status WriteGraphModule(Json module) {
    const Json graph = Field(module, "graph"), signature = Field(module, "signature");
    out_.StartObject();
    RETURN_IF_ERROR(module.ForEachMember([&](absl::string_view name, Json value) -> absl::Status {
      if (name == "call_spec" || name == "module_call_graph") return absl::OkStatus();
      out_.Member(name);
      if (name == "signature" && !Field(signature, "input_specs").is_there()) {
        return WriteSignature(graph, signature);
      }
      Write(name, value);
      return absl::OkStatus();
    }));
    out_.Member("module_call_graph");
    RETURN_IF_ERROR(WriteCalls(Field(module, "module_call_graph"), Field(module, "call_spec")));
    out_.EndObject();
    return absl::OkStatus();
  }

  // Writes the calls, that of the whole program first. torch 2.1 has it in a field of its own.
  absl::Status WriteCalls(Json calls, Json call_spec) {
    out_.StartArray();
    bool has_whole = false;
    for (const Json call : calls.elements()) {
      if (!Field(call, "fqn").is_string() || !TextOf(Field(call, "fqn")).empty()) continue;
      if (Field(call, "signature").is_null()) continue;
      has_whole = true;
      Write("", call);
      break;
    }
    if (!has_whole) {
      out_.StartObject();
      out_.Member("fqn").String("");
      out_.Member("signature");
      const Json in_spec = Field(call_spec, "in_spec"), out_spec = Field(call_spec, "out_spec");
      if (in_spec.is_string() && out_spec.is_string()) {
        ASSIGN_OR_RETURN(const std::string whole, InSpec(*in_spec.String()));
        out_.StartObject();
        for (const absl::string_view list : {"inputs", "outputs"}) {
          out_.Member(list).StartArray();
          out_.EndArray();
        }
        out_.Member("in_spec").String(whole);
        out_.Member("out_spec").Copy(out_spec);
        out_.EndObject();
      } else {
        out_.Null();
      }
      out_.EndObject();
    }
    for (const Json call : calls.elements()) {
      if (!TextOf(Field(call, "fqn")).empty()) Write("", call);
    }
    out_.EndArray();
    return absl::OkStatus();
  }

  // torch 2.1 describes positional arguments alone unless the program takes some by name.
  static absl::StatusOr<std::string> InSpec(absl::string_view text) {
    ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(std::string(text)));
    if (!IsArray(document.root()) || document.root().size() != 2)
      return absl::InvalidArgumentError("call_spec: expected a version and a tree");
    const Json tree = *++document.root().elements().begin();
    std::vector<absl::string_view> types;
    for (const Json child : Field(tree, "children_spec").elements())
      types.push_back(TextOf(Field(child, "type")));
    if (types.size() == 2 && types[0] == "builtins.tuple" && types[1] == "builtins.dict")
      return std::string(text);
    JsonWriter spec;
    spec.StartArray();
    spec.Int(1);
    spec.StartObject();
    spec.Member("type").String("builtins.tuple");
    spec.Member("context").String("null");
    spec.Member("children_spec").StartArray();
    spec.Copy(tree);
    spec.Raw(R"({"type": "builtins.dict", "context": "[]", "children_spec": []})");
    spec.EndArray();
    spec.EndObject();
    spec.EndArray();
    return std::string(spec.text());
  }

  // Writes the signature of torch 2.1, which maps the names of inputs and outputs.
  absl::Status WriteSignature(Json graph, Json signature) {
    absl::flat_hash_map<absl::string_view, Json> parameters, buffers;
    std::vector<Json> written;
    const auto read = [&](absl::string_view field,
                          absl::flat_hash_map<absl::string_view, Json>* names) -> absl::Status {
      const Json table = Field(signature, field);
      if (!IsObject(table)) {
        return absl::InvalidArgumentError(absl::StrCat("signature: ", field, ": no object"));
      }
      return table.ForEachMember([&](absl::string_view name, Json attribute) {
        if (names == nullptr) {
          written.push_back(attribute);
        } else {
          names->try_emplace(name, attribute);
        }
        return absl::OkStatus();
      });
    };
    RETURN_IF_ERROR(read("inputs_to_parameters", &parameters));
    RETURN_IF_ERROR(read("inputs_to_buffers", &buffers));
    // The outputs of the graph begin with the new values of buffers.
    RETURN_IF_ERROR(read("buffers_to_mutate", nullptr));
    out_.StartObject();
    out_.Member("input_specs").StartArray();
    for (const absl::string_view name : ConstantsOf(graph)) {
      out_.StartObject();
      out_.Member("tensor_constant").StartObject();
      out_.Member("arg").StartObject();
      out_.Member("name").String(name);
      out_.EndObject();
      out_.Member("tensor_constant_name").String(name);
      out_.EndObject();
      out_.EndObject();
    }
    for (const Json input : Field(graph, "inputs").elements()) {
      const absl::string_view name = NameOf(input);
      const auto parameter = parameters.find(name);
      const auto buffer = buffers.find(name);
      if (parameter != parameters.end()) {
        WriteSpec("parameter", name, "parameter_name", parameter->second);
      } else if (buffer != buffers.end()) {
        WriteSpec("buffer", name, "buffer_name", buffer->second);
      } else {
        WriteUserSpec("user_input", input);
      }
    }
    out_.EndArray();
    out_.Member("output_specs").StartArray();
    size_t i = 0;
    for (const Json output : Field(graph, "outputs").elements()) {
      if (i < written.size()) {
        WriteSpec("buffer_mutation", NameOf(output), "buffer_name", written[i]);
      } else {
        WriteUserSpec("user_output", output);
      }
      ++i;
    }
    out_.EndArray();
    out_.EndObject();
    return absl::OkStatus();
  }

  // The name of a tensor; empty for another argument.
  static absl::string_view NameOf(Json argument) {
    return TextOf(Field(Field(argument, "as_tensor"), "name"));
  }

  void WriteSpec(absl::string_view kind, absl::string_view value, absl::string_view field,
                 Json attribute) {
    out_.StartObject();
    out_.Member(kind).StartObject();
    out_.Member("arg").StartObject();
    out_.Member("name").String(value);
    out_.EndObject();
    out_.Member(field).Copy(attribute);
    if (kind == "buffer") out_.Member("persistent").Bool(true);
    out_.EndObject();
    out_.EndObject();
  }

  void WriteUserSpec(absl::string_view kind, Json argument) {
    out_.StartObject();
    out_.Member(kind).StartObject();
    out_.Member("arg");
    Write("arg", argument);
    out_.EndObject();
    out_.EndObject();
  }

  void WriteUnion(const JsonUnion& value) {
    out_.StartObject();
    if (value.kind.empty() || value.kind == "as_none") {
      out_.Member("as_none").Bool(true);
    } else {
      Write(value.kind, value.value, /*write_name=*/true);
    }
    out_.EndObject();
  }

  // Writes the value of a field in our form. Recursion ends as the document's nesting does.
  void Write(absl::string_view name, Json value, bool write_name = false) {
    if (write_name) out_.Member(name);
    if (name == "nn_module_stack" && value.is_string()) {
      return out_.String(ModuleStack(*value.String()));
    }
    if (name == "storage_offset" && !value.is_null() && value.kind() == Json::Kind::kInt) {
      return WriteTagged("as_int", value);
    }
    if (name == "hint" && !value.is_null()) {
      if (value.kind() == Json::Kind::kInt) return WriteTagged("as_int", value);
      if (value.kind() == Json::Kind::kBool) return WriteTagged("as_bool", value);
      if (value.kind() == Json::Kind::kDouble) return WriteTagged("as_float", value);
    }
    if (IsArray(value)) {
      const bool has_specs = name == "input_specs" || name == "output_specs";
      out_.StartArray();
      for (const Json element : value.elements()) {
        if (has_specs && IsObject(element) && element.size() > 2) {
          WriteUnion(TheOneOf(element));
        } else {
          Write("", element);
        }
      }
      return out_.EndArray();
    }
    if (!IsObject(value)) return out_.Copy(value);
    if (IsWholeUnion(value)) return WriteUnion(TheOneOf(value));
    if (Field(value, "tensor_values").is_there()) {  // A graph, whose tensors its nodes name.
      Json outer = std::exchange(tensors_, Field(value, "tensor_values"));
      WriteMembers(name, value);
      tensors_ = outer;
    } else {
      WriteMembers(name, value);
    }
  }

  // The names of the tensors that a graph of torch 2.1 holds itself, such as those of
  // torch.tensor([1., 2.]). Later they are inputs.
  static std::vector<absl::string_view> ConstantsOf(Json graph) {
    std::vector<absl::string_view> names;
    if (Field(graph, "tensor_values").is_there() && IsObject(Field(graph, "constants"))) {
      Field(graph, "constants")
          .ForEachMember([&](absl::string_view name, Json) {
            names.push_back(name);
            return absl::OkStatus();
          })
          .IgnoreError();
    }
    return names;
  }

  // Writes a list of inputs or a table of tensors with the constants of the graph before.
  void WriteWithConstants(absl::string_view field, Json graph, Json member) {
    const std::vector<absl::string_view> names = ConstantsOf(graph);
    out_.Member(field);
    if (field == "inputs") {
      out_.StartArray();
      for (const absl::string_view name : names) {
        out_.StartObject();
        out_.Member("as_tensor").StartObject();
        out_.Member("name").String(name);
        out_.EndObject();
        out_.EndObject();
      }
      for (const Json input : member.elements()) Write("", input);
      return out_.EndArray();
    }
    // The table does not describe them, but what the first call makes of each: a copy.
    absl::flat_hash_map<absl::string_view, absl::string_view> copies;
    for (const Json node : Field(graph, "nodes").elements()) {
      const Json outputs = Field(node, "outputs");
      if (!IsArray(outputs) || outputs.size() != 1) continue;
      for (const Json input : Field(node, "inputs").elements()) {
        copies.try_emplace(NameOf(Field(input, "arg")), NameOf(*outputs.elements().begin()));
      }
    }
    out_.StartObject();
    for (const absl::string_view name : names) {
      const auto copy = copies.find(name);
      if (copy == copies.end() || Field(member, name).is_there()) continue;
      const Json tensor = Field(member, copy->second);
      const Json meta = Field(tensor, "meta");
      out_.Member(name);
      Write("", meta.is_there() ? meta : tensor);
    }
    member
        .ForEachMember([&](absl::string_view name, Json tensor) {
          const Json meta = Field(tensor, "meta");
          out_.Member(name);
          Write("", IsObject(meta) && tensor.size() == 2 ? meta : tensor);
          return absl::OkStatus();
        })
        .IgnoreError();
    out_.EndObject();
  }

  void WriteMembers(absl::string_view name, Json value) {
    const bool has_constants = !ConstantsOf(value).empty();
    const bool is_flash = TextOf(Field(value, "target")) == kFlash && IsOnCpu(value);
    out_.StartObject();
    value
        .ForEachMember([&](absl::string_view field, Json member) {
          // torch 2.1 wraps the description of a tensor.
          if (name == "tensor_values" && IsObject(member) && member.size() == 2 &&
              IsObject(Field(member, "meta"))) {
            member = Field(member, "meta");
          }
          if (has_constants && field == "constants") {
          } else if (has_constants && ((field == "inputs" && IsArray(member)) ||
                                       (field == "tensor_values" && IsObject(member)))) {
            WriteWithConstants(field, value, member);
          } else if (is_flash && field == "target") {
            out_.Member(field).String(kFlashOnCpu);
          } else if (is_flash && field == "outputs" && IsArray(member)) {
            out_.Member(field);
            WriteFirst(member, 2);
          } else if (is_flash && field == "inputs" && IsArray(member)) {
            out_.Member(field);
            WriteWithout(member, "return_debug_mask");
          } else {
            Write(field, member, /*write_name=*/true);
          }
          return absl::OkStatus();
        })
        .IgnoreError();
    // Up to torch 2.2 all buffers are persistent.
    if (name == "buffer" && Field(value, "buffer_name").is_there() &&
        !Field(value, "persistent").is_there()) {
      out_.Member("persistent").Bool(true);
    }
    out_.EndObject();
  }

  void WriteTagged(absl::string_view kind, Json value) {
    out_.StartObject();
    out_.Member(kind).Copy(value);
    out_.EndObject();
  }

  void WriteFirst(Json list, size_t count) {
    out_.StartArray();
    for (const Json element : list.elements()) {
      if (count == 0) break;
      --count;
      Write("", element);
    }
    out_.EndArray();
  }

  void WriteWithout(Json inputs, absl::string_view name) {
    out_.StartArray();
    for (const Json input : inputs.elements()) {
      if (TextOf(Field(input, "name")) != name) Write("", input);
    }
    out_.EndArray();
  }

  // Returns whether the first input of a call is a tensor on the CPU.
  bool IsOnCpu(Json call) {
    for (const Json input : Field(call, "inputs").elements()) {
      const Json tensor = Field(tensors_, NameOf(Field(input, "arg")));
      const Json meta = Field(tensor, "meta");
      const Json device = Field(meta.is_there() ? meta : tensor, "device");
      return TextOf(Field(device, "type")) == "cpu";
    }
    return false;
  }

  JsonWriter out_;
  Json tensors_;  // descriptions of the tensors of the graph that is being written
};

}  // namespace

absl::StatusOr<std::optional<std::string>> UpgradeProgram(Json program) {
  const Json version = Field(program, "schema_version");
  if (version.is_null()) return std::nullopt;
  Json number = version;
  if (IsObject(version)) number = Field(version, "major");
  if (number.is_null() || number.kind() != Json::Kind::kInt) return std::nullopt;
  const int64_t major = *number.Int();
  if (major < 1 || major >= kPt2OldSchemaMajor) return std::nullopt;
  ASSIGN_OR_RETURN(std::string upgraded, Upgrade().Run(program));
  return upgraded;
}

}  // namespace graphnet::pt2

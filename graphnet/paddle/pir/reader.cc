#include "graphnet/paddle/pir/reader.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/paddle/pir/attribute_reader.h"
#include "graphnet/paddle/pir/builder.h"
#include "graphnet/paddle/pir/call_text.h"
#include "graphnet/paddle/pir/operators.h"
#include "graphnet/paddle/pir/scanner.h"
#include "graphnet/paddle/pir/type_reader.h"

namespace graphnet::pir {
namespace {

constexpr absl::string_view kParameter = "torch.nn.parameter.Parameter";

// A block: its graph, the nodes of its names, and the values that it uses from enclosing blocks.
struct Block {
  Graph* graph = nullptr;
  Block* around = nullptr;
  absl::flat_hash_map<absl::string_view, std::pair<Node*, size_t>> values;
  absl::flat_hash_map<Node*, Node*> captured;  // by the outer value
  std::vector<Argument> captures;              // outer values, in order
  Node* first_operation = nullptr;
  std::vector<Argument> outputs;
  bool is_closed = false;  // true if it has its cf.yield
};

// One operation as it stands in the text.
struct Operation {
  const char* where = nullptr;
  std::vector<std::pair<absl::string_view, const char*>> results;
  std::string name;
  std::vector<Argument> operands;
  std::vector<NamedAttribute> attributes;  // sorted by name
  std::vector<Type> types;
  std::vector<std::vector<Dim>> shapes;  // symbolic shape of each tensor

  const Argument* Find(absl::string_view attribute) const {
    const auto it =
        absl::c_find_if(attributes, [&](const NamedAttribute& a) { return a.name == attribute; });
    return it == attributes.end() ? nullptr : &it->value;
  }
  std::string Text(absl::string_view attribute) const {
    const Argument* value = Find(attribute);
    return value != nullptr && value->is_string() ? std::string(value->string()) : "";
  }
};

class PirReader {
 public:
  PirReader(absl::string_view text, absl::string_view file_name)
      : in_(text, file_name),
        module_(std::make_unique<Module>()),
        types_(&in_, module_.get()),
        attributes_(&in_, module_.get()) {}

  absl::StatusOr<std::unique_ptr<Module>> Read(absl::string_view file_name) {
    Block main;
    main.graph = module_->AddGraph("forward");
    if (!ReadProgram(&main)) return in_.status();
    NameNodes(module_.get());
    RETURN_IF_ERROR(Annotate(Verify(*module_), Printable(file_name, 1000)));
    return std::move(module_);
  }

 private:
  bool ReadProgram(Block* main) {
    if (!in_.Expect("{")) return false;
    while (!in_.Take("}")) {
      if (!ReadOperation(main, 1)) return false;
    }
    main->graph->Output(Argument::Tuple(main->outputs));
    return in_.AtEnd() || in_.FailExpected("the end");
  }

  // Returns the node of a value. A value of an enclosing block is captured.
  Node* Find(Block* block, absl::string_view name) {
    if (const auto it = block->values.find(name); it != block->values.end()) {
      return results_.Result(it->second.first, it->second.second);
    }
    Node* outer = block->around == nullptr ? nullptr : Find(block->around, name);
    if (outer == nullptr) return nullptr;
    Node*& inner = block->captured[outer];
    if (inner == nullptr) {
      inner = AddParameter(block, absl::StrCat("captured_", block->captures.size()));
      inner->set_meta(outer->meta());
      inner->set_annotation(outer->annotation() == kParameter ? "" : outer->annotation());
      block->captures.emplace_back(outer);
    }
    return inner;
  }

  static Node* AddParameter(Block* block, absl::string_view target) {
    const InsertionGuard guard(block->graph, block->first_operation);
    return block->graph->Placeholder(target);
  }

  bool ReadOperation(Block* block, int depth) {
    if (block->is_closed) return in_.Fail("nothing may come after cf.yield");
    Operation op;
    op.where = in_.at();
    if (!ReadResults(&op) || !in_.Expect("=") || !in_.ReadString(&op.name)) return false;
    if (op.name.empty()) return in_.Fail(op.where, "the operation has no name");
    if (in_.Take("[id:")) {
      int64_t id = 0;
      if (!in_.ReadInt(&id) || !in_.Expect("]")) return false;
    }
    if (!ReadOperands(block, &op)) return false;
    // pd_op.while has no attributes; its region follows at once.
    const bool is_bare = op.name == "pd_op.while" && in_.Peek("{") && !HasAttributes();
    if (!is_bare && in_.Peek("{") && !ReadAttributes(&op)) return false;
    if (is_bare) {
      for (size_t i = 1; i < op.operands.size(); ++i) {
        op.types.push_back(op.operands[i].is_node() ? TypeOf(*op.operands[i].node()) : Type());
      }
    } else {
      if (in_.Take(":") && !(in_.Expect("(") && ReadTypes(nullptr) && in_.Expect(")"))) {
        return false;
      }
      if (!in_.Expect("->") || !ReadTypes(&op.types)) return false;
    }
    if (op.types.size() != op.results.size()) {
      return in_.Fail(op.where, absl::StrCat("the operation has ", op.results.size(),
                                             " results and ", op.types.size(), " types"));
    }
    std::vector<Argument> regions;
    // The shapes come behind the regions, but some passes print them in front.
    if (!ReadShapes(&op) || !ReadRegions(block, &op, depth, &regions) || !ReadShapes(&op)) {
      return false;
    }
    if (absl::c_all_of(op.shapes, [](const auto& sizes) { return sizes.empty(); })) {
      op.shapes.clear();
      const std::string text = op.Text("sym_shape_str");
      if (!types_.ParseSymbolicShapes(text, op.where, &op.shapes)) return false;
    }
    types_.NameSizes(op.shapes, absl::MakeSpan(op.types));
    return Make(block, &op, regions);
  }

  // `{` of attributes is followed by a name and a colon, or closes at once.
  bool HasAttributes() {
    absl::string_view rest = in_.rest();
    rest.remove_prefix(1);
    rest = absl::StripLeadingAsciiWhitespace(rest);
    return absl::StartsWith(rest, "}") ||
           (!rest.empty() && absl::ascii_isalpha(static_cast<unsigned char>(rest[0])));
  }

  bool ReadResults(Operation* op) {
    if (!in_.Expect("(")) return false;
    while (!in_.Take(")")) {
      if (!op->results.empty() && !in_.Expect(",")) return false;
      const char* where = in_.at();
      absl::string_view name;
      if (in_.Take("<<NULL VALUE>>")) {
        op->results.emplace_back("", where);
        continue;
      }
      if (!in_.ReadValue(&name)) return false;
      op->results.emplace_back(name, where);
    }
    return true;
  }

  bool ReadOperands(Block* block, Operation* op) {
    if (!in_.Expect("(")) return false;
    while (!in_.Take(")")) {
      if (!op->operands.empty() && !in_.Expect(",")) return false;
      if (in_.Take("<<NULL VALUE>>")) {
        op->operands.emplace_back();
        continue;
      }
      if (op->name == "pd_op.while") {
        if (!in_.Take("cond=")) in_.Take("inputs=");
        if (in_.Take(")")) break;
      }
      const char* where = in_.at();
      absl::string_view name;
      if (!in_.ReadValue(&name)) return false;
      Node* node = Find(block, name);
      if (node == nullptr) {
        return in_.Fail(where, absl::StrCat("no operation before has the result ", name));
      }
      op->operands.emplace_back(node);
    }
    return true;
  }

  bool ReadAttributes(Operation* op) {
    if (!in_.Expect("{")) return false;
    while (!in_.Take("}")) {
      if (!op->attributes.empty() && !in_.Expect(",")) return false;
      const absl::string_view name = in_.TakeWord();
      if (name.empty()) return in_.FailExpected("the name of an attribute");
      NamedAttribute attribute{name, {}};
      if (!in_.Expect(":") || !attributes_.Read(AttributeType(op->name, name), &attribute.value)) {
        return false;
      }
      op->attributes.push_back(attribute);
    }
    absl::c_stable_sort(op->attributes, [](const NamedAttribute& a, const NamedAttribute& b) {
      return a.name < b.name;
    });
    const auto twice = absl::c_adjacent_find(
        op->attributes,
        [](const NamedAttribute& a, const NamedAttribute& b) { return a.name == b.name; });
    if (twice == op->attributes.end()) return true;
    const absl::string_view second = std::next(twice)->name;  // It points into the text.
    return in_.Fail(second.data(), absl::StrCat("the attribute ", second, " is a duplicate"));
  }

  // Reads types. If `types` is null, it only skips them.
  bool ReadTypes(std::vector<Type>* types) {
    bool is_first = true;
    while (is_first || in_.Take(",")) {
      if (is_first && !TypeReader::StartsType(in_)) return true;
      is_first = false;
      Type type;
      if (!types_.Read(&type, /*keep=*/types != nullptr)) return false;
      if (types != nullptr) types->push_back(type);
    }
    return true;
  }

  // Reads the symbolic shapes and the id at the end of an operation, if they are there.
  bool ReadShapes(Operation* op) {
    if (IsShapeNext()) {
      in_.Take("{");
      if (!types_.ReadSymbolicShapes("}", &op->shapes)) return false;
    }
    if (in_.Take("(op_")) {
      int64_t id = 0;
      if (!in_.ReadInt(&id) || !in_.Expect(")")) return false;
    }
    return true;
  }

  // Returns whether the next bracket opens shapes, `{ (shape[2]), () }` or `{  }` with an id behind
  // it, and not a region.
  bool IsShapeNext() {
    absl::string_view rest = in_.rest();
    const auto take = [&](absl::string_view token) {
      rest = absl::StripLeadingAsciiWhitespace(rest);
      return absl::ConsumePrefix(&rest, token);
    };
    if (!take("{")) return false;
    if (take("}")) return take("(op_");
    if (!take("(")) return false;
    return take("shape[") || take("NULL") || (take(")") && (take(",") || take("}")));
  }

  static Type TypeOf(const Node& node) {
    return {node.meta(), std::string(node.annotation() == kParameter ? "" : node.annotation())};
  }

  bool Make(Block* block, Operation* op, absl::Span<const Argument> regions) {
    if (op->name == "builtin.shadow_output" || op->name == "builtin.set_parameter" ||
        op->name == "pd_op.fetch") {
      if (regions.empty() && block->around == nullptr && op->operands.size() == 1 &&
          op->results.empty()) {
        if (!op->operands[0].is_node()) return in_.Fail(op->where, "the output is not a value");
        block->outputs.push_back(op->operands[0]);
        return true;
      }
    }
    if (op->name == "cf.yield" && block->around != nullptr) {
      if (!regions.empty()) return in_.Fail(op->where, "cf.yield has no regions");
      return MakeYield(block, op);
    }
    if (block->around == nullptr && op->results.size() == 1 && op->operands.empty() &&
        regions.empty()) {
      if (op->name == "pd_op.data") return MakeInput(block, op, op->Text("name"), "");
      if (op->name == "builtin.parameter") {
        return MakeInput(block, op, op->Text("parameter_name"), kParameter);
      }
    }
    Node* node = nullptr;
    if (const Argument* call = op->Find("call"); call != nullptr && call->is_string()) {
      if (!MakeCall(block, *op, regions, &node)) return false;
    } else {
      std::vector<Argument> args = op->operands;
      args.insert(args.end(), regions.begin(), regions.end());
      std::vector<KwArg> kwargs;
      for (const NamedAttribute& attribute : op->attributes) {
        if (attribute.name == "stop_gradient" || attribute.name == "sym_shape_str") continue;
        kwargs.push_back({attribute.name, attribute.value});
      }
      node = block->graph->CallFunction(op->name, args, kwargs);
    }
    SetTypes(op->types, node);
    if (block->first_operation == nullptr) block->first_operation = node;
    return Define(block, *op, node);
  }

  bool Define(Block* block, const Operation& op, Node* node) {
    for (size_t i = 0; i < op.results.size(); ++i) {
      const auto& [name, where] = op.results[i];
      if (name.empty()) continue;
      if (!block->values.try_emplace(name, node, i).second) {
        return in_.Fail(where, absl::StrCat("value ", name, " already exists"));
      }
    }
    return true;
  }

  void SetTypes(absl::Span<const Type> types, Node* node) {
    if (types.size() == 1) {
      node->set_meta(types[0].meta);
      node->set_annotation(types[0].annotation);
      return;
    }
    std::vector<const ValueMeta*> metas;
    metas.reserve(types.size());
    for (const Type& type : types) {
      metas.push_back(type.meta != nullptr ? type.meta : module_->InternValueMeta(TensorMeta()));
    }
    node->set_meta(module_->InternTupleMeta(metas));
  }

  bool MakeInput(Block* block, Operation* op, const std::string& name,
                 absl::string_view annotation) {
    if (name.empty()) return in_.Fail(op->where, "the input has no name");
    if (!inputs_.insert(name).second) {
      return in_.Fail(op->where, absl::StrCat("input ", name, " already exists"));
    }
    Node* node = AddParameter(block, name);
    node->set_annotation(annotation);
    const ValueMeta* meta = op->types[0].meta;
    if (meta != nullptr && meta->tensor != nullptr) {
      TensorMeta tensor = *meta->tensor;
      const std::string place = op->Text("place");
      if (const std::optional<Device> device = DeviceOf(place)) {
        tensor.has_device = true;
        tensor.device = *device;
      }
      meta = module_->InternValueMeta(tensor);
    }
    node->set_meta(meta);
    return Define(block, *op, node);
  }

  // Returns the device of a place such as "Place(gpu:0)"; nullopt for an undefined place.
  static std::optional<Device> DeviceOf(absl::string_view place) {
    if (!absl::ConsumePrefix(&place, "Place(") || !absl::ConsumeSuffix(&place, ")")) {
      return std::nullopt;
    }
    if (absl::StartsWith(place, "gpu")) return ParseDevice(absl::StrCat("cuda", place.substr(3)));
    return ParseDevice(place);
  }

  bool MakeCall(Block* block, const Operation& op, absl::Span<const Argument> regions,
                Node** node) {
    std::vector<Node*> operands;
    for (const Argument& operand : op.operands) {
      if (!operand.is_node()) return in_.Fail(op.where, "an operand of a call has no value");
      operands.push_back(operand.node());
    }
    std::vector<Graph*> bodies;
    for (const Argument& region : regions) {
      if (region.elements().size() > 1) {
        return in_.Fail(op.where, "a region of a call uses values from outside");
      }
      bodies.push_back(region.elements()[0].graph());
    }
    absl::StatusOr<Node*> made =
        ParseCall(op.Find("call")->string(), operands, bodies, block->graph);
    if (!made.ok()) return in_.Fail(op.where, made.status().message());
    *node = *made;
    return true;
  }

  bool MakeYield(Block* block, Operation* op) {
    if (!op->results.empty()) return in_.Fail(op->where, "cf.yield has no results");
    if (op->Find("call") != nullptr) {
      Node* node = nullptr;
      if (!MakeCall(block, *op, {}, &node)) return false;
    } else {
      if (!absl::c_all_of(op->operands, [](const Argument& a) { return a.is_node(); })) {
        return in_.Fail(op->where, "cf.yield takes values");
      }
      block->graph->Output(Argument::Tuple(op->operands));
    }
    block->is_closed = true;
    return true;
  }

  bool ReadRegions(Block* block, Operation* op, int depth, std::vector<Argument>* regions) {
    if (!in_.Peek("{")) return true;
    if (depth >= kMaxNesting - 2) return in_.Fail("regions nest too deep");
    do {
      Block inner;
      inner.around = block;
      inner.graph = module_->AddGraph("region");
      if (!in_.Expect("{")) return false;
      if (in_.Take("^") && !ReadBlockArguments(&inner, *op)) return false;
      while (!in_.Take("}")) {
        if (!ReadOperation(&inner, depth + 1)) return false;
      }
      if (!inner.is_closed) inner.graph->Output(Argument::Tuple({}));
      inner.captures.insert(inner.captures.begin(), Argument(inner.graph));
      regions->push_back(module_->CopyArgument(Argument::Tuple(inner.captures)));
    } while (in_.Take("else"));
    return true;
  }

  bool ReadBlockArguments(Block* block, const Operation& op) {
    size_t i = 0;
    do {
      const char* where = in_.at();
      absl::string_view name;
      if (!in_.ReadValue(&name)) return false;
      Node* node = AddParameter(block, absl::StrCat("arg_", i));
      // The results of a loop have the types of its operands.
      if (op.name == "pd_op.while" && i + 1 < op.operands.size() && op.operands[i + 1].is_node()) {
        const Type type = TypeOf(*op.operands[i + 1].node());
        SetTypes(absl::MakeConstSpan(&type, 1), node);
      }
      ++i;
      if (in_.Take("{")) {
        while (!in_.Take("}")) {
          if (in_.Take("type:(Type)")) {
            Type type;
            if (!types_.Read(&type, /*keep=*/true)) return false;
            types_.NameSizes({}, absl::MakeSpan(&type, 1));
            SetTypes(absl::MakeConstSpan(&type, 1), node);
          } else {
            Argument ignored;
            if (in_.TakeWord().empty() || !in_.Expect(":") || !attributes_.Read("", &ignored)) {
              return in_.FailExpected("an attribute");
            }
          }
          in_.Take(",");
        }
      }
      if (!block->values.try_emplace(name, node, 0).second) {
        return in_.Fail(where, absl::StrCat("value ", name, " already exists"));
      }
    } while (in_.Take(","));
    return true;
  }

  Scanner in_;
  std::unique_ptr<Module> module_;
  TypeReader types_;
  AttributeReader attributes_;
  ResultTable results_;
  absl::flat_hash_set<std::string> inputs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> ReadPir(absl::string_view text,
                                                absl::string_view file_name) {
  return PirReader(text, file_name).Read(file_name);
}

bool LooksLikePir(absl::string_view bytes) {
  bytes = absl::StripLeadingAsciiWhitespace(bytes);
  if (!absl::ConsumePrefix(&bytes, "{")) return false;
  bytes = absl::StripLeadingAsciiWhitespace(bytes);
  if (absl::StartsWith(bytes, "//")) {
    bytes =
        absl::StripLeadingAsciiWhitespace(bytes.substr(std::min(bytes.find('\n'), bytes.size())));
  }
  return absl::StartsWith(bytes, "(%") || absl::StartsWith(bytes, "() =");
}

}  // namespace graphnet::pir

// OpenVINO: our decoder gives its PyTorch front end the model.json of a .pt2 (schema of
// torch.export), and its CPU plugin runs the program. Needs only the headers and libraries of the
// wheel.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "openvino/frontend/pytorch/decoder.hpp"
#include "openvino/frontend/pytorch/frontend.hpp"
#include "openvino/openvino.hpp"
#include "openvino_arguments.h"
#include "worker.h"

namespace {

using ov::frontend::pytorch::TorchDecoder;
using worker::Failure;
using worker::Json;
using worker::Tensor;
namespace type = ov::frontend::type;

struct DType {
  const char* name;  // in .safetensors files
  int64_t exported;  // in the schema of torch.export
  int64_t torch;     // in PyTorch itself
  ov::element::Type_t element;
};
constexpr DType kDTypes[] = {
    {"U8", 1, 0, ov::element::Type_t::u8},          {"I8", 2, 1, ov::element::Type_t::i8},
    {"I16", 3, 2, ov::element::Type_t::i16},        {"I32", 4, 3, ov::element::Type_t::i32},
    {"I64", 5, 4, ov::element::Type_t::i64},        {"F16", 6, 5, ov::element::Type_t::f16},
    {"F32", 7, 6, ov::element::Type_t::f32},        {"F64", 8, 7, ov::element::Type_t::f64},
    {"BOOL", 12, 11, ov::element::Type_t::boolean}, {"BF16", 13, 15, ov::element::Type_t::bf16}};

const DType& DTypeOf(const std::function<bool(const DType&)>& is_it) {
  for (const DType& dtype : kDTypes) {
    if (is_it(dtype)) return dtype;
  }
  throw Failure("compile", "OpenVINO does not support the dtype");
}
const DType& ExportedDType(int64_t number) {
  return DTypeOf([&](const DType& dtype) { return dtype.exported == number; });
}

std::shared_ptr<ov::op::v0::Constant> ConstantOf(const Tensor& tensor) {
  const DType& dtype = DTypeOf([&](const DType& d) { return d.name == tensor.dtype; });
  return std::make_shared<ov::op::v0::Constant>(
      dtype.element, ov::Shape(tensor.shape.begin(), tensor.shape.end()), tensor.data());
}

// A value. The node that produces it has its id among its outputs. Ids begin at 1.
struct Value {
  std::string name;
  ov::PartialShape shape = ov::PartialShape::dynamic();
  ov::Any type;
  bool is_none = false;
};

// A node of the graph in TorchScript's form.
struct Node {
  std::string op;  // "aten::conv2d"
  std::string name;
  std::vector<size_t> inputs, outputs;
  std::shared_ptr<ov::op::v0::Constant> constant;
  std::string text;
};

struct Program {
  std::vector<Value> values = {{}};
  std::vector<Node> nodes;
  std::vector<size_t> inputs, outputs;
};

// The decoder of the graph or of one of its nodes.
class Decoder : public TorchDecoder {
 public:
  explicit Decoder(std::shared_ptr<const Program> program, const Node* node = nullptr)
      : program_(std::move(program)), node_(node) {}

  const std::vector<size_t>& inputs() const override {
    return node_ == nullptr ? program_->inputs : node_->inputs;
  }
  const std::vector<size_t>& outputs() const override {
    return node_ == nullptr ? program_->outputs : node_->outputs;
  }
  const std::string& get_input_debug_name(size_t i) const override { return In(i).name; }
  const std::string& get_input_signature_name(size_t i) const override { return In(i).name; }
  ov::PartialShape get_input_shape(size_t i) const override { return In(i).shape; }
  ov::Any get_input_type(size_t i) const override { return In(i).type; }
  const std::vector<size_t>& get_input_strides(size_t) const override { return no_sizes_; }
  const std::string& get_output_debug_name(size_t i) const override { return Out(i).name; }
  ov::PartialShape get_output_shape(size_t i) const override { return Out(i).shape; }
  ov::Any get_output_type(size_t i) const override { return Out(i).type; }
  bool input_is_none(size_t i) const override { return i >= inputs().size() || In(i).is_none; }
  size_t num_of_outputs() const override { return outputs().size(); }
  size_t output(size_t i) const override { return outputs().at(i); }
  size_t output_list_size() const override { return 0; }

  ov::OutputVector as_constant() const override {
    return node_->constant == nullptr ? ov::OutputVector{} : ov::OutputVector{node_->constant};
  }
  const std::string& as_string() const override { return node_->text; }
  const std::string& get_op_type() const override { return node_ == nullptr ? none_ : node_->op; }
  const std::string& get_schema() const override { return none_; }
  std::shared_ptr<ov::Node> mark_node(std::shared_ptr<ov::Node> made) const override {
    if (node_ != nullptr) made->set_friendly_name(node_->name);
    return made;
  }

  size_t get_subgraph_size() const override { return node_ == nullptr ? 1 : 0; }
  void visit_subgraph(std::function<void(std::shared_ptr<TorchDecoder>)> visit) const override {
    if (node_ != nullptr) return;
    for (const Node& node : program_->nodes) visit(std::make_shared<Decoder>(program_, &node));
  }
  std::shared_ptr<TorchDecoder> get_subgraph_decoder(size_t) const override {
    return std::make_shared<Decoder>(program_);
  }

  ov::Any const_input(size_t) const override { return {}; }
  ov::OutputVector try_decode_get_attr() const override { return {}; }
  bool may_produce_alias(size_t, size_t) const override { return false; }
  bool is_input_inlined(size_t) const override { return false; }
  std::shared_ptr<TorchDecoder> get_inlined_input_decoder(size_t) const override { return nullptr; }
  ov::Any get_attribute(const std::string&) const override { return {}; }
  size_t get_named_input(const std::string& name) const override {
    throw std::runtime_error("unknown input " + name);
  }
  const std::string& decoder_type_name() const override { return kind_; }
  ov::frontend::pytorch::DecoderRTInfo get_rt_info() const override { return {}; }
  bool has_converter() const override { return false; }
  ov::OutputVector convert(const ov::frontend::NodeContext*) const override { return {}; }

 private:
  const Value& In(size_t i) const { return program_->values.at(inputs().at(i)); }
  const Value& Out(size_t i) const { return program_->values.at(outputs().at(i)); }

  const std::shared_ptr<const Program> program_;
  const Node* const node_;
  const std::vector<size_t> no_sizes_;
  const std::string none_ = "NONE", kind_ = "ts";
};

class Reader {
 public:
  Reader(const Json& model, std::map<std::string, Tensor> weights)
      : graph_(model.at("graph_module").at("graph")),
        signature_(model.at("graph_module").at("signature")),
        weights_(std::move(weights)),
        program_(std::make_shared<Program>()) {}

  std::shared_ptr<const Program> Read() {
    for (const Json& spec : signature_.at("input_specs")) AddInput(spec);
    for (const Json& node : graph_.at("nodes")) AddNode(node);
    for (const Json& spec : signature_.at("output_specs")) AddOutput(spec);
    return program_;
  }

  // Returns the number of calls in the graph.
  size_t calls() const { return calls_; }

 private:
  size_t AddValue(Value value) {
    program_->values.push_back(std::move(value));
    return program_->values.size() - 1;
  }

  Value Described(const std::string& name) const {
    Value value;
    value.name = name;
    const auto it = graph_.at("tensor_values").find(name);
    if (it == graph_.at("tensor_values").end()) return value;
    const DType& dtype = ExportedDType(it->at("dtype").get<int64_t>());
    value.type = type::Tensor(ov::element::Type(dtype.element));
    ov::PartialShape shape;
    for (const Json& size : it->at("sizes")) {
      shape.push_back(size.contains("as_int") ? ov::Dimension(size.at("as_int").get<int64_t>())
                                              : ov::Dimension());
    }
    value.shape = shape;
    return value;
  }

  size_t Define(const std::string& name, Value value) {
    return ids_[name] = AddValue(std::move(value));
  }
  size_t IdOf(const std::string& name) const {
    const auto it = ids_.find(name);
    if (it == ids_.end()) throw Failure("compile", "nothing makes the value " + name);
    return it->second;
  }

  size_t AddConstant(std::shared_ptr<ov::op::v0::Constant> constant, ov::Any type,
                     const std::string& text = "") {
    const size_t id = AddValue({"", ov::PartialShape::dynamic(), std::move(type)});
    program_->nodes.push_back({"prim::Constant", "", {}, {id}, std::move(constant), text});
    return id;
  }
  size_t AddNone() {
    const size_t id = AddConstant(nullptr, type::PyNone());
    program_->values[id].is_none = true;
    return id;
  }
  template <typename T>
  size_t AddNumber(ov::element::Type element, T number) {
    return AddConstant(ov::op::v0::Constant::create(element, {}, {number}),
                       type::PyScalar(element));
  }
  size_t AddFloat(const Json& number) {
    if (!number.is_string()) return AddNumber(ov::element::f32, number.get<float>());
    const std::string text = number;
    const float infinity = std::numeric_limits<float>::infinity();
    return AddNumber(ov::element::f32, text == "Infinity"    ? infinity
                                       : text == "-Infinity" ? -infinity
                                                             : std::nanf(""));
  }
  size_t AddList(std::vector<size_t> elements) {
    const size_t id = AddValue({"", ov::PartialShape::dynamic(), type::List()});
    program_->nodes.push_back({"prim::ListConstruct", "", std::move(elements), {id}});
    return id;
  }

  // Adds an argument such as "as_int": 1.
  size_t AddArgument(const std::string& kind, const Json& value) {
    if (kind == "as_none") return AddNone();
    if (kind == "as_tensor") return IdOf(value.at("name"));
    if (kind == "as_int") return AddNumber(ov::element::i64, value.get<int64_t>());
    if (kind == "as_float") return AddFloat(value);
    if (kind == "as_bool") return AddNumber(ov::element::boolean, value.get<bool>());
    if (kind == "as_string") return AddConstant(nullptr, type::Str(), value.get<std::string>());
    if (kind == "as_scalar_type") {
      return AddNumber(ov::element::i64, ExportedDType(value.get<int64_t>()).torch);
    }
    // The device and the memory layout do not matter here.
    if (kind == "as_device" || kind == "as_layout" || kind == "as_memory_format") return AddNone();
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      if (value.contains("as_name")) return IdOf(value.at("as_name"));
      const auto& [inner, number] = *value.items().begin();
      return AddArgument(inner, number);
    }
    // TorchScript represents an empty list in this way.
    if (value.is_array() && value.empty()) return AddList({});
    if (kind == "as_ints" || kind == "as_bools" || kind == "as_floats") {
      if (kind == "as_floats") {
        return AddConstant(ov::op::v0::Constant::create(ov::element::f32, {value.size()},
                                                        value.get<std::vector<float>>()),
                           type::List(ov::element::f32));
      }
      return AddConstant(ov::op::v0::Constant::create(ov::element::i64, {value.size()},
                                                      value.get<std::vector<int64_t>>()),
                         type::List(ov::element::i64));
    }
    if (kind == "as_tensors" || kind == "as_optional_tensors" || kind == "as_sym_ints") {
      std::vector<size_t> elements;
      for (const Json& element : value) {
        if (kind == "as_tensors") {
          elements.push_back(IdOf(element.at("name")));
        } else if (kind == "as_sym_ints") {
          elements.push_back(AddArgument("as_sym_int", element));
        } else {
          const auto& [inner, tensor] = *element.items().begin();
          elements.push_back(AddArgument(inner, tensor));
        }
      }
      return AddList(std::move(elements));
    }
    throw Failure("compile", "unsupported kind of argument: " + kind);
  }

  void AddInput(const Json& spec) {
    const auto& [kind, what] = *spec.items().begin();
    if (kind == "user_input") {
      const auto& [form, arg] = *what.at("arg").items().begin();
      Value value;
      if (form == "as_tensor") {
        value = Described(arg.at("name"));
      } else if (form == "as_sym_int" && arg.contains("as_name")) {
        value = {arg.at("as_name"), ov::PartialShape{}, ov::element::Type(ov::element::i64)};
      } else {
        value = {"", ov::PartialShape{}, ov::element::Type(ov::element::i64)};
      }
      if (value.name.empty()) value.name = "input" + std::to_string(program_->inputs.size());
      program_->inputs.push_back(Define(value.name, value));
      return;
    }
    std::string weight, name;
    for (const char* key : {"parameter_name", "buffer_name", "tensor_constant_name"}) {
      if (what.contains(key)) weight = what.at(key);
    }
    if (what.contains("arg")) name = what.at("arg").at("name");
    const auto it = weights_.find(weight);
    if (it == weights_.end()) throw Failure("compile", kind + " " + weight + " has no value");
    ids_[name] = AddConstant(ConstantOf(it->second), Described(name).type);
  }

  void AddOutput(const Json& spec) {
    const auto& [kind, what] = *spec.items().begin();
    if (kind != "user_output")
      throw Failure("compile", "the program writes to its inputs or weights: " + kind);
    const auto& [form, value] = *what.at("arg").items().begin();
    if (form == "as_none") return;
    size_t id = AddArgument(form, value);
    // The front end names the node of a result. It fails if that has a name already, as for a value
    // that is returned twice, or cannot have one, as for a constant.
    if (form != "as_tensor" || !program_->outputs.empty()) {
      Value made = program_->values[id];
      if (made.name.empty()) made.name = "output" + std::to_string(program_->outputs.size());
      id = AddCall("aten::type_as", {id, id}, std::move(made));
    }
    program_->outputs.push_back(id);
  }

  void AddNode(const Json& json) {
    const std::string target = json.at("target");
    static constexpr char kAten[] = "torch.ops.aten.";
    if (target.rfind(kAten, 0) != 0) throw Failure("compile", "not an operator of ATen: " + target);
    const std::string overload = target.substr(sizeof(kAten) - 1);
    const std::string name = overload.substr(0, overload.find('.'));
    // An assertion has no value.
    if (name.rfind("_assert", 0) == 0) return;
    ++calls_;
    std::vector<size_t> inputs;
    const auto known = ArgumentsOf().find(overload);
    if (known != ArgumentsOf().end()) {
      size_t filled = 0;
      for (const std::string& argument : known->second) {
        const size_t sign = argument.find('=');
        const auto given = std::find_if(
            json.at("inputs").begin(), json.at("inputs").end(),
            [&](const Json& input) { return input.at("name") == argument.substr(0, sign); });
        if (given != json.at("inputs").end()) {
          const auto& [kind, value] = *given->at("arg").items().begin();
          inputs.push_back(AddArgument(kind, value));
          filled = inputs.size();
        } else if (sign == std::string::npos) {
          inputs.push_back(AddNone());
        } else {
          const Json value = Json::parse(argument.substr(sign + 1));
          inputs.push_back(AddArgument(value.is_boolean()        ? "as_bool"
                                       : value.is_array()        ? "as_ints"
                                       : value.is_number_float() ? "as_float"
                                                                 : "as_int",
                                       value));
          filled = inputs.size();
        }
      }
      // Calls that create tensors have all arguments, others up to the last given one.
      const bool makes =
          known->second.back() == "pin_memory" || known->second.back() == "memory_format";
      const bool wants_all = makes || name == "clamp" || name == "sum" || name == "mean";
      inputs.resize(wants_all ? inputs.size() : filled);
    } else {
      for (const Json& input : json.at("inputs")) {
        const auto& [kind, value] = *input.at("arg").items().begin();
        inputs.push_back(AddArgument(kind, value));
      }
    }
    if (name == "slice_scatter" || name == "select_scatter") return AddScatter(json, name, inputs);
    // The front end would return the first argument of a copy.
    if (name == "copy") {
      const std::string made = json.at("outputs").at(0).at("as_tensor").at("name");
      const size_t wide =
          AddCall("aten::expand_as", {inputs.at(1), inputs.at(0)},
                  {"", ov::PartialShape::dynamic(), program_->values[inputs.at(1)].type});
      const size_t id = Define(made, Described(made));
      program_->nodes.push_back({"aten::type_as", made, {wide, inputs.at(0)}, {id}});
      return;
    }
    std::string op = "aten::" + name;
    if (overload == "split.sizes") op = "aten::split_with_sizes";
    if (name == "_local_scalar_dense") op = "aten::item";
    const std::string node_name =
        json.at("name").is_string() ? json.at("name").get<std::string>() : "";
    std::vector<size_t> outputs;
    const Json& made = json.at("outputs");
    const bool is_list = made.size() == 1 && made[0].contains("as_tensors");
    for (const Json& output : is_list ? made[0].at("as_tensors") : made) {
      if (is_list) {
        outputs.push_back(Define(output.at("name"), Described(output.at("name"))));
      } else if (output.contains("as_tensor")) {
        const std::string& result = output.at("as_tensor").at("name").get_ref<const std::string&>();
        outputs.push_back(Define(result, Described(result)));
      } else {
        const auto& [kind, value] = *output.items().begin();
        if (!value.is_object() || !value.contains("as_name")) {
          outputs.push_back(AddValue({}));
          continue;
        }
        const ov::element::Type element = kind == "as_sym_int"    ? ov::element::i64
                                          : kind == "as_sym_bool" ? ov::element::boolean
                                                                  : ov::element::f32;
        outputs.push_back(Define(value.at("as_name"), {value.at("as_name"), ov::PartialShape{},
                                                       type::PyScalar(element)}));
      }
    }
    if (!is_list) {
      program_->nodes.push_back({op, node_name, std::move(inputs), std::move(outputs)});
      return;
    }
    const size_t list = AddValue({"", ov::PartialShape::dynamic(), type::List()});
    program_->nodes.push_back({op, node_name, std::move(inputs), {list}});
    program_->nodes.push_back({"prim::ListUnpack", node_name, {list}, std::move(outputs)});
  }

  size_t AddCall(const std::string& op, std::vector<size_t> inputs, Value made) {
    const size_t id = AddValue(std::move(made));
    program_->nodes.push_back({op, "", std::move(inputs), {id}});
    return id;
  }

  // TorchScript has no scatter: join the part before, the source and the part after.
  void AddScatter(const Json& json, const std::string& name, const std::vector<size_t>& given) {
    const auto number = [&](const char* argument, int64_t otherwise) {
      for (const Json& input : json.at("inputs")) {
        if (input.at("name") != argument) continue;
        const Json& arg = input.at("arg");
        if (arg.contains("as_int")) return arg.at("as_int").get<int64_t>();
        if (!arg.contains("as_none"))
          throw Failure("compile", name + " with an argument that is not constant");
      }
      return otherwise;
    };
    const size_t self = given.at(0);
    size_t source = given.at(1);
    const ov::PartialShape& shape = program_->values[self].shape;
    const ov::Any type = program_->values[self].type;
    if (shape.is_dynamic()) throw Failure("compile", name + " with unknown sizes");
    const auto rank = static_cast<int64_t>(shape.size());
    int64_t dim = number("dim", 0);
    if (dim < 0) dim += rank;
    const int64_t size = shape[dim].get_length();
    const bool is_select = name == "select_scatter";
    int64_t begin = number(is_select ? "index" : "start", 0);
    if (begin < 0) begin = std::max<int64_t>(begin + size, 0);
    begin = std::min(begin, size);
    int64_t end = is_select ? begin + 1 : number("end", size);
    if (end < 0) end += size;
    end = std::max(std::min(end, size), begin);
    const int64_t step = number("step", 1);
    const auto integer = [&](int64_t value) { return AddNumber(ov::element::i64, value); };
    const auto slice = [&](int64_t from, int64_t to) {
      return AddCall("aten::slice", {self, integer(dim), integer(from), integer(to), integer(1)},
                     {"", ov::PartialShape::dynamic(), type});
    };
    const std::string made = json.at("outputs").at(0).at("as_tensor").at("name");
    // Convert the source to the dtype of the tensor that it is written to.
    const ov::PartialShape source_shape = program_->values[source].shape;
    source = AddCall("aten::type_as", {source, self}, {"", source_shape, type});
    if (step != 1) {
      if (source_shape.is_dynamic()) throw Failure("compile", name + " with unknown sizes");
      const ov::Shape sizes = source_shape.to_shape();
      std::vector<int64_t> indices(ov::shape_size(sizes));
      size_t inner = 1;
      for (size_t i = dim + 1; i < sizes.size(); ++i) inner *= sizes[i];
      for (size_t i = 0; i < indices.size(); ++i) {
        indices[i] = begin + step * static_cast<int64_t>(i / inner % sizes[dim]);
      }
      const size_t axis = integer(dim);
      const size_t index =
          AddConstant(ov::op::v0::Constant::create(ov::element::i64, sizes, indices),
                      type::Tensor(ov::element::Type(ov::element::i64)));
      const size_t id = Define(made, Described(made));
      program_->nodes.push_back({"aten::scatter", made, {self, axis, index, source}, {id}});
      return;
    }
    if (is_select) {
      source = AddCall("aten::unsqueeze", {source, integer(dim)},
                       {"", ov::PartialShape::dynamic(), type});
    }
    std::vector<size_t> parts;
    if (begin > 0) parts.push_back(slice(0, begin));
    if (end > begin) parts.push_back(source);
    if (end < size) parts.push_back(slice(end, size));
    const size_t list = AddList(std::move(parts)), axis = integer(dim);
    const size_t id = Define(made, Described(made));
    program_->nodes.push_back({"aten::cat", made, {list, axis}, {id}});
  }

  const Json& graph_;
  const Json& signature_;
  const std::map<std::string, Tensor> weights_;
  const std::shared_ptr<Program> program_;
  std::map<std::string, size_t> ids_;
  size_t calls_ = 0;
};

// One core serves all programs.
ov::Core& Core() {
  static ov::Core core;
  return core;
}

class OpenVinoWorker : public worker::Worker {
 public:
  std::string name() const override { return "openvino"; }
  std::string version() const override {
    const std::string build = ov::get_openvino_version().buildNumber;
    return build.substr(0, build.find('-'));
  }

  void Prepare(const Json& request, const std::vector<Tensor>& inputs) override {
    std::ifstream file(request.at("program").get<std::string>());
    const Json model = Json::parse(file);
    std::map<std::string, Tensor> weights;
    if (request.contains("weights")) weights = worker::ReadTensors(request.at("weights"));
    Reader reader(model, std::move(weights));
    const std::shared_ptr<const Program> program = reader.Read();
    if (program->inputs.size() != inputs.size())
      throw Failure("compile",
                    "the program takes " + std::to_string(program->inputs.size()) + " inputs");
    const ov::AnyMap properties = {ov::hint::inference_precision(ov::element::f32),
                                   ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY),
                                   ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY)};
    if (request.contains("kept")) {
      std::ifstream kept(request.at("kept").get<std::string>(), std::ios::binary);
      compiled_ = Core().import_model(kept, "CPU", properties);
    } else {
      const auto root = std::make_shared<Decoder>(program);
      ov::frontend::pytorch::FrontEnd front_end;
      const std::shared_ptr<ov::Model> converted = front_end.convert(front_end.load(
          std::vector<ov::Any>{std::static_pointer_cast<ov::frontend::IDecoder>(root)}));
      compiled_ = Core().compile_model(converted, "CPU", properties);
    }
    if (request.contains("keep")) {
      std::ofstream keep(request.at("keep").get<std::string>(), std::ios::binary);
      compiled_.export_model(keep);
    }
    request_ = compiled_.create_infer_request();
    // The compiled model may have dropped unused inputs.
    ports_.clear();
    for (const ov::Output<const ov::Node>& port : compiled_.inputs()) {
      std::optional<size_t> place;
      for (size_t i = 0; i < program->inputs.size(); ++i) {
        if (port.get_names().count(program->values[program->inputs[i]].name) > 0) place = i;
      }
      if (!place) throw Failure("compile", "the compiled model has an unknown input");
      ports_.push_back(*place);
    }
    num_outputs_ = program->outputs.size();
    calls_ = reader.calls();
  }

  void SetInputs(const std::vector<Tensor>& inputs) override {
    inputs_ = inputs;
    for (size_t i = 0; i < ports_.size(); ++i) {
      const Tensor& input = inputs_[ports_[i]];
      const ov::element::Type element =
          DTypeOf([&](const DType& dtype) { return dtype.name == input.dtype; }).element;
      request_.set_input_tensor(
          i, ov::Tensor(element, ov::Shape(input.shape.begin(), input.shape.end()), input.data()));
    }
  }

  void Run() override { request_.infer(); }

  std::vector<Tensor> Outputs() override {
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < num_outputs_; ++i) {
      const ov::Tensor made = request_.get_output_tensor(i);
      Tensor output;
      output.dtype = NameOf(made);
      for (const size_t size : made.get_shape()) output.shape.push_back(static_cast<int64_t>(size));
      output.Allocate(made.get_byte_size());
      if (output.bytes > 0)
        std::memcpy(output.data(), static_cast<const ov::Tensor&>(made).data(), output.bytes);
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

  void PoisonOutputs() override {
    for (size_t i = 0; i < num_outputs_; ++i) {
      ov::Tensor made = request_.get_output_tensor(i);
      if (made.get_byte_size() == 0) continue;
      char* const data = static_cast<char*>(made.data());
      const bool is_input = std::any_of(inputs_.begin(), inputs_.end(), [&](const Tensor& input) {
        return data >= input.data() && data < input.data() + input.bytes;
      });
      if (!is_input) worker::Poison(NameOf(made), data, made.get_byte_size());
    }
  }

  // The reasons follow the place and the stack.
  std::string Message(const std::string& text) const override {
    const size_t summary = text.find("Summary:");
    if (summary != std::string::npos) {
      std::string reasons = text.substr(summary + 8);
      for (char& c : reasons) {
        if (c == '\n') c = ' ';
      }
      return reasons;
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool is_place = line.rfind("Check ", 0) == 0 || line.rfind("Exception from ", 0) == 0;
      if (!is_place && !line.empty() && line.back() != ':') return line;
    }
    return text;
  }

  std::string Proof() const override {
    return std::to_string(calls_) + " calls became " +
           std::to_string(compiled_.get_runtime_model()->get_ops().size()) +
           " nodes of OpenVINO's CPU plugin";
  }

  void Close() override {
    request_ = {};
    compiled_ = {};
    inputs_.clear();
  }

 private:
  static const char* NameOf(const ov::Tensor& tensor) {
    return DTypeOf([&](const DType& dtype) { return tensor.get_element_type() == dtype.element; })
        .name;
  }

  ov::CompiledModel compiled_;
  ov::InferRequest request_;
  std::vector<size_t> ports_;  // which input a port takes
  std::vector<Tensor> inputs_;
  size_t num_outputs_ = 0, calls_ = 0;
};

}  // namespace

int main() { return worker::Serve<OpenVinoWorker>(); }

#include "graphnet/formats/torchscript/state_loader.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ATen/core/class_type.h"
#include "ATen/core/ivalue.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "caffe2/serialize/inline_container.h"
#include "graphnet/formats/torchscript/packed_parameters.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "graphnet/interp/torch/packing.h"
#include "torch/csrc/jit/api/compilation_unit.h"
#include "torch/csrc/jit/api/function_impl.h"
#include "torch/csrc/jit/frontend/source_range.h"
#include "torch/csrc/jit/ir/constants.h"
#include "torch/csrc/jit/operator_upgraders/upgraders_entry.h"
#include "torch/csrc/jit/serialization/import_read.h"
#include "torch/csrc/jit/serialization/import_source.h"

namespace graphnet::torchscript {
namespace {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;
using c10::IValue;
using Values = std::vector<IValue>;

// Operations that one __setstate__ may take: that of a module takes about 50.
constexpr int kMaxSteps = 10'000;

// --- Packed parameters -----------------------------------------------------------------------

at::Tensor TensorIn(const IValue& value) {
  TORCH_CHECK(value.isTensor() && value.toTensor().defined(), "expected a tensor, not ",
              value.tagKind());
  return value.toTensor();
}
std::optional<at::Tensor> OptionalTensorIn(const IValue& value) {
  if (value.isNone()) return std::nullopt;
  return TensorIn(value);
}
Values ElementsOf(const IValue& value) {
  TORCH_CHECK(value.isTuple() || value.isList(), "expected a tuple or list, not ", value.tagKind());
  if (value.isList()) return value.toListRef().vec();
  return Values(value.toTupleRef().elements().begin(), value.toTupleRef().elements().end());
}
Values ElementsOf(const IValue& value, size_t count) {
  Values elements = ElementsOf(value);
  TORCH_CHECK(elements.size() == count, "expected ", count, " elements, not ", elements.size());
  return elements;
}

// (weight, bias)
void CheckLinear(const IValue& state) {
  const Values parts = ElementsOf(state, 2);
  const at::Tensor weight = TensorIn(parts[0]);
  const std::optional<at::Tensor> bias = OptionalTensorIn(parts[1]);
  if (weight.is_quantized()) return CheckLinearPacking(weight, bias);
  // Weights of float16 are there as float32.
  TORCH_CHECK(weight.scalar_type() == at::kFloat && weight.dim() == 2 && weight.numel() > 0,
              "expected a weight of type float32 and 2 dimensions");
  TORCH_CHECK(!bias || (bias->dim() == 1 && bias->numel() == weight.size(0)), "expected a bias of ",
              weight.size(0), " elements");
}

// ("2", [numbers, weight], [bias]), or (3, [numbers], [None, weight, bias])
void CheckConv(const IValue& state, int dims) {
  const Values parts = ElementsOf(state, 3);
  std::vector<int64_t> numbers;
  ConvPacking packing{.dims = dims};
  if (parts[0].isString() && parts[0].toStringRef() == "2") {
    const Values tensors = ElementsOf(parts[1], 2);
    const at::Tensor config = TensorIn(tensors[0]);
    TORCH_CHECK(config.scalar_type() == at::kShort && config.dim() == 1 && !config.is_meta(),
                "expected numbers of type int16");
    for (int64_t i = 0; i < config.numel(); ++i)
      numbers.push_back(config.select(0, i).item<int16_t>());
    packing.weight = TensorIn(tensors[1]);
    packing.bias = OptionalTensorIn(ElementsOf(parts[2], 1)[0]);
  } else {
    TORCH_CHECK(parts[0].isInt() && parts[0].toInt() == 3 && parts[1].isIntList(),
                "an unknown form of packed parameters");
    numbers = parts[1].toIntVector();
    const Values tensors = ElementsOf(parts[2], 3);
    packing.weight = TensorIn(tensors[1]);
    packing.bias = OptionalTensorIn(tensors[2]);
  }
  const auto n = static_cast<size_t>(dims);
  TORCH_CHECK(numbers.size() == 4 * n + 3 && numbers[0] == dims, "expected ", 4 * n + 3,
              " numbers");
  const auto group = [&](size_t i) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(1 + i * n);
    return std::vector<int64_t>(begin, begin + dims);
  };
  packing.stride = group(0);
  packing.padding = group(1);
  packing.dilation = group(2);
  packing.output_padding = group(3);
  packing.groups = numbers[4 * n + 1];
  const int64_t flags = numbers[4 * n + 2];
  TORCH_CHECK(flags == 0 || flags == 1, "unknown flags");
  packing.transposed = flags == 1;
  CheckPacking(packing);
}

// (1, [weight], [], [8])
void CheckEmbedding(const IValue& state) {
  const Values parts = ElementsOf(state, 4);
  TORCH_CHECK(parts[0].isInt() && parts[0].toInt() == 1 && parts[3].isIntList() &&
                  parts[3].toIntVector() == std::vector<int64_t>{8},
              "expected an embedding of 8 bits");
  TORCH_CHECK(ElementsOf(parts[2]).empty(), "expected no numbers");
  CheckEmbeddingPacking(TensorIn(ElementsOf(parts[1], 1)[0]));
}

// (kind, [tensors], [], [numbers], [parameters of two linear layers]), whose parts are checked
// already
void CheckCell(const IValue& state) {
  const Values parts = ElementsOf(state, 5);
  TORCH_CHECK(parts[0].isString(), "expected the kind of a cell");
  const bool is_dynamic = parts[0].toStringRef() == "quantized_dynamic";
  TORCH_CHECK(is_dynamic || parts[0].toStringRef() == "quantized_fp16", "an unknown kind of cell");
  for (const IValue& tensor : ElementsOf(parts[1], is_dynamic ? 2 : 0)) {
    TORCH_CHECK(TensorIn(tensor).scalar_type() == at::kFloat && tensor.toTensor().dim() == 1,
                "expected a bias of type float32");
  }
  TORCH_CHECK(ElementsOf(parts[2]).empty(), "expected no numbers");
  TORCH_CHECK(ElementsOf(parts[3]).size() == (is_dynamic ? 1 : 0), "unexpected numbers");
  for (const IValue& linear : ElementsOf(parts[4], 2)) {
    TORCH_CHECK(linear.isObject() && linear.toObjectRef().name() == kLinearParameters,
                "expected the parameters of a linear layer");
  }
}

void CheckParameters(const std::string& name, const IValue& state) {
  if (name == kLinearParameters) return CheckLinear(state);
  if (name == kConv2dParameters) return CheckConv(state, 2);
  if (name == kConv3dParameters) return CheckConv(state, 3);
  if (name == kEmbeddingParameters) return CheckEmbedding(state);
  CheckCell(state);
}

// --- __setstate__ ----------------------------------------------------------------------------

// Follows a method of an archive's class.
class StateRunner {
 public:
  // Returns the results of a method for `operands`, the first of which is its object.
  Values Call(jit::Function& method, const Values& operands, int depth = 0) {
    jit::GraphFunction* const function = jit::tryToGraphFunction(method);
    TORCH_CHECK(function != nullptr && depth < 10, "calls ", method.name());
    function->ensure_defined();
    const std::shared_ptr<jit::Graph> graph = function->graph();
    TORCH_CHECK(graph->inputs().size() == operands.size(), "calls ", method.name(), " with ",
                operands.size(), " operands");
    Environment values;
    for (size_t i = 0; i < operands.size(); ++i) {
      CheckType(operands[i], *graph->inputs()[i]->type());
      values[graph->inputs()[i]] = operands[i];
    }
    return Run(graph->block(), &values, depth);
  }

 private:
  using Environment = std::unordered_map<const jit::Value*, IValue>;

  static void CheckType(const IValue& value, const c10::Type& type) {
    TORCH_CHECK(
        value.isNone() ? c10::NoneType::get()->isSubtypeOf(type) : value.type()->isSubtypeOf(type),
        "a value of type ", value.type()->repr_str(), " where ", type.repr_str(), " is needed");
  }

  Values Run(const jit::Block* block, Environment* values, int depth) {
    for (const jit::Node* node : block->nodes()) {
      TORCH_CHECK(++steps_ <= kMaxSteps, "takes more than ", kMaxSteps, " operations");
      Values operands;
      for (const jit::Value* input : node->inputs()) operands.push_back(values->at(input));
      const Values results = Step(node, std::move(operands), values, depth);
      TORCH_CHECK(results.size() == node->outputs().size(), "an operation with other results");
      for (size_t i = 0; i < results.size(); ++i) (*values)[node->output(i)] = results[i];
    }
    Values results;
    for (const jit::Value* output : block->outputs()) results.push_back(values->at(output));
    return results;
  }

  Values Step(const jit::Node* node, Values operands, Environment* values, int depth) {
    switch (node->kind()) {
      case prim::Constant: {
        const std::optional<IValue> constant = jit::toIValue(node->output());
        TORCH_CHECK(constant.has_value(), "an unknown constant");
        return {*constant};
      }
      case prim::Uninitialized: return {IValue()};
      case prim::unchecked_cast:
      case prim::unchecked_unwrap_optional: return {operands[0]};
      case prim::GetAttr: return {ObjectIn(operands[0])->getAttr(node->s(c10::attr::name))};
      case prim::SetAttr: {
        const c10::intrusive_ptr<c10::ivalue::Object> object = ObjectIn(operands[0]);
        const std::string& name = node->s(c10::attr::name);
        CheckType(operands[1], *object->type()->getAttribute(name));
        object->setAttr(name, operands[1]);
        return {};
      }
      case prim::CallMethod:
        return Call(ObjectIn(operands[0])->type()->getMethod(node->s(c10::attr::name)), operands,
                    depth + 1);
      case prim::If: {
        TORCH_CHECK(operands[0].isBool(), "a condition that is no bool");
        return Run(node->blocks()[operands[0].toBool() ? 0 : 1], values, depth);
      }
      case prim::TupleConstruct: return {c10::ivalue::Tuple::create(std::move(operands))};
      case prim::ListConstruct: {
        c10::impl::GenericList list(
            node->output()->type()->expectRef<c10::ListType>().getElementType());
        for (IValue& element : operands) {
          CheckType(element, *list.elementType());
          list.push_back(std::move(element));
        }
        return {list};
      }
      case prim::TupleUnpack:
      case prim::ListUnpack: return ElementsOf(operands[0], node->outputs().size());
      case prim::TupleIndex:
      case aten::__getitem__: {
        const Values elements = ElementsOf(operands[0]);
        int64_t i = operands[1].toInt();
        if (i < 0) i += static_cast<int64_t>(elements.size());
        return {elements.at(static_cast<size_t>(i))};
      }
      case aten::eq: return {Same(operands)};
      case aten::ne: return {!Same(operands)};
      case aten::__is__: return {operands[0].isNone() && operands[1].isNone()};
      case aten::__isnot__: return {!(operands[0].isNone() && operands[1].isNone())};
      case aten::__not__: return {!operands[0].toBool()};
      default: break;
    }
    const c10::FunctionSchema* schema = node->maybeSchema();
    TORCH_CHECK(schema != nullptr && absl::StartsWith(schema->name(), "quantized::") &&
                    absl::StrContains(schema->name(), "_prepack") && IsAllowed(*schema),
                "calls ", node->kind().toQualString(), ", which only a run may do");
    jit::Stack stack = std::move(operands);
    WithGuard(*schema, node->getOperation())(stack);
    return stack;
  }

  // Packed parameters are objects, too, but not of the archive.
  static c10::intrusive_ptr<c10::ivalue::Object> ObjectIn(const IValue& value) {
    TORCH_CHECK(value.isObject() && !IsPackedParameters(value.toObjectRef().name()),
                "an object is needed, not ", value.tagKind());
    return value.toObject();
  }

  static bool Same(const Values& values) {
    for (const IValue& value : values) {
      TORCH_CHECK(value.isString() || value.isInt() || value.isBool() || value.isDouble(),
                  "compares values of kind ", value.tagKind());
    }
    return values[0] == values[1];
  }

  int steps_ = 0;
};

// --- Archives ---------------------------------------------------------------------------------

class Loader {
 public:
  Loader(std::shared_ptr<caffe2::serialize::ReadAdapterInterface> bytes,
         std::optional<c10::Device> device)
      : reader_(std::move(bytes)),
        device_(device),
        unit_(std::make_shared<jit::CompilationUnit>()),
        importer_(
            unit_, &constants_, [this](const std::string& name) { return Source(name); },
            reader_.version()) {}

  jit::Module Load(jit::ExtraFilesMap& extra) {
    jit::populate_upgraders_graph_map();
    for (auto& [name, content] : extra) {
      const std::string entry = "extra/" + name;
      if (reader_.hasRecord(entry)) content = Text(entry);
    }
    constants_ = ElementsOf(Read("constants"));
    return jit::Module(Read("data").toObject());
  }

 private:
  std::string Text(const std::string& entry) {
    auto [bytes, size] = reader_.getRecord(entry);
    return std::string(static_cast<const char*>(bytes.get()), size);
  }

  // Returns the code of a module such as "__torch__.a"; null if the archive has none.
  std::shared_ptr<jit::Source> Source(const std::string& module) {
    const std::string entry = "code/" + absl::StrReplaceAll(module, {{".", "/"}}) + ".py";
    if (!reader_.hasRecord(entry)) return nullptr;
    return std::make_shared<jit::Source>(Text(entry), entry, 0);
  }

  IValue Read(const std::string& name) {
    const auto resolve = [this](const c10::QualifiedName& type) {
      return c10::StrongTypePtr(unit_, importer_.loadType(type));
    };
    const auto make = [](const c10::StrongTypePtr& type, const IValue& state) {
      return MakeObject(type, state);
    };
    return jit::readArchiveAndTensors(name, /*pickle_prefix=*/"", /*tensor_prefix=*/name + "/",
                                      resolve, make, device_, reader_);
  }

  static c10::intrusive_ptr<c10::ivalue::Object> MakeObject(const c10::StrongTypePtr& type,
                                                            const IValue& state) {
    const auto cls = type.type_->expect<c10::ClassType>();
    const std::string name = cls->name()->qualifiedName();
    const size_t count = cls->numAttributes();
    c10::intrusive_ptr<c10::ivalue::Object> object = c10::ivalue::Object::create(type, count);
    jit::Function* const set_state = cls->findMethod("__setstate__");
    try {
      if (IsPackedParameters(name)) {
        CheckParameters(name, state);
        cls->getMethod("__setstate__")({object, state});
      } else if (set_state != nullptr) {
        StateRunner().Call(*set_state, {object, state});
        for (size_t i = 0; i < count; ++i) {
          TORCH_CHECK(!object->getSlot(i).isNone() ||
                          c10::NoneType::get()->isSubtypeOf(*cls->getAttribute(i)),
                      "leaves the attribute ", cls->getAttributeName(i), " without a value");
        }
      } else {
        TORCH_CHECK(state.isGenericDict(), "a state that is no dictionary");
        const auto attributes = state.toGenericDict();
        for (size_t i = 0; i < count; ++i)
          object->setSlot(i, attributes.at(cls->getAttributeName(i)));
      }
    } catch (const c10::Error& e) {
      TORCH_CHECK(false, "data.pkl: the state of an object of ", name, ": ",
                  e.what_without_backtrace());
    }
    return object;
  }

  caffe2::serialize::PyTorchStreamReader reader_;
  const std::optional<c10::Device> device_;
  const std::shared_ptr<jit::CompilationUnit> unit_;
  std::vector<IValue> constants_;
  jit::SourceImporter importer_;
};

}  // namespace

jit::Module LoadWithState(std::shared_ptr<caffe2::serialize::ReadAdapterInterface> bytes,
                          std::optional<c10::Device> device, jit::ExtraFilesMap& extra) {
  return Loader(std::move(bytes), device).Load(extra);
}

}  // namespace graphnet::torchscript

// Imports quantised tensors and the packed parameters of quantised layers: as calls that make them
// of plain tensors, which every form of a sample can hold.
#include "ATen/Functions.h"
#include "ATen/core/class_type.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/graph_importer.h"
#include "graphnet/formats/torchscript/packed_parameters.h"

namespace graphnet::torchscript {
namespace {

using c10::IValue;

Argument IntList(Arena* arena, const std::vector<int64_t>& values) {
  const std::vector<Argument> elements(values.begin(), values.end());
  return Argument::List(arena->Copy(absl::MakeConstSpan(elements)));
}

}  // namespace

Argument GraphImporter::EmitInMain(absl::string_view target, absl::Span<const Argument> args,
                                   absl::string_view name) {
  return main_->graph->CallFunction(target, args, {}, name);
}

absl::StatusOr<Argument> GraphImporter::OwnTensor(const at::Tensor& tensor, const std::string& path,
                                                  absl::string_view name) {
  made_.emplace_back(tensor);
  return Literal(tensor, path.empty() ? "" : absl::StrCat(path, name), "torch.Tensor");
}

absl::StatusOr<Argument> GraphImporter::QuantisedTensor(const at::Tensor& tensor,
                                                        const std::string& path) {
  if (const auto known = quantised_.find(tensor.unsafeGetTensorImpl()); known != quantised_.end())
    return known->second;
  made_.emplace_back(tensor);
  const c10::ScalarType type = tensor.scalar_type();
  if (type != at::kQInt8 && type != at::kQUInt8 && type != at::kQInt32) {
    // Several elements share a byte.
    return CannotRepresent(*current_, attributes_.Add(tensor, path, "").status().message());
  }
  ASSIGN_OR_RETURN(const Argument integers, OwnTensor(at::int_repr(tensor), path, ""));
  const absl::string_view name = integers.node()->name();
  Argument made;
  if (tensor.qscheme() == at::kPerTensorAffine) {
    made = EmitInMain("aten._make_per_tensor_quantized_tensor.default",
                      {integers, tensor.q_scale(), tensor.q_zero_point()},
                      absl::StrCat(name, "_quantised"));
  } else {
    // Those of an unpacked embedding lie in memory of the packed parameters.
    ASSIGN_OR_RETURN(const Argument scales,
                     OwnTensor(tensor.q_per_channel_scales().clone(), path, ".scales"));
    ASSIGN_OR_RETURN(const Argument zero_points,
                     OwnTensor(tensor.q_per_channel_zero_points().clone(), path, ".zero_points"));
    made = EmitInMain("aten._make_per_channel_quantized_tensor.default",
                      {integers, scales, zero_points, tensor.q_per_channel_axis()},
                      absl::StrCat(name, "_quantised"));
  }
  return quantised_[tensor.unsafeGetTensorImpl()] = made;
}

absl::StatusOr<Argument> GraphImporter::PackedParameters(const IValue& object,
                                                         const std::string& path) {
  const auto& type = object.toObjectRef().type();
  const std::string name = type->name()->qualifiedName();
  if (const auto known = quantised_.find(object.toObject().get()); known != quantised_.end())
    return known->second;
  made_.push_back(object);
  const auto ask = [&](const char* method) { return type->getMethod(method)({object}); };
  const auto ints = [&](const char* method) { return IntList(&arena_, ask(method).toIntVector()); };
  const auto tensor = [&](const IValue& value, absl::string_view part) -> absl::StatusOr<Argument> {
    if (value.isNone()) return Argument::None();
    const std::string inner = path.empty() ? "" : absl::StrCat(path, part);
    if (value.toTensor().is_quantized()) return QuantisedTensor(value.toTensor(), inner);
    return OwnTensor(value.toTensor(), inner, "");
  };
  Argument packed;
  if (name == kCellParameters) {
    const IValue state = ask("__getstate__");
    const auto& parts = state.toTupleRef().elements();
    std::vector<Argument> operands;
    for (const IValue& linear : parts[4].toListRef()) {
      ASSIGN_OR_RETURN(
          operands.emplace_back(),
          PackedParameters(
              linear,
              path.empty() ? "" : absl::StrCat(path, ".", operands.empty() ? "input" : "hidden")));
    }
    const bool is_dynamic = parts[0].toStringRef() == "quantized_dynamic";
    if (!is_dynamic && parts[0].toStringRef() != "quantized_fp16") {
      return CannotRepresent(*current_, absl::StrCat("a constant of kind ", object.tagKind()));
    }
    if (is_dynamic) {
      for (const IValue& bias : parts[1].toListRef()) {
        ASSIGN_OR_RETURN(operands.emplace_back(),
                         tensor(bias, operands.size() == 2 ? ".input.bias" : ".hidden.bias"));
      }
      operands.emplace_back(parts[3].toIntVector().at(0) != 0);
    }
    packed = EmitInMain(is_dynamic ? "quantized.make_quantized_cell_params_dynamic.default"
                                   : "quantized.make_quantized_cell_params_fp16.default",
                        operands, "packed");
  } else if (name == kEmbeddingParameters) {
    ASSIGN_OR_RETURN(const Argument weight, tensor(ask("unpack"), ".weight"));
    packed = EmitInMain("quantized.embedding_bag_prepack.default", {weight}, "packed");
  } else if (name == kLinearParameters) {
    const IValue state = ask("__getstate__");
    const auto& parts = state.toTupleRef().elements();
    ASSIGN_OR_RETURN(const Argument weight, tensor(parts[0], ".weight"));
    ASSIGN_OR_RETURN(const Argument bias, tensor(parts[1], ".bias"));
    packed =
        EmitInMain(parts[0].toTensor().is_quantized() ? "quantized.linear_prepack.default"
                                                      : "quantized.linear_prepack_fp16.default",
                   {weight, bias}, "packed");
  } else {
    const IValue state = ask("unpack");
    const auto& parts = state.toTupleRef().elements();
    ASSIGN_OR_RETURN(const Argument weight, tensor(parts[0], ".weight"));
    ASSIGN_OR_RETURN(const Argument bias, tensor(parts[1], ".bias"));
    std::vector<Argument> operands = {weight, bias, ints("stride"), ints("padding")};
    const IValue transposed = ask("transpose");
    const bool is_transposed = transposed.isBool() ? transposed.toBool() : transposed.toInt() != 0;
    if (is_transposed) operands.push_back(ints("output_padding"));
    operands.push_back(ints("dilation"));
    operands.emplace_back(ask("groups").toInt());
    packed = EmitInMain(absl::StrCat("quantized.conv", is_transposed ? "_transpose" : "",
                                     name == kConv2dParameters ? "2d" : "3d", "_prepack.default"),
                        operands, "packed");
  }
  return quantised_[object.toObject().get()] = packed;
}

}  // namespace graphnet::torchscript

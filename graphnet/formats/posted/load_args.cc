#include "graphnet/formats/posted/load_args.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/scanner.h"

namespace graphnet::posted {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& text) : scanner_(text, "load_args") {}

  std::vector<LoadedArg> Run() {
    // An error ends the list of arguments.
    while (scanner_.token().kind != TokenKind::kEnd && Statement().ok()) {
    }
    return std::move(args_);
  }

 private:
  struct Storage {
    Device device;
    DType dtype = DType::kFloat32;
  };

  absl::Status Statement() {
    ASSIGN_OR_RETURN(absl::string_view name, scanner_.TakeName("a statement"));
    absl::string_view target;
    if (scanner_.Accept(Punct("="))) {
      target = name;
      ASSIGN_OR_RETURN(name, scanner_.TakeName("a call"));
    }
    if (name != "reader" || !scanner_.Accept(Punct("."))) return SkipLine();
    ASSIGN_OR_RETURN(const absl::string_view method, scanner_.TakeName("a method"));
    if (!scanner_.Accept(Punct("("))) return SkipLine();
    if (method == "storage") {
      RETURN_IF_ERROR(ReadStorage(target));
    } else if (method == "tensor") {
      RETURN_IF_ERROR(ReadTensor());
    } else if (method == "symint") {
      LoadedArg arg;
      ASSIGN_OR_RETURN(arg.number, scanner_.TakeInt("a number"));
      args_.push_back(std::move(arg));
    } else {
      return scanner_.Error("");
    }
    return SkipLine();
  }

  absl::Status SkipLine() {
    while (scanner_.token().kind != TokenKind::kNewline &&
           scanner_.token().kind != TokenKind::kEnd) {
      if (scanner_.token().kind == TokenKind::kError) return scanner_.Error("");
      scanner_.Next();
    }
    if (scanner_.token().kind == TokenKind::kNewline) scanner_.Next();
    return absl::OkStatus();
  }

  // storage(None, 128, device=device(type='cuda', index=0), dtype_hint=torch.float16)
  absl::Status ReadStorage(absl::string_view target) {
    Storage storage;
    while (!scanner_.Is(Punct(")"))) {
      absl::string_view keyword;
      RETURN_IF_ERROR(TakeKeyword(&keyword));
      if (keyword == "device") {
        ASSIGN_OR_RETURN(storage.device, TakeDevice());
      } else if (keyword == "dtype_hint") {
        ASSIGN_OR_RETURN(storage.dtype, TakeDType());
      } else {
        scanner_.Next();  // a hash or the number of bytes
      }
      if (!scanner_.Accept(Punct(","))) break;
    }
    storages_[target] = storage;
    return absl::OkStatus();
  }

  // tensor(buf0, (4, 8), (8, 1), dtype=torch.float16, is_leaf=True)
  absl::Status ReadTensor() {
    LoadedArg arg;
    ASSIGN_OR_RETURN(const absl::string_view buffer, scanner_.TakeName("a storage"));
    const Storage storage = storages_[buffer];
    arg.device = storage.device;
    arg.dtype = storage.dtype;
    RETURN_IF_ERROR(scanner_.Expect(Punct(","), "after the storage"));
    ASSIGN_OR_RETURN(arg.sizes, TakeNumbers());
    while (scanner_.Accept(Punct(",")) && !scanner_.Is(Punct(")"))) {
      absl::string_view keyword;
      RETURN_IF_ERROR(TakeKeyword(&keyword));
      if (keyword == "dtype") {
        ASSIGN_OR_RETURN(arg.dtype, TakeDType());
      } else if (keyword.empty() && scanner_.Is(Punct("("))) {
        ASSIGN_OR_RETURN(arg.strides, TakeNumbers());
      } else {
        scanner_.Next();  // requires_grad, is_leaf, storage_offset
      }
    }
    if (arg.sizes.size() > kMaxRank) return scanner_.Error("");
    args_.push_back(std::move(arg));
    return absl::OkStatus();
  }

  // Takes "name=" if it is there. No value of a repro is a name before "=".
  absl::Status TakeKeyword(absl::string_view* keyword) {
    if (scanner_.token().kind != TokenKind::kName || scanner_.IsName("None") ||
        *scanner_.token_end() != '=') {
      return absl::OkStatus();
    }
    *keyword = scanner_.token().text;
    scanner_.Next();
    return scanner_.Expect(Punct("="), "after the keyword");
  }

  absl::StatusOr<std::vector<int64_t>> TakeNumbers() {
    std::vector<int64_t> numbers;
    RETURN_IF_ERROR(scanner_.Expect(Punct("("), "before the sizes"));
    RETURN_IF_ERROR(scanner_.TakeElements(Punct(")"), "after the sizes", [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const int64_t number, scanner_.TakeInt("a size"));
      numbers.push_back(number);
      return absl::OkStatus();
    }));
    return numbers;
  }

  // torch.float16
  absl::StatusOr<DType> TakeDType() {
    RETURN_IF_ERROR(scanner_.ExpectName("torch", "a dtype"));
    RETURN_IF_ERROR(scanner_.Expect(Punct("."), "after torch"));
    ASSIGN_OR_RETURN(const absl::string_view name, scanner_.TakeName("a dtype"));
    const std::optional<DType> dtype = ParseDType(name);
    if (!dtype) return scanner_.Error("");
    return *dtype;
  }

  // device(type='cuda', index=0) or device('cuda:0')
  absl::StatusOr<Device> TakeDevice() {
    RETURN_IF_ERROR(scanner_.ExpectName("device", "a device"));
    RETURN_IF_ERROR(scanner_.Expect(Punct("("), "after device"));
    absl::string_view keyword;
    RETURN_IF_ERROR(TakeKeyword(&keyword));
    ASSIGN_OR_RETURN(const absl::string_view type, scanner_.TakeText("the type of a device"));
    std::optional<Device> device = ParseDevice(type);
    if (!device) return scanner_.Error("");
    if (scanner_.Accept(Punct(","))) {
      RETURN_IF_ERROR(TakeKeyword(&keyword));
      ASSIGN_OR_RETURN(const int64_t index, scanner_.TakeInt("an index"));
      if (index > 127) return scanner_.Error("");
      device->index = static_cast<int16_t>(index);
    }
    RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the device"));
    return *device;
  }

  Scanner scanner_;
  absl::flat_hash_map<absl::string_view, Storage> storages_;
  std::vector<LoadedArg> args_;
};

// Returns whether an argument can be an input of that meta, and gives its symbols their examples.
bool Fits(const LoadedArg& arg, const TensorMeta& meta, Module* module) {
  if (meta.dtype != arg.dtype) return false;
  if (!meta.has_shape) return true;
  if (meta.shape.size() != arg.sizes.size()) return false;
  for (size_t d = 0; d < arg.sizes.size(); ++d) {
    const Dim& dim = meta.shape[d];
    if (dim.is_static() && dim.value != arg.sizes[d]) return false;
    if (!dim.is_static() && dim.expr->kind == SymExpr::Kind::kSymbol)
      module->AddSymbol(dim.expr->name, arg.sizes[d]);
  }
  return true;
}

}  // namespace

std::vector<LoadedArg> ReadLoadArgs(const std::string& text) { return Reader(text).Run(); }

void ApplyLoadArgs(const std::vector<LoadedArg>& args, Module* module,
                   std::vector<std::string>* notes) {
  const std::vector<Node*> inputs = module->main()->placeholders();
  if (args.size() != inputs.size()) {
    notes->push_back(absl::StrCat("of ", inputs.size(), " inputs, load_args makes ", args.size(),
                                  " that can be read"));
  }
  size_t strided = 0, different = 0;
  for (size_t i = 0; i < std::min(args.size(), inputs.size()); ++i) {
    const LoadedArg& arg = args[i];
    if (arg.number.has_value()) {
      inputs[i]->set_annotation("torch.SymInt");
      const Argument value = *arg.number;
      DrawSpec spec;
      spec.data = Argument::List({&value, 1});
      inputs[i]->set_draw_spec(spec);
      if (module->FindSymbol(inputs[i]->target()) != nullptr)
        module->AddSymbol(inputs[i]->target(), arg.number);
      continue;
    }
    if (!arg.strides.empty()) ++strided;
    if (const TensorMeta* const meta = inputs[i]->tensor_meta()) {
      if (!Fits(arg, *meta, module)) ++different;
      continue;
    }
    const std::vector<Dim> shape(arg.sizes.begin(), arg.sizes.end());
    inputs[i]->set_meta(module->InternValueMeta({.dtype = arg.dtype,
                                                 .has_device = true,
                                                 .has_shape = true,
                                                 .device = arg.device,
                                                 .shape = shape}));
    if (inputs[i]->annotation().empty()) inputs[i]->set_annotation("torch.Tensor");
  }
  if (strided > 0) {
    notes->push_back(absl::StrCat("the strides of ", strided, " input", strided == 1 ? "" : "s",
                                  " are left out: inputs are drawn contiguous"));
  }
  if (different > 0) {
    notes->push_back(absl::StrCat(
        "inputs of load_args that are not what the graph says, which is kept: ", different));
  }
}

}  // namespace graphnet::posted

// XLA on the CPU: torch-mlir-opt converts text of the torch dialect to StableHLO, and the PJRT
// plugin compiles and runs that through its C API. Needs the header from the plugin's wheel; the
// plugin is loaded when the worker starts.
#include <dlfcn.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <regex>

#include "pjrt_c_api.h"
#include "worker.h"

// The paths, which the command that compiles this file sets.
#ifndef XLA_PLUGIN
#define XLA_PLUGIN "xla_cpu_pjrt.so"
#endif
#ifndef TORCH_MLIR_OPT
#define TORCH_MLIR_OPT "torch-mlir-opt"
#endif

namespace {

using worker::Failure;
using worker::Json;
using worker::Tensor;

constexpr char kPipeline[] =
    "builtin.module(torch-function-to-torch-backend-pipeline,"
    "torch-backend-to-stablehlo-backend-pipeline)";
// CompileOptionsProto: one replica, one partition.
constexpr char kOptions[] = {0x1a, 0x04, 0x20, 0x01, 0x28, 0x01};

struct DType {
  const char* name;
  PJRT_Buffer_Type type;
};
constexpr DType kDTypes[] = {
    {"BOOL", PJRT_Buffer_Type_PRED}, {"I8", PJRT_Buffer_Type_S8},   {"I16", PJRT_Buffer_Type_S16},
    {"I32", PJRT_Buffer_Type_S32},   {"I64", PJRT_Buffer_Type_S64}, {"U8", PJRT_Buffer_Type_U8},
    {"U16", PJRT_Buffer_Type_U16},   {"U32", PJRT_Buffer_Type_U32}, {"U64", PJRT_Buffer_Type_U64},
    {"F16", PJRT_Buffer_Type_F16},   {"F32", PJRT_Buffer_Type_F32}, {"F64", PJRT_Buffer_Type_F64},
    {"BF16", PJRT_Buffer_Type_BF16}, {"C64", PJRT_Buffer_Type_C64}};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A program of the torch dialect: the names of @main's arguments and which are tensors.
struct Program {
  std::string text;
  std::vector<std::string> names;
  std::vector<bool> is_tensor;
};

// Reads a program. Numbers among its arguments are removed, as StableHLO has only tensors; a number
// that is used is an error.
Program ReadProgram(const std::string& path) {
  Program program;
  program.text = ReadFile(path);
  static constexpr char kMain[] = "func.func @main(";
  const size_t begin = program.text.find(kMain);
  const size_t end = begin == std::string::npos ? begin : program.text.find(") -> (", begin);
  if (end == std::string::npos) throw Failure("compile", "the program has no @main");
  const std::string head =
      program.text.substr(begin + sizeof(kMain) - 1, end - begin - sizeof(kMain) + 1);
  std::string kept;
  for (size_t at = 0; at < head.size();) {
    size_t next = head.find(", %", at);
    if (next == std::string::npos) next = head.size();
    const std::string argument = head.substr(at, next - at);
    const size_t colon = argument.find(": ");
    if (colon == std::string::npos) throw Failure("compile", "an argument of @main has no type");
    const std::string name = argument.substr(1, colon - 1);
    const bool is_tensor = argument.compare(colon + 2, 14, "!torch.vtensor") == 0;
    program.names.push_back(name);
    program.is_tensor.push_back(is_tensor);
    if (is_tensor) {
      kept += (kept.empty() ? "" : ", ") + argument;
    } else {
      for (size_t use = program.text.find("%" + name, end); use != std::string::npos;
           use = program.text.find("%" + name, use + 1)) {
        const char behind = program.text[use + 1 + name.size()];
        if (!std::isalnum(static_cast<unsigned char>(behind)) && behind != '_' && behind != '.' &&
            behind != '$')
          throw Failure("compile", "StableHLO takes no numbers: " + name);
      }
    }
    at = next + 2;
  }
  program.text.replace(begin + sizeof(kMain) - 1, head.size(), kept);
  return program;
}

class XlaWorker : public worker::Worker {
 public:
  XlaWorker() {
    void* const plugin = dlopen(XLA_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      problem_ = dlerror();
      return;
    }
    api_ = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(plugin, "GetPjrtApi"))();
    PJRT_Plugin_Initialize_Args initialize = {};
    initialize.struct_size = PJRT_Plugin_Initialize_Args_STRUCT_SIZE;
    Check(api_->PJRT_Plugin_Initialize(&initialize), "compile");
    PJRT_Client_Create_Args create = {};
    create.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
    Check(api_->PJRT_Client_Create(&create), "compile");
    client_ = create.client;
    PJRT_Client_AddressableDevices_Args devices = {};
    devices.struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE;
    devices.client = client_;
    Check(api_->PJRT_Client_AddressableDevices(&devices), "compile");
    device_ = devices.addressable_devices[0];
  }

  std::string name() const override { return "xla"; }
  std::string version() const override {
    if (api_ == nullptr) throw Failure("compile", problem_);
    return "PJRT " + std::to_string(api_->pjrt_api_version.major_version) + "." +
           std::to_string(api_->pjrt_api_version.minor_version);
  }

  void Prepare(const Json& request, const std::vector<Tensor>& inputs) override {
    if (api_ == nullptr) throw Failure("compile", problem_);
    program_ = ReadProgram(request.at("program"));
    weights_.clear();
    if (program_.names.size() > inputs.size()) {
      std::map<std::string, Tensor> spelled;
      for (auto& [name, tensor] : worker::ReadTensors(request.at("weights"))) {
        spelled[std::regex_replace(name, std::regex("[^A-Za-z0-9_.]"), "_")] = tensor;
      }
      for (size_t i = inputs.size(); i < program_.names.size(); ++i) {
        const auto it = spelled.find(program_.names[i]);
        if (it == spelled.end()) throw Failure("compile", program_.names[i] + " has no value");
        weights_.push_back(it->second);
      }
    }
    std::string text = ToStableHlo();
    operations_ = 0;
    for (size_t at = text.find(" = stablehlo."); at != std::string::npos;
         at = text.find(" = stablehlo.", at + 1))
      ++operations_;

    PJRT_Program program = {};
    program.struct_size = PJRT_Program_STRUCT_SIZE;
    program.code = text.data();
    program.code_size = text.size();
    program.format = "mlir";
    program.format_size = 4;
    PJRT_Client_Compile_Args compile = {};
    compile.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE;
    compile.client = client_;
    compile.program = &program;
    compile.compile_options = kOptions;
    compile.compile_options_size = sizeof(kOptions);
    Check(api_->PJRT_Client_Compile(&compile), "compile");
    executable_ = compile.executable;

    PJRT_LoadedExecutable_GetExecutable_Args inner = {};
    inner.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE;
    inner.loaded_executable = executable_;
    Check(api_->PJRT_LoadedExecutable_GetExecutable(&inner), "compile");
    PJRT_Executable_NumOutputs_Args outputs = {};
    outputs.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE;
    outputs.executable = inner.executable;
    Check(api_->PJRT_Executable_NumOutputs(&outputs), "compile");
    num_outputs_ = outputs.num_outputs;
    PJRT_Executable_Destroy_Args destroy = {};
    destroy.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE;
    destroy.executable = inner.executable;
    Check(api_->PJRT_Executable_Destroy(&destroy), "compile");
  }

  void SetInputs(const std::vector<Tensor>& inputs) override {
    Drop(&inputs_);
    std::vector<Tensor> all = inputs;
    all.insert(all.end(), weights_.begin(), weights_.end());
    for (size_t i = 0; i < all.size(); ++i) {
      if (program_.is_tensor.at(i)) inputs_.push_back(BufferOf(all[i]));
    }
  }

  void Run() override {
    Drop(&outputs_);
    std::vector<PJRT_Buffer*> made(num_outputs_);
    PJRT_Buffer** made_list = made.data();
    PJRT_Buffer* const* arguments = inputs_.data();
    PJRT_Event* done = nullptr;
    std::vector<int64_t> kept(inputs_.size());
    for (size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<int64_t>(i);
    PJRT_ExecuteOptions options = {};
    options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
    options.non_donatable_input_indices = kept.data();
    options.num_non_donatable_input_indices = kept.size();
    PJRT_LoadedExecutable_Execute_Args execute = {};
    execute.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE;
    execute.executable = executable_;
    execute.options = &options;
    execute.argument_lists = &arguments;
    execute.num_devices = 1;
    execute.num_args = inputs_.size();
    execute.output_lists = &made_list;
    execute.device_complete_events = &done;
    Check(api_->PJRT_LoadedExecutable_Execute(&execute), "run");
    Await(done);
    outputs_ = std::move(made);
  }

  std::vector<Tensor> Outputs() override {
    std::vector<Tensor> outputs;
    for (PJRT_Buffer* buffer : outputs_) outputs.push_back(TensorOf(buffer));
    return outputs;
  }

  // PJRT's buffers cannot be written to, and each call creates new ones.
  void PoisonOutputs() override {}

  std::string Proof() const override {
    return std::to_string(operations_) + " operations of StableHLO by PJRT's " + Platform();
  }

  void Close() override {
    Drop(&inputs_);
    Drop(&outputs_);
    if (executable_ == nullptr) return;
    PJRT_LoadedExecutable_Destroy_Args destroy = {};
    destroy.struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE;
    destroy.executable = executable_;
    executable_ = nullptr;
    Check(api_->PJRT_LoadedExecutable_Destroy(&destroy), "run");
  }

 private:
  void Check(PJRT_Error* error, const std::string& stage) const {
    if (error == nullptr) return;
    PJRT_Error_Message_Args message = {};
    message.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
    message.error = error;
    api_->PJRT_Error_Message(&message);
    const std::string text(message.message, message.message_size);
    PJRT_Error_Destroy_Args destroy = {};
    destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
    destroy.error = error;
    api_->PJRT_Error_Destroy(&destroy);
    throw Failure(stage, text);
  }

  void Await(PJRT_Event* event) const {
    if (event == nullptr) return;
    PJRT_Event_Await_Args await = {};
    await.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE;
    await.event = event;
    PJRT_Error* const error = api_->PJRT_Event_Await(&await);
    PJRT_Event_Destroy_Args destroy = {};
    destroy.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
    destroy.event = event;
    api_->PJRT_Event_Destroy(&destroy);
    Check(error, "run");
  }

  std::string ToStableHlo() const {
    std::ofstream("torch.mlir") << program_.text;
    const std::string command = std::string("'" TORCH_MLIR_OPT "' '--pass-pipeline=") + kPipeline +
                                "' torch.mlir -o stablehlo.mlir 2> torch-mlir-opt.txt";
    const int status = std::system(command.c_str());
    if (status != 0) {
      const std::string text = ReadFile("torch-mlir-opt.txt");
      const size_t error = text.find("error: ");
      throw Failure("compile", "StableHLO: " + (error != std::string::npos ? text.substr(error + 7)
                                                : !text.empty()            ? text
                                                                : "torch-mlir-opt fails"));
    }
    return WithSigns(ReadFile("stablehlo.mlir"));
  }

  // Corrects comparisons of bools and unsigned numbers, which torch-mlir-opt writes as signed and
  // XLA refuses.
  static std::string WithSigns(std::string text) {
    static constexpr char kSigned[] = "SIGNED : (tensor<";
    for (size_t at = text.find(kSigned); at != std::string::npos; at = text.find(kSigned, at + 1)) {
      const size_t end = text.find('>', at);
      if (end == std::string::npos || (at > 0 && text[at - 1] == 'N')) continue;
      const size_t begin = text.find_last_of("<x", end) + 1;
      const std::string element = text.substr(begin, end - begin);
      if (element == "i1" || element.rfind("ui", 0) == 0) text.insert(at, "UN");
    }
    return text;
  }

  PJRT_Buffer* BufferOf(const Tensor& tensor) const {
    PJRT_Client_BufferFromHostBuffer_Args args = {};
    args.struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE;
    args.client = client_;
    args.data = tensor.data();
    args.type = PJRT_Buffer_Type_INVALID;
    for (const DType& dtype : kDTypes) {
      if (tensor.dtype == dtype.name) args.type = dtype.type;
    }
    if (args.type == PJRT_Buffer_Type_INVALID)
      throw Failure("inputs", "XLA has no " + tensor.dtype);
    args.dims = tensor.shape.data();
    args.num_dims = tensor.shape.size();
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    args.device = device_;
    Check(api_->PJRT_Client_BufferFromHostBuffer(&args), "run");
    Await(args.done_with_host_buffer);
    return args.buffer;
  }

  Tensor TensorOf(PJRT_Buffer* buffer) const {
    Tensor tensor;
    PJRT_Buffer_ElementType_Args type = {};
    type.struct_size = PJRT_Buffer_ElementType_Args_STRUCT_SIZE;
    type.buffer = buffer;
    Check(api_->PJRT_Buffer_ElementType(&type), "run");
    for (const DType& dtype : kDTypes) {
      if (type.type == dtype.type) tensor.dtype = dtype.name;
    }
    if (tensor.dtype.empty())
      throw Failure("run", "an output has a dtype that .safetensors does not support");
    PJRT_Buffer_Dimensions_Args dims = {};
    dims.struct_size = PJRT_Buffer_Dimensions_Args_STRUCT_SIZE;
    dims.buffer = buffer;
    Check(api_->PJRT_Buffer_Dimensions(&dims), "run");
    tensor.shape.assign(dims.dims, dims.dims + dims.num_dims);
    tensor.Allocate(worker::BytesOf(tensor.dtype, tensor.shape));
    // Copy in row-major order, whatever the order of the buffer.
    std::vector<int64_t> order(tensor.shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
    PJRT_Buffer_MemoryLayout layout = {};
    layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
    layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    layout.tiled.minor_to_major = order.data();
    layout.tiled.minor_to_major_size = order.size();
    PJRT_Buffer_ToHostBuffer_Args copy = {};
    copy.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE;
    copy.src = buffer;
    copy.host_layout = &layout;
    copy.dst = tensor.data();
    copy.dst_size = tensor.bytes;
    Check(api_->PJRT_Buffer_ToHostBuffer(&copy), "run");
    Await(copy.event);
    return tensor;
  }

  void Drop(std::vector<PJRT_Buffer*>* buffers) const {
    for (PJRT_Buffer* buffer : *buffers) {
      PJRT_Buffer_Destroy_Args destroy = {};
      destroy.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE;
      destroy.buffer = buffer;
      Check(api_->PJRT_Buffer_Destroy(&destroy), "run");
    }
    buffers->clear();
  }

  std::string Platform() const {
    PJRT_Client_PlatformName_Args platform = {};
    platform.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE;
    platform.client = client_;
    Check(api_->PJRT_Client_PlatformName(&platform), "run");
    return std::string(platform.platform_name, platform.platform_name_size);
  }

  const PJRT_Api* api_ = nullptr;
  std::string problem_;
  PJRT_Client* client_ = nullptr;
  PJRT_Device* device_ = nullptr;
  PJRT_LoadedExecutable* executable_ = nullptr;
  Program program_;
  std::vector<Tensor> weights_;
  std::vector<PJRT_Buffer*> inputs_, outputs_;
  size_t num_outputs_ = 0, operations_ = 0;
};

}  // namespace

int main() { return worker::Serve<XlaWorker>(); }

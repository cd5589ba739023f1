// The plugin of PJRT that pjrt_c_api.h describes. A program with the word complex128 returns its
// inputs as complex numbers of 16 bytes.
#include <cstring>
#include <string>
#include <vector>

#include "pjrt_c_api.h"

struct PJRT_Buffer {
  PJRT_Buffer_Type type;
  std::vector<int64_t> dims;
  const void* data;
};
struct PJRT_Executable {};
struct PJRT_LoadedExecutable {
  PJRT_Executable executable;
  bool is_complex;
};

namespace {

PJRT_Error* Compile(PJRT_Client_Compile_Args* args) {
  const std::string code(args->program->code, args->program->code_size);
  args->executable = new PJRT_LoadedExecutable{{}, code.find("complex128") != std::string::npos};
  return nullptr;
}

PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  PJRT_Buffer* made = new PJRT_Buffer(*args->argument_lists[0][0]);
  if (args->executable->is_complex) made->type = PJRT_Buffer_Type_C128;
  args->output_lists[0][0] = made;
  args->device_complete_events[0] = nullptr;
  return nullptr;
}

PJRT_Error* FromHost(PJRT_Client_BufferFromHostBuffer_Args* args) {
  args->buffer = new PJRT_Buffer{args->type, {args->dims, args->dims + args->num_dims}, args->data};
  args->done_with_host_buffer = nullptr;
  return nullptr;
}

PJRT_Error* ToHost(PJRT_Buffer_ToHostBuffer_Args* args) {
  std::memcpy(args->dst, args->src->data, args->dst_size);
  args->event = nullptr;
  return nullptr;
}

PJRT_Api Api() {
  PJRT_Api api = {};
  api.pjrt_api_version = {0, 1};
  api.PJRT_Plugin_Initialize = [](auto*) -> PJRT_Error* { return nullptr; };
  api.PJRT_Client_Create = [](auto*) -> PJRT_Error* { return nullptr; };
  api.PJRT_Client_AddressableDevices = [](auto* args) -> PJRT_Error* {
    static PJRT_Device* const none[] = {nullptr};
    args->addressable_devices = none;
    return nullptr;
  };
  api.PJRT_Client_PlatformName = [](auto* args) -> PJRT_Error* {
    args->platform_name = "stand-in";
    args->platform_name_size = std::strlen(args->platform_name);
    return nullptr;
  };
  api.PJRT_Client_Compile = Compile;
  api.PJRT_LoadedExecutable_GetExecutable = [](auto* args) -> PJRT_Error* {
    args->executable = &args->loaded_executable->executable;
    return nullptr;
  };
  api.PJRT_Executable_NumOutputs = [](auto* args) -> PJRT_Error* {
    args->num_outputs = 1;
    return nullptr;
  };
  api.PJRT_Executable_Destroy = [](auto*) -> PJRT_Error* { return nullptr; };
  api.PJRT_LoadedExecutable_Destroy = [](auto* args) -> PJRT_Error* {
    delete args->executable;
    return nullptr;
  };
  api.PJRT_LoadedExecutable_Execute = Execute;
  api.PJRT_Client_BufferFromHostBuffer = FromHost;
  api.PJRT_Buffer_ElementType = [](auto* args) -> PJRT_Error* {
    args->type = args->buffer->type;
    return nullptr;
  };
  api.PJRT_Buffer_Dimensions = [](auto* args) -> PJRT_Error* {
    args->dims = args->buffer->dims.data();
    args->num_dims = args->buffer->dims.size();
    return nullptr;
  };
  api.PJRT_Buffer_ToHostBuffer = ToHost;
  api.PJRT_Buffer_Destroy = [](auto* args) -> PJRT_Error* {
    delete args->buffer;
    return nullptr;
  };
  return api;
}

}  // namespace

extern "C" const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = Api();
  return &api;
}

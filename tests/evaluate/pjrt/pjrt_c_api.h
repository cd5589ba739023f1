// A stand-in for the header of PJRT, with what workers/xla_worker.cc uses of it. The plugin that
// stand_in.cc makes compiles nothing: its programs return their inputs.
#ifndef TESTS_EVALUATE_PJRT_PJRT_C_API_H_
#define TESTS_EVALUATE_PJRT_PJRT_C_API_H_

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN: the names are PJRT's.
enum PJRT_Buffer_Type {
  PJRT_Buffer_Type_INVALID,
  PJRT_Buffer_Type_PRED,
  PJRT_Buffer_Type_S8,
  PJRT_Buffer_Type_S16,
  PJRT_Buffer_Type_S32,
  PJRT_Buffer_Type_S64,
  PJRT_Buffer_Type_U8,
  PJRT_Buffer_Type_U16,
  PJRT_Buffer_Type_U32,
  PJRT_Buffer_Type_U64,
  PJRT_Buffer_Type_F16,
  PJRT_Buffer_Type_F32,
  PJRT_Buffer_Type_F64,
  PJRT_Buffer_Type_BF16,
  PJRT_Buffer_Type_C64,
  PJRT_Buffer_Type_C128
};
enum PJRT_HostBufferSemantics { PJRT_HostBufferSemantics_kImmutableOnlyDuringCall };
enum PJRT_Buffer_MemoryLayout_Type { PJRT_Buffer_MemoryLayout_Type_Tiled };

struct PJRT_Buffer;
struct PJRT_Client;
struct PJRT_Device;
struct PJRT_Error;
struct PJRT_Event;
struct PJRT_Executable;
struct PJRT_LoadedExecutable;

// A structure that begins with its size.
#define PJRT_STRUCT(name, ...) \
  struct name {                \
    size_t struct_size;        \
    __VA_ARGS__                \
  };                           \
  constexpr size_t name##_STRUCT_SIZE = sizeof(name)

PJRT_STRUCT(PJRT_Program, char* code; size_t code_size; const char* format; size_t format_size;);
PJRT_STRUCT(PJRT_ExecuteOptions, const int64_t* non_donatable_input_indices;
            size_t num_non_donatable_input_indices;);
PJRT_STRUCT(PJRT_Buffer_MemoryLayout_Tiled, const int64_t* minor_to_major;
            size_t minor_to_major_size;);
PJRT_STRUCT(PJRT_Buffer_MemoryLayout, PJRT_Buffer_MemoryLayout_Type type;
            PJRT_Buffer_MemoryLayout_Tiled tiled;);

// clang-format off
// The functions of the plugin, each with the members of the structure that it takes.
#define PJRT_FUNCTIONS(F) \
  F(PJRT_Plugin_Initialize, ) \
  F(PJRT_Client_Create, PJRT_Client* client;) \
  F(PJRT_Client_AddressableDevices, \
    PJRT_Client* client; PJRT_Device* const* addressable_devices;) \
  F(PJRT_Client_PlatformName, \
    PJRT_Client* client; const char* platform_name; size_t platform_name_size;) \
  F(PJRT_Client_Compile, \
    PJRT_Client* client; const PJRT_Program* program; const char* compile_options; \
    size_t compile_options_size; PJRT_LoadedExecutable* executable;) \
  F(PJRT_LoadedExecutable_GetExecutable, \
    PJRT_LoadedExecutable* loaded_executable; PJRT_Executable* executable;) \
  F(PJRT_Executable_NumOutputs, PJRT_Executable* executable; size_t num_outputs;) \
  F(PJRT_Executable_Destroy, PJRT_Executable* executable;) \
  F(PJRT_LoadedExecutable_Destroy, PJRT_LoadedExecutable* executable;) \
  F(PJRT_LoadedExecutable_Execute, \
    PJRT_LoadedExecutable* executable; PJRT_ExecuteOptions* options; \
    PJRT_Buffer* const* const* argument_lists; size_t num_devices; size_t num_args; \
    PJRT_Buffer** const* output_lists; PJRT_Event** device_complete_events;) \
  F(PJRT_Client_BufferFromHostBuffer, \
    PJRT_Client* client; const void* data; PJRT_Buffer_Type type; const int64_t* dims; \
    size_t num_dims; PJRT_HostBufferSemantics host_buffer_semantics; PJRT_Device* device; \
    PJRT_Event* done_with_host_buffer; PJRT_Buffer* buffer;) \
  F(PJRT_Buffer_ElementType, PJRT_Buffer* buffer; PJRT_Buffer_Type type;) \
  F(PJRT_Buffer_Dimensions, PJRT_Buffer* buffer; const int64_t* dims; size_t num_dims;) \
  F(PJRT_Buffer_ToHostBuffer, \
    PJRT_Buffer* src; PJRT_Buffer_MemoryLayout* host_layout; void* dst; size_t dst_size; \
    PJRT_Event* event;) \
  F(PJRT_Buffer_Destroy, PJRT_Buffer* buffer;) \
  F(PJRT_Event_Await, PJRT_Event* event;)

// Functions that cannot fail.
#define PJRT_PROCEDURES(F) \
  F(PJRT_Error_Message, const PJRT_Error* error; const char* message; size_t message_size;) \
  F(PJRT_Error_Destroy, PJRT_Error* error;) \
  F(PJRT_Event_Destroy, PJRT_Event* event;)
// clang-format on

#define PJRT_ARGUMENTS(name, ...) PJRT_STRUCT(name##_Args, __VA_ARGS__);
PJRT_FUNCTIONS(PJRT_ARGUMENTS)
PJRT_PROCEDURES(PJRT_ARGUMENTS)

struct PJRT_Api {
  struct {
    int major_version;
    int minor_version;
  } pjrt_api_version;
#define PJRT_FUNCTION(name, ...) PJRT_Error* (*name)(name##_Args*);
  PJRT_FUNCTIONS(PJRT_FUNCTION)
#define PJRT_PROCEDURE(name, ...) void (*name)(name##_Args*);
  PJRT_PROCEDURES(PJRT_PROCEDURE)
};
// NOLINTEND

#endif  // TESTS_EVALUATE_PJRT_PJRT_C_API_H_

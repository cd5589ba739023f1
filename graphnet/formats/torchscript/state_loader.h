// Internal: loads TorchScript archives whose objects have a state of their own.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_STATE_LOADER_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_STATE_LOADER_H_

#include <memory>
#include <optional>

#include "c10/core/Device.h"
#include "caffe2/serialize/read_adapter_interface.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/serialization/import.h"

namespace graphnet::torchscript {

// Does what torch::jit::load does, but runs no code of the archive. Quantised modules have a
// __setstate__, which packs their weights. It is followed here as far as such code goes: it may
// assign attributes, take tuples apart, compare, branch, call methods of its class, and pack
// weights, whose sizes and numbers are checked first. Packed parameters are made from a state whose
// form is checked, too. Source positions are those of the code in the archive.
//
// The archive must have passed CheckTorchScriptArchive. Throws c10::Error.
torch::jit::Module LoadWithState(std::shared_ptr<caffe2::serialize::ReadAdapterInterface> bytes,
                                 std::optional<c10::Device> device,
                                 torch::jit::ExtraFilesMap& extra);

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_STATE_LOADER_H_

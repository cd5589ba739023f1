#include "graphnet/formats/torchscript/importer.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/dispatch/Dispatcher.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "c10/util/Exception.h"
#include "caffe2/serialize/read_adapter_interface.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/listed_names.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/remark.h"
#include "graphnet/base/shared_bytes.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/archive_check.h"
#include "graphnet/formats/torchscript/graph_importer.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/program.h"
#include "graphnet/formats/torchscript/state_loader.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/interp/torch/status.h"
#include "torch/csrc/jit/api/function_impl.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/serialization/import.h"
#include "torch/library.h"

namespace graphnet {
namespace {

// The extra file of an archive that describes its inputs.
constexpr char kInputsFile[] = "graphnet_inputs";

// Lets LibTorch read exactly the bytes that were checked. Memory of a mapped file is released after
// each read, because LibTorch makes a copy.
class MemoryReader : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit MemoryReader(SharedBytes bytes) : bytes_(std::move(bytes)) {}
  size_t size() const override { return bytes_->size(); }
  size_t read(uint64_t pos, void* buf, size_t n, const char*) const override {
    if (pos >= bytes_->size()) return 0;
    const SharedBytes part = bytes_.Part(pos, n);
    std::memcpy(buf, part->data(), part->size());
    part.Release();
    return part->size();
  }

 private:
  SharedBytes bytes_;
};

// Declares torchvision's operators while an instance exists, so that programs that call them can be
// imported (but not run) without torchvision's library. The last instance removes the declaration,
// because the library may be loaded later and must be the only one to declare the operators.
// Threads share one declaration: PyTorch refuses a second one, so a lock guards both steps.
class TorchvisionDeclaration {
 public:
  TorchvisionDeclaration() {
    Shared& shared = TheShared();
    const std::lock_guard lock(shared.mutex);
    const bool is_declared =
        shared.users > 0 || c10::Dispatcher::singleton().findSchema({"torchvision::nms", ""});
    if (!is_declared) shared.library.emplace(Declare());
    ++shared.users;
  }
  TorchvisionDeclaration(const TorchvisionDeclaration&) = delete;
  TorchvisionDeclaration& operator=(const TorchvisionDeclaration&) = delete;
  ~TorchvisionDeclaration() {
    Shared& shared = TheShared();
    const std::lock_guard lock(shared.mutex);
    if (--shared.users == 0) shared.library.reset();
  }

 private:
  struct Shared {
    std::mutex mutex;
    int users = 0;
    std::optional<torch::Library> library;  // nullopt if torchvision's library is loaded
  };
  static torch::Library Declare() {
    torch::Library library(torch::Library::FRAGMENT, "torchvision", std::nullopt, __FILE__,
                           __LINE__);
    for (const char* schema : {
             "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
             "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
             "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
             "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
             "SymInt pooled_width) -> (Tensor, Tensor)",
             "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
             "SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
             "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
             "SymInt pooled_width) -> (Tensor, Tensor)",
             "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
             "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
             "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
         }) {
      library.def(schema);
    }
    return library;
  }
  static Shared& TheShared() {
    static auto* const shared = new Shared;
    return *shared;
  }
};

// Says that a module has no such method, and which ones it has.
std::string NoMethod(const torch::jit::Module& module, const std::string& method) {
  std::vector<std::string> names;
  for (const torch::jit::Method& other : module.get_methods())
    names.push_back(Printable(other.name()));
  const std::string none = absl::StrCat("the module has no method ", Printable(method));
  if (names.empty()) return absl::StrCat(none, ", and no other one");
  return absl::StrCat(none, "; --method chooses one of ", ListedNames(names));
}

// Returns the lines of kInputsFile, one per input.
std::vector<std::string> Lines(absl::string_view inputs) {
  return absl::StrSplit(inputs, '\n', absl::SkipWhitespace());
}

// Suppresses PyTorch's warnings. Making a quantised tensor warns that PyTorch may drop them one day.
class Quiet : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}

 private:
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

// How to load an archive.
struct Loading {
  bool positions = true;    // LibTorch may read the tables of source positions
  bool with_state = false;  // LibTorch must not load it, but LoadWithState
};

// Loads a module. `inputs` receives the content of kInputsFile.
torch::jit::Module Load(const SharedBytes& bytes, const Loading& loading, std::string* inputs) {
  torch::jit::ExtraFilesMap extra = {{kInputsFile, ""}};
  const auto load = [&](std::optional<c10::Device> device) {
    const auto reader = std::make_shared<MemoryReader>(bytes);
    torch::jit::Module module = loading.with_state
                                    ? torchscript::LoadWithState(reader, device, extra)
                                    : torch::jit::load(reader, device, extra, loading.positions);
    *inputs = extra[kInputsFile];
    return module;
  };
  try {
    return load(std::nullopt);
  } catch (const c10::Error& e) {
    // Weights may be on a device that this machine does not have.
    const std::string what = absl::AsciiStrToLower(e.what_without_backtrace());
    if (!absl::StrContains(what, "cuda") && !absl::StrContains(what, "backend") &&
        !absl::StrContains(what, "device")) {
      throw;
    }
  }
  return load(c10::Device(c10::kCPU));
}

// Checks an archive that is not trusted. Returns how to load it.
absl::StatusOr<Loading> CheckArchive(absl::string_view bytes, const std::string& name, bool trust) {
  if (trust) return Loading();
  ASSIGN_OR_RETURN(const CheckedArchive checked, CheckTorchScriptArchive(bytes, name));
  if (!checked.positions.ok()) {
    Remark(
        Printable(name, 1000),
        absl::StrCat("the source lines are those of the code in the archive, as its table of them "
                     "is not read: ",
                     checked.positions.message()));
  }
  return Loading{.positions = checked.positions.ok(), .with_state = checked.has_state};
}

std::string Stem(const std::string& path) {
  std::string name = BaseName(path);
  if (const size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  return name;
}

absl::StatusOr<SharedBytes> MapArchive(const std::string& path) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path, kMaxArchiveBytes));
  return SharedBytes(std::make_shared<const MappedFile>(std::move(file)));
}

absl::StatusOr<Sample> Import(torch::jit::Graph& graph, const std::string& name,
                              const torch::jit::Module* self, const c10::FunctionSchema* schema,
                              const ImportGraphOptions& options) {
  ASSIGN_OR_RETURN(const auto program,
                   torchscript::Program::Make(graph, self ? self->_ivalue() : nullptr));
  Sample sample;
  sample.name = name;
  sample.module = std::make_unique<Module>();
  torchscript::GraphImporter importer(program.get(), &sample, options);
  RETURN_IF_ERROR(importer.Run(name, schema, self != nullptr));
  return sample;
}

}  // namespace

absl::StatusOr<torch::jit::Module> LoadTorchScriptModule(const std::string& path, bool trust,
                                                         std::vector<std::string>* inputs) {
  ASSIGN_OR_RETURN(const SharedBytes bytes, MapArchive(path));
  ASSIGN_OR_RETURN(const Loading loading, CheckArchive(*bytes, path, trust));
  std::string said;
  absl::StatusOr<torch::jit::Module> module =
      Guarded([&]() -> absl::StatusOr<torch::jit::Module> { return Load(bytes, loading, &said); });
  if (!module.ok()) return Annotate(module.status(), Printable(path, 1000));
  if (inputs != nullptr) *inputs = Lines(said);
  return module;
}

absl::StatusOr<torch::jit::GraphFunction*> FindTorchScriptMethod(const torch::jit::Module& module,
                                                                 const std::string& method,
                                                                 absl::string_view verb) {
  const std::optional<torch::jit::Method> found = module.find_method(method);
  if (!found) {
    return absl::NotFoundError(NoMethod(module, method));
  }
  torch::jit::GraphFunction* function = torch::jit::tryToGraphFunction(found->function());
  if (function == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the method ", Printable(method), " is not written in TorchScript"));
  }
  const auto& type = module.type();
  if (method == "forward" &&
      !(type->getForwardHooks().empty() && type->getForwardPreHooks().empty())) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot ", verb, " the forward hooks of the module"));
  }
  return function;
}

absl::StatusOr<Sample> ImportTorchScriptMethod(const torch::jit::Module& module,
                                               const std::string& method,
                                               const ImportGraphOptions& options) {
  return Guarded([&]() -> absl::StatusOr<Sample> {
    ASSIGN_OR_RETURN(torch::jit::GraphFunction* const function,
                     FindTorchScriptMethod(module, method, "represent"));
    function->ensure_defined();
    return Import(*function->graph(), method, &module, &function->getSchema(), options);
  });
}

absl::StatusOr<Sample> ImportTorchScriptGraph(torch::jit::Graph& graph, const std::string& name,
                                              const torch::jit::Module* self,
                                              const ImportGraphOptions& options) {
  return Guarded([&] { return Import(graph, name, self, nullptr, options); });
}

absl::StatusOr<Sample> ImportTorchScript(const SharedBytes& bytes, const std::string& name,
                                         const TorchScriptImportOptions& options) {
  ASSIGN_OR_RETURN(const Loading loading, CheckArchive(*bytes, name, options.trust));
  std::string inputs;
  std::vector<std::string> unread;
  const Quiet quiet;
  absl::StatusOr<Sample> sample = Guarded([&]() -> absl::StatusOr<Sample> {
    const TorchvisionDeclaration declaration;
    return ImportTorchScriptMethod(
        Load(bytes, loading, &inputs), options.method,
        {.weights = options.weights, .share_weights = true, .unread_parameters = &unread});
  });
  if (!sample.ok()) return Annotate(sample.status(), name);
  if (!unread.empty()) {
    for (std::string& parameter : unread) parameter = Printable(parameter, 100);
    Remark(Printable(name, 1000),
           absl::StrCat("parameters that ", Printable(options.method),
                        " does not read are left out: ", ListedNames(unread)));
  }
  sample->name = Stem(name);
  if (options.method != "forward") absl::StrAppend(&sample->name, "_", options.method);
  if (options.method == "forward") {
    RETURN_IF_ERROR(Annotate(DescribeInputs(Lines(inputs), /*seed=*/0, &*sample),
                             absl::StrCat(name, ": extra/", kInputsFile)));
  }
  return sample;
}

absl::StatusOr<Sample> ImportTorchScriptFile(const std::string& path,
                                             const TorchScriptImportOptions& options) {
  ASSIGN_OR_RETURN(const SharedBytes bytes, MapArchive(path));
  return ImportTorchScript(bytes, path, options);
}

absl::StatusOr<Sample> ImportTorchScript(absl::string_view bytes, const std::string& name,
                                         const TorchScriptImportOptions& options) {
  return ImportTorchScript(SharedBytes(nullptr, bytes), name, options);
}

}  // namespace graphnet

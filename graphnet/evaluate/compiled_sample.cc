#include "graphnet/evaluate/compiled_sample.h"

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/digest.h"
#include "graphnet/base/file.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"
#include "graphnet/base/without_exceptions.h"
#include "graphnet/evaluate/bench_sample.h"
#include "graphnet/evaluate/processor.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/ir/canonical_hash.h"

namespace graphnet {
namespace {

absl::StatusOr<std::string> DigestOfFile(const std::string& path) {
  if (path.empty()) return std::string();
  ASSIGN_OR_RETURN(const MappedFile file,
                   MappedFile::Open(path, std::numeric_limits<size_t>::max()));
  return Sha256(file.bytes());
}

// Returns the digest of the worker's files and of the program that was compiled from them.
absl::StatusOr<std::string> DigestOf(const Backend& backend) {
  std::string all;
  for (const WorkerFile& file : backend.files) absl::StrAppend(&all, file.text(), "\n");
  if (backend.kind == BackendKind::kProgram) {
    ASSIGN_OR_RETURN(const std::string program, DigestOfFile(WorkerProgramFile(backend)));
    all += program;
  }
  return Sha256(all);
}

}  // namespace

SampleCompiler::SampleCompiler(std::unique_ptr<ScratchFolder> folder, const Backend* backend,
                               const WorkerHost& host, const WorkerLimits& limits,
                               CompileCache* cache)
    : folder_(std::move(folder)),
      process_(backend, host, limits, JoinPath(folder_->path(), "worker")),
      cache_(cache) {}

absl::StatusOr<std::shared_ptr<SampleCompiler>> SampleCompiler::Start(const Backend* backend,
                                                                      const WorkerHost& host,
                                                                      const WorkerLimits& limits,
                                                                      CompileCache* cache) {
  ASSIGN_OR_RETURN(auto folder, ScratchFolder::Make());
  std::shared_ptr<SampleCompiler> made(
      new SampleCompiler(std::move(folder), backend, host, limits, cache));
  ASSIGN_OR_RETURN(const Worker* worker, made->process_.worker());
  if (!worker->greeting().has_slots) {
    return absl::FailedPreconditionError(
        absl::StrCat("the worker of ", backend->name,
                     " is of an older version and holds one program: ", InstallLine(*backend)));
  }
  if (cache != nullptr) {
    const WorkerGreeting& greeting = worker->greeting();
    ASSIGN_OR_RETURN(const std::string digest, DigestOf(*backend));
    made->key_ = {{"backend", std::string(backend->name)},
                  {"backend_version", greeting.version},
                  {"worker", digest},
                  {"graphnet", kVersion},
                  {"torch", kLibTorchVersion},
                  {"processor", Sha256(ProcessorFeatures())}};
  }
  return made;
}

absl::Status SampleCompiler::WithRequest(const Sample& sample,
                                         absl::FunctionRef<absl::Status(PrepareRequest)> use) {
  const std::string folder = JoinPath(folder_->path(), absl::StrCat("program_", ++num_requests_));
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  const std::string path = JoinPath(folder, "sample.pb");
  RETURN_IF_ERROR(WithoutExceptions([&]() -> absl::Status {
    RETURN_IF_ERROR(Save(sample, path));
    ASSIGN_OR_RETURN(const auto readable, BenchSample::Load(path, folder, {}));
    ASSIGN_OR_RETURN(PrepareRequest request, readable->RequestFor(process_.backend()));
    return use(std::move(request));
  }));
  // The worker has read the files.
  std::filesystem::remove_all(folder, error);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CompiledSample>> SampleCompiler::Compile(const Sample& sample) {
  const int slot = ++last_slot_;
  RETURN_IF_ERROR(WithRequest(sample, [&](PrepareRequest request) {
    request.slot = slot;
    return Prepare(sample, std::move(request));
  }));
  return std::unique_ptr<CompiledSample>(new CompiledSample(shared_from_this(), slot));
}

absl::StatusOr<int64_t> SampleCompiler::CountKernels(const Sample& sample) {
  int64_t count = 0;
  RETURN_IF_ERROR(WithRequest(sample, [&](const PrepareRequest& request) -> absl::Status {
    ASSIGN_OR_RETURN(Worker * worker, process_.worker());
    ASSIGN_OR_RETURN(count, worker->CountKernels(request));
    return absl::OkStatus();
  }));
  return count;
}

absl::StatusOr<CompileKey> SampleCompiler::KeyOf(const Sample& sample,
                                                 const PrepareRequest& request) const {
  ASSIGN_OR_RETURN(const std::string program, DigestOfFile(request.program));
  ASSIGN_OR_RETURN(const std::string weights, DigestOfFile(request.weights));
  CompileKey key = key_;
  key.insert(key.end(), {{"graph", CanonicalHash(*sample.module)},
                         {"program", program},
                         {"weights", weights},
                         {"order", absl::StrJoin(request.order, "\n")},
                         {"constants", absl::StrJoin(request.constants, "\n")},
                         {"device", request.device}});
  // Keys without options stay what they were.
  if (!request.options.empty()) {
    key.emplace_back("options", absl::StrJoin(request.options, ";", absl::PairFormatter("=")));
  }
  return key;
}

absl::Status SampleCompiler::Prepare(const Sample& sample, PrepareRequest request) {
  ASSIGN_OR_RETURN(Worker * worker, process_.worker());
  if (cache_ == nullptr) return worker->Prepare(request);
  ASSIGN_OR_RETURN(const CompileKey key, KeyOf(sample, request));
  ASSIGN_OR_RETURN(const bool is_cached, cache_->LoadOrMake(
                                             key,
                                             [&](const std::string& path) {
                                               PrepareRequest loading = request;
                                               loading.kept = path;
                                               return worker->Prepare(loading);
                                             },
                                             [&](const std::string& path) {
                                               PrepareRequest making = request;
                                               making.keep = path;
                                               return worker->Prepare(making);
                                             }));
  num_cached_ += is_cached ? 1 : 0;
  return absl::OkStatus();
}

CompiledSample::~CompiledSample() {
  BackendProcess& process = compiler_->process_;
  if (!process.is_running()) return;
  if (const auto worker = process.worker(); worker.ok()) (*worker)->Close(slot_).IgnoreError();
}

absl::StatusOr<Outputs> CompiledSample::Run(const std::map<std::string, TensorData>& inputs,
                                            uint64_t seed) {
  BackendProcess& process = compiler_->process_;
  if (!process.is_running()) return absl::UnavailableError("its worker has ended");
  ASSIGN_OR_RETURN(Worker * worker, process.worker());
  const std::string given = JoinPath(compiler_->folder_->path(), "given.safetensors");
  const std::string yielded = JoinPath(process.folder(), "yielded.safetensors");
  RETURN_IF_ERROR(WriteSafetensorsFile(inputs, given));
  RETURN_IF_ERROR(worker->Run(given, yielded, seed, slot_).status());
  return ReadOutputs(yielded);
}

}  // namespace graphnet

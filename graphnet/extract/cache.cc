#include "graphnet/extract/cache.h"

#include <chrono>
#include <utility>

#include "ATen/CPUGeneratorImpl.h"
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/samples.h"
#include "graphnet/interp/torch/status.h"

namespace graphnet {
namespace {

using c10::IValue;

// The attributes of a live module.
class ModuleStore : public AttributeStore {
 public:
  explicit ModuleStore(torch::jit::Module module) : module_(std::move(module)) {}
  IValue Get(const std::string& path, const std::string& name) override {
    return Owner(path)->getAttr(name);
  }
  void Set(const std::string& path, const std::string& name, IValue value) override {
    Owner(path)->setAttr(name, std::move(value));
  }

 private:
  c10::intrusive_ptr<c10::ivalue::Object> Owner(const std::string& path) const {
    c10::intrusive_ptr<c10::ivalue::Object> object = module_._ivalue();
    if (path.empty()) return object;
    for (const absl::string_view part : absl::StrSplit(path, '.'))
      object = object->getAttr(std::string(part)).toObject();
    return object;
  }
  torch::jit::Module module_;
};

bool IsSame(const IValue& a, const IValue& b) {
  if (a.isDouble() && b.isDouble()) return a.toDouble() == b.toDouble();
  if (a.isInt() && b.isInt()) return a.toInt() == b.toInt();
  if (a.isBool() && b.isBool()) return a.toBool() == b.toBool();
  return a.is(b) || (a.tagKind() == b.tagKind() && !a.isPtrType() && a == b) ||
         (a.isString() && b.isString() && a.toStringRef() == b.toStringRef());
}

// Returns a number that grows with each write in place. Inference tensors do not count writes.
uint32_t VersionOf(const at::Tensor& tensor) {
  return tensor.is_inference() ? 0 : static_cast<uint32_t>(tensor._version());
}

}  // namespace

CaptureCache::CaptureCache(torch::jit::Module module, CaptureOptions options)
    : CaptureCache(std::move(module), std::move(options), Options()) {}

CaptureCache::CaptureCache(torch::jit::Module module, CaptureOptions options, Options cache_options)
    : module_(std::move(module)),
      options_(std::move(options)),
      cache_options_(std::move(cache_options)) {
  // A compiler may need values to try, which are drawn by the statistics.
  options_.statistics = cache_options_.compile != nullptr;
}

absl::Status CaptureCache::CheckAttributes(const Capture& capture) {
  for (const Capture::AttributeGuard& guard : capture.attribute_guards) {
    if (!IsSame(guard.object->getSlot(guard.slot), guard.value))
      return absl::FailedPreconditionError(absl::StrCat("attribute ", guard.name, " has changed"));
  }
  return absl::OkStatus();
}

void CaptureCache::ForgetStale() {
  const auto is_stale = [this](const Entry& entry) {
    for (const std::shared_ptr<const Compiled>& compiled : entry.compiled) {
      for (const Compiled::Weight& weight : compiled->weights) {
        if (VersionOf(weight.tensor) == weight.version) continue;
        reasons_.push_back(
            absl::StrCat("attribute ", weight.name, " was written to since it was compiled"));
        return true;
      }
    }
    return false;
  };
  counters_.guard_failures += static_cast<int64_t>(std::erase_if(entries_, is_stale));
}

absl::StatusOr<std::shared_ptr<const CaptureCache::Compiled>> CaptureCache::CompileSubgraph(
    const std::string& hash, std::vector<Compiled::Weight> weights, const Sample& sample) {
  const auto is_same = [](const Compiled::Weight& a, const Compiled::Weight& b) {
    return a.tensor.is_same(b.tensor) && a.version == b.version;
  };
  for (const Entry& entry : entries_) {
    for (const std::shared_ptr<const Compiled>& compiled : entry.compiled) {
      if (compiled->hash == hash && absl::c_equal(compiled->weights, weights, is_same))
        return compiled;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  absl::StatusOr<std::shared_ptr<Executable>> executable = cache_options_.compile(sample);
  counters_.compile_ms +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  RETURN_IF_ERROR(executable.status());
  ++counters_.compilations;
  return std::make_shared<const Compiled>(
      Compiled{hash, std::move(weights), *std::move(executable)});
}

absl::Status CaptureCache::CompileSubgraphs(Entry* entry,
                                            std::vector<StitchedProgram::Subgraph>* subgraphs) {
  const Capture& capture = *entry->capture;
  ASSIGN_OR_RETURN(const ExtractedProgram samples, ToSamples(capture, "program"));
  std::vector<const Module*> modules;
  for (const StitchedProgram::Subgraph& subgraph : *subgraphs) modules.push_back(subgraph.module);
  const std::vector<std::string> refused = WhyInterpreted(capture.manifest, modules);
  for (size_t i = 0; i < subgraphs->size(); ++i) {
    StitchedProgram::Subgraph& subgraph = (*subgraphs)[i];
    const StitchManifest::Subgraph& named = capture.manifest.subgraphs[i];
    std::string why = refused[i];
    std::vector<Compiled::Weight> weights;
    for (const Attribute& attribute : subgraph.module->attributes()) {
      const std::string name(attribute.name);
      if (capture.initial.contains(name)) why = absl::StrCat("the program writes to ", name);
      const at::Tensor& tensor = subgraph.attributes.at(name);
      weights.push_back({name, tensor, VersionOf(tensor)});
    }
    if (why.empty()) {
      const absl::StatusOr<std::shared_ptr<const Compiled>> compiled =
          CompileSubgraph(named.hash, std::move(weights), samples.subgraphs[i]);
      if (compiled.ok()) {
        subgraph.executable = (*compiled)->executable;
        entry->compiled.push_back(*compiled);
        continue;
      }
      why = std::string(compiled.status().message());
    }
    entry->interpreted.push_back({named.name, std::move(why)});
  }
  return absl::OkStatus();
}

absl::StatusOr<IValue> CaptureCache::Replay(const Entry& entry,
                                            const std::vector<IValue>& inputs) const {
  RETURN_IF_ERROR(CheckAttributes(*entry.capture));
  StitchedProgram::RunOptions run;
  run.print = options_.print;
  run.custom_operators = options_.custom_operators;
  if (!entry.program->has_guard_on_the_way()) return entry.program->Run(inputs, run);
  // A run that meets another branch on the way is abandoned, and must leave no trace.
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor random_state = generator.get_state();
  absl::StatusOr<IValue> result = entry.program->Run(inputs, run);
  if (!result.ok()) generator.set_state(random_state);
  return result;
}

absl::StatusOr<IValue> CaptureCache::Call(const std::vector<IValue>& inputs) {
  return Guarded([&]() -> absl::StatusOr<IValue> {
    c10::InferenceMode inference;
    reasons_.clear();
    ForgetStale();
    for (const Entry& entry : entries_) {
      absl::StatusOr<IValue> result = Replay(entry, inputs);
      if (result.ok()) {
        ++counters_.hits;
        return result;
      }
      if (result.status().code() != absl::StatusCode::kFailedPrecondition) return result.status();
      ++counters_.guard_failures;
      reasons_.push_back(std::string(result.status().message()));
    }
    ++counters_.misses;
    const bool keep = counters_.captures < static_cast<int64_t>(cache_options_.max_entries);
    ++(keep ? counters_.captures : counters_.fallbacks);
    ASSIGN_OR_RETURN(Capture capture, CaptureProgram(module_, inputs, options_));
    if (!capture.status.ok()) return capture.status;
    IValue result = std::exchange(capture.result, IValue());
    // A capture whose runs cannot be abandoned half-way is not replayed.
    if (!keep || StitchedProgram::HasGuardAfterEffect(capture.manifest, capture.writes_inputs)) {
      return result;
    }
    Entry entry;
    entry.capture = std::make_unique<Capture>(std::move(capture));
    std::vector<StitchedProgram::Subgraph> subgraphs;
    for (const Capture::Subgraph& subgraph : entry.capture->subgraphs) {
      subgraphs.push_back({subgraph.module.get(), subgraph.attributes});
    }
    if (cache_options_.compile != nullptr) RETURN_IF_ERROR(CompileSubgraphs(&entry, &subgraphs));
    ASSIGN_OR_RETURN(entry.program,
                     StitchedProgram::Make(entry.capture->manifest, std::move(subgraphs),
                                           entry.capture->constants, entry.capture->objects,
                                           std::make_unique<ModuleStore>(module_)));
    entries_.push_back(std::move(entry));
    return result;
  });
}

}  // namespace graphnet

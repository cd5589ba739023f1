#include "graphnet/extract/cache.h"

#include <utility>

#include "ATen/CPUGeneratorImpl.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/status.h"
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

}  // namespace

CaptureCache::CaptureCache(torch::jit::Module module, CaptureOptions options, size_t max_entries)
    : module_(std::move(module)), options_(std::move(options)), max_entries_(max_entries) {
  options_.statistics = false;
}

absl::Status CaptureCache::CheckAttributes(const Capture& capture) {
  for (const Capture::AttributeGuard& guard : capture.attribute_guards) {
    if (!IsSame(guard.object->getSlot(guard.slot), guard.value))
      return absl::FailedPreconditionError(absl::StrCat("attribute ", guard.name, " has changed"));
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
  // A run that meets another branch on the way is given up; nobody may notice.
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
    const bool keep = counters_.captures < static_cast<int64_t>(max_entries_);
    ++(keep ? counters_.captures : counters_.fallbacks);
    ASSIGN_OR_RETURN(Capture capture, CaptureProgram(module_, inputs, options_));
    if (!capture.status.ok()) return capture.status;
    IValue result = std::exchange(capture.result, IValue());
    if (!keep) return result;
    Entry entry;
    entry.capture = std::make_unique<Capture>(std::move(capture));
    std::vector<StitchedProgram::Subgraph> subgraphs;
    for (const Capture::Subgraph& subgraph : entry.capture->subgraphs) {
      subgraphs.push_back({subgraph.module.get(), subgraph.attributes});
    }
    ASSIGN_OR_RETURN(entry.program,
                     StitchedProgram::Make(entry.capture->manifest, std::move(subgraphs),
                                           entry.capture->constants, entry.capture->objects,
                                           std::make_unique<ModuleStore>(module_)));
    // What cannot be given up half-way is not replayed.
    if (!entry.program->has_guard_after_effect(entry.capture->writes_inputs))
      entries_.push_back(std::move(entry));
    return result;
  });
}

}  // namespace graphnet

#include "graphnet/evaluate/bench_locate.h"

#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/base/without_exceptions.h"
#include "graphnet/evaluate/cause_python.h"
#include "graphnet/evaluate/failure_kind.h"
#include "graphnet/evaluate/reduce.h"
#include "graphnet/evaluate/reduce_question.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/graph.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

constexpr char kCausesFile[] = "causes.json";
constexpr size_t kMostCausesBytes = size_t{64} << 20;

// Returns "aten.gelu" for aten.gelu.default.
std::string WithoutOverload(absl::string_view target) {
  const std::vector<absl::string_view> parts = absl::StrSplit(target, '.');
  if (parts.size() != 3 || parts[0] != "aten") return std::string(target);
  return absl::StrCat(parts[0], ".", parts[1]);
}

// Describes the operators of a sample, each once, whatever its spelling.
std::string OperatorsOf(const Sample& sample) {
  Sample copy;
  copy.module = sample.module->Clone();
  if (const absl::StatusOr<Pipeline> to_aten = ParsePipeline("torch-to-aten"); to_aten.ok()) {
    if (!RunPipeline(*to_aten, &copy).status().ok()) copy.module = sample.module->Clone();
  }
  std::vector<std::string> names;
  for (const Node* node : copy.module->main()->nodes()) {
    if (!node->is_call()) continue;
    std::string name = WithoutOverload(node->target());
    if (!absl::c_linear_search(names, name)) names.push_back(std::move(name));
  }
  return absl::StrJoin(names, ", ");
}

std::string DTypesOfInputs(const Sample& sample) {
  std::set<std::string> dtypes;
  for (const Node* node : sample.module->main()->nodes()) {
    if (node->is_call() || node->tensor_meta() == nullptr) continue;
    dtypes.emplace(DTypeShortName(node->tensor_meta()->dtype));
  }
  return absl::StrJoin(dtypes, ", ");
}

// The smallest sample that fails as another one does.
struct Located {
  Cause cause;
  Sample reduced;
};

// Locates failures of one backend, whose workers it keeps.
class Locator {
 public:
  Locator(const BenchRun& run, std::string backend) : run_(run), backend_(std::move(backend)) {
    BenchSettings& settings = run_.settings;
    settings.backends = {backend_};
    settings.warmup = 0;
    settings.trials = 1;
    settings.oracle = settings.derives_tolerance = settings.fresh_inputs = false;
    settings.against.clear();
    run_.against = nullptr;
    run_.record = nullptr;
    run_.listener = {};
  }

  absl::StatusOr<Located> Locate(const std::string& path, double seconds) {
    RETURN_IF_ERROR(Start());
    question_->Forget();
    ASSIGN_OR_RETURN(const Sample sample, Load(path, {.trust = run_.trust, .weights = true}));
    const std::string candidate = JoinPath(scratch_->path(), "sample.pb");
    ReduceOptions reduce;
    reduce.is_interesting = [&](const Sample& smaller) -> absl::StatusOr<bool> {
      std::error_code ignored;
      std::filesystem::remove(JoinPath(scratch_->path(), "sample.safetensors"), ignored);
      RETURN_IF_ERROR(Save(smaller, candidate));
      return question_->Ask(candidate);
    };
    reduce.observe = run_.observe;
    reduce.seed = run_.settings.seed;
    reduce.deadline = absl::Now() + absl::Seconds(seconds);
    ASSIGN_OR_RETURN(Reduction reduction, Reduce(sample, reduce));
    if (!reduction.is_minimal)
      return absl::DeadlineExceededError("the time was up before the sample was minimal");
    Located located;
    located.cause.backend = backend_;
    located.cause.failure = DescribeFailure(question_->kind());
    located.cause.operators = OperatorsOf(reduction.sample);
    located.cause.dtypes = DTypesOfInputs(reduction.sample);
    located.cause.samples = {path};
    located.cause.size = reduction.after.operators;
    located.reduced = std::move(reduction.sample);
    return located;
  }

 private:
  absl::Status Start() {
    if (question_ != nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(scratch_, ScratchFolder::Make());
    ASSIGN_OR_RETURN(question_, MakeBackendQuestion(run_, scratch_->path()));
    return absl::OkStatus();
  }

  BenchRun run_;
  const std::string backend_;
  std::unique_ptr<ScratchFolder> scratch_;
  std::unique_ptr<BackendQuestion> question_;
};

// Writes the smallest sample and the test of a cause into the folder of its number.
absl::Status WriteCause(const BenchRun& run, size_t number, Sample reduced, Cause* cause) {
  const std::string folder = JoinPath(run.folder, absl::StrCat("causes/", number + 1));
  std::error_code error;
  std::filesystem::remove_all(folder, error);  // of a larger sample
  std::filesystem::create_directories(folder, error);
  // The text form has no weights.
  cause->reduced = JoinPath(folder, reduced.weights.empty() ? "sample.gn" : "sample.pb");
  RETURN_IF_ERROR(Save(reduced, cause->reduced));
  const std::string what =
      absl::StrCat(cause->backend, ": ", cause->failure, "; ", cause->operators);
  const absl::string_view name =
      absl::string_view(cause->backend).substr(0, cause->backend.find('{'));
  const absl::StatusOr<std::string> text =
      CausePython(std::move(reduced), run.settings.seed, name, what);
  cause->test.clear();
  cause->why_no_test = std::string(text.status().message());
  if (!text.ok()) return absl::OkStatus();
  cause->test = JoinPath(folder, "test_cause.py");
  return WriteFileAtomic(cause->test, *text);
}

Json JsonOf(const Cause& cause) {
  Json json = Json::Object({{"backend", cause.backend},
                            {"log", cause.log},
                            {"failure", cause.failure},
                            {"operators", cause.operators},
                            {"dtypes", cause.dtypes},
                            {"samples", cause.samples},
                            {"size", cause.size},
                            {"reduced", cause.reduced},
                            {"test", cause.test}});
  if (!cause.why_no_test.empty()) json["why_no_test"] = cause.why_no_test;
  return json;
}

absl::Status WriteCauses(const Causes& causes, const std::string& folder) {
  Json json = Json::Object({{"version", 1}, {"causes", Json::List()}, {"unknown", Json::List()}});
  for (const Cause& cause : causes.causes) json["causes"].push_back(JsonOf(cause));
  for (const auto& [backend, path, why] : causes.unknown) {
    json["unknown"].push_back(Json::Object({{"backend", backend}, {"path", path}, {"why", why}}));
  }
  return WriteFileAtomic(JoinPath(folder, kCausesFile), absl::StrCat(json.Dump(), "\n"));
}

bool IsKnown(const Causes& causes, const std::string& backend, const std::string& path) {
  return absl::c_any_of(causes.causes,
                        [&](const Cause& cause) {
                          return cause.backend == backend &&
                                 absl::c_linear_search(cause.samples, path);
                        }) ||
         absl::c_any_of(causes.unknown, [&](const Causes::Unknown& one) {
           return one.backend == backend && one.path == path;
         });
}

bool IsFailure(const ResultSummary& result) {
  return result.is_loaded && result.outcome != Outcome::kEagerFail && !result.is_right() &&
         !result.is_blind();
}

}  // namespace

absl::StatusOr<Causes> ReadCauses(const std::string& folder) {
  Causes causes;
  const std::string path = JoinPath(folder, kCausesFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return causes;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostCausesBytes));
  const Json json = Json::Parse(text);
  const Json* const list = json.Find("causes");
  const Json* const unknown = json.Find("unknown");
  if (list == nullptr || unknown == nullptr || json.Get<int>("version") != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path, 1000), ": not the causes that this graphnet writes"));
  }
  const auto text_of = [](const Json& object, absl::string_view key) {
    return object.Get<std::string>(key).value_or("");
  };
  for (const Json& object : list->elements()) {
    Cause& cause = causes.causes.emplace_back();
    cause.backend = text_of(object, "backend");
    cause.log = text_of(object, "log");
    cause.failure = text_of(object, "failure");
    cause.operators = text_of(object, "operators");
    cause.dtypes = text_of(object, "dtypes");
    cause.samples =
        object.Get<std::vector<std::string>>("samples").value_or(std::vector<std::string>());
    cause.size = object.Get<int64_t>("size").value_or(0);
    cause.reduced = text_of(object, "reduced");
    cause.test = text_of(object, "test");
    cause.why_no_test = text_of(object, "why_no_test");
  }
  for (const Json& object : unknown->elements()) {
    causes.unknown.push_back(
        {text_of(object, "backend"), text_of(object, "path"), text_of(object, "why")});
  }
  return causes;
}

absl::StatusOr<Causes> LocateCauses(const BenchRun& run, const BenchResults& results,
                                    double seconds,
                                    const std::function<void(const std::string& line)>& say) {
  ASSIGN_OR_RETURN(Causes causes, ReadCauses(run.folder));
  for (const BackendResults& backend : results.backends) {
    Locator locator(run, backend.backend);
    for (const auto& [path, result] : backend.samples) {
      if (!IsFailure(result) || IsKnown(causes, backend.backend, path)) continue;
      // An exception on hostile input counts as a result of the sample, as elsewhere.
      absl::StatusOr<Located> located =
          WithoutExceptions([&] { return locator.Locate(path, seconds); });
      const std::string place = absl::StrCat(Printable(path, 1000), ": ", backend.backend, ": ");
      if (!located.ok()) {
        const std::string why(located.status().message());
        causes.unknown.push_back({backend.backend, path, why});
        say(absl::StrCat("LOCATED ", place, "no cause: ", why));
      } else {
        auto known = absl::c_find_if(
            causes.causes, [&](const Cause& cause) { return cause.IsLike(located->cause); });
        const bool is_smaller = known == causes.causes.end() || located->cause.size < known->size;
        located->cause.log = BaseName(backend.log);
        if (known == causes.causes.end()) {
          known = causes.causes.insert(causes.causes.end(), located->cause);
        } else {
          known->samples.push_back(path);
        }
        const auto number = static_cast<size_t>(known - causes.causes.begin());
        if (is_smaller) {
          known->size = located->cause.size;
          RETURN_IF_ERROR(WriteCause(run, number, std::move(located->reduced), &*known));
        }
        say(absl::StrCat("LOCATED ", place, "cause ", number + 1, ": ", known->operators));
      }
      RETURN_IF_ERROR(WriteCauses(causes, run.folder));
    }
  }
  RETURN_IF_ERROR(WriteCauses(causes, run.folder));
  return causes;
}

Report ReportOf(const Causes& causes) {
  Report report;
  size_t samples = 0;
  Table table = {{"cause", "cause"},     {"backend", ""},
                 {"failure", "failure"}, {"operators", "operators"},
                 {"dtypes", "dtypes"},   {"num_samples", "samples"},
                 {"samples", ""},        {"reduced", ""},
                 {"test", "test"},       {"why_no_test", ""}};
  for (size_t i = 0; i < causes.causes.size(); ++i) {
    const Cause& cause = causes.causes[i];
    samples += cause.samples.size();
    table.Add({i + 1, cause.backend, cause.failure, cause.operators, cause.dtypes,
               cause.samples.size(), Cell(Json(cause.samples)), cause.reduced,
               cause.test.empty() ? Cell() : Cell(cause.test),
               cause.why_no_test.empty() ? Cell() : Cell(cause.why_no_test)});
  }
  report.Say(absl::StrCat(samples, samples == 1 ? " sample fails for " : " samples fail for ",
                          causes.causes.size(), causes.causes.size() == 1 ? " cause" : " causes"));
  report.Add("causes", std::move(table));
  Table unknown = {{"backend", ""}, {"path", ""}, {"why", ""}};
  for (const auto& [backend, path, why] : causes.unknown) unknown.Add({backend, path, why});
  if (!causes.unknown.empty()) {
    report.Say(absl::StrCat("without a cause that was found: ", causes.unknown.size()));
  }
  report.Add("unknown_causes", std::move(unknown));
  return report;
}

}  // namespace graphnet

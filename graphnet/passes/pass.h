// Pass: a rewrite of a module that a pipeline (pipeline.h) calls by name. The
// function behind it changes the module in place, says honestly whether it changed
// anything, and keeps names, metas, locations and module paths of what it does not
// make anew. Its header documents it (documentation.h).
//
//   const RegisteredPass kMine("mine", "mine.h", [](Module*, PassRun& run) -> absl::StatusOr<bool> {
//     run.Note("nothing to do");
//     return false;  // nothing changed
//   });
#ifndef GRAPHNET_PASSES_PASS_H_
#define GRAPHNET_PASSES_PASS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct PassNote {
  std::string what;
  size_t count = 1;
  bool is_counted = false;  // how often is part of what it says
  bool is_warning = false;  // something may not be as it was meant
};

// The values of attributes that are known, and what runs operators on them.
struct Constants {
  std::map<std::string, TensorData> values;
  // What a module without inputs returns, o0, o1, … in order.
  std::function<absl::StatusOr<std::map<std::string, TensorData>>(const Module& module)> run;
};

// One application of a pass: the options it is given and what it has to tell.
class PassRun {
 public:
  PassRun() = default;
  explicit PassRun(std::map<std::string, std::string> options) : options_(std::move(options)) {}

  // As it is written in the pipeline; `otherwise` when it is not given.
  absl::string_view option(absl::string_view name, absl::string_view otherwise = {}) const;
  // All that are given, by name.
  const std::map<std::string, std::string>& options() const { return options_; }
  // The parts of "a+b+c"; empty when it is not given.
  std::vector<std::string> list(absl::string_view name) const;
  // Whether a switch is on: "true" or "false", InvalidArgument if neither.
  absl::StatusOr<bool> flag(absl::string_view name, bool otherwise = false) const;

  // A line for the person who runs the pass: what was changed and why, or what is
  // left, and how often.
  void Note(std::string what) { notes_.push_back({.what = std::move(what)}); }
  // "3 calls of relu": `count`, then `what`.
  void Note(std::string what, size_t count) {
    notes_.push_back({.what = std::move(what), .count = count, .is_counted = true});
  }
  void Warn(std::string what) { notes_.push_back({.what = std::move(what), .is_warning = true}); }
  absl::Span<const PassNote> notes() const { return notes_; }

  // Whether the value of an input or attribute is known, so that how it is drawn means nothing.
  bool IsKnown(absl::string_view name) const { return known_.contains(std::string(name)); }
  void SetKnown(std::set<std::string> names) { known_ = std::move(names); }

  // Null if no values are known, or nothing runs operators.
  const Constants* constants() const { return constants_; }
  // `constants` has to outlive this run.
  void SetConstants(const Constants* constants) { constants_ = constants; }
  // The value of an attribute that the pass has made.
  void SetValue(const std::string& attribute, TensorData value) {
    values_[attribute] = std::move(value);
  }
  const std::map<std::string, TensorData>& values() const { return values_; }

  // That a value is known by another name now: an input or attribute was renamed, or an
  // attribute became an input. What a sample holds by name follows (pipeline.h).
  void Renamed(absl::string_view from, absl::string_view to) {
    if (from != to) renamed_.emplace(from, to);
  }
  const std::map<std::string, std::string>& renamed() const { return renamed_; }

 private:
  std::map<std::string, std::string> options_;
  std::vector<PassNote> notes_;
  std::map<std::string, std::string> renamed_;
  std::set<std::string> known_;
  const Constants* constants_ = nullptr;
  std::map<std::string, TensorData> values_;
};

// In the place of the names of options: the pass takes any, which are names of its input.
inline constexpr absl::string_view kAnyOption = "*";

class Pass {
 public:
  // Whether `module` changed. InvalidArgument when options or input are wrong,
  // FailedPrecondition when a check fails; the module is then good for nothing but
  // messages, unless the pass says more.
  using Function = absl::StatusOr<bool> (*)(Module* module, PassRun& run);

  Pass(absl::string_view name, absl::string_view header, Function function,
       std::vector<absl::string_view> options = {}, absl::string_view header_text = {})
      : name_(name),
        header_(header),
        function_(function),
        options_(std::move(options)),
        header_text_(header_text) {}

  absl::string_view name() const { return name_; }      // "dce"
  absl::string_view header() const { return header_; }  // "dead_code.h", which documents it
  absl::Span<const absl::string_view> options() const { return options_; }
  // The text of that header; empty for the headers of this folder (documentation.h).
  absl::string_view header_text() const { return header_text_; }

  absl::StatusOr<bool> Run(Module& module, PassRun& run) const { return function_(&module, run); }

 private:
  absl::string_view name_;
  absl::string_view header_;
  Function function_;
  std::vector<absl::string_view> options_;
  absl::string_view header_text_;
};

// Makes a pass known to pipelines for as long as the program runs. It is a constant at namespace
// scope beside the pass, in a library that is linked as a whole (alwayslink):
//
//   const RegisteredPass kDeadCodePass("dce", "dead_code.h", DeadCode, {"attributes"});
class RegisteredPass {
 public:
  // The arguments are those of Pass.
  RegisteredPass(absl::string_view name, absl::string_view header, Pass::Function function,
                 std::vector<absl::string_view> options = {}, absl::string_view header_text = {});
};

// Internal, for registry.h: what was registered since the last call.
std::vector<Pass> TakeRegisteredPasses();

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PASS_H_

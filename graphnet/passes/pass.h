// Pass: a rewrite of a module that a pipeline (pipeline.h) calls by name. The
// function behind it changes the module in place, reports truthfully whether it changed
// anything, and keeps the names, metas, locations and module paths of all nodes that it
// does not create. Its header documents it (documentation.h).
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

// A message of a pass to its user.
struct PassNote {
  std::string what;         // the text; of a counted note, without the number
  size_t count = 1;         // how often it happened; meaningful if is_counted
  bool is_counted = false;  // True if `count` is printed before `what`.
  bool is_warning = false;  // True if the result may differ from what the user meant.
};

// The known values of attributes, and a function that runs operators on them.
struct Constants {
  std::map<std::string, TensorData> values;  // by the name of the attribute
  // Runs a module without inputs and returns its outputs as o0, o1, … in order.
  std::function<absl::StatusOr<std::map<std::string, TensorData>>(const Module& module)> run;
};

// Sets the metas of all calls of a module whose inputs have metas without symbols.
using InferSizes = std::function<absl::Status(Module*)>;

// One application of a pass: its options, and the notes and values that it hands back.
class PassRun {
 public:
  PassRun() = default;
  // `options` are the values of options by name.
  explicit PassRun(std::map<std::string, std::string> options) : options_(std::move(options)) {}

  // Returns the value of an option as the pipeline writes it; `otherwise` if it is not given.
  absl::string_view option(absl::string_view name, absl::string_view otherwise = {}) const;
  // All given options by name.
  const std::map<std::string, std::string>& options() const { return options_; }
  // Splits the value of an option, such as "a+b+c", at "+"; empty if the option is not given.
  std::vector<std::string> list(absl::string_view name) const;
  // Returns whether a switch is "true"; `otherwise` if it is not given. InvalidArgument if its
  // value is neither "true" nor "false".
  absl::StatusOr<bool> flag(absl::string_view name, bool otherwise = false) const;

  // Adds a line for the user of the pass: what was changed and why, or what was left alone.
  void Note(std::string what) { notes_.push_back({.what = std::move(what)}); }
  // Adds a line that begins with `count`, such as "3 calls of relu".
  void Note(std::string what, size_t count);
  // Adds a note that is a warning.
  void Warn(std::string what) { notes_.push_back({.what = std::move(what), .is_warning = true}); }
  // All notes so far, oldest first.
  absl::Span<const PassNote> notes() const { return notes_; }

  // Returns whether the value of an input or attribute is known, so that its draw spec is unused.
  bool IsKnown(absl::string_view name) const { return known_.contains(std::string(name)); }
  // Sets the names of the inputs and attributes whose values are known.
  void SetKnown(std::set<std::string> names) { known_ = std::move(names); }

  // Infers sizes that no rule knows; empty if nothing can.
  const InferSizes& infer_sizes() const { return infer_sizes_; }
  // Sets what infers them.
  void SetInferSizes(InferSizes infer) { infer_sizes_ = std::move(infer); }

  // Null if no values are known, or if nothing can run operators.
  const Constants* constants() const { return constants_; }
  // Sets the constants of the run, which must outlive it.
  void SetConstants(const Constants* constants) { constants_ = constants; }
  // Hands back the value of an attribute that the pass has created.
  void SetValue(const std::string& attribute, TensorData value) {
    values_[attribute] = std::move(value);
  }
  // The values of created attributes, by name.
  const std::map<std::string, TensorData>& values() const { return values_; }

  // Records that an input or attribute was renamed, or that an attribute became an input. The
  // sample's weights and constraints are renamed accordingly (pipeline.h). Ignored if equal.
  void Renamed(absl::string_view from, absl::string_view to) {
    if (from != to) renamed_.emplace(from, to);
  }
  // The recorded new names, by old name.
  const std::map<std::string, std::string>& renamed() const { return renamed_; }

 private:
  std::map<std::string, std::string> options_;
  std::vector<PassNote> notes_;
  std::map<std::string, std::string> renamed_;
  std::set<std::string> known_;
  InferSizes infer_sizes_;
  const Constants* constants_ = nullptr;
  std::map<std::string, TensorData> values_;
};

// Stands for the names of options of a pass that accepts any name, such as those of its inputs.
inline constexpr absl::string_view kAnyOption = "*";

// A pass as a pipeline sees it: a name, a function and its documentation.
class Pass {
 public:
  // Changes `module` and returns whether it changed. InvalidArgument if options or input are
  // wrong, FailedPrecondition if a check fails; after an error the module may only be
  // used for messages, unless the documentation of the pass promises more.
  using Function = absl::StatusOr<bool> (*)(Module* module, PassRun& run);

  // `options` are the names of its options. All text must outlive the pass, as literals do.
  Pass(absl::string_view name, absl::string_view header, Function function,
       std::vector<absl::string_view> options = {}, absl::string_view header_text = {},
       bool uses_values = false)
      : name_(name),
        header_(header),
        function_(function),
        options_(std::move(options)),
        header_text_(header_text),
        uses_values_(uses_values) {}

  // The name in pipelines, such as "dce".
  absl::string_view name() const { return name_; }
  // The header that documents the pass, such as "dead_code.h".
  absl::string_view header() const { return header_; }
  // The names of its options.
  absl::Span<const absl::string_view> options() const { return options_; }
  // The text of that header; empty for headers of this folder, which are built in.
  absl::string_view header_text() const { return header_text_; }
  // True if it looks at the values of weights where they are known (PassRun::constants).
  bool uses_values() const { return uses_values_; }

  // Applies the pass to `module`; see Function.
  absl::StatusOr<bool> Run(Module& module, PassRun& run) const { return function_(&module, run); }

 private:
  absl::string_view name_;
  absl::string_view header_;
  Function function_;
  std::vector<absl::string_view> options_;
  absl::string_view header_text_;
  bool uses_values_;
};

// Registers a pass with pipelines for as long as the program runs. Define it as a constant at
// namespace scope next to the pass, in a library that is linked as a whole (alwayslink):
//
//   const RegisteredPass kDeadCodePass("dce", "dead_code.h", DeadCode, {"attributes"});
class RegisteredPass {
 public:
  // The arguments are those of Pass.
  RegisteredPass(absl::string_view name, absl::string_view header, Pass::Function function,
                 std::vector<absl::string_view> options = {}, absl::string_view header_text = {},
                 bool uses_values = false);
};

// Internal, for registry.h: returns the passes that were registered since the last call.
std::vector<Pass> TakeRegisteredPasses();

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PASS_H_

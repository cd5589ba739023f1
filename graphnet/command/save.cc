#include "graphnet/command/save.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/formats/find_values.h"
#include "graphnet/view/draw_picture.h"

namespace graphnet {
namespace {

// Returns the formats that can be written, by name.
std::vector<const Format*> WrittenFormats() {
  std::vector<const Format*> formats = Formats();
  formats.erase(std::remove_if(formats.begin(), formats.end(),
                               [](const Format* format) { return !format->can_be_written(); }),
                formats.end());
  absl::c_sort(formats, [](const Format* a, const Format* b) { return a->name < b->name; });
  return formats;
}
// Like WrittenFormats, with the formats that can also be read first.
std::vector<const Format*> WrittenFiles() {
  std::vector<const Format*> formats = WrittenFormats();
  absl::c_stable_sort(formats, [](const Format* a, const Format* b) {
    return a->read != nullptr && b->read == nullptr;
  });
  return formats;
}

// Returns "*.pb protobuf, *.gn or *.txt text".
std::string EndingsText() {
  std::vector<std::string> texts;
  for (const Format* format : WrittenFiles()) {
    if (format->endings.empty()) continue;
    const auto pattern = [](std::string* out, const std::string& ending) {
      absl::StrAppend(out, "*", ending);
    };
    texts.push_back(
        absl::StrCat(absl::StrJoin(format->endings, " or ", pattern), " ", format->title));
  }
  return absl::StrJoin(texts, ", ");
}

// Returns "core: protobuf, text; supported: dot".
std::string TiersText(absl::Span<const Format* const> formats) {
  std::vector<std::string> texts;
  for (const Tier tier : {Tier::kCore, Tier::kSupported, Tier::kExperimental}) {
    std::vector<absl::string_view> names;
    for (const Format* format : formats) {
      if (format->tier == tier) names.push_back(format->name);
    }
    if (names.empty()) continue;
    texts.push_back(absl::StrCat(TierName(tier), ": ", absl::StrJoin(names, ", ")));
  }
  return absl::StrJoin(texts, "; ");
}

}  // namespace

std::string TargetHelp() {
  return absl::StrCat(
      "File or folder to write: ", EndingsText(),
      ", - the standard output (text, unless --to names a format), otherwise a GraphNet folder");
}

std::string TargetsHelp() {
  return absl::StrCat(TargetHelp(), "; for several samples, the folder for all of them, OUT/NAME");
}

Option AddOutputOptions(CommandLine& command, Output* output, const std::string& also,
                        const std::string& help) {
  std::vector<std::string> names;
  for (const Format* format : WrittenFormats()) names.push_back(format->name);
  const Option out = command.AddOption(absl::StrCat("-o,--out", also), &output->path, help)
                         .TypeName("PATH")
                         .Group(kOutputGroup);
  command
      .AddChoice("--to", &output->to, names,
                 absl::StrCat("Format to write, whatever the ending of the output is (",
                              TiersText(WrittenFormats()), ")"))
      .Group(kOutputGroup)
      .Needs(out);
  return out;
}

std::string EndingOf(const Format& format) {
  return format.endings.empty() ? "" : format.endings.front();
}

const Format& Output::format() const {
  if (!to.empty()) return *FindFormat(to);
  const Format* const format = FormatOfPath(path);
  return format != nullptr ? *format : *FindFormat(path == "-" ? "text" : "graphnet");
}

std::string EndingOfFile(absl::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == absl::string_view::npos || dot == 0 || path[dot - 1] == '/') return "";
  const absl::string_view ending = path.substr(dot + 1);
  constexpr size_t kLongest = 11;  // safetensors
  if (ending.empty() || ending.size() > kLongest ||
      !absl::ascii_isalpha(static_cast<unsigned char>(ending[0])))
    return "";
  const bool is_word = absl::c_all_of(
      ending, [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); });
  return is_word ? absl::StrCat(".", ending) : "";
}

absl::Status CheckOutput(const Output& output) {
  const std::string& path = output.path;
  const Format& format = output.format();
  if (path == "-") {
    if (format.is_folder)
      return absl::InvalidArgumentError(
          "a folder cannot go to the standard output; --out names it");
    if (format.is_binary && isatty(STDOUT_FILENO) == 1)
      return absl::InvalidArgumentError("a protobuf or an archive cannot go to a terminal");
  }
  // Check this before slow work begins.
  if (format.check_writer != nullptr) RETURN_IF_ERROR(format.check_writer());
  if (!output.to.empty() || !format.is_folder) return absl::OkStatus();
  const std::string ending = EndingOfFile(path);
  if (ending.empty() || IsFolder(path)) return absl::OkStatus();
  const bool is_picture = PictureFormOf(path).has_value() && ending != ".json";
  std::vector<std::string> endings;
  for (const Format* written : WrittenFiles())
    endings.insert(endings.end(), written->endings.begin(), written->endings.end());
  return absl::InvalidArgumentError(absl::StrCat(
      Printable(path, 1000), ": graphnet writes ", absl::StrJoin(endings, ", "),
      " and folders, not ", ending,
      is_picture ? "; graphnet show IN -o FILE draws it" : "; with --to, it can have any name"));
}

Losses LossesOf(const Sample& sample, const Output& output) {
  Lacks lacks = output.format().lacks;
  lacks.weights |= output.is("protobuf") && !output.keeps_weights();
  return LossesOf(sample, lacks);
}

std::string LossNote(const Losses& losses, const Output& output) {
  std::string drawn;
  if (losses.drawn_inputs > 0) {
    drawn = NoteLine(absl::StrCat(
        "example inputs that are not known are drawn: ", losses.drawn_inputs,
        losses.drawn_samples > 1 ? absl::StrCat(" in ", losses.drawn_samples, " samples") : ""));
  }
  if (!losses.any()) return drawn;
  const bool is_proto = output.is("protobuf");
  return drawn +
         NoteLine(absl::StrCat(
             "lost", losses.samples > 1 ? absl::StrCat(" in ", losses.samples, " samples") : "",
             ": ", losses.Text(), "; ",
             is_proto ? "a file keeps them" : "--to protobuf keeps them"));
}

absl::Status SaveSample(const Sample& sample, const Output& output, Losses* losses) {
  RETURN_IF_ERROR(CheckOutput(output));
  std::vector<std::string> notes;
  size_t drawn = 0;
  std::optional<Sample> filled;
  if (output.is("pt2") && output.example_seed.has_value())
    filled = WithExampleInputs(sample, *output.example_seed, &drawn);
  RETURN_IF_ERROR(Save(
      filled ? *filled : sample, output.path,
      {.format = output.format().name, .embeds_weights = output.embeds_weights, .notes = &notes}));
  for (const std::string& note : notes) PrintNote(note);
  Losses lost = LossesOf(sample, output);
  lost.drawn_inputs = drawn;
  lost.drawn_samples = drawn > 0 ? 1 : 0;
  if (losses != nullptr) {
    *losses = lost;
  } else {
    WriteAside(LossNote(lost, output));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Output>> OutputsOf(const std::vector<NamedInput>& inputs,
                                                        const Output& output) {
  if (output.path == "-")
    return absl::InvalidArgumentError("the standard output takes one sample, not several");
  if (!output.path.empty() && output.to.empty() && !output.format().is_folder) {
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(output.path, 1000), " is one file; several samples need a folder, and --to"));
  }
  std::map<std::string, Output> outputs;
  ReservedPaths taken;
  for (const NamedInput& input : inputs) {
    Output& made = outputs[input.path] = output;
    if (output.path.empty()) continue;
    if (made.to.empty()) {
      // What cannot be recognised fails later, when it is loaded, and the others go on.
      const absl::StatusOr<const Format*> format = Recognise(input.path);
      made.to = format.ok() && (*format)->can_be_written() ? (*format)->name : "graphnet";
    }
    made.path = JoinPath(output.path, absl::StrCat(input.name, EndingOf(made.format())));
    RETURN_IF_ERROR(ReservePath(made.path, input.path, &taken));
  }
  return outputs;
}

bool IsThere(const Output& output) {
  if (output.path.empty() || output.path == "-") return false;
  if (!output.format().is_folder) return FileExists(output.path);
  const absl::StatusOr<const Format*> there = Recognise(output.path);
  return there.ok() && (*there)->is_folder;
}

}  // namespace graphnet

// The output of --json: one document per command (docs/commands.md).
#ifndef GRAPHNET_CLI_JSON_H_
#define GRAPHNET_CLI_JSON_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

// A JSON value to build and print. nlohmann::json does the printing, but the commands do not have
// to compile its 25,000 lines.
class Json {
 public:
  Json() = default;  // null
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : value_(static_cast<int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}                   // NOLINT(google-explicit-constructor)
  Json(std::nullptr_t) = delete;                          // Write Json() for null.
  Json(const char* text) : value_(std::string(text)) {}   // NOLINT(google-explicit-constructor)
  Json(std::string text) : value_(std::move(text)) {}     // NOLINT(google-explicit-constructor)
  Json(absl::string_view text) : value_(std::string(text)) {}  // NOLINT
  explicit Json(std::vector<Json> list) : value_(std::move(list)) {}
  static Json List() { return Json(std::vector<Json>()); }
  template <typename T>
  static Json List(const T& elements) {
    return Json(std::vector<Json>(elements.begin(), elements.end()));
  }
  static Json Object() {
    Json object;
    object.value_.emplace<Members>();
    return object;
  }

  // Parses JSON text, which must be valid: one of our libraries wrote it.
  static Json Parse(const std::string& text);

  // Returns the member of that name, which is added if it is new. Null becomes an object.
  Json& operator[](absl::string_view name);
  // Adds the members of another object.
  void Merge(Json object);
  // Appends an element. Null becomes a list.
  void push_back(Json element);

  // Returns the text. Bytes that are not UTF-8 are replaced; numbers that JSON lacks become null. A
  // negative `indent` puts everything on one line.
  std::string Dump(int indent = 2) const;

 private:
  friend struct JsonForm;
  struct Members {
    std::vector<std::pair<std::string, Json>> all;
    absl::flat_hash_map<std::string, size_t> places;  // index by name, kept only if there are many
  };

  std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<Json>, Members>
      value_;
};

// Adds --json, which makes a command print one document and nothing else. `members` describes the
// members of the document for the help.
CLI::Option* AddJsonOption(CLI::App* command, bool* json, absl::string_view members);
void PrintJson(const Json& document, FILE* out = stdout);

// Returns {"message", "format", "file", "line", "column"}: the format if the error belongs to one,
// and the place as far as it is known.
Json ErrorJson(const absl::Status& status);
// Returns {"path": …}, with "error" if the status is not OK.
Json SampleJson(const std::string& path, const absl::Status& status);
// Returns {"samples": […], "passed": …, "failed": …}.
Json SamplesJson(std::vector<Json> samples, size_t failed);

// Adds the known ones of "dtype": "f32", "shape": [1, "S0"], "device": "cpu"; for a tuple
// "elements".
void SetMeta(const TensorMeta* meta, Json* value);
void SetMeta(const ValueMeta* meta, Json* value);
// Adds "args": ["%x", "2"] and "kwargs": {"dim": "-1"}, written as in the text form.
void SetArguments(const Node& node, Json* value);
// Return the inputs or outputs of a graph as [{"name": …, "dtype": …}, …].
Json InputsJson(const Graph& graph);
Json OutputsJson(const Graph& graph);
// Returns a whole sample: inputs, outputs, attributes, symbols, counts, and graphs with their
// nodes.
Json OutlineJson(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_JSON_H_

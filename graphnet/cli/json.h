// What --json prints: one document a command (docs/commands.md).
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

// A value that is put together and printed; nlohmann::json does the printing,
// and the commands need not compile its 25,000 lines for that.
class Json {
 public:
  Json() = default;  // null
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : value_(static_cast<int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}                   // NOLINT(google-explicit-constructor)
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

  // Of text that one of our libraries wrote.
  static Json Parse(const std::string& text);

  // The member of that name, which is made; null becomes an object.
  Json& operator[](absl::string_view name);
  // Takes the members of another object.
  void Merge(Json object);
  // Null becomes a list.
  void push_back(Json element);

  // Bytes that are no UTF-8 are replaced, numbers that JSON lacks are null. On one line without
  // an `indent`.
  std::string Dump(int indent = 2) const;

 private:
  friend struct JsonForm;
  struct Members {
    std::vector<std::pair<std::string, Json>> all;
    absl::flat_hash_map<std::string, size_t> places;  // by name, once there are many
  };

  std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<Json>, Members>
      value_;
};

// --json, which makes a command print the one document and no other text; `members` says what
// it has.
CLI::Option* AddJsonOption(CLI::App* command, bool* json, absl::string_view members);
void PrintJson(const Json& document, FILE* out = stdout);

// {"message": …, "file": …, "line": …, "column": …}, the place as far as the message has one.
Json ErrorJson(const absl::Status& status);
// {"path": …}, and what is wrong with the sample there, if anything: "error".
Json SampleJson(const std::string& path, const absl::Status& status);
// {"samples": […], "passed": …, "failed": …}
Json SamplesJson(std::vector<Json> samples, size_t failed);

// Adds what is known: "dtype": "f32", "shape": [1, "S0"], "device": "cpu"; of a tuple "elements".
void SetMeta(const TensorMeta* meta, Json* value);
void SetMeta(const ValueMeta* meta, Json* value);
// Adds "args": ["%x", "2"] and "kwargs": {"dim": "-1"}, as the text form has them.
void SetArguments(const Node& node, Json* value);
// The ends of a graph, [{"name": …, "dtype": …}, …]: what it takes and what it returns.
Json InputsJson(const Graph& graph);
Json OutputsJson(const Graph& graph);
// A whole sample: inputs, outputs, attributes, symbols, counts, and graphs with their nodes.
Json OutlineJson(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_JSON_H_

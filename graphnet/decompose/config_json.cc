// The JSON form of DecomposeConfig. The reader knows exactly the keys there are, so
// that it can name line and column of any that is not one.
#include <charconv>
#include <cstddef>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/config.h"
#include "graphnet/decompose/config_check.h"
#include "graphnet/text/excerpt.h"

namespace graphnet {
namespace {

constexpr int64_t kVersion = 1;

// --- Writing -------------------------------------------------------------------

// Bytes that are not ASCII stay as they are: names are UTF-8, or what they are.
std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          absl::StrAppend(&out, "\\u00", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
        } else {
          out.push_back(c);
        }
    }
  }
  out.push_back('"');
  return out;
}

std::string QuotedList(const std::vector<std::string>& names) {
  return absl::StrCat(
      "[",
      absl::StrJoin(names, ", ",
                    [](std::string* out, const std::string& name) { out->append(Quoted(name)); }),
      "]");
}

const char* Bool(bool value) { return value ? "true" : "false"; }

// The line of the mode's own key; empty if it has none.
std::string ModeLine(const DecomposeConfig& config) {
  const absl::string_view key = config_internal::ModeKey(config.mode);
  if (key.empty()) return "";
  std::string value;
  if (key == "split_positions") {
    value = absl::StrCat("[", absl::StrJoin(config.split_positions, ", "), "]");
  } else if (key == "subgraph_ranges") {
    value = absl::StrCat("[",
                         absl::StrJoin(config.subgraph_ranges, ", ",
                                       [](std::string* out, const Range& r) {
                                         absl::StrAppend(out, "[", r.start, ", ", r.end, "]");
                                       }),
                         "]");
  } else if (key == "values") {
    value =
        absl::StrCat("[",
                     absl::StrJoin(config.values, ", ",
                                   [](std::string* out, const ValueRange& v) {
                                     absl::StrAppend(out, "{\"inputs\": ", QuotedList(v.inputs),
                                                     ", \"outputs\": ", QuotedList(v.outputs), "}");
                                   }),
                     "]");
  } else {
    value = absl::StrCat(config.number);
  }
  return absl::StrCat("  \"", key, "\": ", value, ",\n");
}

// --- Reading -------------------------------------------------------------------

class Reader {
 public:
  Reader(absl::string_view text, absl::string_view file) : text_(text), file_(file) {}

  absl::StatusOr<DecomposeConfig> Read() {
    RETURN_IF_ERROR(Object([this](absl::string_view key) { return ReadField(key); }));
    SkipSpace();
    if (at_ < text_.size()) return Error("expected the end of the file");
    at_ = 0;
    for (const absl::string_view key : {"version", "mode"}) {
      if (seen_.count(std::string(key)) == 0)
        return Error(absl::StrCat("the key \"", key, "\" is missing"));
    }
    if (num_subgraphs_ >= 0 && num_subgraphs_ != static_cast<int64_t>(config_.subgraphs.size())) {
      return Error(absl::StrCat("\"num_subgraphs\" is ", num_subgraphs_, ", but there are ",
                                config_.subgraphs.size(), " subgraphs"));
    }
    if (!number_key_.empty() && number_key_ != config_internal::ModeKey(config_.mode)) {
      return Error(absl::StrCat("mode ", DecomposeModeName(config_.mode), " takes no \"",
                                number_key_, "\""));
    }
    if (const std::string wrong = config_internal::WhatIsWrong(config_); !wrong.empty())
      return Error(wrong);
    return std::move(config_);
  }

 private:
  absl::Status ReadField(absl::string_view key) {
    seen_.insert(std::string(key));
    if (key == "version") {
      int64_t version = 0;
      RETURN_IF_ERROR(Int(&version));
      if (version != kVersion) return ErrorHere(absl::StrCat("expected version ", kVersion));
      return absl::OkStatus();
    }
    if (key == "mode") {
      std::string name;
      RETURN_IF_ERROR(String(&name));
      const std::optional<DecomposeMode> mode = ParseDecomposeMode(name);
      if (!mode) return ErrorHere(absl::StrCat("there is no mode ", Printable(name)));
      config_.mode = *mode;
      return absl::OkStatus();
    }
    if (key == "split_positions") {
      return Array([this] {
        config_.split_positions.emplace_back();
        return Int(&config_.split_positions.back());
      });
    }
    if (key == "subgraph_ranges") {
      return Array([this] {
        config_.subgraph_ranges.emplace_back();
        return ReadRange(&config_.subgraph_ranges.back());
      });
    }
    if (key == "values") {
      return Array([this] {
        config_.values.emplace_back();
        ValueRange* values = &config_.values.back();
        return Object([this, values](absl::string_view name) {
          if (name == "inputs") return Strings(&values->inputs);
          if (name == "outputs") return Strings(&values->outputs);
          return UnknownKey(name);
        });
      });
    }
    if (key == "size" || key == "pieces" || key == "depth") {
      number_key_ = std::string(key);
      return Int(&config_.number);
    }
    if (key == "chain_style") {
      bool chain = true;
      RETURN_IF_ERROR(Boolean(&chain));
      config_.cut.style = chain ? Style::kChain : Style::kDag;
      return absl::OkStatus();
    }
    if (key == "group_head_and_tail") return Boolean(&config_.group_head_and_tail);
    if (key == "use_all_inputs") return Boolean(&config_.cut.all_inputs);
    if (key == "model_name") return String(&config_.model_name);
    if (key == "parent_hash") return String(&config_.parent_hash);
    if (key == "num_ops") return Int(&config_.num_ops);
    if (key == "num_subgraphs") return Int(&num_subgraphs_);
    if (key == "subgraphs") {
      return Array([this] {
        config_.subgraphs.emplace_back();
        return ReadSubgraph(&config_.subgraphs.back());
      });
    }
    return UnknownKey(key);
  }

  absl::Status ReadSubgraph(SubgraphConfig* subgraph) {
    int64_t num_ops = -1;
    RETURN_IF_ERROR(Object([&](absl::string_view key) {
      if (key == "name") return String(&subgraph->name);
      if (key == "start") return Int(&subgraph->range.start);
      if (key == "end") return Int(&subgraph->range.end);
      if (key == "num_ops") return Int(&num_ops);
      if (key == "inputs") return Strings(&subgraph->inputs);
      if (key == "outputs") return Strings(&subgraph->outputs);
      return UnknownKey(key);
    }));
    // Unsigned, as either end may be anything yet.
    if (static_cast<uint64_t>(num_ops) !=
        static_cast<uint64_t>(subgraph->range.end) - static_cast<uint64_t>(subgraph->range.start)) {
      return ErrorHere("\"num_ops\" is missing or not \"end\" less \"start\"");
    }
    return absl::OkStatus();
  }

  absl::Status ReadRange(Range* range) {
    int count = 0;
    RETURN_IF_ERROR(Array([&] {
      if (++count > 2) return Error("a range has two ends");
      return Int(count == 1 ? &range->start : &range->end);
    }));
    return count == 2 ? absl::OkStatus() : ErrorHere("a range has two ends");
  }

  // --- Tokens ------------------------------------------------------------------
  void SkipSpace() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool Accept(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  absl::Status Expect(char c, absl::string_view where) {
    return Accept(c) ? absl::OkStatus()
                     : Error(absl::StrCat("expected '", std::string(1, c), "' ", where));
  }

  template <typename Fn>
  absl::Status Object(Fn&& field) {
    RETURN_IF_ERROR(Expect('{', "at the start of an object"));
    if (Accept('}')) return absl::OkStatus();
    std::set<std::string> keys;
    do {
      std::string key;
      RETURN_IF_ERROR(String(&key));
      if (!keys.insert(key).second)
        return ErrorHere(absl::StrCat("the key ", Printable(key), " comes twice"));
      const size_t key_at = token_;
      RETURN_IF_ERROR(Expect(':', "after a key"));
      token_ = key_at;
      RETURN_IF_ERROR(field(key));
    } while (Accept(','));
    return Expect('}', "or ',' in an object");
  }

  template <typename Fn>
  absl::Status Array(Fn&& element) {
    RETURN_IF_ERROR(Expect('[', "at the start of a list"));
    if (Accept(']')) return absl::OkStatus();
    do {
      RETURN_IF_ERROR(element());
    } while (Accept(','));
    return Expect(']', "or ',' in a list");
  }

  absl::Status Strings(std::vector<std::string>* out) {
    return Array([&] {
      out->emplace_back();
      return String(&out->back());
    });
  }

  absl::Status String(std::string* out) {
    SkipSpace();
    token_ = at_;
    if (!Accept('"')) return Error("expected a string");
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return Error("a string ends on its line");
      if (c != '\\') {
        out->push_back(c);
        ++at_;
        continue;
      }
      RETURN_IF_ERROR(Escape(out));
    }
    if (at_ >= text_.size()) return Error("the string does not end");
    ++at_;
    return absl::OkStatus();
  }

  // Of those in JSON, the ones that the writer uses, and the slash.
  absl::Status Escape(std::string* out) {
    static constexpr std::pair<char, char> kEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},
                                                         {'n', '\n'}, {'r', '\r'},  {'t', '\t'},
                                                         {'b', '\b'}, {'f', '\f'}};
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    for (const auto& [letter, meaning] : kEscapes) {
      if (c != letter) continue;
      out->push_back(meaning);
      at_ += 2;
      return absl::OkStatus();
    }
    unsigned code = 0x80;
    if (c == 'u' && at_ + 6 <= text_.size()) {
      const char* begin = text_.data() + at_ + 2;
      const auto result = std::from_chars(begin, begin + 4, code, 16);
      if (result.ec != std::errc() || result.ptr != begin + 4) code = 0x80;
    }
    if (code >= 0x80) return Error("expected an escape of one byte, such as \\n or \\u000b");
    out->push_back(static_cast<char>(code));
    at_ += 6;
    return absl::OkStatus();
  }

  absl::Status Int(int64_t* out) {
    SkipSpace();
    token_ = at_;
    const char* begin = text_.data() + at_;
    const auto result = std::from_chars(begin, text_.data() + text_.size(), *out);
    if (result.ec == std::errc::result_out_of_range) return Error("the number is too large");
    if (result.ec != std::errc()) return Error("expected an integer");
    at_ += static_cast<size_t>(result.ptr - begin);
    const char next = at_ < text_.size() ? text_[at_] : ' ';
    if (next == '.' || next == 'e' || next == 'E') return ErrorHere("expected an integer");
    return absl::OkStatus();
  }

  absl::Status Boolean(bool* out) {
    SkipSpace();
    token_ = at_;
    for (const bool value : {true, false}) {
      const absl::string_view word = Bool(value);
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      *out = value;
      return absl::OkStatus();
    }
    return Error("expected true or false");
  }

  absl::Status UnknownKey(absl::string_view key) {
    return ErrorHere(absl::StrCat("unknown key ", Printable(key)));
  }
  absl::Status Error(absl::string_view message) {
    token_ = at_;
    return ErrorHere(message);
  }
  // At the token before.
  absl::Status ErrorHere(absl::string_view message) const {
    size_t line = 1;
    size_t start = 0;
    for (size_t i = 0; i < token_ && i < text_.size(); ++i) {
      if (text_[i] != '\n') continue;
      ++line;
      start = i + 1;
    }
    const size_t column = token_ - start + 1;
    return WithExcerpt(ErrorAt(file_, line, column, message), text_, line, column);
  }

  const absl::string_view text_;
  const absl::string_view file_;
  size_t at_ = 0;
  size_t token_ = 0;  // where the last one began
  DecomposeConfig config_;
  std::set<std::string> seen_;
  std::string number_key_;
  int64_t num_subgraphs_ = -1;
};

}  // namespace

std::string WriteDecomposeConfigJson(const DecomposeConfig& config) {
  std::string out = absl::StrCat("{\n  \"version\": ", kVersion,
                                 ",\n  \"mode\": ", Quoted(DecomposeModeName(config.mode)), ",\n",
                                 ModeLine(config));
  absl::StrAppend(&out, "  \"chain_style\": ", Bool(config.cut.style == Style::kChain),
                  ",\n  \"group_head_and_tail\": ", Bool(config.group_head_and_tail),
                  ",\n  \"use_all_inputs\": ", Bool(config.cut.all_inputs));
  if (config.is_done()) {
    absl::StrAppend(&out, ",\n  \"model_name\": ", Quoted(config.model_name),
                    ",\n  \"parent_hash\": ", Quoted(config.parent_hash),
                    ",\n  \"num_ops\": ", config.num_ops,
                    ",\n  \"num_subgraphs\": ", config.subgraphs.size(), ",\n  \"subgraphs\": [");
    const char* separator = "\n";
    for (const SubgraphConfig& subgraph : config.subgraphs) {
      absl::StrAppend(&out, separator, "    {\"name\": ", Quoted(subgraph.name),
                      ", \"start\": ", subgraph.range.start, ", \"end\": ", subgraph.range.end,
                      ", \"num_ops\": ", subgraph.range.end - subgraph.range.start);
      absl::StrAppend(&out, ", \"inputs\": ", QuotedList(subgraph.inputs),
                      ", \"outputs\": ", QuotedList(subgraph.outputs), "}");
      separator = ",\n";
    }
    absl::StrAppend(&out, "\n  ]");
  }
  absl::StrAppend(&out, "\n}\n");
  return out;
}

absl::StatusOr<DecomposeConfig> ParseDecomposeConfigJson(absl::string_view text,
                                                         absl::string_view file_name) {
  return Reader(text, file_name).Read();
}

}  // namespace graphnet

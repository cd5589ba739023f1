#include "graphnet/ir/text/sample_parser.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphnet::text_internal {
namespace {

class FieldParser {
 public:
  FieldParser(Scanner& in, Scratch& scratch, Sample& sample)
      : in_(in), scratch_(scratch), sample_(sample) {}

  bool Parse();

 private:
  bool FailTwice(const char* where, absl::string_view field) {
    return in_.FailAt(where, absl::StrCat(field, " is given twice"));
  }
  // Reads a string, which may be written as several adjacent ones.
  bool ParseText(std::string* out);
  bool ParseTextField(const char* where, absl::string_view field, std::string* out) {
    if (!out->empty()) return FailTwice(where, field);
    return in_.Expect('=') && ParseText(out);
  }
  bool ParseConstraints(const char* where);
  bool ParseConstraintOrder(const char* where);
  bool ParseProvenance();
  bool ParseFile(const char* where);

  Scanner& in_;
  Scratch& scratch_;
  Sample& sample_;
};

bool FieldParser::Parse() {
  while (true) {
    scratch_.Reset();
    const char* const where = in_.Here();
    bool ok;
    if (in_.TryWord("name")) {
      ok = ParseTextField(where, "name", &sample_.name);
    } else if (in_.TryWord("graph_hash")) {
      ok = ParseTextField(where, "graph_hash", &sample_.graph_hash);
    } else if (in_.TryWord("graph_net_json")) {
      ok = ParseTextField(where, "graph_net_json", &sample_.graph_net_json);
    } else if (in_.TryWord("constraints")) {
      ok = ParseConstraints(where);
    } else if (in_.TryWord("constraint_order")) {
      ok = ParseConstraintOrder(where);
    } else if (in_.TryWord("provenance")) {
      ok = ParseProvenance();
    } else if (in_.TryWord("file")) {
      ok = ParseFile(where);
    } else {
      return true;
    }
    if (!ok) return false;
  }
}

bool FieldParser::ParseText(std::string* out) {
  do {
    absl::string_view piece;
    if (!in_.ReadString("a string", &piece)) return false;
    out->append(piece.data(), piece.size());
  } while (in_.Peek() == '"');
  return true;
}

bool FieldParser::ParseConstraints(const char* where) {
  if (sample_.has_constraints) return FailTwice(where, "constraints");
  if (!in_.Expect('=')) return false;
  if (in_.TryWord("True")) {
    sample_.has_constraints = true;
    return true;
  }
  return in_.TryWord("False") || in_.Fail("True or False");
}

bool FieldParser::ParseConstraintOrder(const char* where) {
  if (!sample_.constraint_order.empty()) return FailTwice(where, "constraint_order");
  if (!in_.Expect('=') || !in_.Expect('[')) return false;
  while (!in_.TryChar(']')) {
    absl::string_view name;
    if (!in_.ReadString("a string", &name)) return false;
    sample_.constraint_order.emplace_back(name);
    if (in_.TryChar(',')) continue;
    if (in_.TryChar(']')) break;
    return in_.Fail("',' or ']'");
  }
  return true;
}

// Reads `provenance [12, 40) of "resnet18" hash "…"`.
bool FieldParser::ParseProvenance() {
  Provenance from;
  if (!in_.Expect('[') || !in_.ReadInteger("an integer", &from.start) || !in_.Expect(',') ||
      !in_.ReadInteger("an integer", &from.end) || !in_.Expect(')')) {
    return false;
  }
  absl::string_view text;
  if (!in_.TryWord("of")) return in_.Fail("'of'");
  if (!in_.ReadString("a string", &text)) return false;
  from.parent = std::string(text);
  if (in_.TryWord("hash")) {
    if (!in_.ReadString("a string", &text)) return false;
    from.parent_hash = std::string(text);
  }
  sample_.provenance.push_back(std::move(from));
  return true;
}

bool FieldParser::ParseFile(const char* where) {
  absl::string_view name;
  if (!in_.ReadName("the name of a file", &name)) return false;
  const auto [it, inserted] = sample_.extra_files.try_emplace(std::string(name));
  if (!inserted) return FailTwice(where, absl::StrCat("file ", name));
  return in_.Expect('=') && ParseText(&it->second);
}

}  // namespace

bool ParseSampleFields(Scanner& in, Scratch& scratch, Sample* sample) {
  return FieldParser(in, scratch, *sample).Parse();
}

}  // namespace graphnet::text_internal

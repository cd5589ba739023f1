#include "graphnet/ir/text/printer.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/text/literal.h"
#include "graphnet/ir/text/value_printer.h"

namespace graphnet {
namespace {

using text_internal::ValuePrinter;

// A header takes one line if it has at most this many parameters and they are only names.
constexpr size_t kMaxInlineParameters = 8;
// The readable preset cuts constants at these sizes.
constexpr size_t kReadableElements = 32;
constexpr size_t kReadableStringBytes = 200;

// Returns whether a word starts another kind of statement. A function of that name is written in
// quotes.
bool IsOpWord(absl::string_view target) {
  return target == "get_attr" || target == "call_module" || target == "placeholder" ||
         target == "output" || target == "return";
}

// Returns whether a node may be written as a parameter in the header of its graph.
bool IsParameter(const Node& node) {
  return node.is_placeholder() && node.args().empty() && node.kwargs().empty();
}

class ModulePrinter {
 public:
  ModulePrinter(const PrintOptions& options, std::string* out)
      : options_(options), out_(*out), values_(out) {
    values_.set_limits(options.max_elements, options.max_string_bytes);
    if (options.numbered) values_.set_numbered();
  }

  void Print(const Module& module);
  void PrintFields(const Sample& sample);
  void Statement(const Node& node);

 private:
  void Declarations(const Module& module);
  void Print(const Graph& graph);
  // Prints the leading placeholders; returns the first node of the body.
  const Node* Parameters(const Graph& graph);
  bool HasSuffix(const Node& node) const;
  bool PrintsTarget(const Node& parameter) const {
    return !options_.numbered && parameter.target() != parameter.name();
  }
  void Parameter(const Node& node);
  void Suffix(const Node& node);
  void Location(const SourceLocation& location);
  void PathComment(const Node& node);
  // Starts a block, separated by a blank line from any text before it.
  void StartBlock() {
    if (!out_.empty() && printed_block_) out_ += '\n';
    printed_block_ = true;
  }
  // Prints the value of a field, over several lines if it has several.
  void Text(absl::string_view text);

  const PrintOptions& options_;
  std::string& out_;
  ValuePrinter values_;
  bool printed_block_ = false;
  absl::string_view file_;  // The file of the location printed last.
  absl::string_view path_;  // The path of the path comment printed last.
};

void ModulePrinter::Print(const Module& module) {
  if (options_.header) {
    StartBlock();
    out_ += "graphnet.module 1\n";
  }
  if (options_.numbered) {
    for (size_t i = 0; i < module.graphs().size(); ++i) values_.NumberGraph(module.graphs()[i], i);
  }
  if (options_.values) Declarations(module);
  for (const Graph* graph : module.graphs()) {
    StartBlock();
    Print(*graph);
  }
  if (options_.header) out_ += "end\n";
}

void ModulePrinter::Declarations(const Module& module) {
  if (!module.symbols().empty() || !module.relations().empty()) StartBlock();
  for (const Symbol& symbol : module.symbols()) {
    out_ += "symbol ";
    AppendWord(symbol.name, &out_);
    if (symbol.example) {
      out_ += " = ";
      AppendInteger(*symbol.example, &out_);
    }
    out_ += '\n';
  }
  for (const SymExpr* relation : module.relations()) {
    out_ += "relation ";
    values_.Expr(*relation);
    out_ += '\n';
  }
  if (!module.attributes().empty()) StartBlock();
  for (const Attribute& attribute : module.attributes()) {
    out_ += "attribute ";
    AppendName(attribute.name, &out_);
    if (attribute.meta != nullptr) {
      out_ += " : ";
      values_.Tensor(*attribute.meta);
    }
    if (!attribute.annotation.empty()) {
      out_ += " as ";
      AppendName(attribute.annotation, &out_);
    }
    if (attribute.draw_spec != nullptr) {
      out_ += ' ';
      values_.Draw(*attribute.draw_spec);
    }
    out_ += '\n';
  }
}

void ModulePrinter::Print(const Graph& graph) {
  if (options_.numbered) {
    values_.StartNumbering();
    for (const Node* node : graph.nodes()) values_.NumberNode(node);
  }
  path_ = {};
  out_ += "graph ";
  values_.GraphName(&graph);
  const Node* node = Parameters(graph);
  out_ += " {\n";
  for (; node != nullptr; node = node->next()) {
    if (options_.module_path_comments) PathComment(*node);
    out_ += "  ";
    Statement(*node);
    out_ += '\n';
  }
  out_ += "}\n";
}

const Node* ModulePrinter::Parameters(const Graph& graph) {
  bool one_line = true;
  size_t count = 0;
  const Node* body = graph.first();
  for (; body != nullptr && IsParameter(*body); body = body->next()) {
    ++count;
    one_line =
        one_line && count <= kMaxInlineParameters && !PrintsTarget(*body) && !HasSuffix(*body);
  }
  const absl::string_view separator = one_line ? ", " : ",\n  ";
  out_ += '(';
  for (const Node* node = graph.first(); node != body; node = node->next()) {
    if (node != graph.first()) {
      out_.append(separator.data(), separator.size());
    } else if (!one_line) {
      out_ += "\n  ";
    }
    Parameter(*node);
  }
  out_ += one_line ? ")" : "\n)";
  return body;
}

bool ModulePrinter::HasSuffix(const Node& node) const {
  if (options_.values && (node.meta() || !node.annotation().empty() || node.draw_spec()))
    return true;
  if (options_.module_paths && !node.module_path().empty()) return true;
  if (!options_.locations) return false;
  const SourceLocation location = node.location();
  return !location.file.empty() || location.line != 0 || location.column != 0;
}

void ModulePrinter::Parameter(const Node& node) {
  values_.NodeName(&node);
  if (PrintsTarget(node)) {
    out_ += ' ';
    AppendQuoted(node.target(), &out_);
  }
  Suffix(node);
}

void ModulePrinter::Statement(const Node& node) {
  const bool is_return = node.is_output() && node.target() == "output" && node.args().size() == 1 &&
                         node.kwargs().empty();
  // A return is printed without a name if its name is not needed.
  const bool is_plain =
      options_.numbered ? node.next() == nullptr && !node.has_uses() : node.name() == "output";
  if (!is_return || !is_plain) {
    values_.NodeName(&node);
    out_ += " = ";
  }
  if (is_return) {
    out_ += "return ";
    values_.Value(node.args()[0]);
    return Suffix(node);
  }
  bool needs_call = true;
  switch (node.op()) {
    case Op::kCallFunction:
      if (IsOpWord(node.target())) {
        AppendQuoted(node.target(), &out_);
        values_.Call(node);
        return Suffix(node);
      }
      break;
    case Op::kCallMethod: out_ += '.'; break;
    case Op::kCallModule: out_ += "call_module "; break;
    case Op::kOutput: out_ += "output "; break;
    case Op::kGetAttr:
    case Op::kPlaceholder:
      out_ += node.op() == Op::kGetAttr ? "get_attr " : "placeholder ";
      needs_call = !node.args().empty() || !node.kwargs().empty();
      break;
  }
  if (options_.numbered && node.is_placeholder()) {
    values_.NodeLabel(&node);
  } else {
    AppendName(node.target(), &out_);
  }
  if (needs_call) values_.Call(node);
  Suffix(node);
}

void ModulePrinter::Suffix(const Node& node) {
  if (options_.values) {
    if (node.meta() != nullptr) {
      out_ += " : ";
      values_.Meta(node.meta());
    }
    if (!node.annotation().empty()) {
      out_ += " as ";
      AppendName(node.annotation(), &out_);
    }
    if (node.draw_spec() != nullptr) {
      out_ += ' ';
      values_.Draw(*node.draw_spec());
    }
  }
  if (options_.module_paths && !node.module_path().empty()) {
    out_ += " in ";
    AppendName(node.module_path(), &out_);
  }
  if (options_.locations) Location(node.location());
}

// Prints `at "model.py":12:5`, or `at 12:5` if the file is that of the location printed last.
void ModulePrinter::Location(const SourceLocation& location) {
  const bool has_position = location.line != 0 || location.column != 0;
  if (!has_position && location.file.empty()) return;
  out_ += " at ";
  const bool same_file = has_position && location.file == file_;
  if (!same_file) {
    file_ = location.file;
    AppendQuoted(file_, &out_);
    if (!has_position) return;
    out_ += ':';
  }
  AppendInteger(location.line, &out_);
  if (location.column == 0) return;
  out_ += ':';
  AppendInteger(location.column, &out_);
}

void ModulePrinter::PathComment(const Node& node) {
  const absl::string_view path = node.module_path();
  if (path == path_ || node.is_output()) return;
  path_ = path;
  out_ += "  # ";
  if (path.empty()) {
    out_ += "(no module)";
  } else {
    AppendName(path, &out_);
  }
  out_ += '\n';
}

void ModulePrinter::Text(absl::string_view text) {
  const size_t newline = text.find('\n');
  if (newline == absl::string_view::npos || newline + 1 == text.size() ||
      (options_.max_string_bytes > 0 && text.size() > options_.max_string_bytes)) {
    out_ += ' ';
    values_.String(text);
    out_ += '\n';
    return;
  }
  out_ += '\n';
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    out_ += "  ";
    AppendQuoted(text.substr(0, end), &out_);
    out_ += '\n';
    text.remove_prefix(end);
  }
}

void ModulePrinter::PrintFields(const Sample& sample) {
  StartBlock();
  out_ += "graphnet.sample 1\n";
  const auto field = [&](absl::string_view name, absl::string_view text) {
    if (text.empty()) return;
    absl::StrAppend(&out_, name, " =");
    Text(text);
  };
  field("name", sample.name);
  field("graph_hash", sample.graph_hash);
  if (sample.has_constraints) out_ += "constraints = True\n";
  if (!sample.constraint_order.empty()) {
    out_ += "constraint_order = [";
    absl::string_view separator = "";
    for (const std::string& name : sample.constraint_order) {
      absl::StrAppend(&out_, separator);
      AppendQuoted(name, &out_);
      separator = ", ";
    }
    out_ += "]\n";
  }
  for (const Provenance& from : sample.provenance) {
    out_ += "provenance [";
    AppendInteger(from.start, &out_);
    out_ += ", ";
    AppendInteger(from.end, &out_);
    out_ += ") of ";
    AppendQuoted(from.parent, &out_);
    if (!from.parent_hash.empty()) {
      out_ += " hash ";
      AppendQuoted(from.parent_hash, &out_);
    }
    out_ += '\n';
  }
  field("graph_net_json", sample.graph_net_json);
  for (const auto& [name, content] : sample.extra_files) {
    out_ += "file ";
    AppendQuoted(name, &out_);
    out_ += " =";
    // The first bytes of a file would tell a reader little, so only its size is printed.
    if (options_.max_string_bytes > 0 && content.size() > options_.max_string_bytes) {
      absl::StrAppend(&out_, " <", content.size(), " bytes>\n");
    } else {
      Text(content);
    }
  }
  if (options_.weights && !sample.weights.empty()) {
    absl::StrAppend(&out_, "# weights of ", sample.weights.size(),
                    " tensors are kept beside this text\n");
  }
}

template <typename Fn>
std::string Printed(Fn&& append) {
  std::string out;
  append(&out);
  return out;
}

}  // namespace

PrintOptions PrintOptions::Readable() {
  PrintOptions options;
  options.locations = false;
  options.module_paths = false;
  options.module_path_comments = true;
  options.max_elements = kReadableElements;
  options.max_string_bytes = kReadableStringBytes;
  return options;
}

PrintOptions PrintOptions::Structure() {
  PrintOptions options;
  options.header = false;
  options.values = false;
  options.locations = false;
  options.module_paths = false;
  options.numbered = true;
  return options;
}

void AppendModule(const Module& module, const PrintOptions& options, std::string* out) {
  ModulePrinter(options, out).Print(module);
}

void AppendSample(const Sample& sample, const PrintOptions& options, std::string* out) {
  ModulePrinter printer(options, out);
  if (options.header) printer.PrintFields(sample);
  if (sample.module != nullptr) {
    printer.Print(*sample.module);
  } else if (options.header) {
    *out += "end\n";
  }
}

void AppendNode(const Node& node, std::string* out) {
  PrintOptions options;
  options.locations = false;
  options.module_paths = false;
  options.max_elements = kReadableElements;
  options.max_string_bytes = kReadableStringBytes;
  ModulePrinter(options, out).Statement(node);
}

void AppendArgument(const Argument& argument, std::string* out) {
  ValuePrinter(out).Value(argument);
}
void AppendMeta(const ValueMeta& meta, std::string* out) { ValuePrinter(out).Meta(&meta); }
void AppendTensorMeta(const TensorMeta& meta, std::string* out) { ValuePrinter(out).Tensor(meta); }
void AppendSymExpr(const SymExpr& expr, std::string* out) { ValuePrinter(out).Expr(expr); }

std::string PrintModule(const Module& module, const PrintOptions& options) {
  return Printed([&](std::string* out) { AppendModule(module, options, out); });
}
std::string PrintSample(const Sample& sample, const PrintOptions& options) {
  return Printed([&](std::string* out) { AppendSample(sample, options, out); });
}
std::string PrintNode(const Node& node) {
  return Printed([&](std::string* out) { AppendNode(node, out); });
}
std::string PrintNode(const Node& node, const PrintOptions& options) {
  return Printed([&](std::string* out) { ModulePrinter(options, out).Statement(node); });
}
std::string PrintArgument(const Argument& argument) {
  return Printed([&](std::string* out) { AppendArgument(argument, out); });
}
std::string PrintMeta(const ValueMeta& meta) {
  return Printed([&](std::string* out) { AppendMeta(meta, out); });
}
std::string PrintTensorMeta(const TensorMeta& meta) {
  return Printed([&](std::string* out) { AppendTensorMeta(meta, out); });
}
std::string PrintSymExpr(const SymExpr& expr) {
  return Printed([&](std::string* out) { AppendSymExpr(expr, out); });
}

}  // namespace graphnet

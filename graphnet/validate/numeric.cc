#include "graphnet/validate/numeric.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/interp/blind_outputs.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/measure_rounding.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/rounding.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/comparison.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {
namespace {

using Values = std::map<std::string, TensorData>;

// --- Comparing values ------------------------------------------------------------

absl::string_view BytesOf(const at::Tensor& plain) {
  return {static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()};
}

struct Comparison {
  bool same_bits = false;
  bool same_form = true;  // kind, shape and dtype
  double max_difference = 0;
  int64_t different = 0;  // number of elements
  at::Tensor expected;    // if both are tensors of one form, as double or complex double
  at::Tensor actual;
  at::ScalarType type = at::kFloat;
};

Comparison Compare(const c10::IValue& expected, const c10::IValue& actual) {
  Comparison result;
  if (!expected.isTensor() || !actual.isTensor()) {
    result.same_form = expected.tagKind() == actual.tagKind();
    result.same_bits = result.same_form && (expected.isNone() || expected == actual);
    if (!result.same_bits) result.max_difference = std::numeric_limits<double>::infinity();
    return result;
  }
  const at::Tensor a = PlainTensor(expected.toTensor());
  const at::Tensor b = PlainTensor(actual.toTensor());
  result.type = a.scalar_type();
  result.same_form = a.sizes() == b.sizes() &&
                     expected.toTensor().scalar_type() == actual.toTensor().scalar_type();
  result.same_bits = result.same_form && BytesOf(a) == BytesOf(b);
  if (result.same_bits) return result;
  result.max_difference = std::numeric_limits<double>::infinity();
  if (!result.same_form) return result;
  const at::ScalarType wide = a.is_complex() ? at::kComplexDouble : at::kDouble;
  result.expected = a.to(wide);
  result.actual = b.to(wide);
  const at::Tensor difference = at::sub(result.expected, result.actual).abs();
  result.max_difference = difference.max().item<double>();  // nan if any element is
  if (std::isnan(result.max_difference))
    result.max_difference = std::numeric_limits<double>::infinity();
  result.different = a.ne(b).sum().item<int64_t>();
  return result;
}

bool IsWithin(const Comparison& c, int t) {
  if (c.same_bits) return true;
  if (!c.same_form || !c.expected.defined()) return false;
  const Tolerance tolerance = ToleranceAt(t, ToleranceClassOf(DTypeName(DTypeOf(c.type))));
  return at::allclose(c.actual, c.expected, tolerance.rtol, tolerance.atol);
}

// --- Running -----------------------------------------------------------------------

// Returns whether a tensor has the dtype and shape of a meta. `sizes` is a module with the symbols
// of the original. Symbols that only pieces have stand for sizes that depend on data; `sizes` gets
// them with the size that they have first, so that each has one size everywhere.
bool AgreesWithMeta(const TensorMeta& meta, const at::Tensor& tensor, Module* sizes) {
  if (meta.dtype != DType::kUnknown && DTypeOf(tensor.scalar_type()) != meta.dtype) return false;
  if (!meta.has_shape) return true;
  if (static_cast<size_t>(tensor.dim()) != meta.shape.size()) return false;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    const Dim& dim = meta.shape[static_cast<size_t>(i)];
    const std::optional<int64_t> size =
        dim.is_static() ? dim.value : EvaluateWithExamples(*sizes, *dim.expr);
    if (size.has_value() && *size != tensor.size(i)) return false;
    if (!size.has_value() && dim.expr->kind == SymExpr::Kind::kSymbol)
      sizes->AddSymbol(dim.expr->name, tensor.size(i));
  }
  return true;
}

// Returns whether a call returns uninitialised memory: aten.empty, .new_empty, ….
bool IsUninitialised(const Node& node) { return absl::StrContains(node.target(), "empty"); }

// Called after each operator of a run with its number, counted over all pieces.
using OperatorObserver =
    std::function<void(size_t number, int piece, const Node& node, const c10::IValue& value)>;

Observer Counting(size_t* number, int piece, const OperatorObserver& observe) {
  return [number, piece, &observe](const Node& node, const c10::IValue& value) {
    if (IsOperator(node)) observe((*number)++, piece, node, value);
    return absl::OkStatus();
  };
}

size_t NumLeaves(const c10::IValue& value) {
  size_t leaves = 0;
  if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) leaves += NumLeaves(element);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) leaves += NumLeaves(element);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) leaves += NumLeaves(entry.value());
  } else {
    return 1;
  }
  return leaves;
}

// Groups the flat values that a run returned by port, as a port may hold a list. Nothing if their
// number is wrong.
std::optional<std::vector<c10::IValue>> Grouped(
    absl::Span<const Node* const> ports,
    const absl::flat_hash_map<const Node*, c10::IValue>& values,
    absl::Span<const c10::IValue> leaves) {
  std::vector<c10::IValue> grouped;
  for (const Node* port : ports) {
    const c10::IValue& value = values.at(port);
    const size_t count = NumLeaves(value);
    if (count > leaves.size()) return std::nullopt;
    const bool holds_others = value.isTuple() || value.isList() || value.isGenericDict();
    grouped.push_back(holds_others ? value : leaves[0]);
    leaves.remove_prefix(count);
  }
  if (!leaves.empty()) return std::nullopt;
  return grouped;
}

class Runner {
 public:
  Runner(const Sample& original, absl::Span<const Sample> pieces, Style style,
         const NumericOptions& options, ValidationReport* report)
      : original_(original), pieces_(pieces), style_(style), options_(options), report_(report) {}

  absl::Status Run() {
    DrawOptions draw;
    draw.seed = options_.seed;
    draw.max_bytes = options_.max_bytes.value_or(AvailableMemoryBytes() / 2);
    ASSIGN_OR_RETURN(values_, DrawInputs(original_, draw));
    std::vector<std::optional<size_t>> digests;  // of the value of each operator
    ASSIGN_OR_RETURN(
        const std::vector<c10::IValue> expected,
        RunOriginal([&](size_t, int, const Node&,
                        const c10::IValue& value) { digests.push_back(DigestOf(value)); },
                    draw.max_bytes));
    NumericReport numeric;
    numeric.outputs = expected.size();
    std::optional<Difference> inside;  // the first one
    const std::optional<std::vector<c10::IValue>> actual =
        RunPieces([&](size_t number, int piece, const Node& node, const c10::IValue& value) {
          if (inside.has_value() || number >= digests.size() || IsUninitialised(node) ||
              DigestOf(value) == digests[number])
            return;
          inside = {piece, std::string(node.name()),
                    absl::StrCat(ValueName(node.name()), " = ", Printable(node.target()))};
        });
    bool failed = !actual.has_value();
    std::vector<Comparison> comparisons;
    if (!failed) failed = !CompareOutputs(expected, *actual, inside, &comparisons, &numeric);
    if (!failed && inside.has_value() && numeric.bit_equal == numeric.outputs) {
      report_->notes.push_back(absl::StrCat("inner values differ, first in piece ", inside->piece,
                                            ", ", inside->text,
                                            ", but no output depends on them with these inputs"));
    }
    if (!failed) RETURN_IF_ERROR(FindBlind(expected, comparisons, &numeric));
    for (int t = kFirstTolerance; t <= kLastTolerance; ++t) {
      bool right = failed ? t >= kFailureForgiven : true;
      if (!failed && t < kAccuracyForgiven) {
        right = std::all_of(comparisons.begin(), comparisons.end(),
                            [t](const Comparison& c) { return IsWithin(c, t); });
      }
      numeric.line.push_back({t, right ? 1 : kFailedScore});
    }
    report_->numeric = std::move(numeric);
    return absl::OkStatus();
  }

 private:
  // The tolerances from which wrong numbers and all other failures are forgiven.
  static constexpr int kAccuracyForgiven = 1;
  static constexpr int kFailureForgiven = 3;

  // An operator whose value differs from the original's.
  struct Difference {
    int piece = -1;
    std::string node;
    std::string text;
  };

  // Tells which outputs prove nothing although they are equal.
  absl::Status FindBlind(const std::vector<c10::IValue>& expected,
                         const std::vector<Comparison>& comparisons, NumericReport* numeric) {
    ASSIGN_OR_RETURN(std::vector<WrongAnswer> answers,
                     BlindOutputs(expected, *original_.module, values_, ExactTolerance));
    for (size_t i = 0; i < answers.size() && i < comparisons.size(); ++i) {
      if (!comparisons[i].same_bits) answers[i] = {};
    }
    numeric->blind = PassedAnswers(answers);
    if (numeric->blind.empty()) return absl::OkStatus();
    report_->notes.push_back(
        absl::StrCat("the comparison is blind: ", DescribeWrongAnswers(numeric->blind),
                     ". Other inputs (--input, --inputs, --seed) may show more"));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<c10::IValue>> RunOriginal(const OperatorObserver& observe,
                                                       int64_t max_bytes) {
    PrepareOptions prepare;
    prepare.max_bytes = max_bytes;
    ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(*original_.module, values_, prepare));
    size_t number = 0;
    return prepared.executable->Run(
        std::move(prepared.inputs),
        {.seed = options_.seed, .observer = Counting(&number, -1, observe)});
  }

  void Fail(ErrorClass error, size_t piece, absl::string_view where, std::string message) {
    report_->Add(error, static_cast<int>(piece), where, std::move(message));
  }

  // Returns the outputs of the last piece; nothing after a finding.
  std::optional<std::vector<c10::IValue>> RunPieces(const OperatorObserver& observe) {
    absl::flat_hash_map<std::string, c10::IValue> named;
    CompileOptions compile;
    // One piece may ask for the gradient of a value that another piece computes.
    compile.records_gradients = AsksForGradients(*original_.module);
    const auto take = [](const TensorData& data) { return ToTensor(data, c10::Device(c10::kCPU)); };
    for (const Attribute& attribute : original_.module->attributes()) {
      const auto it = values_.find(std::string(attribute.name));
      if (it == values_.end()) continue;
      if (auto tensor = take(it->second); tensor.ok())
        compile.attributes.emplace(attribute.name, *std::move(tensor));
    }
    absl::StatusOr<PreparedRun> whole = PrepareRun(*original_.module, values_);
    if (!whole.ok()) {
      Fail(ErrorClass::kRuntime, 0, "", std::string(whole.status().message()));
      return std::nullopt;
    }
    const std::vector<Node*> given = original_.module->main()->placeholders();
    for (size_t k = 0; k < given.size(); ++k) named[given[k]->name()] = whole->inputs[k];
    std::vector<c10::IValue> returned;
    Module sizes;
    for (const Symbol& symbol : original_.module->symbols())
      sizes.AddSymbol(symbol.name, symbol.example);
    size_t number = 0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Module& module = *pieces_[i].module;
      std::vector<c10::IValue> inputs;
      if (!Bind(i, named, returned, &sizes, &inputs)) return std::nullopt;
      absl::flat_hash_map<const Node*, c10::IValue>
          values;  // of ports, as far as they were computed
      const std::vector<Node*> taken = module.main()->placeholders();
      for (size_t k = 0; k < taken.size(); ++k) values[taken[k]] = inputs[k];
      const std::vector<Node*> ports = module.main()->output()->operands();
      for (const Node* port : ports) values.try_emplace(port);
      absl::StatusOr<std::unique_ptr<Executable>> executable = Compile(module, compile);
      absl::Status status = executable.status();
      if (status.ok()) {
        RunOptions run;
        if (i == 0) run.seed = options_.seed;
        run.observer = [&, count = Counting(&number, static_cast<int>(i), observe)](
                           const Node& node, const c10::IValue& value) {
          if (const auto it = values.find(&node); it != values.end()) it->second = value;
          return count(node, value);
        };
        absl::StatusOr<std::vector<c10::IValue>> outputs =
            (*executable)->Run(std::move(inputs), run);
        status = outputs.status();
        if (status.ok()) returned = *std::move(outputs);
      }
      if (!status.ok()) {
        Fail(ErrorClass::kRuntime, i, "", absl::StrCat("does not run: ", status.message()));
        return std::nullopt;
      }
      if (i + 1 == pieces_.size()) break;
      std::optional<std::vector<c10::IValue>> grouped = Grouped(ports, values, returned);
      if (!grouped.has_value()) {
        Fail(ErrorClass::kRuntime, i, "",
             absl::StrCat("returns ", returned.size(), " values for ", ports.size(), " ports"));
        return std::nullopt;
      }
      returned = *std::move(grouped);
      if (style_ == Style::kChain) continue;
      for (size_t k = 0; k < ports.size(); ++k) named[ports[k]->name()] = returned[k];
    }
    return returned;
  }

  // Collects the inputs of piece i. For `sizes`, see AgreesWithMeta.
  bool Bind(size_t i, const absl::flat_hash_map<std::string, c10::IValue>& named,
            const std::vector<c10::IValue>& returned, Module* sizes,
            std::vector<c10::IValue>* inputs) {
    const Module& module = *pieces_[i].module;
    const std::vector<Node*> ports = module.main()->placeholders();
    const bool by_position = style_ == Style::kChain && i > 0;
    if (by_position && ports.size() != returned.size()) {
      Fail(ErrorClass::kRuntime, i, "",
           absl::StrCat("takes ", ports.size(), " values, but piece ", i - 1, " returns ",
                        returned.size()));
      return false;
    }
    const Graph& graph = *original_.module->main();
    for (size_t k = 0; k < ports.size(); ++k) {
      const auto it = named.find(ports[k]->name());
      if (!by_position && it == named.end()) {
        Fail(ErrorClass::kRuntime, i, ports[k]->name(),
             absl::StrCat("has no value for ", ValueName(ports[k]->name())));
        return false;
      }
      inputs->push_back(by_position ? returned[k] : it->second);
      const c10::IValue& value = inputs->back();
      // Drawn values of an integer dtype may be floats, as in GraphNet.
      const Node* input = graph.FindNode(ports[k]->name());
      if ((input != nullptr && input->is_placeholder()) || !value.isTensor() ||
          ports[k]->tensor_meta() == nullptr)
        continue;
      if (AgreesWithMeta(*ports[k]->tensor_meta(), value.toTensor(), sizes)) continue;
      const at::Tensor& tensor = value.toTensor();
      Fail(ErrorClass::kPort, i, ports[k]->name(),
           absl::StrCat("input ", k, " (", ValueName(ports[k]->name()),
                        ") has another shape or dtype than its meta says: ",
                        DTypeShortName(DTypeOf(tensor.scalar_type())), " [",
                        absl::StrJoin(tensor.sizes(), ", "), "] when run"));
    }
    return true;
  }

  // Returns "; rounding: 0.8 of what rounding explains" for the worst output; empty if that cannot be
  // measured.
  std::string Explained(const std::vector<c10::IValue>& actual) const {
    MeasureRoundingOptions options;
    options.seed = options_.seed;
    const auto outputs = NameOutputs(actual);
    if (!outputs.ok()) return "";
    options.others = &*outputs;
    const auto measured = MeasureRoundingOf(*original_.module, values_, {}, options);
    if (!measured.ok()) return "";
    std::vector<RoundingFinding> findings;
    for (const auto& [name, rounding] : *measured) {
      const auto it = outputs->find(name);
      if (it != outputs->end()) findings.push_back(JudgeRounding(rounding, it->second));
    }
    return absl::StrCat("; ", WorstOf(findings).Text());
  }

  // Compares outputs and adds a finding if they differ. Returns false if their forms differ.
  bool CompareOutputs(const std::vector<c10::IValue>& expected,
                      const std::vector<c10::IValue>& actual,
                      const std::optional<Difference>& inside, std::vector<Comparison>* comparisons,
                      NumericReport* numeric) {
    const size_t last = pieces_.size() - 1;
    if (expected.size() != actual.size()) {
      Fail(ErrorClass::kNumbers, last, "",
           absl::StrCat("at run time it returns ", actual.size(), " values, the original returns ",
                        expected.size()));
      return false;
    }
    bool same_form = true;
    std::string first;
    for (size_t k = 0; k < expected.size(); ++k) {
      comparisons->push_back(Compare(expected[k], actual[k]));
      const Comparison& c = comparisons->back();
      numeric->bit_equal += c.same_bits ? 1 : 0;
      numeric->max_difference = std::max(numeric->max_difference, c.max_difference);
      same_form &= c.same_form;
      if (c.same_bits || !first.empty()) continue;
      first = c.same_form ? absl::StrFormat("output %d differs by at most %.3g, in %d elements", k,
                                            c.max_difference, c.different)
                          : absl::StrFormat("output %d is of another kind, shape or dtype", k);
      if (c.same_form) absl::StrAppend(&first, Explained(actual));
    }
    if (first.empty()) return true;
    if (inside.has_value()) {
      report_->Add(ErrorClass::kNumbers, inside->piece, inside->node,
                   absl::StrCat(first, "; the first difference is in ", inside->text));
    } else {
      report_->Add(ErrorClass::kNumbers, -1, "",
                   absl::StrCat(first, "; no operator by itself gives other bits"));
    }
    return same_form;
  }

  const Sample& original_;
  const absl::Span<const Sample> pieces_;
  const Style style_;
  const NumericOptions& options_;
  ValidationReport* report_;
  Values values_;
};

}  // namespace

absl::Status ValidateNumbers(const Sample& original, absl::Span<const Sample> pieces, Style style,
                             const NumericOptions& options, ValidationReport* report) {
  if (pieces.empty()) {
    NumericReport numeric;
    for (int t = kFirstTolerance; t <= kLastTolerance; ++t)
      numeric.line.push_back({t, t >= 3 ? 1 : kFailedScore});
    report->numeric = std::move(numeric);
    return absl::OkStatus();
  }
  try {
    return Runner(original, pieces, style, options, report).Run();
  } catch (const std::exception& error) {
    return absl::InternalError(Printable(error.what(), 1000));
  }
}

}  // namespace graphnet

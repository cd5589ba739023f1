#include "tests/extract/check_program.h"

#include <cstring>
#include <map>
#include <utility>

#include "ATen/ATen.h"
#include "ATen/record_function.h"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/cache.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/example_value.h"
#include "graphnet/extract/samples.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/ir/text/printer.h"
#include "tests/extract/custom.h"
#include "tests/extract/store_and_load.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/frontend/resolver.h"
#include "torch/csrc/jit/frontend/sugared_value.h"
#include "torch/csrc/jit/runtime/graph_executor.h"
#include "torch/csrc/jit/runtime/operator.h"
#include "torch/csrc/jit/runtime/print_handler.h"

namespace graphnet {
namespace {

using c10::IValue;
using Counts = std::map<std::string, int64_t>;

// The names that programs in C++ have, and namespaces of operators.
struct Names : torch::jit::NativeResolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction& function,
      const torch::jit::SourceRange& where) override {
    if (name == "graphnet_test" || name == "test_operators" || name == "quantized")
      return std::make_shared<torch::jit::BuiltinModule>(name);
    return NativeResolver::resolveValue(name, function, where);
  }
};

torch::jit::Module MakeModule(const std::string& source) {
  torch::jit::Module module("Program");
  module.register_parameter("weight", at::arange(3, at::kFloat) + 0.5, /*is_buffer=*/false);
  module.register_buffer("buffer", at::ones({3}, at::kFloat));
  module.register_buffer("count", at::zeros({}, at::kLong));
  module.register_attribute("scale", c10::FloatType::get(), IValue(1.5));
  module.register_attribute("history", c10::ListType::ofTensors(), IValue(c10::List<at::Tensor>()));
  module.register_attribute("training", c10::BoolType::get(), IValue(false));
  if (absl::StrContains(source, "self.counter")) {
    const IValue counter = MakeCounter(5);
    module.register_attribute("counter", counter.type(), counter);
  }
  module.define(source, std::make_shared<Names>());
  return module;
}

// Counts calls of operators on tensors, without calls inside other operators.
thread_local Counts* counts = nullptr;
thread_local int depth = 0;

bool YieldsTensors(const std::string& name) {
  const auto handles = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
  for (const auto& op : handles) {
    // The callback does not see operators outside the dispatcher.
    if (!c10::Dispatcher::singleton().findSchema(op->schema().operator_name())) continue;
    for (const auto& result : op->schema().returns()) {
      if (result.type()->kind() == c10::TypeKind::TensorType ||
          result.type()->isSubtypeOf(*c10::ListType::ofTensors())) {
        return true;
      }
    }
  }
  return false;
}

std::unique_ptr<at::ObserverContext> Begin(const at::RecordFunction& function) {
  if (depth++ == 0 && counts != nullptr) ++(*counts)[function.name()];
  return nullptr;
}
void End(const at::RecordFunction&, at::ObserverContext*) { --depth; }

class Counter {
 public:
  explicit Counter(Counts* out) {
    counts = out;
    depth = 0;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&Begin, &End).scopes({at::RecordScope::FUNCTION}));
  }
  ~Counter() {
    at::removeCallback(handle_);
    counts = nullptr;
  }

 private:
  at::CallbackHandle handle_;
};

Counts OnTensors(const Counts& all) {
  Counts out;
  for (const auto& [name, count] : all) {
    // Skip views and constants that handling values makes: they are not operators of the program.
    if (!YieldsTensors(name)) continue;
    // These operators are captured under another name (spelling.h).
    static const auto* const spelled =
        new std::map<std::string, std::string>{{"aten::_convolution", "aten::conv2d"},
                                               {"aten::fill_", "aten::copy_"},
                                               {"aten::split_with_sizes", "aten::split"},
                                               {"aten::norm", "aten::linalg_vector_norm"}};
    const auto it = spelled->find(name);
    out[it != spelled->end() ? it->second : name] += count;
  }
  return out;
}

std::string Text(const Counts& counts) {
  return absl::StrJoin(counts, " ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, "=", entry.second);
  });
}

Counts CountsOf(const Capture& capture) {
  Counts out;
  const auto name_of = [](absl::string_view target) {
    const std::vector<absl::string_view> parts = absl::StrSplit(target, '.');
    return parts.size() > 1 ? absl::StrCat(parts[0], "::", parts[1]) : std::string(target);
  };
  const auto add = [&](const Graph& graph, int64_t times) {
    for (const Node* node : graph.nodes()) {
      // The capture copies a tensor of numbers that the program writes to; torch.tensor makes it.
      const bool is_copy = node->is_call_function("aten.clone.default") &&
                           node->args()[0].node()->op() == Op::kGetAttr &&
                           absl::StartsWith(node->args()[0].node()->target(), "_tensor_constant");
      if (node->is_call() && node->target() != "operator.getitem")
        out[is_copy ? "aten::empty" : name_of(node->target())] += times;
    }
  };
  for (const auto& subgraph : capture.subgraphs) {
    add(*subgraph.module->main(), 1);
    for (const Node* node : subgraph.module->main()->nodes()) {
      if (!node->is_call_function("torch.ops.higher_order.while_loop")) continue;
      const Node* test = node->args()[0].graph()->last()->args()[0].node();
      add(*node->args()[1].graph(), test->args()[1].integer());
    }
  }
  for (const auto& [target, count] : capture.folded) out[name_of(target)] += count;
  for (const StitchStep& step : capture.manifest.steps) {
    // A step on numbers is not an operator on tensors, but may have the name of one.
    const bool counts =
        step.reason != BreakReason::kCustomClass && step.reason != BreakReason::kNone;
    if (step.subgraph < 0 && counts) ++out[step.op];
  }
  return OnTensors(out);
}

bool Same(const IValue& a, const IValue& b) {
  const std::vector<IValue> x = FlattenResult(a), y = FlattenResult(b);
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].isTensor() != y[i].isTensor()) return false;
    if (!x[i].isTensor()) {
      if (x[i] != y[i]) return false;
      continue;
    }
    const at::Tensor s = x[i].toTensor().contiguous(), t = y[i].toTensor().contiguous();
    if (s.scalar_type() != t.scalar_type() || s.sizes() != t.sizes()) return false;
    if (s.numel() > 0 && std::memcmp(s.const_data_ptr(), t.const_data_ptr(), s.nbytes()) != 0)
      return false;
  }
  return true;
}

// The effects of a run.
struct Outcome {
  IValue result;
  std::vector<IValue> inputs;
  std::string printed;
  IValue state;
};

absl::Status Compare(const Outcome& expected, const Outcome& found, absl::string_view how,
                     bool state) {
  if (!Same(expected.result, found.result))
    return absl::InternalError(absl::StrCat(how, ": another result"));
  for (size_t i = 0; i < expected.inputs.size(); ++i) {
    if (!Same(expected.inputs[i], found.inputs[i]))
      return absl::InternalError(absl::StrCat(how, ": input ", i, " differs"));
  }
  if (expected.printed != found.printed) {
    return absl::InternalError(
        absl::StrCat(how, ": printed ", found.printed, " instead of ", expected.printed));
  }
  if (state && !Same(expected.state, found.state))
    return absl::InternalError(absl::StrCat(how, ": another state"));
  return absl::OkStatus();
}

IValue StateOf(const torch::jit::Module& module) {
  std::vector<IValue> values;
  for (const char* name : {"weight", "buffer", "count", "scale", "history"})
    values.push_back(module.attr(name).deepcopy());
  return c10::ivalue::Tuple::create(std::move(values));
}

std::string* printed = nullptr;

absl::StatusOr<std::string> Check(const TestProgram& program) {
  const torch::jit::Module original = MakeModule(program.source);
  const auto draw = [&](uint64_t seed) -> absl::StatusOr<std::vector<IValue>> {
    const auto& formals = original.get_method("forward").function().getSchema().arguments();
    std::vector<IValue> values;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      ASSIGN_OR_RETURN(IValue value, MakeExampleValue(program.inputs[i], formals.at(i + 1).name(),
                                                      seed, formals.at(i + 1).type()));
      values.push_back(std::move(value));
    }
    return values;
  };
  // Makes inputs with `more` added to their dynamic sizes.
  const auto larger = [&](std::vector<IValue> values, int64_t more) {
    for (const CaptureOptions::DynamicSize& size : program.dynamic) {
      const at::Tensor& tensor = values[size.input].toTensor();
      std::vector<int64_t> sizes = tensor.sizes().vec();
      sizes[static_cast<size_t>(size.dim)] += more;
      values[size.input] = at::randn(sizes).to(tensor.scalar_type());
    }
    return values;
  };
  ASSIGN_OR_RETURN(const std::vector<IValue> inputs, draw(7));
  const auto copies = [&] {
    std::vector<IValue> out;
    for (const IValue& input : inputs) out.push_back(input.deepcopy());
    return out;
  };
  c10::InferenceMode inference;
  torch::jit::getExecutorMode() = false;
  torch::jit::setGraphExecutorOptimize(false);

  // Run the program directly.
  Outcome expected{.inputs = copies()};
  Counts ran;
  {
    printed = &expected.printed;
    torch::jit::setPrintHandler([](const std::string& text) { *printed += text; });
    at::manual_seed(1);
    const Counter counter(&ran);
    expected.result = original.get_method("forward")(expected.inputs);
    torch::jit::setPrintHandler(torch::jit::getDefaultPrintHandler());
  }
  expected.result = expected.result.deepcopy();
  expected.state = StateOf(original);

  // Capture it.
  const torch::jit::Module captured_module = MakeModule(program.source);
  Outcome captured{.inputs = copies()};
  CaptureOptions options;
  options.break_on = program.break_on;
  options.dynamic = program.dynamic;
  options.cond = program.cond;
  options.max_unroll = program.max_unroll;
  options.statistics = false;
  options.custom_operators = true;
  options.print = [&](const std::string& text) { captured.printed += text; };
  at::manual_seed(1);
  ASSIGN_OR_RETURN(const Capture capture,
                   CaptureProgram(captured_module, captured.inputs, options));
  RETURN_IF_ERROR(capture.status);
  captured.result = capture.result;
  captured.state = StateOf(captured_module);
  RETURN_IF_ERROR(Compare(expected, captured, "captured", true));
  // Printing a tensor runs operators, too.
  const bool prints_tensors = absl::c_any_of(capture.manifest.steps, [](const StitchStep& step) {
    return (step.op == "prim::Print" || step.op == "aten::format") &&
           absl::c_any_of(step.operands,
                          [](const ValueTree& v) { return v.kind == ValueTree::Kind::kTensor; });
  });
  if (const Counts a = OnTensors(ran), b = CountsOf(capture);
      a != b && !prints_tensors && !program.cond) {
    return absl::InternalError(absl::StrCat("operators ran: ", Text(a), "; recorded: ", Text(b)));
  }

  // Run it from a folder.
  ASSIGN_OR_RETURN(const ExtractedProgram samples, ToSamples(capture, program.name));
  for (const ExtractFormat format : {ExtractFormat::kProtobuf, ExtractFormat::kGraphNetFolder}) {
    ASSIGN_OR_RETURN(const LoadedProgram loaded, StoreAndLoad(samples, format, /*trust=*/true));
    Outcome stitched{.inputs = copies()};
    StitchedProgram::RunOptions run;
    run.custom_operators = true;
    run.print = [&](const std::string& text) { stitched.printed += text; };
    at::manual_seed(1);
    ASSIGN_OR_RETURN(stitched.result, loaded.program->Run(stitched.inputs, run));
    RETURN_IF_ERROR(Compare(expected, stitched,
                            format == ExtractFormat::kProtobuf ? "protobuf" : "folder", false));
  }

  // Compare calls through the cache with calls of the original: three with the inputs of the
  // capture, for which it is valid, and three with others, for which branches and sizes may
  // differ.
  const torch::jit::Module again = MakeModule(program.source);
  std::string cached_text;
  options.print = [&](const std::string& text) { cached_text += text; };
  CaptureCache cache(MakeModule(program.source), options);
  for (int i = 0; i < 6; ++i) {
    std::vector<IValue> a = copies();
    if (i >= 3) {
      ASSIGN_OR_RETURN(a, draw(static_cast<uint64_t>(7 + i)));
      a = larger(std::move(a), i);
    }
    std::vector<IValue> b;
    for (const IValue& input : a) b.push_back(input.deepcopy());
    at::manual_seed(i);
    const absl::StatusOr<IValue> x =
        Guarded([&]() -> absl::StatusOr<IValue> { return again.get_method("forward")(a); });
    at::manual_seed(i);
    absl::StatusOr<IValue> y = cache.Call(b);
    if (i >= 3 && !x.ok() && !y.ok()) break;  // An assertion on data failed in both.
    if (!x.ok()) return Annotate(x.status(), absl::StrCat("call ", i, " of the original"));
    if (!y.ok()) return Annotate(y.status(), absl::StrCat("call ", i, " of the cache"));
    if (!Same(*x, *y))
      return absl::InternalError(absl::StrCat("call ", i, " of the cache: another result"));
    for (size_t k = 0; k < a.size(); ++k) {
      if (!Same(a[k], b[k]))
        return absl::InternalError(absl::StrCat("call ", i, " of the cache: input ", k));
    }
  }

  std::string text;
  for (const StitchStep& step : capture.manifest.steps) {
    if (step.subgraph >= 0) {
      absl::StrAppend(&text, "subgraph_", step.subgraph, " (", absl::StrJoin(step.inputs, ", "),
                      ") -> (", absl::StrJoin(step.outputs, ", "), ")\n");
      absl::StrAppend(&text,
                      PrintModule(*capture.subgraphs[static_cast<size_t>(step.subgraph)].module,
                                  PrintOptions::Readable()));
      continue;
    }
    const auto print = [](std::string* out, const ValueTree& tree) {
      absl::StrAppend(out, PrintValueTree(tree));
    };
    const bool is_break = step.reason != BreakReason::kNone;
    absl::StrAppend(&text, is_break ? std::string(TextOf(step.reason).name) : "numbers", ": ",
                    step.op, "(", absl::StrJoin(step.operands, ", ", print), ") -> (",
                    absl::StrJoin(step.results, ", ", print), ") at line ", step.line, "\n");
  }
  for (const auto& input : capture.manifest.inputs) {
    if (input.after)
      absl::StrAppend(&text, input.name, " becomes ", PrintValueTree(*input.after), "\n");
  }
  for (const auto& relation : capture.manifest.relations)
    absl::StrAppend(&text, "requires ", relation.text, "\n");
  const bool reads = absl::c_any_of(capture.manifest.steps, [](const StitchStep& step) {
    return step.subgraph < 0 &&
           (step.reason == BreakReason::kNumberFromTensor || step.reason == BreakReason::kNone);
  });
  if (program.cond || !program.dynamic.empty() || reads)
    absl::StrAppend(&text, "calls with other inputs: ", cache.counters().hits - 2, " of 3 hits\n");
  absl::StrAppend(&text, "return ", PrintValueTree(capture.manifest.result), "\n");
  return text;
}

}  // namespace

absl::StatusOr<std::string> CheckProgram(const TestProgram& program) {
  return Guarded([&] { return Check(program); });
}

absl::Status SaveProgram(const std::string& source, const std::string& path) {
  return Guarded([&]() -> absl::Status {
    MakeModule(source).save(path);
    return absl::OkStatus();
  });
}

}  // namespace graphnet

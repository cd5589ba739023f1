#include "graphnet/extract/reference.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "ATen/Functions.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/plan.h"
#include "graphnet/extract/stitched.h"
#include "graphnet/interp/no_grad.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "graphnet/interp/torch/status.h"
#include "torch/csrc/jit/passes/canonicalize_graph_fuser_ops.h"
#include "torch/csrc/jit/passes/inliner.h"
#include "torch/csrc/jit/runtime/graph_executor.h"
#include "torch/csrc/jit/runtime/graph_iterator.h"
#include "torch/csrc/jit/runtime/print_handler.h"

namespace graphnet {
namespace {

namespace jit = torch::jit;
using c10::IValue;

// Checks all paths: the one that a run takes is not known before, and LibTorch's interpreter has no
// fence.
class OperatorCheck {
 public:
  explicit OperatorCheck(const jit::Module& module) {
    for (const jit::Module& inner : module.modules()) types_.push_back(inner.type());
  }

  absl::Status Check(std::shared_ptr<jit::Graph> graph) {
    jit::DepthFirstGraphNodeIterator nodes(graph);
    while (const jit::Node* node = nodes.next()) {
      if (node->kind() == c10::prim::CallMethod) {
        RETURN_IF_ERROR(CheckCallees(*node));
        continue;
      }
      const c10::FunctionSchema* schema = node->maybeSchema();
      if (node->kind() == c10::prim::CallFunction ||
          (schema != nullptr && !extract::IsChosenByNode(node->kind()) && !IsAllowed(*schema))) {
        return torchscript::CannotRepresent(*node, "LibTorch must not run it");
      }
      if (node->hasAttribute(c10::attr::Subgraph))
        RETURN_IF_ERROR(Check(node->g(c10::attr::Subgraph)));
    }
    return absl::OkStatus();
  }

 private:
  // Inlining leaves the calls of an interface's methods. Any module that implements the interface
  // may be the one that runs.
  absl::Status CheckCallees(const jit::Node& node) {
    const std::string& name = node.s(c10::attr::name);
    const c10::TypePtr& interface = node.input(0)->type();
    bool found = false;
    for (const c10::ClassTypePtr& type : types_) {
      if (!type->isSubtypeOf(*interface)) continue;
      jit::Function* method = type->findMethod(name);
      if (method == nullptr) continue;
      jit::GraphFunction* function = jit::tryToGraphFunction(*method);
      if (function == nullptr) break;
      found = true;
      if (!checked_.insert(function).second) continue;
      function->ensure_defined();
      const std::shared_ptr<jit::Graph> graph = function->graph()->copy();
      jit::Inline(*graph);
      RETURN_IF_ERROR(Check(graph));
    }
    return found ? absl::OkStatus()
                 : torchscript::CannotRepresent(node, "LibTorch must not run it");
  }

  std::vector<c10::ClassTypePtr> types_;
  absl::flat_hash_set<const jit::GraphFunction*> checked_;
};

// Returns a dense tensor without lazy conjugation or negation.
at::Tensor Plain(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.is_quantized()             ? tensor.int_repr()
                           : tensor.layout() != at::kStrided ? tensor.to_dense()
                                                             : tensor;
  return dense.detach().cpu().resolve_conj().resolve_neg().contiguous();
}

// Returns whether a value is no tensor where a tensor may be, which LibTorch expresses in two ways.
bool IsUndefined(const IValue& leaf) {
  return leaf.isNone() || (leaf.isTensor() && !leaf.toTensor().defined());
}

std::string TypeOf(const IValue& leaf) {
  if (IsUndefined(leaf)) return "None";
  if (!leaf.isTensor()) return leaf.tagKind();
  std::ostringstream text;
  const at::Tensor& tensor = leaf.toTensor();
  text << tensor.scalar_type() << tensor.sizes();
  if (tensor.layout() != at::kStrided) text << " " << tensor.layout();
  return text.str();
}

bool SameBits(const IValue& a, const IValue& b) {
  if (a.isDouble()) return a == b || (std::isnan(a.toDouble()) && std::isnan(b.toDouble()));
  if (IsUndefined(a)) return true;
  if (!a.isTensor()) return a.isObject() || a == b;
  const at::Tensor x = Plain(a.toTensor()), y = Plain(b.toTensor());
  return x.numel() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

}  // namespace

absl::StatusOr<IValue> RunByLibTorch(const jit::Module& module, std::vector<IValue> inputs,
                                     const CaptureOptions& options) {
  return Guarded([&]() -> absl::StatusOr<IValue> {
    const jit::Method method = module.get_method(options.method);
    inputs.insert(inputs.begin(), module._ivalue());
    method.function().getSchema().checkAndNormalizeInputs(inputs);
    const std::shared_ptr<jit::Graph> graph = method.graph()->copy();
    // These passes tell numbers from tensors; LibTorch skips them without optimisations.
    jit::Inline(*graph);
    jit::CanonicalizeOps(graph);
    if (!options.custom_operators) RETURN_IF_ERROR(OperatorCheck(module).Check(graph));
    const absl::Cleanup restore = [optimize = jit::getGraphExecutorOptimize(),
                                   print = jit::getPrintHandler()] {
      jit::setGraphExecutorOptimize(optimize);
      jit::setPrintHandler(print);
    };
    jit::setGraphExecutorOptimize(false);
    jit::setPrintHandler([](const std::string&) {});
    std::optional<interp::NoGrad> no_grad;
    std::optional<c10::InferenceMode> ordinary;
    if (extract::AsksForGradients(method.function())) {
      ordinary.emplace(false);
    } else {
      no_grad.emplace();
    }
    jit::GraphExecutor(graph, options.method).run(inputs);
    return inputs.at(0);
  });
}

std::string DifferenceOf(const IValue& expected, const IValue& found) {
  const std::vector<IValue> a = FlattenResult(expected), b = FlattenResult(found);
  if (a.size() != b.size()) return absl::StrCat(b.size(), " results instead of ", a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string x = TypeOf(a[i]), y = TypeOf(b[i]);
    if (x != y) return absl::StrCat("result ", i, ": ", y, " instead of ", x);
    if (!SameBits(a[i], b[i])) return absl::StrCat("result ", i, ", ", x, ": other bits");
  }
  return "";
}

}  // namespace graphnet

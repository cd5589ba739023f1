// Composes short random programs whose values are shared: bytes choose calls, and each call may be
// applied many times to its own value. The code under test must answer or refuse within limits of
// time and memory (.ci/fuzz sets them), although the values would be huge if written out. The first
// byte chooses the code under test. tests/cli/amplify_shapes.py has the shapes one by one.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/check.h"
#include "graphnet/corpus/row.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/mlir/exporter.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/formats/pt2/exporter.h"
#include "graphnet/identity/diff.h"
#include "graphnet/identity/normal_form.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/statistics.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/paddle/pir/loops.h"
#include "graphnet/paddle/pir/lower.h"
#include "graphnet/paddle/pir/printer.h"
#include "graphnet/paddle/to_paddle.h"  // the pass to-paddle
#include "graphnet/passes/pass.h"
#include "graphnet/passes/registry.h"
#include "graphnet/view/dot.h"
#include "graphnet/view/picture.h"

namespace graphnet {
namespace {

// $a is the previous value, $b an earlier value that a byte chooses, and $g the previous body.
constexpr const char* kCalls[] = {
    "prim.ListConstruct($a, $a)",
    "prim.ListConstruct($a, $b)",
    "prim.DictConstruct(\"a\", $a, \"b\", $b)",
    "prim.TupleConstruct($a, $b, $a)",
    "aten.append.t($b, $b)",
    "aten.append.t($b, $a)",
    "aten.extend.t($b, $b)",
    "aten._set_item.t($b, 0, $b)",
    "aten._set_item.str($b, \"a\", $b)",
    "aten.add.t($a, $a)",
    "aten.mul.left_t($a, 2)",
    "aten.__getitem__.t($b, 0)",
    "aten.pop.t($b, -1)",
    "operator.getitem($a, 0)",
    "operator.getitem($b, 1000000000)",
    "operator.add($a, $a)",
    "operator.mul($a, $b)",
    "torch.sym_max($a, $b)",
    "aten.sym_size.int(%x, 0)",
    "aten.expand.default(%x, [$b, -1, -1])",
    "torch.stack(($a, $b))",
    "torch.cat([$a, $a])",
    "aten.unsqueeze.default($a, 0)",
    "aten.squeeze.dim($a, 0)",
    "aten.transpose.int($a, 0, 1)",
    "aten.view.default($a, [9])",
    "aten.select.int($a, 0, 0)",
    "aten.split.Tensor($a, 1)",
    "aten.add_.Tensor($b, 1)",
    "aten.copy_.default($b, %x)",
    "operator.setitem($b, 0, %x)",
    "torch.relu($a)",
    "torch.utils.pick([{\"k\": ($a, $b)}, $a], k = [$a, ($b,)])",
    "torch.vmap($g, ($a,))",
    "torch.cond(%p, $g, $g, ($a,))",
    "torch.ops.higher_order.wrap($g, $b, k = $g)",
};
constexpr int kMaxStatements = 2000;

// Each statement takes three bytes: the call, the number of repetitions, and the choice of $b.
std::string Composed(absl::string_view bytes) {
  std::string bodies, main;
  std::vector<std::string> values = {"%x"};
  std::string body = "@b";
  int statements = 0, num_bodies = 0;
  for (size_t i = 0; i + 3 <= bytes.size() && statements < kMaxStatements; i += 3) {
    const auto at = [&](size_t k) { return static_cast<size_t>(static_cast<uint8_t>(bytes[k])); };
    const std::string call = kCalls[at(i) % std::size(kCalls)];
    const size_t times = at(i + 1) < 64 ? 1 : at(i + 1) < 128 ? 3 : 40;
    for (size_t k = 0; k < times; ++k) {
      const std::string& b = values[at(i + 2) % values.size()];
      std::string name = absl::StrCat("%v", ++statements);
      absl::StrAppend(&main, "  ", name, " = ",
                      absl::StrReplaceAll(call, {{"$a", values.back()}, {"$b", b}, {"$g", body}}),
                      "\n");
      values.push_back(std::move(name));
    }
    // Each such byte makes a body that calls the previous one twice.
    if (at(i + 1) % 16 == 7 && num_bodies < 40) {
      const std::string next = absl::StrCat("@b", ++num_bodies);
      absl::StrAppend(&bodies, "graph ", next, "(%x) {\n  %l = torch.vmap(", body,
                      ", (%x,))\n  %r = torch.vmap(", body, ", (%l,))\n  return %r\n}\n");
      body = next;
    }
  }
  return absl::StrCat("symbol S0 = 3\n\ngraph @forward(%x : f32[S0, 3]@cpu, %p : bool[]@cpu) {\n",
                      main, "  return (", values.back(), ", ", values[values.size() / 2], ")\n}\n",
                      "graph @b(%x) {\n  %y = torch.relu(%x)\n  return %y\n}\n", bodies);
}

void Work(size_t who, Sample* sample) {
  Module& module = *sample->module;
  switch (who) {
    case 0: CanonicalHash(module); return;
    case 1: ComputeStatistics(module); return;
    case 2: NormalForm(module).status().IgnoreError(); return;
    case 3: {
      const auto bytes = SerializeSample(*sample);
      if (!bytes.ok()) return;
      const auto again = DeserializeSample(*bytes, "again");
      CHECK(again.ok() && CheckEqual(module, *again->module, kExact).ok());
      return;
    }
    case 4: GraphNetFiles(*sample).status().IgnoreError(); return;
    case 5: ExportPt2ToString(*sample).status().IgnoreError(); return;
    case 6: ExportMlir(module).status().IgnoreError(); return;
    case 7: {
      const auto lowered = pir::ToPir(module, {.functional = true});
      if (!lowered.ok()) return;
      pir::PrintPir(**lowered).status().IgnoreError();
      pir::PrintLoops(**lowered).status().IgnoreError();
      return;
    }
    case 8: {
      const auto picture = MakePicture(module);
      if (picture.ok()) WriteDot(*picture);
      return;
    }
    case 9: {
      DecomposeConfig config;
      config.mode = DecomposeMode::kSingleOp;
      Decompose(*sample, config).status().IgnoreError();
      return;
    }
    case 10: CHECK(DiffModules(module, module).empty()); return;
    case 11: {
      const Effects effects(module);
      const MemoryGroups groups(module, effects);
      return;
    }
    case 12: {
      const auto row = MakeRow(*sample);
      if (row.ok()) CHECK(DeserializeSample(row->blob, "blob").ok());
      return;
    }
    default: {
      const absl::Span<const Pass> passes = AllPasses();
      PassRun run;
      const absl::Status status = passes[who % passes.size()].Run(module, run).status();
      if (status.ok()) CHECK(Verify(module).ok());
    }
  }
}

}  // namespace
}  // namespace graphnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string text = Composed(bytes.substr(1));
  auto module = ParseModule(text, "fuzz");
  CHECK_SAYS(module.ok(), "%s\n%s", module.status().ToString().c_str(), text.c_str());
  if (!Verify(**module).ok()) return 0;
  Sample sample;
  sample.name = "fuzz";
  sample.module = *std::move(module);
  Work(data[0] % 64, &sample);
  return 0;
}

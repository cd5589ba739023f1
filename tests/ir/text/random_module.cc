#include "tests/ir/text/random_module.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ir/types.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {
namespace {

// Names that a reader could take for something else.
constexpr absl::string_view kOddNames[] = {"None",
                                           "True",
                                           "False",
                                           "inf",
                                           "nan",
                                           "slice",
                                           "device",
                                           "sym",
                                           "min",
                                           "max",
                                           "complex",
                                           "as",
                                           "in",
                                           "at",
                                           "return",
                                           "get_attr",
                                           "output",
                                           "call_module",
                                           "torch.f32",
                                           "graph",
                                           "end",
                                           "1",
                                           "-1",
                                           "1e5",
                                           "0.weight",
                                           "...",
                                           ".",
                                           "a.b.c",
                                           "a::b",
                                           "x y",
                                           "\"",
                                           "\\",
                                           "%x",
                                           "@g",
                                           "# no comment",
                                           "// no",
                                           "\n",
                                           "\xc3\xa9t\xc3\xa9",
                                           "\xff\xfe",
                                           "\xc2\x85",
                                           "_",
                                           "="};
constexpr absl::string_view kTargets[] = {"torch.relu",          "torch.nn.functional.linear",
                                          "operator.add",        "operator.getitem",
                                          "aten.conv2d.default", "torch.cond"};

class Generator {
 public:
  Generator(uint64_t seed, const RandomModuleOptions& options) : options_(options), random_(seed) {}

  std::unique_ptr<Module> MakeModule();
  Sample MakeSample();

 private:
  // Returns a number from 0 to n - 1. (The distributions of <random> differ between libraries.)
  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }
  bool OneIn(size_t n) { return Below(n) == 0; }
  bool Invalid(size_t n) { return options_.invalid && OneIn(n); }
  template <typename T, size_t N>
  const T& Pick(const T (&values)[N]) {
    return values[Below(N)];
  }

  std::string Bytes(size_t max_size);
  // Returns a name that is not empty.
  std::string Name();
  std::string UniqueName(absl::flat_hash_set<std::string>& taken);
  std::string Word();
  int64_t Integer();
  double Float();
  DType RandomDType() { return static_cast<DType>(Below(kNumDTypes - 1) + 1); }
  Device RandomDevice() {
    return {static_cast<DeviceType>(Below(kNumDeviceTypes)), static_cast<int16_t>(Below(10) - 1)};
  }

  // Keeps values in storage_, which arguments view; it lives until the next node.
  absl::Span<const Argument> Keep(std::vector<Argument> values) {
    storage_.push_back(std::make_unique<std::vector<Argument>>(std::move(values)));
    return *storage_.back();
  }
  absl::string_view KeepText(std::string text) {
    texts_.push_back(std::make_unique<std::string>(std::move(text)));
    return *texts_.back();
  }
  Argument Scalar();
  Argument Value(int depth, bool with_nodes);
  std::vector<Argument> Values(int depth, bool with_nodes, size_t max);

  const SymExpr* Expr(int depth);
  const SymExpr* Relation() {
    const auto kind = static_cast<SymExpr::Kind>(static_cast<int>(SymExpr::Kind::kEq) + Below(6));
    const SymExpr* lhs = Expr(3);
    return module_->SymBinary(kind, lhs, Expr(3));
  }
  TensorMeta Tensor(std::vector<Dim>* shape);
  const ValueMeta* Meta(int depth);
  DrawSpec Draw(const TensorMeta* meta);

  void AddDeclarations();
  void FillGraph(size_t index);
  void AddNode(Op op, absl::string_view target, absl::Span<const Argument> args,
               absl::Span<const KwArg> kwargs);
  void AddPlaceholder();
  void AddOperation();
  void AddOutput();

  const RandomModuleOptions options_;
  std::mt19937_64 random_;
  std::unique_ptr<Module> module_;
  Graph* graph_ = nullptr;
  std::vector<Graph*> bodies_;  // The bodies to which the graph may refer.
  std::vector<Node*> values_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_set<std::string> placeholder_targets_;
  std::vector<std::unique_ptr<std::vector<Argument>>> storage_;
  std::vector<std::unique_ptr<std::string>> texts_;
  std::vector<std::string> files_;
};

std::string Generator::Bytes(size_t max_size) {
  std::string out;
  const size_t size = Below(max_size + 1);
  for (size_t i = 0; i < size; ++i) {
    switch (Below(3)) {
      case 0: out += static_cast<char>(Below(256)); break;
      case 1: out += static_cast<char>(0x20 + Below(0x60)); break;
      default: absl::StrAppend(&out, Pick(kOddNames)); break;
    }
  }
  return out;
}

std::string Generator::Word() {
  std::string out(1, static_cast<char>('a' + Below(26)));
  for (size_t n = Below(8); n > 0; --n) out += "abcxyz_0129"[Below(11)];
  return out;
}

std::string Generator::Name() {
  if (!options_.any_bytes || !OneIn(4)) return Word();
  if (OneIn(2)) return std::string(Pick(kOddNames));
  return absl::StrCat(Bytes(6), Word());
}

std::string Generator::UniqueName(absl::flat_hash_set<std::string>& taken) {
  std::string name = Name();
  while (!taken.insert(name).second) absl::StrAppend(&name, "_", Below(100));
  return name;
}

int64_t Generator::Integer() {
  switch (Below(6)) {
    case 0: return std::numeric_limits<int64_t>::min();
    case 1: return std::numeric_limits<int64_t>::max();
    case 2: return static_cast<int64_t>(random_());
    case 3: return -static_cast<int64_t>(Below(100));
    default: return static_cast<int64_t>(Below(1000));
  }
}

double Generator::Float() {
  static constexpr double kOdd[] = {0.0,
                                    -0.0,
                                    1.0,
                                    -1.0,
                                    1e16,
                                    1e15,
                                    9999999999999998.0,
                                    1e-4,
                                    9.9e-5,
                                    1e22,
                                    0.1,
                                    1e300,
                                    5e-324,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::quiet_NaN()};
  switch (Below(4)) {
    case 0: return std::bit_cast<double>(random_());
    case 1: return Pick(kOdd);
    case 2:
      return std::bit_cast<double>(uint64_t{0x7ff0000000000000} | (random_() & 0x800fffffffffffff));
    default: return static_cast<double>(Below(100000)) / 1000;
  }
}

Argument Generator::Scalar() {
  switch (Below(12)) {
    case 0: return Argument::None();
    case 1: return OneIn(2);
    case 2: return Float();
    case 3: return module_->Complex({Float(), Float()});
    case 4: return KeepText(options_.any_bytes ? Bytes(12) : Word());
    case 5: return Invalid(3) ? DType::kUnknown : RandomDType();
    case 6: return RandomDevice();
    case 7: return static_cast<Layout>(Below(kNumLayouts));
    case 8: return static_cast<MemoryFormat>(Below(kNumMemoryFormats));
    case 9: return Argument::Ellipsis();
    case 10: return Invalid(4) ? Relation() : Expr(4);
    default: return Integer();
  }
}

std::vector<Argument> Generator::Values(int depth, bool with_nodes, size_t max) {
  std::vector<Argument> out;
  for (size_t n = Below(max + 1); n > 0; --n) out.push_back(Value(depth, with_nodes));
  return out;
}

Argument Generator::Value(int depth, bool with_nodes) {
  if (with_nodes && !values_.empty() && OneIn(2)) return values_[Below(values_.size())];
  if (with_nodes && !bodies_.empty() && OneIn(8)) return bodies_[Below(bodies_.size())];
  if (depth == 0 || !OneIn(4)) return Scalar();
  switch (Below(4)) {
    case 0: return Argument::List(Keep(Values(depth - 1, with_nodes, 4)));
    case 1: return Argument::Tuple(Keep(Values(depth - 1, with_nodes, 3)));
    case 2: {
      std::vector<Argument> pairs;
      for (size_t n = Below(3); n > 0; --n) {
        pairs.push_back(Value(depth - 1, false));
        pairs.push_back(Value(depth - 1, with_nodes));
      }
      return Argument::Dict(Keep(std::move(pairs)));
    }
    default: {
      std::vector<Argument> three;
      for (int i = 0; i < 3; ++i) three.push_back(Value(depth - 1, with_nodes));
      return Argument::Slice(Keep(std::move(three)));
    }
  }
}

const SymExpr* Generator::Expr(int depth) {
  const bool has_symbols = !module_->symbols().empty();
  if (depth == 0 || OneIn(3)) {
    if (Invalid(8)) return module_->SymSymbol(Name());
    if (!has_symbols || OneIn(3)) return module_->SymInt(Integer());
    return module_->SymSymbol(module_->symbols()[Below(module_->symbols().size())].name);
  }
  if (OneIn(6)) return module_->SymNeg(Expr(depth - 1));
  const auto kind = static_cast<SymExpr::Kind>(static_cast<int>(SymExpr::Kind::kAdd) + Below(8));
  const SymExpr* lhs = Expr(depth - 1);
  return module_->SymBinary(kind, lhs, Expr(depth - 1));
}

TensorMeta Generator::Tensor(std::vector<Dim>* shape) {
  TensorMeta meta;
  meta.dtype = OneIn(8) ? DType::kUnknown : RandomDType();
  meta.has_device = OneIn(2);
  if (meta.has_device) meta.device = RandomDevice();
  meta.has_shape = !OneIn(6);
  if (meta.has_shape) {
    for (size_t n = Below(5); n > 0; --n) {
      if (OneIn(5)) {
        shape->push_back(Expr(3));
      } else if (Invalid(10)) {
        shape->push_back(OneIn(2) ? Dim(Integer()) : Dim(Relation()));
      } else {
        shape->push_back(static_cast<int64_t>(Below(6)));
      }
    }
    meta.shape = *shape;
  }
  return meta;
}

const ValueMeta* Generator::Meta(int depth) {
  if (depth > 0 && OneIn(4)) {
    std::vector<const ValueMeta*> elements;
    for (size_t n = Below(4); n > 0; --n) elements.push_back(Meta(depth - 1));
    return module_->InternTupleMeta(elements);
  }
  if (OneIn(8)) return module_->arena().New<ValueMeta>();  // An unknown value.
  std::vector<Dim> shape;
  return module_->InternValueMeta(Tensor(&shape));
}

DrawSpec Generator::Draw(const TensorMeta* meta) {
  DrawSpec spec;
  if ((spec.has_mean = OneIn(2))) spec.mean = Float();
  if ((spec.has_std = OneIn(2))) spec.std = Float();
  spec.in_input_meta = OneIn(2);
  if (OneIn(3)) spec.min = OneIn(2) ? Argument(Integer()) : Argument(Float());
  if (OneIn(3)) spec.max = OneIn(2) ? Argument(Integer()) : Argument(Float());
  if (OneIn(4)) spec.original_name = KeepText(Name());
  if (!OneIn(3) || (meta && meta->has_shape && !meta->is_static())) return spec;
  size_t count = Below(5);
  if (meta && meta->has_shape) {
    count = 1;
    for (const Dim& dim : meta->shape) {
      if (dim.value < 0 || dim.value > 100) return spec;
      count *= static_cast<size_t>(dim.value);
    }
  }
  std::vector<Argument> data;
  for (size_t i = 0; i < count; ++i) {
    const size_t kind = Below(3);
    data.push_back(kind == 0   ? Argument(OneIn(2))
                   : kind == 1 ? Argument(Integer())
                               : Argument(Float()));
  }
  spec.data = Argument::List(Keep(std::move(data)));
  return spec;
}

void Generator::AddDeclarations() {
  absl::flat_hash_set<std::string> taken;
  for (size_t n = Below(4); n > 0; --n) {
    module_->AddSymbol(UniqueName(taken), OneIn(3) ? std::nullopt : std::optional(Integer()));
  }
  for (size_t n = Below(3); n > 0; --n) module_->AddRelation(Relation());
  taken.clear();
  for (size_t n = Below(4); n > 0; --n) {
    const std::string name = UniqueName(taken);
    std::vector<Dim> shape;
    Attribute attribute;
    attribute.name = name;
    const TensorMeta meta = Tensor(&shape);
    if (!OneIn(4)) attribute.meta = &meta;
    if (OneIn(2)) attribute.annotation = KeepText(Name());
    DrawSpec draw;
    if (OneIn(2)) {
      draw = Draw(attribute.meta);
      attribute.draw_spec = &draw;
    }
    module_->AddAttribute(attribute);
  }
}

void Generator::AddNode(Op op, absl::string_view target, absl::Span<const Argument> args,
                        absl::Span<const KwArg> kwargs) {
  const std::string name = op == Op::kOutput && !names_.contains("output") && !OneIn(4)
                               ? std::string("output")
                               : UniqueName(names_);
  names_.insert(name);
  Node* node = UncheckedBuilder(graph_).CreateNode(op, target, args, kwargs, name);
  if (OneIn(2)) node->set_meta(Meta(3));
  if (OneIn(5)) node->set_annotation(Name());
  if (OneIn(4)) node->set_module_path(Name());
  if (OneIn(2)) {
    SourceLocation location;
    if (!OneIn(4)) location.file = files_[Below(files_.size())];
    if (!OneIn(6)) location.line = static_cast<uint32_t>(random_());
    if (!OneIn(3)) location.column = static_cast<uint32_t>(Below(65536));
    node->set_location(location);
  }
  if ((op == Op::kPlaceholder && OneIn(3)) || Invalid(10))
    node->set_draw_spec(Draw(node->tensor_meta()));
  if (op != Op::kOutput) values_.push_back(node);
  storage_.clear();
  texts_.clear();
}

void Generator::AddPlaceholder() {
  std::vector<Argument> args;
  if (Invalid(6)) args = Values(1, true, 2);
  AddNode(Op::kPlaceholder, Invalid(8) ? "" : UniqueName(placeholder_targets_), args, {});
}

void Generator::AddOperation() {
  if (Invalid(12)) return AddPlaceholder();
  if (Invalid(12)) return AddOutput();
  if (OneIn(6) && (options_.invalid || !module_->attributes().empty())) {
    std::vector<Argument> args;
    if (Invalid(3)) args = Values(1, true, 2);
    const bool known = !module_->attributes().empty() && !Invalid(2);
    const std::string target =
        known ? std::string(module_->attributes()[Below(module_->attributes().size())].name)
              : Name();
    return AddNode(Op::kGetAttr, target, args, {});
  }
  const Op op = OneIn(4) ? Op::kCallMethod : OneIn(6) ? Op::kCallModule : Op::kCallFunction;
  const std::string target = OneIn(3) ? Name() : std::string(Pick(kTargets));
  std::vector<Argument> args = Values(options_.max_argument_depth, true, 5);
  if (op == Op::kCallMethod && args.empty() && !Invalid(2)) args.push_back(Value(1, true));
  std::vector<KwArg> kwargs;
  absl::flat_hash_set<std::string> taken;
  for (size_t n = OneIn(3) ? Below(4) : 0; n > 0; --n) {
    const absl::string_view keyword = KeepText(UniqueName(taken));
    kwargs.push_back({keyword, Value(options_.max_argument_depth, true)});
  }
  AddNode(op, target, args, kwargs);
}

void Generator::AddOutput() {
  if (Invalid(3)) {
    const std::vector<Argument> args = Values(2, true, 3);
    return AddNode(Op::kOutput, OneIn(2) ? "output" : Name(), args, {});
  }
  const Argument value = Value(options_.max_argument_depth, true);
  AddNode(Op::kOutput, "output", {value}, {});
}

void Generator::FillGraph(size_t index) {
  graph_ = module_->graphs()[index];
  values_.clear();
  names_.clear();
  placeholder_targets_.clear();
  // Bodies come after their users, so no graph reaches itself.
  bodies_.assign(module_->graphs().begin() + static_cast<ptrdiff_t>(index) + 1,
                 module_->graphs().end());
  for (size_t n = Below(5); n > 0; --n) AddPlaceholder();
  for (size_t n = Below(static_cast<size_t>(options_.max_nodes) + 1); n > 0; --n) AddOperation();
  // Each graph refers to the next, so that all are used.
  if (!bodies_.empty()) {
    const Argument body = bodies_[0];
    AddNode(Op::kCallFunction, "torch.cond", {body}, {});
  }
  if (!Invalid(4)) AddOutput();
}

std::unique_ptr<Module> Generator::MakeModule() {
  module_ = std::make_unique<Module>();
  files_ = {"model.py", "/usr/lib/x.py", Name()};
  AddDeclarations();
  absl::flat_hash_set<std::string> taken;
  size_t graphs = 1 + Below(static_cast<size_t>(options_.max_graphs));
  if (Invalid(10)) graphs = 0;
  for (size_t i = 0; i < graphs; ++i) module_->AddGraph(UniqueName(taken));
  for (size_t i = 0; i < graphs; ++i) FillGraph(i);
  return std::move(module_);
}

Sample Generator::MakeSample() {
  Sample sample;
  sample.module = MakeModule();
  const auto text = [&] { return OneIn(3) ? std::string() : Bytes(20); };
  sample.name = text();
  sample.graph_net_json = OneIn(2) ? "{\n  \"framework\": \"torch\"\n}\n" : text();
  sample.graph_hash = text();
  sample.has_constraints = OneIn(2);
  for (size_t n = Below(4); n > 0; --n) sample.constraint_order.push_back(text());
  for (size_t n = Below(3); n > 0; --n) sample.extra_files[Bytes(4)] = text();
  for (size_t n = Below(3); n > 0; --n) {
    sample.provenance.push_back({text(), text(), Integer(), Integer()});
  }
  return sample;
}

}  // namespace

std::unique_ptr<Module> RandomModule(uint64_t seed, const RandomModuleOptions& options) {
  return Generator(seed, options).MakeModule();
}

Sample RandomSample(uint64_t seed, const RandomModuleOptions& options) {
  return Generator(seed, options).MakeSample();
}

}  // namespace graphnet

#include "graphnet/extract/value_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/dynamic_sizes.h"
#include "graphnet/extract/run_number.h"
#include "graphnet/formats/torchscript/attributes.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "torch/csrc/jit/frontend/script_type_parser.h"
#include "torch/custom_class.h"

namespace graphnet::extract {
namespace {

using c10::IValue;
using Kind = ValueTree::Kind;

constexpr int kMaxDepth = 64;  // The manifest's reader takes no more.

// Says in `why`, which may be null, that a value differs. Returns false.
bool Differs(std::string* why, absl::string_view name, absl::string_view expected,
             absl::string_view found) {
  if (why != nullptr) *why = absl::StrCat(name, ": expected ", expected, ", found ", found);
  return false;
}

std::string Describe(const IValue& value) {
  if (value.isInt()) return absl::StrCat(value.toInt());
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isDouble()) return absl::StrFormat("%.17g", value.toDouble());
  if (value.isString()) return absl::StrCat("\"", Printable(value.toStringRef()), "\"");
  return absl::StrCat("a value of kind ", value.tagKind());
}

std::string Sizes(at::IntArrayRef sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

int64_t LargestNumber(const ValueTree& tree) {
  int64_t largest = tree.kind == Kind::kTensor ? tree.number : -1;
  for (const ValueTree& element : tree.elements)
    largest = std::max(largest, LargestNumber(element));
  return largest;
}

void CollectSizes(const ValueTree& tree, std::vector<std::string>* expressions) {
  if (tree.kind == Kind::kSize) expressions->push_back(tree.text);
  for (const ValueTree& element : tree.elements) CollectSizes(element, expressions);
}

bool SameBits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

absl::StatusOr<ValueTree> ToTree(const IValue& value, ValueNumber number, Budget* parts,
                                 int depth) {
  ValueTree tree;
  if (depth > kMaxDepth) return absl::UnimplementedError("a value that nests too deep");
  if (!parts->Charge(1))
    return absl::UnimplementedError("lists and tuples outside subgraphs hold too many values");
  const auto add = [&](const IValue& element) -> absl::Status {
    ASSIGN_OR_RETURN(ValueTree made, ToTree(element, number, parts, depth + 1));
    tree.elements.push_back(std::move(made));
    return absl::OkStatus();
  };
  if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return tree;
  if (value.isTensor()) {
    tree.kind = Kind::kTensor;
    ASSIGN_OR_RETURN(tree.number, number(value));
  } else if (value.isCustomClass()) {
    tree.kind = Kind::kObject;
    ASSIGN_OR_RETURN(tree.number, number(value));
  } else if (const RunNumber* read = RunNumberOf(value)) {
    tree.kind = Kind::kNumber;
    tree.number = read->id;
    RETURN_IF_ERROR(add(read->example));
  } else if (value.isSymInt()) {
    tree.kind = Kind::kSize;
    tree.text = PrintSymExpr(ExprOf(value));
  } else if (value.isBool()) {
    tree.kind = Kind::kBool;
    tree.number = value.toBool() ? 1 : 0;
  } else if (value.isInt()) {
    tree.kind = Kind::kInt;
    tree.number = value.toInt();
  } else if (value.isDouble()) {
    tree.kind = Kind::kFloat;
    tree.real = value.toDouble();
  } else if (value.isComplexDouble()) {
    tree.kind = Kind::kComplex;
    tree.real = value.toComplexDouble().real();
    tree.imaginary = value.toComplexDouble().imag();
  } else if (value.isString()) {
    tree.kind = Kind::kString;
    tree.text = value.toStringRef();
  } else if (value.isDevice()) {
    tree.kind = Kind::kDevice;
    tree.text = value.toDevice().str();
  } else if (value.isList()) {
    tree.kind = Kind::kList;
    tree.text = torchscript::TypeText(*value.type());
    for (const IValue& element : value.toListRef()) RETURN_IF_ERROR(add(element));
  } else if (value.isTuple()) {
    tree.kind = Kind::kTuple;
    for (const IValue& element : value.toTupleRef().elements()) RETURN_IF_ERROR(add(element));
  } else if (value.isGenericDict()) {
    tree.kind = Kind::kDict;
    tree.text = torchscript::TypeText(*value.type());
    for (const auto& entry : value.toGenericDict()) {
      RETURN_IF_ERROR(add(entry.key()));
      RETURN_IF_ERROR(add(entry.value()));
    }
  } else {
    return absl::UnimplementedError(
        absl::StrCat("a value of kind ", value.tagKind(), " outside a subgraph"));
  }
  return tree;
}

TensorGuard GuardOf(const at::Tensor& tensor) {
  return {DTypeOf(tensor.scalar_type()), tensor.device().str(), tensor.sizes().vec()};
}

TensorTable::TensorTable(const StitchManifest& manifest) {
  int64_t largest = LargestNumber(manifest.result);
  for (const auto& input : manifest.inputs)
    largest = std::max(
        {largest, LargestNumber(input.pattern), input.after ? LargestNumber(*input.after) : -1});
  for (const auto& state : manifest.states)
    largest = std::max(largest, LargestNumber(state.pattern));
  for (const StitchStep& step : manifest.steps) {
    for (const int64_t n : step.outputs) largest = std::max(largest, n);
    for (const ValueTree& operand : step.operands)
      largest = std::max(largest, LargestNumber(operand));
    for (const ValueTree& result : step.results) largest = std::max(largest, LargestNumber(result));
  }
  if (!manifest.constants.empty()) largest = std::max(largest, manifest.constants.rbegin()->first);
  if (!manifest.tensors.empty()) largest = std::max(largest, manifest.tensors.rbegin()->first);
  tensors_.resize(static_cast<size_t>(largest + 1));
  guards_.resize(tensors_.size());
  ReadSymbols(manifest);
  for (const auto& [number, guard] : manifest.tensors) {
    Guard& to = guards_[static_cast<size_t>(number)];
    to = {true, ScalarTypeOf(guard.dtype), c10::Device(guard.device), guard.sizes, {}};
    for (const std::string& text : guard.symbolic)
      to.symbolic.push_back(text.empty() ? nullptr : expressions_.at(text));
  }
}

// Parses all symbols and relations as one module in the text form. An expression becomes the left
// side of a comparison with 0.
void TensorTable::ReadSymbols(const StitchManifest& manifest) {
  if (manifest.symbols.empty()) return;
  std::vector<std::string> expressions;
  for (const auto& [number, guard] : manifest.tensors) {
    for (const std::string& text : guard.symbolic) {
      if (!text.empty()) expressions.push_back(text);
    }
  }
  for (const StitchStep& step : manifest.steps) {
    for (const ValueTree& operand : step.operands) CollectSizes(operand, &expressions);
  }
  CollectSizes(manifest.result, &expressions);
  std::string text;
  for (const auto& symbol : manifest.symbols) absl::StrAppend(&text, "symbol ", symbol.name, "\n");
  for (const auto& relation : manifest.relations)
    absl::StrAppend(&text, "relation ", relation.text, "\n");
  for (const std::string& expression : expressions)
    absl::StrAppend(&text, "relation ", expression, " == 0\n");
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text, "the manifest's symbols");
  TORCH_CHECK(module.ok(), module.status().message());
  symbols_ = *std::move(module);
  const size_t num_relations = manifest.relations.size();
  TORCH_CHECK(symbols_->symbols().size() == manifest.symbols.size() &&
                  symbols_->relations().size() == num_relations + expressions.size(),
              "the manifest's symbols and relations are not well-formed");
  relations_.assign(symbols_->relations().begin(),
                    symbols_->relations().begin() + static_cast<ptrdiff_t>(num_relations));
  for (size_t i = 0; i < expressions.size(); ++i)
    expressions_[expressions[i]] = symbols_->relations()[num_relations + i]->lhs;
}

void TensorTable::Clear() {
  std::fill(tensors_.begin(), tensors_.end(), at::Tensor());
  objects_.clear();
  if (symbols_ == nullptr) return;
  for (const Symbol& symbol : symbols_->symbols()) symbols_->AddSymbol(symbol.name, std::nullopt);
}

int64_t TensorTable::Evaluate(const SymExpr& expr) const {
  const std::optional<int64_t> value = EvaluateWithExamples(*symbols_, expr);
  TORCH_CHECK(value, "the size ", PrintSymExpr(expr), " has no value");
  return *value;
}

IValue TensorTable::Value(int64_t number) const {
  const auto it = objects_.find(number);
  if (it != objects_.end()) return it->second;
  return Get(number);
}

int64_t TensorTable::SizeOf(const std::string& symbol) const {
  const Symbol* found = symbols_ == nullptr ? nullptr : symbols_->FindSymbol(symbol);
  TORCH_CHECK(found != nullptr && found->example, "no size for the symbol ", symbol);
  return *found->example;
}

bool TensorTable::CheckRelations(const StitchManifest& manifest, std::string* why) const {
  for (size_t i = 0; i < relations_.size(); ++i) {
    // A relation does not hold if its sizes overflow 64 bits.
    if (EvaluateWithExamples(*symbols_, *relations_[i]).value_or(0) != 0) continue;
    if (why != nullptr) {
      *why = absl::StrCat("sizes: expected ", Printable(manifest.relations[i].text), ", found ");
      for (const Symbol& symbol : symbols_->symbols())
        absl::StrAppend(why, &symbol == &symbols_->symbols()[0] ? "" : ", ", symbol.name, " = ",
                        symbol.example.value_or(-1));
    }
    return false;
  }
  return true;
}

// Returns true if `size` is the expected one, which becomes `*expected`.
bool TensorTable::MatchSize(const Guard& guard, size_t dim, int64_t size, int64_t* expected) {
  *expected = guard.sizes[dim];
  const SymExpr* expr = guard.symbolic.empty() ? nullptr : guard.symbolic[dim];
  if (expr != nullptr && expr->kind == SymExpr::Kind::kSymbol &&
      !symbols_->FindSymbol(expr->name)->example) {
    symbols_->AddSymbol(expr->name, size);
  }
  if (expr != nullptr) *expected = Evaluate(*expr);
  return size == *expected;
}

// Returns the element type of a list type. Handles classes that are written in C++, as the parser
// does not know them.
c10::TypePtr TensorTable::ElementOf(const std::string& list) {
  absl::string_view element = list;
  if (absl::ConsumePrefix(&element, "List[") && absl::ConsumeSuffix(&element, "]") &&
      absl::StartsWith(element, "__torch__.torch.classes.")) {
    c10::TypePtr type = torch::getCustomClass(std::string(element));
    TORCH_CHECK(type != nullptr, "unknown class ", std::string(element));
    return type;
  }
  const c10::TypePtr type = torch::jit::ScriptTypeParser().parseType(list);
  TORCH_CHECK(type->kind() == c10::TypeKind::ListType, "not a list type: ", list);
  return type->containedType(0);
}

IValue TensorTable::Make(const ValueTree& tree) const {
  switch (tree.kind) {
    case Kind::kNone: return IValue();
    case Kind::kTensor: return Get(tree.number);
    case Kind::kObject: {
      const auto it = objects_.find(tree.number);
      TORCH_CHECK(it != objects_.end(), "missing object v", tree.number);
      return it->second;
    }
    case Kind::kNumber: {
      const auto it = objects_.find(tree.number);
      return it == objects_.end() ? Make(tree.elements[0]) : it->second;
    }
    case Kind::kBool: return tree.number != 0;
    case Kind::kInt: return tree.number;
    case Kind::kFloat: return tree.real;
    case Kind::kComplex: return c10::complex<double>(tree.real, tree.imaginary);
    case Kind::kString: return tree.text;
    case Kind::kDevice: return c10::Device(tree.text);
    case Kind::kSize: {
      const auto it = expressions_.find(tree.text);
      TORCH_CHECK(it != expressions_.end(), "unknown size: ", tree.text);
      return Evaluate(*it->second);
    }
    case Kind::kTuple: {
      std::vector<IValue> elements;
      for (const ValueTree& element : tree.elements) elements.push_back(Make(element));
      return c10::ivalue::Tuple::create(std::move(elements));
    }
    case Kind::kList: {
      c10::impl::GenericList list(ElementOf(tree.text));
      for (const ValueTree& element : tree.elements) list.push_back(Make(element));
      return list;
    }
    case Kind::kDict: {
      const c10::TypePtr type = torch::jit::ScriptTypeParser().parseType(tree.text);
      TORCH_CHECK(type->kind() == c10::TypeKind::DictType, "not a dict type: ", tree.text);
      c10::impl::GenericDict dict(type->containedType(0), type->containedType(1));
      for (size_t i = 0; i + 1 < tree.elements.size(); i += 2) {
        dict.insert_or_assign(Make(tree.elements[i]), Make(tree.elements[i + 1]));
      }
      return dict;
    }
  }
  return IValue();
}

void TensorTable::Assign(const ValueTree& tree, const IValue& value) const {
  const auto is_container = [](const IValue& v) {
    return v.isList() || v.isGenericDict() || v.isTuple();
  };
  // Updates the old element if its structure fits, or makes a new one.
  const auto element = [&](const ValueTree& to, const IValue& from) {
    const bool stays = is_container(from) && ((to.kind == Kind::kList && from.isList()) ||
                                              (to.kind == Kind::kDict && from.isGenericDict()) ||
                                              (to.kind == Kind::kTuple && from.isTuple() &&
                                               from.toTupleRef().size() == to.elements.size()));
    if (!stays) return Make(to);
    Assign(to, from);
    return from;
  };
  if (tree.kind == Kind::kList && value.isList()) {
    c10::List<IValue> list = value.toList();
    const std::vector<IValue> old = list.vec();
    list.clear();
    for (size_t i = 0; i < tree.elements.size(); ++i)
      list.push_back(element(tree.elements[i], i < old.size() ? old[i] : IValue()));
  } else if (tree.kind == Kind::kDict && value.isGenericDict()) {
    auto dict = value.toGenericDict();
    const auto old = dict.copy();
    dict.clear();
    for (size_t i = 0; i + 1 < tree.elements.size(); i += 2) {
      const IValue key = Make(tree.elements[i]);
      const auto it = old.find(key);
      dict.insert_or_assign(
          key, element(tree.elements[i + 1], it == old.end() ? IValue() : it->value()));
    }
  } else if (tree.kind == Kind::kTuple && value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    for (size_t i = 0; i < tree.elements.size() && i < elements.size(); ++i)
      Assign(tree.elements[i], elements[i]);
  }
}

bool TensorTable::MatchTensor(int64_t number, const at::Tensor& tensor, absl::string_view name,
                              std::string* why) {
  at::Tensor& slot = tensors_[static_cast<size_t>(number)];
  const Guard& guard = guards_[static_cast<size_t>(number)];
  if (guard.is_set) {
    if (tensor.scalar_type() != guard.dtype) {
      return Differs(why, name, c10::toString(guard.dtype), c10::toString(tensor.scalar_type()));
    }
    if (tensor.device() != guard.device)
      return Differs(why, name, guard.device.str(), tensor.device().str());
    const at::IntArrayRef sizes = tensor.sizes();
    if (sizes.size() != guard.sizes.size()) {
      return Differs(why, name, absl::StrCat("rank ", guard.sizes.size()),
                     absl::StrCat("rank ", sizes.size()));
    }
    if (guard.symbolic.empty() && !std::equal(sizes.begin(), sizes.end(), guard.sizes.begin())) {
      return Differs(why, name, absl::StrCat("sizes ", Sizes(guard.sizes)),
                     absl::StrCat("sizes ", Sizes(sizes)));
    }
    for (size_t i = 0; i < guard.symbolic.size(); ++i) {
      int64_t expected = 0;
      if (MatchSize(guard, i, sizes[i], &expected)) continue;
      return Differs(why, name, absl::StrCat("size ", i, " to be ", expected),
                     absl::StrCat(sizes[i]));
    }
    if (tensor.requires_grad())
      return Differs(why, name, "a tensor that requires no gradient", "requires_grad");
  }
  if (slot.defined() && !slot.is_same(tensor)) {
    return Differs(why, name, "the same tensor as elsewhere", "another one");
  }
  slot = tensor;
  return true;
}

bool TensorTable::Match(const ValueTree& pattern, const IValue& value, absl::string_view name,
                        std::string* why) {
  const auto elements = [&](const auto& found, size_t size) {
    if (size != pattern.elements.size()) {
      return Differs(why, name, absl::StrCat(pattern.elements.size(), " elements"),
                     absl::StrCat(size));
    }
    for (size_t i = 0; i < size; ++i) {
      const IValue& element = found[i];
      const std::string inner = why == nullptr ? std::string() : absl::StrCat(name, "[", i, "]");
      if (!Match(pattern.elements[i], element, inner, why)) return false;
    }
    return true;
  };
  switch (pattern.kind) {
    case Kind::kNone:
      if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return true;
      break;
    case Kind::kTensor:
      if (value.isTensor() && value.toTensor().defined())
        return MatchTensor(pattern.number, value.toTensor(), name, why);
      return Differs(why, name, "a tensor", Describe(value));
    case Kind::kObject:
      if (!value.isCustomClass()) break;
      if (const auto it = objects_.try_emplace(pattern.number, value).first; it->second.is(value))
        return true;
      return Differs(why, name, "the same object as elsewhere", "another one");
    case Kind::kNumber: {
      const bool is_int = pattern.elements[0].kind == Kind::kInt;
      if (!(is_int ? value.isInt() : value.isDouble()))
        return Differs(why, name, is_int ? "an int" : "a float", Describe(value));
      objects_.insert_or_assign(pattern.number, value);
      return true;
    }
    case Kind::kBool:
      if (value.isBool() && value.toBool() == (pattern.number != 0)) return true;
      break;
    case Kind::kInt:
      if (value.isInt() && value.toInt() == pattern.number) return true;
      break;
    case Kind::kSize: break;  // Patterns do not have sizes.
    case Kind::kFloat:
      if (value.isDouble() && SameBits(value.toDouble(), pattern.real)) return true;
      break;
    case Kind::kComplex:
      if (value.isComplexDouble() && SameBits(value.toComplexDouble().real(), pattern.real) &&
          SameBits(value.toComplexDouble().imag(), pattern.imaginary)) {
        return true;
      }
      break;
    case Kind::kString:
      if (value.isString() && value.toStringRef() == pattern.text) return true;
      break;
    case Kind::kDevice:
      if (value.isDevice() && value.toDevice().str() == pattern.text) return true;
      break;
    case Kind::kList:
      if (value.isList()) return elements(value.toList(), value.toList().size());
      break;
    case Kind::kTuple:
      if (value.isTuple())
        return elements(value.toTupleRef().elements(), value.toTupleRef().elements().size());
      break;
    case Kind::kDict: {
      if (!value.isGenericDict()) break;
      std::vector<IValue> entries;
      for (const auto& entry : value.toGenericDict()) {
        entries.push_back(entry.key());
        entries.push_back(entry.value());
      }
      return elements(entries, entries.size());
    }
  }
  return Differs(why, name, PrintValueTree(pattern), Describe(value));
}

size_t NumGuards(const ValueTree& pattern, const StitchManifest& manifest) {
  size_t count = 1;
  if (pattern.kind == Kind::kTensor) {
    const auto it = manifest.tensors.find(pattern.number);
    if (it != manifest.tensors.end()) count += 3 + it->second.sizes.size();
  }
  for (const ValueTree& element : pattern.elements) count += NumGuards(element, manifest);
  return count;
}

}  // namespace graphnet::extract

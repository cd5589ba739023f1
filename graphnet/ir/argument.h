// Argument: what a node is called with. A closed variant of 16 bytes that is
// cheap to copy.
//
// An Argument is a *view*, like absl::string_view: lists, strings and the like
// point at memory that somebody else keeps. Whatever is handed to a Graph is
// copied, deeply, into the arena of its Module; arguments read back from a node
// point there and live as long as the Module. So
//
//   graph.CallFunction("torch.cat", {Argument::List({x, y}), 1});
//
// is safe: the braced lists outlive the call. But
//
//   Argument list = Argument::List({x, y});
//
// dangles after the statement; clang says so (-Wdangling), GCC does not.
#ifndef GRAPHNET_IR_ARGUMENT_H_
#define GRAPHNET_IR_ARGUMENT_H_

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>

#include "absl/base/attributes.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/check.h"
#include "graphnet/ir/types.h"

namespace graphnet {

class Graph;
class Node;
struct SymExpr;

template <typename T>
concept Character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

class Argument {
 public:
  // The numbers are part of the protobuf form: append only.
  enum class Kind : uint8_t {
    kNone = 0,  // Python's None
    kNode,      // the value of another node of the same graph
    kBool,
    kInt,
    kFloat,
    kComplex,
    kString,
    kDType,         // torch.float32
    kDevice,        // device(type='cuda', index=0)
    kLayout,        // torch.strided
    kMemoryFormat,  // torch.channels_last
    kList,
    kTuple,
    kDict,   // keys and values alternate in elements()
    kSlice,  // start, stop, step in elements()
    kEllipsis,
    kGraph,   // a body: another graph of the same module
    kSymInt,  // an expression over the module's symbols
  };

  Argument() = default;  // None
  // NOLINTBEGIN(google-explicit-constructor): values stand for arguments.
  Argument(Node* node) : kind_(Kind::kNode) { u_.node = node; }
  // Templates, so that no pointer converts to bool on its way in.
  template <std::same_as<bool> T>
  Argument(T v) : kind_(Kind::kBool) {
    u_.i = v;
  }
  template <std::integral T>
    requires(!std::same_as<T, bool> && !Character<T>)
  Argument(T v) : kind_(Kind::kInt) {
    u_.i = static_cast<int64_t>(v);
  }
  // A character is neither a number nor a string.
  template <Character T>
  Argument(T v) = delete;
  Argument(double v) : kind_(Kind::kFloat) { u_.d = v; }
  Argument(absl::string_view v ABSL_ATTRIBUTE_LIFETIME_BOUND)
      : kind_(Kind::kString), size_(static_cast<uint32_t>(v.size())) {
    u_.chars = v.data();
  }
  Argument(const char* v) : Argument(absl::string_view(v)) {}
  Argument(DType v) : kind_(Kind::kDType) { u_.i = static_cast<int>(v); }
  Argument(Device v) : kind_(Kind::kDevice) {
    u_.i = (static_cast<int64_t>(v.index) << 8) | static_cast<int>(v.type);
  }
  Argument(Layout v) : kind_(Kind::kLayout) { u_.i = static_cast<int>(v); }
  Argument(MemoryFormat v) : kind_(Kind::kMemoryFormat) { u_.i = static_cast<int>(v); }
  Argument(Graph* v) : kind_(Kind::kGraph) { u_.graph = v; }
  Argument(const SymExpr* v) : kind_(Kind::kSymInt) { u_.sym = v; }
  Argument(const std::complex<double>* v) : kind_(Kind::kComplex) { u_.complex = v; }
  // NOLINTEND(google-explicit-constructor)

  static Argument None() { return Argument(); }
  static Argument Ellipsis() { return Argument(Kind::kEllipsis, nullptr, 0); }
  static Argument List(absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return Aggregate(Kind::kList, v);
  }
  static Argument Tuple(absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return Aggregate(Kind::kTuple, v);
  }
  // `v` alternates keys and values.
  static Argument Dict(absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return Aggregate(Kind::kDict, v);
  }
  // `v` is start, stop, step.
  static Argument Slice(absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return Aggregate(Kind::kSlice, v);
  }
  // Of one of these kinds.
  static Argument Aggregate(Kind kind, absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    const Argument made(kind, v.data(), static_cast<uint32_t>(v.size()));
    CHECK(made.is_aggregate());
    CHECK(kind != Kind::kDict || v.size() % 2 == 0);
    CHECK(kind != Kind::kSlice || v.size() == 3);
    return made;
  }

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_node() const { return kind_ == Kind::kNode; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_int() const { return kind_ == Kind::kInt; }
  bool is_float() const { return kind_ == Kind::kFloat; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_graph() const { return kind_ == Kind::kGraph; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_tuple() const { return kind_ == Kind::kTuple; }
  // A number of Python.
  bool is_number() const { return is_bool() || is_int() || is_float(); }
  bool is_sequence() const { return is_list() || is_tuple(); }
  // List, tuple, dict or slice: has elements().
  bool is_aggregate() const { return kind_ >= Kind::kList && kind_ <= Kind::kSlice; }

  // Each accessor needs the matching kind; with another the program ends here, in every
  // build.
  Node* node() const {
    Expect(Kind::kNode);
    return u_.node;
  }
  bool boolean() const {
    Expect(Kind::kBool);
    return u_.i != 0;
  }
  int64_t integer() const {
    Expect(Kind::kInt);
    return u_.i;
  }
  double real() const {
    Expect(Kind::kFloat);
    return u_.d;
  }
  std::complex<double> complex() const {
    Expect(Kind::kComplex);
    return *u_.complex;
  }
  absl::string_view string() const {
    Expect(Kind::kString);
    return {u_.chars, size_};
  }
  DType dtype() const {
    Expect(Kind::kDType);
    return static_cast<DType>(u_.i);
  }
  Device device() const {
    Expect(Kind::kDevice);
    return {static_cast<DeviceType>(u_.i & 0xff), static_cast<int16_t>(u_.i >> 8)};
  }
  Layout layout() const {
    Expect(Kind::kLayout);
    return static_cast<Layout>(u_.i);
  }
  MemoryFormat memory_format() const {
    Expect(Kind::kMemoryFormat);
    return static_cast<MemoryFormat>(u_.i);
  }
  absl::Span<const Argument> elements() const {
    if (!is_aggregate()) [[unlikely]]
      WrongKind("a list, tuple, dict or slice");
    return absl::MakeConstSpan(u_.elements, size_);
  }
  Graph* graph() const {
    Expect(Kind::kGraph);
    return u_.graph;
  }
  const SymExpr* sym() const {
    Expect(Kind::kSymInt);
    return u_.sym;
  }

  // Structural: nodes, graphs and symbolic expressions inside compare by
  // identity of node and graph and by structure of expression; floats by bits,
  // so that nan equals itself and 0.0 differs from -0.0.
  friend bool operator==(const Argument& a, const Argument& b);
  friend bool operator!=(const Argument& a, const Argument& b) { return !(a == b); }

 private:
  // Compares two aggregates of one kind and size. Pairs that are shared are compared once.
  static bool HaveEqualElements(const Argument& a, const Argument& b);

  friend class Graph;
  friend class Module;
  friend class Node;
  friend class Verifier;
  friend class IrTestPeer;
  Argument(Kind kind, const Argument* elements, uint32_t size) : kind_(kind), size_(size) {
    u_.elements = elements;
  }
  void Expect(Kind kind) const {
    if (kind_ != kind) [[unlikely]]
      WrongKind(kind);
  }
  // Out of line: what is inlined at each access is a comparison.
  [[noreturn]] ABSL_ATTRIBUTE_COLD void WrongKind(Kind wanted) const;
  [[noreturn]] ABSL_ATTRIBUTE_COLD void WrongKind(const char* wanted) const;

  Kind kind_ = Kind::kNone;
  // String and aggregate: the size. Node, once stored in a user: the position
  // of this operand in the list of uses of `u_.node`, so that a use is unlinked
  // in O(1).
  uint32_t size_ = 0;
  union {
    int64_t i;
    double d;
    const char* chars;
    const Argument* elements;
    const std::complex<double>* complex;
    const SymExpr* sym;
    Graph* graph;
    Node* node;
  } u_ = {.i = 0};
};
static_assert(sizeof(Argument) == 16);

// A keyword argument.
struct KwArg {
  absl::string_view name;
  Argument value;
};

// Calls fn(const Argument&) on `arg` and all it contains, parents first.
template <typename Fn>
void ForEachArgument(const Argument& arg, Fn&& fn) {
  fn(arg);
  if (arg.is_aggregate()) {
    for (const Argument& element : arg.elements()) ForEachArgument(element, fn);
  }
}

// `arg` with fn(const Argument&) in the place of everything in it that is no aggregate.
// Aggregates are made anew, in `arena`.
template <typename Fn>
Argument MapArgument(const Argument& arg, Arena* arena, Fn&& fn) {
  if (!arg.is_aggregate()) return fn(arg);
  const absl::Span<const Argument> from = arg.elements();
  Argument* const to = arena->NewArray<Argument>(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    new (&to[i]) Argument(MapArgument(from[i], arena, fn));
  }
  return Argument::Aggregate(arg.kind(), absl::MakeConstSpan(to, from.size()));
}

}  // namespace graphnet

#endif  // GRAPHNET_IR_ARGUMENT_H_

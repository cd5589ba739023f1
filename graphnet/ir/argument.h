// Argument: one argument of a node, as a closed variant of 16 bytes that is cheap to copy.
//
// An Argument is a *view*, like absl::string_view: strings, aggregates, complex numbers and
// expressions point at memory that it does not own. A Graph makes a deep copy of each argument
// that it is given, in the arena of its Module. Arguments that are read back from a node point
// there and live as long as the Module. So
//
//   graph.CallFunction("torch.cat", {Argument::List({x, y}), 1});
//
// is safe, because the braced lists outlive the call. But
//
//   Argument list = Argument::List({x, y});
//
// dangles after the statement. Clang warns about it (-Wdangling), GCC does not.
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

// The character types. An argument cannot be made from one.
template <typename T>
concept Character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

// One argument: a constant, a node, a body, an expression, or an aggregate of arguments.
class Argument {
 public:
  // The kinds of arguments. Their numbers are part of the protobuf form: append only.
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

  Argument() = default;  // Python's None.
  // NOLINTBEGIN(google-explicit-constructor): values stand for arguments.
  // The value of `node`.
  Argument(Node* node) : kind_(Kind::kNode) { u_.node = node; }
  // A bool. This is a template so that no pointer converts to bool.
  template <std::same_as<bool> T>
  Argument(T v) : kind_(Kind::kBool) {
    u_.i = v;
  }
  // An int. A value that does not fit int64_t wraps.
  template <std::integral T>
    requires(!std::same_as<T, bool> && !Character<T>)
  Argument(T v) : kind_(Kind::kInt) {
    u_.i = static_cast<int64_t>(v);
  }
  // Deleted: a character is neither a number nor a string.
  template <Character T>
  Argument(T v) = delete;
  // A float.
  Argument(double v) : kind_(Kind::kFloat) { u_.d = v; }
  // A string, which the caller keeps alive.
  Argument(absl::string_view v ABSL_ATTRIBUTE_LIFETIME_BOUND)
      : kind_(Kind::kString), size_(static_cast<uint32_t>(v.size())) {
    u_.chars = v.data();
  }
  // The same, up to the NUL.
  Argument(const char* v) : Argument(absl::string_view(v)) {}
  // A dtype.
  Argument(DType v) : kind_(Kind::kDType) { u_.i = static_cast<int>(v); }
  // A device.
  Argument(Device v) : kind_(Kind::kDevice) {
    u_.i = (static_cast<int64_t>(v.index) << 8) | static_cast<int>(v.type);
  }
  // A layout.
  Argument(Layout v) : kind_(Kind::kLayout) { u_.i = static_cast<int>(v); }
  // A memory format.
  Argument(MemoryFormat v) : kind_(Kind::kMemoryFormat) { u_.i = static_cast<int>(v); }
  // A body.
  Argument(Graph* v) : kind_(Kind::kGraph) { u_.graph = v; }
  // A symbolic int.
  Argument(const SymExpr* v) : kind_(Kind::kSymInt) { u_.sym = v; }
  // A complex number, which the caller keeps alive (Module::Complex makes one that lasts).
  Argument(const std::complex<double>* v) : kind_(Kind::kComplex) { u_.complex = v; }
  // NOLINTEND(google-explicit-constructor)

  // Python's None.
  static Argument None() { return Argument(); }
  // Python's `...`.
  static Argument Ellipsis() { return Argument(Kind::kEllipsis, nullptr, 0); }
  // Makes a list that views `v`.
  static Argument List(absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return Aggregate(Kind::kList, v);
  }
  // Makes a tuple that views `v`.
  static Argument Tuple(absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return Aggregate(Kind::kTuple, v);
  }
  // Makes a dict that views `v`, in which keys and values alternate.
  static Argument Dict(absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return Aggregate(Kind::kDict, v);
  }
  // Makes a slice that views `v`: start, stop and step.
  static Argument Slice(absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return Aggregate(Kind::kSlice, v);
  }
  // Makes an aggregate of one of these four kinds that views `v`. The program ends if `kind` is
  // another, a dict has an odd number of elements, or a slice does not have three.
  static Argument Aggregate(Kind kind, absl::Span<const Argument> v ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    const Argument made(kind, v.data(), static_cast<uint32_t>(v.size()));
    CHECK(made.is_aggregate());
    CHECK(kind != Kind::kDict || v.size() % 2 == 0);
    CHECK(kind != Kind::kSlice || v.size() == 3);
    return made;
  }

  // The kind of this argument.
  Kind kind() const { return kind_; }
  // True for Python's None.
  bool is_none() const { return kind_ == Kind::kNone; }
  // True for the value of a node.
  bool is_node() const { return kind_ == Kind::kNode; }
  // True for a bool.
  bool is_bool() const { return kind_ == Kind::kBool; }
  // True for an int, not for a bool.
  bool is_int() const { return kind_ == Kind::kInt; }
  // True for a float.
  bool is_float() const { return kind_ == Kind::kFloat; }
  // True for a string.
  bool is_string() const { return kind_ == Kind::kString; }
  // True for a body.
  bool is_graph() const { return kind_ == Kind::kGraph; }
  // True for a list.
  bool is_list() const { return kind_ == Kind::kList; }
  // True for a tuple.
  bool is_tuple() const { return kind_ == Kind::kTuple; }
  // True for a bool, an int or a float.
  bool is_number() const { return is_bool() || is_int() || is_float(); }
  // True for a list or a tuple.
  bool is_sequence() const { return is_list() || is_tuple(); }
  // True for a list, tuple, dict or slice, which has elements().
  bool is_aggregate() const { return kind_ >= Kind::kList && kind_ <= Kind::kSlice; }

  // Returns the node. This accessor and each one below needs an argument of its kind; with
  // another the program ends, in every build.
  Node* node() const {
    Expect(Kind::kNode);
    return u_.node;
  }
  // Returns the value of a bool.
  bool boolean() const {
    Expect(Kind::kBool);
    return u_.i != 0;
  }
  // Returns the value of an int.
  int64_t integer() const {
    Expect(Kind::kInt);
    return u_.i;
  }
  // Returns the value of a float.
  double real() const {
    Expect(Kind::kFloat);
    return u_.d;
  }
  // Returns a complex number.
  std::complex<double> complex() const {
    Expect(Kind::kComplex);
    return *u_.complex;
  }
  // Returns the bytes of a string, which the argument views.
  absl::string_view string() const {
    Expect(Kind::kString);
    return {u_.chars, size_};
  }
  // Returns a dtype.
  DType dtype() const {
    Expect(Kind::kDType);
    return static_cast<DType>(u_.i);
  }
  // Returns a device.
  Device device() const {
    Expect(Kind::kDevice);
    return {static_cast<DeviceType>(u_.i & 0xff), static_cast<int16_t>(u_.i >> 8)};
  }
  // Returns a layout.
  Layout layout() const {
    Expect(Kind::kLayout);
    return static_cast<Layout>(u_.i);
  }
  // Returns a memory format.
  MemoryFormat memory_format() const {
    Expect(Kind::kMemoryFormat);
    return static_cast<MemoryFormat>(u_.i);
  }
  // Returns the elements of a list or tuple, the keys and values of a dict in turn, or the
  // start, stop and step of a slice.
  absl::Span<const Argument> elements() const {
    if (!is_aggregate()) [[unlikely]]
      WrongKind("a list, tuple, dict or slice");
    return absl::MakeConstSpan(u_.elements, size_);
  }
  // Returns a body.
  Graph* graph() const {
    Expect(Kind::kGraph);
    return u_.graph;
  }
  // Returns the expression of a symbolic int.
  const SymExpr* sym() const {
    Expect(Kind::kSymInt);
    return u_.sym;
  }

  // True if both are of one kind and have equal content. Nodes and graphs are compared by
  // address, expressions by structure, and floats by their bits, so that nan equals itself and
  // 0.0 differs from -0.0. Shared aggregates are compared once, so this takes linear time.
  friend bool operator==(const Argument& a, const Argument& b);
  // The opposite of ==.
  friend bool operator!=(const Argument& a, const Argument& b) { return !(a == b); }

 private:
  // Compares two aggregates of one kind and size. A pair that recurs is compared once.
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
  // Out of line, so that each access inlines a comparison only.
  [[noreturn]] ABSL_ATTRIBUTE_COLD void WrongKind(Kind wanted) const;
  [[noreturn]] ABSL_ATTRIBUTE_COLD void WrongKind(const char* wanted) const;

  Kind kind_ = Kind::kNone;
  // The size of a string or aggregate. For a node that is stored in a user, the position of this
  // operand in the list of uses of `u_.node`, so that a use is unlinked in O(1).
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

// A keyword argument. Like an Argument, it is a view.
struct KwArg {
  absl::string_view name;  // The keyword, "dim".
  Argument value;          // The argument.
};

// Calls fn(const Argument&) on `arg` and on everything in it, aggregates before their elements.
// A shared aggregate is visited wherever it is referred to.
template <typename Fn>
void ForEachArgument(const Argument& arg, Fn&& fn) {
  fn(arg);
  if (arg.is_aggregate()) {
    for (const Argument& element : arg.elements()) ForEachArgument(element, fn);
  }
}

// Returns a copy of `arg` in which fn(const Argument&) replaces each value that is not an
// aggregate. The aggregates are made anew in `arena`.
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

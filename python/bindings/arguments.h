// Converts arguments of nodes to Python values and back.
//
// A bool, int, float, complex, str, list, tuple, dict or slice, None and Ellipsis are themselves;
// lists that are read are immutable. A node is a Node, a body a Graph, a size expression a SymExpr,
// and dtypes, devices, layouts and memory formats are the classes DType, Device, Layout and
// MemoryFormat. PyTorch's own objects for these four are accepted, too.
#ifndef GRAPHNET_PYTHON_BINDINGS_ARGUMENTS_H_
#define GRAPHNET_PYTHON_BINDINGS_ARGUMENTS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/shared_walk.h"
#include "nanobind/nanobind.h"
#include "python/bindings/objects.h"

namespace graphnet {

// A size expression of a module.
struct SymExprObject {
  nb::object module;  // keeps it alive
  const SymExpr* expr;
};

// Lets copy.copy and copy.deepcopy return the object itself, for a class whose objects never change.
template <typename T>
nb::class_<T>& CopiedByReference(nb::class_<T>& cls) {
  cls.def("__copy__", [](nb::handle self) { return nb::borrow(self); });
  cls.def("__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); });
  return cls;
}

// Adds the classes DType, Device, Layout, MemoryFormat and SymExpr.
void BindConstants(nb::module_& m);

nb::object ToPython(const Argument& argument, ModuleObject& module);
nb::tuple ToPython(absl::Span<const Argument> arguments, ModuleObject& module);
nb::dict ToPython(absl::Span<const KwArg> arguments, ModuleObject& module);
// A copy that raises when it is changed.
nb::object ImmutableDict(nb::dict dict);
// An empty one, which its maker fills with PyDict_SetItem before anyone else sees it.
nb::object NewImmutableDict();

// Reads Python values as arguments of a node of `graph`. The results live as long as the reader.
// Raises TypeError for a value that cannot be an argument, ValueError for a node or body of another
// graph or module and for a value that is nested too deeply or too large, and ReferenceError for an
// erased node.
class ArgumentReader {
 public:
  ArgumentReader(ModuleObject& module, const Graph* graph) : module_(module), graph_(graph) {}

  Argument Read(nb::handle value) { return Read(value, 0); }
  absl::Span<const Argument> ReadAll(nb::handle sequence);
  absl::Span<const KwArg> ReadKeywords(nb::handle dict);
  // Raises ReferenceError if a node or body that was read has been erased since. Python code that
  // ran meanwhile may have done so.
  void CheckOperands() const;

 private:
  Argument Read(nb::handle value, int depth);
  Argument ReadOther(nb::handle value);
  Argument ReadElements(Argument::Kind kind, nb::handle sequence, int depth);

  // The cost of an operand in the budget. Each operand is a use of its own, even in shared lists.
  static constexpr uint64_t kOperandUnits = 63;
  struct Shared {
    Argument argument;
    uint64_t units = 0;
  };

  ModuleObject& module_;
  const Graph* const graph_;  // null if nodes are not allowed
  Arena arena_;
  Budget budget_{kMaxWrittenOut};
  absl::flat_hash_map<PyObject*, Shared> shared_;
  // Nodes, bodies and shared lists that were read.
  absl::InlinedVector<nb::object, 8> read_;
};

// A dtype from a DType, a torch.dtype or a name: "float32", "f32".
DType ReadDType(nb::handle value);
Device ReadDevice(nb::handle value);
// A size: an int or a SymExpr.
Dim ReadDim(nb::handle value, ModuleObject& module);
// An int of at most 64 bits. Raises TypeError or OverflowError for anything else.
int64_t ReadSize(nb::handle value);
nb::object ToPython(const Dim& dim, ModuleObject& module);
nb::object ToPython(DType dtype);
nb::object ToPython(Device device);
nb::object ToPython(const SymExpr* expr, ModuleObject& module);

// Returns the expression as one of the module, which changes only if the expression is another
// module's.
const SymExpr* ReadSym(nb::handle value, ModuleObject& module);

absl::string_view TextOf(nb::handle text);

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_ARGUMENTS_H_

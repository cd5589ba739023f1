// Bindings of the IR: Module, Graph, Node and their parts as Python objects.
#ifndef GRAPHNET_PYTHON_BINDINGS_GRAPH_H_
#define GRAPHNET_PYTHON_BINDINGS_GRAPH_H_

#include <functional>

#include "absl/strings/string_view.h"
#include "graphnet/ir/tensor_meta.h"
#include "nanobind/nanobind.h"
#include "python/bindings/objects.h"

namespace graphnet {

void BindMetas(nb::module_& m);
void BindNode(nb::module_& m);
void BindGraph(nb::module_& m);
void BindModule(nb::module_& m);

// Returns a TensorMeta, a tuple of metas, or None.
nb::object ToPython(const ValueMeta* meta, ModuleObject& module);
const ValueMeta* ReadMeta(nb::handle value, ModuleObject& module);
// Returns a dict with the fields that are set, or None.
nb::object ToPython(const DrawSpec* spec, ModuleObject& module);
// Reads a dict and calls use(const DrawSpec&), whose argument lives until `use` returns.
void ReadDrawSpec(nb::handle value, ModuleObject& module,
                  const std::function<void(const DrawSpec&)>& use);

// Calls a function of python/graphnet_ir/_graphs.py.
nb::object CallPython(const char* function, nb::handle argument);

// Returns a name that a user gave. Raises TypeError if it is not a str, and ValueError if it is
// empty or too long.
absl::string_view NameOf(nb::handle text, const char* what);

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_GRAPH_H_

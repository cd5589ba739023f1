// The IR as Python objects: Module, Graph, Node and what they are made of.
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

// A TensorMeta, a tuple of metas, or None.
nb::object ToPython(const ValueMeta* meta, ModuleObject& module);
const ValueMeta* ReadMeta(nb::handle value, ModuleObject& module);
// A dict with the fields that are said, or None.
nb::object ToPython(const DrawSpec* spec, ModuleObject& module);
// Calls use(const DrawSpec&) with what a dict says.
void ReadDrawSpec(nb::handle value, ModuleObject& module,
                  const std::function<void(const DrawSpec&)>& use);

// Calls a function of python/graphnet_ir/_graphs.py.
nb::object CallPython(const char* function, nb::handle argument);

// A name that a user gives; raises TypeError for what is no str and ValueError for one that is
// empty or too long.
absl::string_view NameOf(nb::handle text, const char* what);

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_GRAPH_H_

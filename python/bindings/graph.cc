#include "graphnet/ir/graph.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/graph_copier.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/call_meaning.h"
#include "graphnet/passes/call_query.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "python/bindings/arguments.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"
#include "python/bindings/sample.h"

namespace graphnet {
namespace {

// The nodes of a graph in program order.
struct NodeList {
  nb::object graph;
};
// Continues from the node that it returned last, which may have been erased or moved since.
struct NodeListIterator {
  nb::object graph;
  nb::object last;  // a Node, or null at the start
  bool is_reversed = false;
  bool is_done = false;

  // Returns a null object at the end.
  nb::object Next() {
    if (is_done) return {};
    const auto& object = nb::cast<const GraphObject&>(graph);
    Graph* const from = object.get();
    Node* next = nullptr;
    if (!last.is_valid()) {
      next = is_reversed ? from->last() : from->first();
    } else {
      const Node* const node = AsNode(last)->raw();
      next = is_reversed ? node->prev() : node->next();
    }
    is_done = next == nullptr;
    last = is_done ? nb::object() : object.module().NodeOf(next);
    return last;
  }
};

PyObject* NextNode(PyObject* self) {
  return ReturnOrRaise([self] { return ReadyInstance<NodeListIterator>(self).Next(); });
}

PyType_Slot kIteratorSlots[] = {
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(NextNode)},
    {Py_tp_traverse,
     reinterpret_cast<void*>(
         TraverseFields<NodeListIterator, &NodeListIterator::graph, &NodeListIterator::last>)},
    {0, nullptr}};

// The place where new nodes go within a `with` statement.
struct InsertPoint {
  nb::object graph;
  nb::object before;  // a Node, or None for the end
};

// Returns a target from a str, or from a Python function that graphnet_ir._targets can name.
std::string TargetOf(nb::handle target, const char* what) {
  if (PyUnicode_Check(target.ptr())) return std::string(NameOf(target, what));
  if (!PyCallable_Check(target.ptr())) NameOf(target, what);  // It raises.
  return nb::cast<std::string>(
      nb::module_::import_("graphnet_ir._targets").attr("name_of")(target));
}

Op ReadOp(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Op::kOutput); ++i) {
    if (OpName(static_cast<Op>(i)) == name) return static_cast<Op>(i);
  }
  Raise(PyExc_ValueError, absl::StrCat("'", name, "' is not a kind of node"));
}

nb::object Create(const GraphObject& self, Op op, const std::string& target, nb::handle args,
                  nb::handle kwargs, const std::optional<std::string>& name) {
  ArgumentReader reader(self.module(), self.get());
  const auto positional = args.is_none() ? absl::Span<const Argument>() : reader.ReadAll(args);
  const auto keywords = kwargs.is_none() ? absl::Span<const KwArg>() : reader.ReadKeywords(kwargs);
  Graph* const graph = self.ForChange();
  reader.CheckOperands();
  if (op == Op::kPlaceholder || op == Op::kGetAttr) {
    if (!positional.empty() || !keywords.empty())
      Raise(PyExc_ValueError, absl::StrCat("a ", OpName(op), " takes no arguments"));
  }
  Node* const node = graph->CreateNode(op, target, positional, keywords, name.value_or(""));
  return self.module().NodeOf(node);
}

nb::object CreateCall(const GraphObject& self, Op op, nb::handle target, nb::handle args,
                      nb::handle kwargs, const std::optional<std::string>& name) {
  return Create(self, op, TargetOf(target, "a target"), args, kwargs, name);
}

Node* OfGraph(const GraphObject& self, const NodeObject& object) {
  Node* const node = object.get();
  if (node->graph() != self.get()) {
    Raise(PyExc_ValueError, absl::StrCat("the node ", node->name(), " belongs to another graph"));
  }
  return node;
}

InsertPoint SetInsertPoint(const GraphObject& self, nb::handle graph, Node* before) {
  Graph* const changed = self.ForChange();
  InsertPoint kept{nb::borrow(graph), self.module().NodeOrNone(changed->insertion_point())};
  changed->set_insertion_point(before);
  return kept;
}

nb::object CopyNode(const GraphObject& self, const NodeObject& node, nb::handle transform) {
  Node* const from = node.get();
  absl::flat_hash_map<Node*, Node*> mapped;
  std::vector<nb::object> alive;
  for (Node* operand : from->operands()) {
    if (mapped.contains(operand)) continue;
    nb::object value = node.module().NodeOf(operand);
    if (!transform.is_none()) value = transform(value);
    if (!nb::isinstance<NodeObject>(value))
      Raise(PyExc_TypeError, "arg_transform must return a Node");
    alive.push_back(value);
    mapped[operand] = nullptr;
  }
  // Check again, since the callback may have changed anything.
  Graph* const graph = self.ForChange();
  size_t next = 0;
  absl::flat_hash_set<Node*> seen;
  for (Node* operand : node.get()->operands()) {
    if (!seen.insert(operand).second) continue;
    if (next == alive.size()) Raise(PyExc_RuntimeError, "the node was changed while it was copied");
    mapped[operand] = OfGraph(self, nb::cast<const NodeObject&>(alive[next++]));
  }
  GraphCopier copier(graph->module());
  const bool same = &node.module() == &self.module();
  // Bodies are copied along, so they must verify.
  if (!same && from->HasBody()) node.module().RequireVerified();
  Node* const made = graph->CopyNodeFrom(
      *from, [&](Node* operand) { return mapped.at(operand); },
      [&](Graph* body) { return same ? body : copier.CopyOf(body); });
  copier.Finish();
  self.module().ForgetGraphs();
  return self.module().NodeOf(made);
}

// Returns the current nodes, which do not change with the graph.
std::vector<nb::object> NodesOf(const GraphObject& graph) {
  std::vector<nb::object> nodes;
  for (Node* node : graph.get()->nodes()) nodes.push_back(graph.module().NodeOf(node));
  return nodes;
}

// Copies the nodes of another graph except its output, as torch.fx does. Returns the value of that
// output with the copies in place of the nodes. `values` maps nodes of `from`, such as its inputs,
// to nodes of this graph; the copies are added to it.
nb::object CopyGraph(const GraphObject& self, const GraphObject& from, nb::dict values) {
  if (from.get() == self.get()) Raise(PyExc_ValueError, "a graph cannot be copied into itself");
  nb::object result = nb::none();
  const nb::object lookup = nb::cpp_function([values](nb::handle node) { return values[node]; });
  for (const nb::object& object : NodesOf(from)) {
    const auto& node = nb::cast<const NodeObject&>(object);
    if (values.contains(object)) continue;
    if (!node.get()->is_output()) {
      values[object] = CopyNode(self, node, lookup);
      continue;
    }
    // The output itself is not copied, so its value is mapped as a Python value.
    result = nb::module_::import_("graphnet_ir._lists")
                 .attr("map_nodes")(ToPython(node.get()->args(), node.module())[0], lookup);
  }
  return result;
}

bool EliminateDeadCode(const GraphObject& self, nb::handle is_impure) {
  if (is_impure.is_none()) {
    self.module().WaitForReaders();
    self.module().RequireVerified();
    const Effects effects(self.module().module());
    return self.ForChange()->EliminateDeadCode(
               [&](const Node& node) { return effects.Of(node).is_pure(); }) > 0;
  }
  absl::flat_hash_set<const Node*> pure;
  for (const nb::object& object : NodesOf(self)) {
    const auto& node = nb::cast<const NodeObject&>(object);
    if (!nb::cast<bool>(is_impure(object))) pure.insert(node.raw());
  }
  return self.ForChange()->EliminateDeadCode(
             [&](const Node& node) { return pure.contains(&node); }) > 0;
}

// Returns the calls of a graph that `graphnet find NAME` finds, in program order.
std::vector<Node*> FindCalled(const GraphObject& self, const std::string& name) {
  const auto is_of_name = [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; };
  if (!absl::c_all_of(name, is_of_name)) return {};
  const absl::StatusOr<CallQuery> query = CallQuery::Parse(name);
  if (!query.ok()) return {};  // A name such as "1x" is that of no function.
  std::vector<Node*> calls = ValueOrRaise(query->Find(self.module().sample().module.get()));
  std::erase_if(calls, [&](const Node* call) { return call->graph() != self.get(); });
  return calls;
}

// Warns of a name that no call has, if it is none of PyTorch's, or if calls have it in other words.
void WarnOfNoCalls(const GraphObject& self, const std::string& name) {
  std::string text;
  if (!absl::StrContains(name, '.')) {
    if (const auto query = CallQuery::Parse(name); query.ok())
      text = absl::StrJoin(query->Doubts(/*names=*/true), "\n");
  } else {
    std::vector<absl::string_view> targets;
    for (const Node* call : FindCalled(self, std::string(LastPart(name)))) {
      if (!absl::c_linear_search(targets, call->target())) targets.push_back(call->target());
    }
    if (!targets.empty())
      text = absl::StrCat("no node calls ", name, "; some call ", absl::StrJoin(targets, ", "));
  }
  if (!text.empty() && PyErr_WarnEx(PyExc_UserWarning, text.c_str(), /*stack_level=*/1) != 0)
    throw nb::python_error();
}

// Nodes of a kind have the very target, as in torch.fx. If no function has, or without a kind, calls
// are found by any spelling.
nb::list FindNodes(const GraphObject& self, const std::optional<std::string>& op,
                   nb::handle target) {
  std::optional<Op> kind;
  if (op.has_value()) kind = ReadOp(*op);
  const std::string name = target.is_none() ? "" : TargetOf(target, "a target");
  nb::list found;
  const auto add = [&](const absl::flat_hash_set<const Node*>& called) {
    for (Node* node : self.get()->nodes()) {
      if (kind.has_value() && node->op() != *kind) continue;
      if (target.is_none() || node->target() == name || called.contains(node))
        found.append(self.module().NodeOf(node));
    }
  };
  const bool is_of_other_kind = kind.has_value() && *kind != Op::kCallFunction;
  if (target.is_none() || kind.has_value()) add({});
  if (target.is_none() || is_of_other_kind || found.size() > 0) return found;
  const std::vector<Node*> called = FindCalled(self, name);
  add(absl::flat_hash_set<const Node*>(called.begin(), called.end()));
  // With a kind, a pass asks for one spelling after the other.
  if (found.size() == 0 && (!kind.has_value() || !absl::StrContains(name, '.')))
    WarnOfNoCalls(self, name);
  return found;
}

void BindNodeList(nb::module_& m) {
  nb::class_<NodeListIterator>(m, "NodeListIterator", nb::type_slots(kIteratorSlots),
                               nb::is_final(), "Iterates over the nodes of a graph.");
  nb::class_<NodeList>(m, "NodeList", nb::type_slots(TraverseSlots<NodeList, &NodeList::graph>()),
                       "The nodes of a graph in program order. Nodes may be made, moved and erased "
                       "while they are iterated over.")
      .def("__iter__",
           [](const NodeList& self) {
             return NodeListIterator{self.graph, nb::object()};
           })
      .def("__reversed__",
           [](const NodeList& self) {
             return NodeListIterator{self.graph, nb::object(), /*is_reversed=*/true};
           })
      .def("__len__", [](const NodeList& self) {
        return nb::cast<const GraphObject&>(self.graph).get()->num_nodes();
      });
  nb::class_<InsertPoint>(
      m, "InsertPoint",
      nb::type_slots(TraverseSlots<InsertPoint, &InsertPoint::graph, &InsertPoint::before>()),
      "The place of new nodes within a `with` statement.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](const InsertPoint& self, nb::args) {
        const auto& graph = nb::cast<const GraphObject&>(self.graph);
        Node* before = nullptr;
        if (!self.before.is_none()) {
          const Node* const node = nb::cast<const NodeObject&>(self.before).raw();
          before = const_cast<Node*>(node);  // NOLINT: the graph finds who follows if it is erased
        }
        graph.ForChange()->set_insertion_point(before);
      });
}

}  // namespace

nb::object CallPython(const char* function, nb::handle argument) {
  return nb::module_::import_("graphnet_ir._graphs").attr(function)(argument);
}

void BindGraph(nb::module_& m) {
  BindNodeList(m);
  nb::class_<GraphObject> cls(
      m, "Graph", nb::type_slots(kGraphSlots), nb::is_weak_referenceable(), nb::is_final(),
      "A list of nodes in program order, like torch.fx.Graph. A graph keeps its module "
      "alive.");
  cls.def_prop_ro(
      "name", [](const GraphObject& self) { return std::string(self.get()->name()); },
      "The name in the module, by which arguments refer to bodies.");
  cls.def_prop_ro(
      "owning_module", [](const GraphObject& self) { return self.owner(); },
      "The module that it belongs to.");
  cls.def_prop_ro(
      "nodes",
      [](nb::handle self) {
        ReadyInstance<GraphObject>(self);
        return NodeList{nb::borrow(self)};
      },
      "The nodes in program order.");
  cls.def("__len__", [](const GraphObject& self) { return self.get()->num_nodes(); });
  cls.def("__bool__", [](const GraphObject&) { return true; });
  cls.def_prop_ro(
      "placeholders",
      [](const GraphObject& self) {
        nb::list list;
        for (Node* node : self.get()->placeholders()) list.append(self.module().NodeOf(node));
        return list;
      },
      "The inputs.");
  cls.def(
      "output_node",
      [](const GraphObject& self) { return self.module().NodeOrNone(self.get()->output()); },
      "Returns the output, or None if there is none yet.");
  cls.def(
      "find_node",
      [](const GraphObject& self, const std::string& name) {
        return self.module().NodeOrNone(self.get()->FindNode(name));
      },
      nb::arg("name"), "Returns the node of that name, or None.");
  cls.def(
      "find_nodes", FindNodes, nb::kw_only(), nb::arg("op") = nb::none(),
      nb::arg("target") = nb::none(),
      "Returns the nodes of a kind and of a target, as far as these are given, in program order. "
      "Without op, a target is a name of `graphnet find`: 'gelu' finds calls in any spelling, "
      "'aten.gelu' all overloads, '.view' methods. With op it is the whole target; if no "
      "function has that, it is such a name, too. Warns if nothing is found and the name was "
      "probably meant to be another.");

  cls.def(
      "placeholder",
      [](const GraphObject& self, nb::handle target, std::optional<std::string> name) {
        return Create(self, Op::kPlaceholder, std::string(NameOf(target, "a target")), nb::none(),
                      nb::none(), name);
      },
      nb::arg("target"), nb::arg("name") = nb::none(), "Adds an input.");
  cls.def(
      "get_attr",
      [](const GraphObject& self, nb::handle target, std::optional<std::string> name) {
        return Create(self, Op::kGetAttr, std::string(NameOf(target, "a target")), nb::none(),
                      nb::none(), name);
      },
      nb::arg("qualified_name"), nb::arg("name") = nb::none(),
      "Reads an attribute of the module (Module.add_attribute).");
  const auto call = [&](const char* method, Op op, const char* argument, const char* doc) {
    cls.def(
        method,
        [op](const GraphObject& self, nb::handle target, nb::handle args, nb::handle kwargs,
             std::optional<std::string> name) {
          return CreateCall(self, op, target, args, kwargs, name);
        },
        nb::arg(argument), nb::arg("args") = nb::none(), nb::arg("kwargs") = nb::none(),
        nb::arg("name") = nb::none(), doc);
  };
  call("call_function", Op::kCallFunction, "the_function",
       "Adds a call of a function: its name, 'torch.relu', or the function itself.");
  call("call_method", Op::kCallMethod, "method_name", "Adds a call of a method of args[0].");
  call("call_module", Op::kCallModule, "module_name", "Adds a call of a submodule.");
  cls.def(
      "output",
      [](const GraphObject& self, nb::handle result) {
        return Create(self, Op::kOutput, "output", nb::make_tuple(nb::borrow(result)), nb::none(),
                      std::nullopt);
      },
      nb::arg("result").none(), "Adds the output, which returns one or several values.");
  cls.def(
      "create_node",
      [](const GraphObject& self, const std::string& op, nb::handle target, nb::handle args,
         nb::handle kwargs, std::optional<std::string> name) {
        return CreateCall(self, ReadOp(op), target, args, kwargs, name);
      },
      nb::arg("op"), nb::arg("target"), nb::arg("args") = nb::none(),
      nb::arg("kwargs") = nb::none(), nb::arg("name") = nb::none(), "Adds a node of any kind.");

  cls.def(
      "inserting_before",
      [](nb::handle self, const NodeObject* node) {
        const auto& graph = nb::cast<const GraphObject&>(self);
        return SetInsertPoint(graph, self,
                              node == nullptr ? graph.get()->first() : OfGraph(graph, *node));
      },
      nb::arg("n").none() = nb::none(),
      "Makes new nodes go before this node, or to the start of the graph; in a `with` "
      "statement until it ends.");
  cls.def(
      "inserting_after",
      [](nb::handle self, const NodeObject* node) {
        const auto& graph = nb::cast<const GraphObject&>(self);
        return SetInsertPoint(graph, self,
                              node == nullptr ? nullptr : OfGraph(graph, *node)->next());
      },
      nb::arg("n").none() = nb::none(),
      "Makes new nodes go behind this node, or to the end of the graph; in a `with` "
      "statement until it ends.");
  cls.def("node_copy", CopyNode, nb::arg("node"), nb::arg("arg_transform") = nb::none(),
          "Copies a node of any graph, with its bodies. arg_transform returns the node of "
          "this graph that replaces an operand.");
  cls.def("graph_copy", CopyGraph, nb::arg("g"), nb::arg("val_map"),
          "Copies the nodes of another graph and returns that graph's result in terms of "
          "the copies. val_map maps nodes of the other graph to nodes of this one; the "
          "copies are added.");

  cls.def(
      "erase_node",
      [](const GraphObject& self, const NodeObject& object) {
        Graph* const graph = self.ForChange();
        Node* const node = OfGraph(self, object);
        if (node->has_uses()) {
          Raise(PyExc_RuntimeError,
                absl::StrCat("the node ", node->name(), " still has ", node->num_uses(), " uses"));
        }
        graph->EraseNode(node);
      },
      nb::arg("to_erase"), "Erases a node, which must have no uses.");
  cls.def("eliminate_dead_code", EliminateDeadCode, nb::arg("is_impure_node") = nb::none(),
          "Erases unused calls that do nothing but yield a value. Returns whether it erased"
          " any.");
  cls.def(
      "lint",
      [](const GraphObject& self) {
        self.get();
        RaiseIfError(Verify(self.module().module()));
      },
      "Raises Error if the module breaks an invariant of the IR (graphnet/ir/verifier.h).");
  cls.def(
      "print_tabular", [](nb::handle self) { nb::print(CallPython("tabular", self)); },
      "Prints the nodes as a table, like torch.fx: opcode, name, target, args, kwargs.");
  cls.def(
      "records", [](nb::handle self) { return CallPython("records", self); },
      "Returns a dict for each node, for pandas for example: name, op, target, args, "
      "kwargs, num_users, dtype, shape, device, module_path, file and line.");
  cls.def("_repr_html_", [](nb::handle self) { return CallPython("graph_html", self); });
  cls.def("__copy__", [](nb::handle self) { return CallPython("copy_of_graph", self); });
  cls.def("__reduce__", [](nb::handle self) { return CallPython("reduced_graph", self); });
  cls.def("__str__", [](const GraphObject& self) {
    std::string text;
    for (Node* node : self.get()->nodes()) absl::StrAppend(&text, PrintNode(*node), "\n");
    return text;
  });
  cls.def(
      "unique_name",
      [](const GraphObject& self, nb::handle candidate) {
        return self.ForChange()->UniqueName(NameOf(candidate, "a name"));
      },
      nb::arg("candidate"), "Returns a name derived from this one that no node has.");
  cls.def("__repr__", [](const GraphObject& self) {
    return absl::StrCat("<graphnet_ir.Graph ", self.get()->name(), ", ", self.get()->num_nodes(),
                        " nodes>");
  });
}

void BindModule(nb::module_& m) {
  nb::class_<ModuleObject> cls(
      m, "Module", nb::type_slots(kModuleSlots), nb::is_weak_referenceable(),
      "Graphs, the symbols of their sizes and the attributes that they read. The first graph is "
      "the main one, others are bodies that arguments refer to.");
  cls.def(nb::new_([](const std::string& name) {
            Sample sample;
            sample.name = name;
            return ModuleObject::Make(std::move(sample));
          }),
          nb::arg("name") = "");
  cls.def(
      "add_graph",
      [](ModuleObject& self, nb::handle name) {
        const std::string text(NameOf(name, "the name of a graph"));
        return self.GraphOf(self.ForChange().AddGraph(text));
      },
      nb::arg("name") = "forward", "Adds a graph; the first one is the main one.");
  cls.def_prop_ro(
      "graphs",
      [](ModuleObject& self) {
        nb::list graphs;
        for (Graph* graph : self.module().graphs()) graphs.append(self.GraphOf(graph));
        return graphs;
      },
      "All graphs, the main one first.");
  cls.def_prop_ro(
      "graph",
      [](ModuleObject& self) -> nb::object {
        Graph* const main = self.module().main();
        return main == nullptr ? nb::none() : self.GraphOf(main);
      },
      "The main graph, or None in an empty module.");
  cls.def(
      "find_graph",
      [](ModuleObject& self, const std::string& name) -> nb::object {
        Graph* const graph = self.module().FindGraph(name);
        return graph == nullptr ? nb::none() : self.GraphOf(graph);
      },
      nb::arg("name"), "Returns the graph of that name, or None.");
  cls.def(
      "erase_unused_graphs",
      [](ModuleObject& self) {
        const size_t erased = self.ForChange().EraseUnusedGraphs();
        self.ForgetGraphs();
        return erased;
      },
      "Erases the graphs that the main one does not reach. Returns how many there were.");
  cls.def(
      "add_symbol",
      [](ModuleObject& self, nb::handle name, std::optional<int64_t> example) {
        const std::string text(NameOf(name, "the name of a symbol"));
        Module& module = self.ForChange();
        module.AddSymbol(text, example);
        return ToPython(module.SymSymbol(text), self);
      },
      nb::arg("name"), nb::arg("example") = nb::none(),
      "Declares a symbol and the size that it had in an example. Returns it as an expression.");
  cls.def_prop_ro(
      "symbols",
      [](ModuleObject& self) {
        nb::dict symbols;
        for (const Symbol& symbol : self.module().symbols()) {
          symbols[nb::str(symbol.name.data(), symbol.name.size())] =
              symbol.example ? nb::object(nb::int_(*symbol.example)) : nb::none();
        }
        return symbols;
      },
      "The symbols and their example values; a copy.");
  cls.def(
      "symbol",
      [](ModuleObject& self, const std::string& name) {
        if (self.module().FindSymbol(name) == nullptr)
          Raise(PyExc_KeyError, absl::StrCat("unknown symbol ", name));
        return ToPython(self.ForChange().SymSymbol(name), self);
      },
      nb::arg("name"), "Returns a declared symbol as an expression.");
  cls.def(
      "add_relation",
      [](ModuleObject& self, const SymExprObject& relation) {
        if (!relation.expr->is_relation())
          Raise(PyExc_ValueError, "a relation compares two expressions: s0.le(8)");
        self.ForChange().AddRelation(relation.expr);
      },
      nb::arg("relation"), "Declares a relation between symbols: module.add_relation(s0.le(8)).");
  cls.def_prop_ro(
      "relations",
      [](ModuleObject& self) {
        nb::list relations;
        for (const SymExpr* relation : self.module().relations())
          relations.append(ToPython(relation, self));
        return relations;
      },
      "The relations between the symbols; a copy.");
  cls.def(
      "add_attribute",
      [](ModuleObject& self, nb::handle name, nb::handle meta, const std::string& type,
         nb::handle spec) {
        Attribute attribute;
        const std::string text(NameOf(name, "the name of an attribute"));
        const ValueMeta* const read = ReadMeta(meta, self);
        if (read != nullptr && read->is_tuple)
          Raise(PyExc_TypeError, "the meta of an attribute is a TensorMeta or None");
        attribute.name = text;
        attribute.meta = read == nullptr ? nullptr : read->tensor;
        attribute.annotation = type;
        const auto add = [&] { self.ForChange().AddAttribute(attribute); };
        if (spec.is_none()) return add();
        ReadDrawSpec(spec, self, [&](const DrawSpec& draw) {
          attribute.draw_spec = &draw;
          add();
        });
      },
      nb::arg("name"), nb::arg("tensor_meta") = nb::none(), nb::arg("type") = "",
      nb::arg("draw_spec") = nb::none(),
      "Declares a parameter, buffer or constant that get_attr nodes read. It replaces "
      "an earlier one of the same name.");
  cls.def(
      "erase_attribute",
      [](ModuleObject& self, const std::string& name) { self.ForChange().EraseAttribute(name); },
      nb::arg("name"), "Erases the declaration of an attribute.");
  cls.def_prop_ro(
      "attributes",
      [](ModuleObject& self) {
        nb::dict attributes;
        for (const Attribute& attribute : self.module().attributes()) {
          nb::dict fields;
          ValueMeta meta;
          meta.tensor = attribute.meta;
          fields["tensor_meta"] = ToPython(&meta, self);
          fields["type"] = nb::str(attribute.annotation.data(), attribute.annotation.size());
          fields["draw_spec"] = ToPython(attribute.draw_spec, self);
          attributes[nb::str(attribute.name.data(), attribute.name.size())] = fields;
        }
        return attributes;
      },
      "The attributes: dicts with tensor_meta, type and draw_spec by name; a copy.");
  cls.def("_repr_html_", [](nb::handle self) { return CallPython("module_html", self); });
  cls.def("__copy__", [](nb::handle self) { return CallPython("copy_of_module", self); });
  cls.def("__deepcopy__",
          [](nb::handle self, nb::handle) { return CallPython("copy_of_module", self); });
  cls.def("__reduce__", [](nb::handle self) { return CallPython("reduced_module", self); });
  cls.def(
      "__str__", [](ModuleObject& self) { return Shortened(PrintModule(self.module())); },
      "Returns the text form, shortened if it is long; graphnet_ir.show returns all of it.");
  cls.def("__repr__", [](ModuleObject& self) {
    return absl::StrCat("<graphnet_ir.Module ", self.sample().name, ", ",
                        self.module().graphs().size(), " graphs, ", self.module().num_nodes(),
                        " nodes>");
  });
}

}  // namespace graphnet

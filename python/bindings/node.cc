#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ops/call_schema.h"
#include "nanobind/operators.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "python/bindings/arguments.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"

namespace graphnet {

absl::string_view NameOf(nb::handle text, const char* what) {
  if (!PyUnicode_Check(text.ptr())) Raise(PyExc_TypeError, absl::StrCat(what, " must be a str"));
  const absl::string_view name = TextOf(text);
  if (name.empty()) Raise(PyExc_ValueError, absl::StrCat(what, " cannot be empty"));
  if (name.size() > kMaxNameBytes)
    Raise(PyExc_ValueError, absl::StrCat(what, " takes at most ", kMaxNameBytes, " bytes"));
  return name;
}

namespace {

nb::str Text(absl::string_view text) { return nb::str(text.data(), text.size()); }

Node* OperandFor(const NodeObject& self, const NodeObject& value) {
  Node* const node = value.get();
  if (node->graph() != self.get()->graph()) {
    Raise(PyExc_ValueError, absl::StrCat("the node ", node->name(), " belongs to another graph"));
  }
  return node;
}

// Moves `moved` right before or behind `self`.
void Move(const NodeObject& self, const NodeObject& moved, bool behind) {
  Node* const node = moved.ForChange();
  Graph* const graph = self.get()->graph();
  Node* const before = behind ? self.get()->next() : self.get();
  if (node->graph() != graph)
    Raise(PyExc_ValueError, "a node is moved within its own graph; node_copy copies from others");
  if (node != before) graph->MoveBefore(node, before);
}

// --- Frequent properties, which Python calls without nanobind in between ---------------------

nb::object LabelOf(NodeObject& self) {
  return self.Cached(NodeObject::kName, [&] { return Text(self.raw()->name()); });
}

nb::object OpOf(NodeObject& self) {
  static PyObject* const names[] = {
      PyUnicode_InternFromString("placeholder"),   PyUnicode_InternFromString("get_attr"),
      PyUnicode_InternFromString("call_function"), PyUnicode_InternFromString("call_method"),
      PyUnicode_InternFromString("call_module"),   PyUnicode_InternFromString("output")};
  return nb::borrow(names[static_cast<size_t>(self.get()->op())]);
}

nb::object TargetOf(NodeObject& self) { return self.module().TextOf(self.get()->target()); }

nb::object ArgsOf(NodeObject& self) {
  Node* const node = self.get();
  return self.Cached(NodeObject::kArgs, [&] { return ToPython(node->args(), self.module()); });
}

nb::object KwargsOf(NodeObject& self) {
  Node* const node = self.get();
  return self.Cached(NodeObject::kKwargs,
                     [&] { return ImmutableDict(ToPython(node->kwargs(), self.module())); });
}

nb::object UsersOf(NodeObject& self) {
  Node* const node = self.get();
  return self.Cached(NodeObject::kUsers, [&] {
    const auto nodes = node->users();
    if (nodes.empty()) return ImmutableDict(nb::dict());
    nb::object users = NewImmutableDict();
    for (Node* user : nodes) {
      if (PyDict_SetItem(users.ptr(), self.module().NodeOf(user).ptr(), Py_None) != 0)
        throw nb::python_error();
    }
    return users;
  });
}

nb::object GraphOf(NodeObject& self) { return self.module().GraphOf(self.get()->graph()); }
nb::object NextOf(NodeObject& self) { return self.module().NodeOrNone(self.get()->next()); }
nb::object PrevOf(NodeObject& self) { return self.module().NodeOrNone(self.get()->prev()); }

void SetName(const NodeObject& self, nb::handle name) {
  const absl::string_view text = NameOf(name, "a name");
  self.ForChange()->set_name(text);
}

void SetTarget(const NodeObject& self, nb::handle target) {
  const absl::string_view text = NameOf(target, "a target");
  self.ForChange()->set_target(text);
}

void SetArgs(const NodeObject& self, nb::handle args) {
  ArgumentReader reader(self.module(), self.get()->graph());
  const auto read = reader.ReadAll(args);
  Node* const node = self.ForChange();
  reader.CheckOperands();
  node->set_args(read);
}

void SetKwargs(const NodeObject& self, nb::handle kwargs) {
  ArgumentReader reader(self.module(), self.get()->graph());
  const auto read = reader.ReadKeywords(kwargs);
  Node* const node = self.ForChange();
  reader.CheckOperands();
  node->set_kwargs(read);
}

template <nb::object (*get)(NodeObject&)>
PyObject* Getter(PyObject* self, void*) {
  return ReturnOrRaise([self] { return get(ReadyInstance<NodeObject>(self)); });
}

template <void (*set)(const NodeObject&, nb::handle)>
int Setter(PyObject* self, PyObject* value, void*) {
  PyObject* const done = ReturnOrRaise([=] {
    if (value == nullptr) Raise(PyExc_AttributeError, "the attribute cannot be deleted");
    set(ReadyInstance<NodeObject>(self), value);
    return nb::none();
  });
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

PyGetSetDef properties[] = {
    {"name", Getter<LabelOf>, Setter<SetName>,
     "A label that is unique in the graph. Setting it replaces characters that an "
     "identifier cannot have by '_', and adds a number if another node has the label.",
     nullptr},
    {"op", Getter<OpOf>, nullptr,
     "'placeholder', 'get_attr', 'call_function', 'call_method', 'call_module' or 'output'.",
     nullptr},
    {"target", Getter<TargetOf>, Setter<SetTarget>,
     "The name of the function, method or attribute: 'torch.relu', 'aten.add.Tensor', "
     "'view'.",
     nullptr},
    {"args", Getter<ArgsOf>, Setter<SetArgs>, "The arguments by position, a tuple.", nullptr},
    {"kwargs", Getter<KwargsOf>, Setter<SetKwargs>, "The arguments by keyword, an immutable dict.",
     nullptr},
    {"users", Getter<UsersOf>, nullptr,
     "The nodes that use this one, each once, as the keys of an immutable dict.", nullptr},
    {"graph", Getter<GraphOf>, nullptr, "The graph that it belongs to.", nullptr},
    {"next", Getter<NextOf>, nullptr,
     "The next node, or None at the end (where torch.fx has its root).", nullptr},
    {"prev", Getter<PrevOf>, nullptr, "The previous node, or None at the start.", nullptr},
    {},
};

// ---------------------------------------------------------------------------------------------

nb::list ReplaceUses(const NodeObject& self, const NodeObject& value, nb::handle when) {
  Node* const node = self.ForChange();
  Node* const to = OperandFor(self, value);
  nb::list changed;
  if (when.is_none()) {
    for (Node* user : node->users()) changed.append(self.module().NodeOf(user));
    node->ReplaceAllUsesWith(to);
    return changed;
  }
  std::vector<Node*> replaced;
  for (Node* user : node->users()) {
    if (nb::cast<bool>(when(self.module().NodeOf(user)))) replaced.push_back(user);
  }
  // Check again, since the callback may have changed anything.
  self.ForChange();
  OperandFor(self, value);
  for (Node* user : replaced) {
    if (user->is_erased()) continue;
    user->ReplaceInput(node, to);
    changed.append(self.module().NodeOf(user));
  }
  return changed;
}

// Returns the arguments of a call by position, a list, and by keyword, a dict, with defaults; None for
// a call without a schema.
nb::object BoundArguments(const NodeObject& self, bool only_keywords) {
  Node* const node = self.get();
  absl::StatusOr<BoundCall> found = BindCall(*node);
  if (absl::IsNotFound(found.status())) return nb::none();
  const BoundCall bound = ValueOrRaise(std::move(found));
  const absl::Span<const SchemaArgument> parameters = bound.schema().arguments;
  // Python has no keyword for *operands, nor for what comes before them.
  const bool is_variadic = absl::c_any_of(
      parameters, [](const SchemaArgument& parameter) { return parameter.is_variadic; });
  nb::list args;
  nb::dict kwargs;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool by_keyword =
        parameters[i].keyword_only || (!is_variadic && (only_keywords || i >= node->args().size()));
    if (parameters[i].is_variadic) {
      for (const Argument& value : bound.variadic()) args.append(ToPython(value, self.module()));
    } else if (by_keyword && !parameters[i].positional_only) {
      kwargs[Text(parameters[i].name)] = ToPython(bound[i], self.module());
    } else {
      args.append(ToPython(bound[i], self.module()));
    }
  }
  return nb::make_tuple(args, kwargs);
}

void SetArg(const NodeObject& self, nb::ssize_t i, nb::handle value) {
  Node* const node = self.get();
  const auto size = static_cast<nb::ssize_t>(node->args().size());
  if (i < 0) i += size;
  if (i < 0 || i >= size) Raise(PyExc_IndexError, "the node does not have that argument");
  ArgumentReader reader(self.module(), node->graph());
  const Argument read = reader.Read(value);
  self.ForChange();
  reader.CheckOperands();
  if (i >= static_cast<nb::ssize_t>(node->args().size()))
    Raise(PyExc_IndexError, "the node does not have that argument");
  node->set_arg(static_cast<size_t>(i), read);
}

}  // namespace

int TraverseNode(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* node = nb::inst_ptr<NodeObject>(self);
  Py_VISIT(node->owner_.ptr());
  for (const nb::object& part : node->parts_) Py_VISIT(part.ptr());
  return 0;
}

int ClearNode(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  auto* node = nb::inst_ptr<NodeObject>(self);
  for (nb::object& part : node->parts_) part = nb::object();
  return 0;
}

PyType_Slot kNodeSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(TraverseNode)},
                            {Py_tp_clear, reinterpret_cast<void*>(ClearNode)},
                            {Py_tp_getset, properties},
                            {0, nullptr}};

// Reading a Python value may run other Python code, which may erase any node. So a function that
// changes a node first reads all values, then asks for the change, which may wait for other threads,
// and then checks that the operands that were read and the node itself are alive.
void BindNode(nb::module_& m) {
  nb::class_<NodeObject>(
      m, "Node", nb::type_slots(kNodeSlots), nb::is_weak_referenceable(), nb::is_final(),
      "One operation of a Graph and the one value that it yields, like "
      "torch.fx.Node.\n\n"
      "A node keeps its module alive. An erased node only has a name, and everything "
      "else raises ReferenceError.")
      .def(
          "update_arg",
          [](const NodeObject& self, nb::ssize_t i, nb::handle value) { SetArg(self, i, value); },
          nb::arg("idx"), nb::arg("arg"), "Replaces one argument.")
      .def(
          "update_kwarg",
          [](const NodeObject& self, nb::handle key, nb::handle value) {
            ArgumentReader reader(self.module(), self.get()->graph());
            const Argument read = reader.Read(value);
            const absl::string_view name = NameOf(key, "a keyword");
            Node* const node = self.ForChange();
            reader.CheckOperands();
            node->set_kwarg(name, read);
          },
          nb::arg("key"), nb::arg("arg"), "Replaces one keyword argument, or adds it.")
      .def(
          "insert_arg",
          [](const NodeObject& self, size_t i, nb::handle value) {
            ArgumentReader reader(self.module(), self.get()->graph());
            const Argument read = reader.Read(value);
            Node* const node = self.ForChange();
            reader.CheckOperands();
            std::vector<Argument> args(node->args().begin(), node->args().end());
            if (i > args.size()) Raise(PyExc_IndexError, "the node has fewer arguments");
            args.insert(args.begin() + static_cast<ptrdiff_t>(i), read);
            node->set_args(args);
          },
          nb::arg("idx"), nb::arg("arg"), "Inserts an argument before the one of that number.")
      .def_prop_ro(
          "num_uses", [](const NodeObject& self) { return self.get()->num_uses(); },
          "The number of operands that are this node: `add(x, x)` uses x twice.")
      .def_prop_ro(
          "all_input_nodes",
          [](const NodeObject& self) {
            nb::list inputs;
            absl::flat_hash_set<const Node*> seen;
            self.get()->ForEachOperand([&](Node* operand) {
              if (seen.insert(operand).second) inputs.append(self.module().NodeOf(operand));
            });
            return inputs;
          },
          "The nodes that this one takes, each once.")
      .def_prop_ro(
          "is_erased",
          [](const NodeObject& self) {
            return self.raw()->is_erased() || !self.module().HasGraph(self.raw()->graph());
          },
          "True if the node or its graph was erased.")
      .def_prop_ro(
          "index", [](const NodeObject& self) { return self.raw()->index(); },
          "The number of the node among all nodes that were ever made in the module.")
      .def_prop_rw(
          "tensor_meta",
          [](const NodeObject& self) { return ToPython(self.get()->meta(), self.module()); },
          [](const NodeObject& self, nb::handle meta) {
            const ValueMeta* const read = ReadMeta(meta, self.module());
            self.ForChange()->set_meta(read);
          },
          nb::arg("meta").none(),
          "The known facts about the value: a TensorMeta, a tuple of metas, or None.")
      .def_prop_rw(
          "location",
          [](const NodeObject& self) -> nb::object {
            const SourceLocation location = self.get()->location();
            if (location.file.empty() && location.line == 0) return nb::none();
            return nb::make_tuple(Text(location.file), location.line, location.column);
          },
          [](const NodeObject& self, nb::handle place) {
            if (place.is_none()) {
              self.ForChange()->set_location({});
              return;
            }
            const nb::tuple parts = TupleOf(place);
            if (parts.size() < 2) Raise(PyExc_ValueError, "a location is (file, line[, column])");
            const auto file = nb::cast<std::string>(parts[0]);
            const auto line = nb::cast<uint32_t>(parts[1]);
            const auto column = parts.size() > 2 ? nb::cast<uint32_t>(parts[2]) : 0;
            self.ForChange()->set_location({.file = file, .line = line, .column = column});
          },
          nb::arg("location").none(),
          "The place in the program that the node comes from: (file, line, column), or "
          "None.")
      .def_prop_ro(
          "stack_trace", [](nb::handle self) { return CallPython("stack_trace", self); },
          "The location as a line of a Python traceback, or node.meta['stack_trace'] if that is "
          "there; None without either.")
      .def_prop_rw(
          "module_path", [](const NodeObject& self) { return Text(self.get()->module_path()); },
          [](const NodeObject& self, const std::string& path) {
            self.ForChange()->set_module_path(path);
          },
          "The path of the submodule that the operation belongs to: 'layer1.0.conv1'.")
      .def_prop_rw(
          "type", [](const NodeObject& self) { return Text(self.get()->annotation()); },
          [](const NodeObject& self, const std::string& type) {
            self.ForChange()->set_annotation(type);
          },
          "The written type of the value: 'torch.nn.parameter.Parameter', or ''.")
      .def_prop_rw(
          "draw_spec",
          [](const NodeObject& self) { return ToPython(self.get()->draw_spec(), self.module()); },
          [](const NodeObject& self, nb::handle spec) {
            if (!self.get()->is_placeholder())
              Raise(PyExc_ValueError, "only placeholders have a draw spec");
            if (spec.is_none()) {
              self.ForChange()->clear_draw_spec();
              return;
            }
            ReadDrawSpec(spec, self.module(),
                         [&](const DrawSpec& read) { self.ForChange()->set_draw_spec(read); });
          },
          nb::arg("spec").none(),
          "How an input is drawn if it has no value: a dict with those of mean, std, min, "
          "max, data, original_name and in_input_meta that are set, or None; a copy.")
      .def_prop_ro(
          "meta", [](nb::handle self) { return CallPython("NodeMeta", self); },
          "The known facts about the node besides its operation, as a dict: tensor_meta, "
          "location, module_path, type and draw_spec, and any other entries, which are not "
          "saved.")
      .def_prop_ro("_own_meta",
                   [](const NodeObject& self) { return self.module().MetaOf(self.get()); })
      .def_prop_ro("_own_meta_or_none",
                   [](const NodeObject& self) { return self.module().FindMeta(self.get()); })
      .def("replace_all_uses_with", ReplaceUses, nb::arg("replace_with"),
           nb::arg("delete_user_cb") = nb::none(),
           "Replaces the uses of this node by another one, either all or those of the users "
           "for which the callback returns True. Returns the users that were changed.")
      .def(
          "replace_input_with",
          [](const NodeObject& self, const NodeObject& from, const NodeObject& to) {
            Node* const node = self.ForChange();
            Node* const value = OperandFor(self, to);
            Node* const old = OperandFor(self, from);
            node->ReplaceInput(old, value);
          },
          nb::arg("old_input"), nb::arg("new_input"), "Replaces one operand by another.")
      .def(
          "append",
          [](const NodeObject& self, const NodeObject& moved) {
            if (&self != &moved) Move(self, moved, /*behind=*/true);
          },
          nb::arg("x"), "Moves the node x right behind this one.")
      .def(
          "prepend",
          [](const NodeObject& self, const NodeObject& moved) {
            Move(self, moved, /*behind=*/false);
          },
          nb::arg("x"), "Moves the node x right before this one.")
      .def(
          "is_impure",
          [](const NodeObject& self) {
            Node* const node = self.get();
            if (!node->is_call()) return node->is_placeholder() || node->is_output();
            self.module().RequireVerified();
            return !Effects(self.module().module()).Of(*node).is_pure();
          },
          "Returns whether the call does more than yield its value, by the schema of its "
          "operator. An unknown operator counts as impure.")
      .def(
          "normalized_arguments",
          [](const NodeObject& self, nb::handle, bool only_keywords) {
            const nb::object bound = BoundArguments(self, only_keywords);
            return bound.is_none() ? bound : CallPython("args_and_kwargs", bound);
          },
          nb::arg("root") = nb::none(), nb::kw_only(),
          nb::arg("normalize_to_only_use_kwargs") = false,
          "Returns the arguments of a call with defaults, an ArgsKwargsPair: those that the call "
          "gives by position so, and all others by the names of the schema's parameters. Several "
          "numbers for one list, as in x.view(2, 3), are that list. Returns None for a call "
          "without a schema, and raises Error if the arguments do not fit it. root: not needed; "
          "torch.fx's has it. normalize_to_only_use_kwargs: gives all by name.")
      .def(
          "format_node", [](const NodeObject& self) { return PrintNode(*self.get()); },
          "Returns the line of the text form.")
      .def("__reduce__", [](nb::handle self) { return CallPython("reduced_node", self); })
      .def("__repr__", [](const NodeObject& self) { return Text(self.raw()->name()); })
      .def(
          "__lt__",
          [](const NodeObject& self, const NodeObject& other) {
            OperandFor(self, other);
            return self.get()->IsBefore(other.get());
          },
          nb::is_operator())
      .def(
          "__gt__",
          [](const NodeObject& self, const NodeObject& other) {
            OperandFor(self, other);
            return other.get()->IsBefore(self.get());
          },
          nb::is_operator())
      .def(
          "__le__",
          [](const NodeObject& self, const NodeObject& other) {
            OperandFor(self, other);
            return !other.get()->IsBefore(self.get());
          },
          nb::is_operator())
      .def(
          "__ge__",
          [](const NodeObject& self, const NodeObject& other) {
            OperandFor(self, other);
            return !self.get()->IsBefore(other.get());
          },
          nb::is_operator());
}

}  // namespace graphnet

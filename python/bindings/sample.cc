#include "python/bindings/sample.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/ir/text/printer.h"
#include "nanobind/stl/map.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"
#include "python/bindings/long_call.h"

namespace graphnet {
namespace {

// Returns a copy of a sample without its module.
Sample WithoutModule(const Sample& sample) {
  Sample copy;
  copy.name = sample.name;
  copy.graph_net_json = sample.graph_net_json;
  copy.graph_hash = sample.graph_hash;
  copy.has_constraints = sample.has_constraints;
  copy.constraint_order = sample.constraint_order;
  copy.extra_files = sample.extra_files;
  copy.provenance = sample.provenance;
  copy.weights = sample.weights;
  return copy;
}

// Binds a text field of the sample.
void BindText(nb::class_<SampleObject>& cls, const char* name, std::string Sample::*field,
              const char* doc) {
  cls.def_prop_rw(
      name, [field](const SampleObject& self) { return self.get().sample().*field; },
      [field](const SampleObject& self, const std::string& value) {
        self.get().SampleForChange().*field = value;
      },
      doc);
}

// Texts of more lines than these are shortened in the middle.
constexpr size_t kFirstLines = 40;
constexpr size_t kLastLines = 20;
constexpr size_t kMaxLineBytes = 200;

// Returns a line without its end if it is long.
std::string ShortLine(absl::string_view line) {
  if (line.size() <= kMaxLineBytes) return std::string(line);
  size_t kept = kMaxLineBytes;
  while (kept > 0 && (static_cast<unsigned char>(line[kept]) & 0xC0) == 0x80) --kept;
  return absl::StrCat(line.substr(0, kept), "… (", line.size(), " bytes)");
}

}  // namespace

nb::object CopySample(const SampleObject& self) {
  ModuleObject& object = self.get();
  object.LetChangesPass();
  object.RequireVerified();
  return MakeSample(LongCall(Locks(object), [&object] { return WholeCopyOf(object.sample()); }), {},
                    /*is_verified=*/true);
}

std::string Shortened(const std::string& text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  std::vector<std::string> kept;
  const size_t size = lines.size();
  const bool is_long = size > kFirstLines + kLastLines + 1;
  for (size_t i = 0; i < size; ++i) {
    if (is_long && i == kFirstLines) {
      const size_t left_out = size - kFirstLines - kLastLines;
      kept.push_back(absl::StrCat("… ", left_out, " lines are left out; graphnet_ir.show has all"));
      i += left_out;
    }
    kept.push_back(ShortLine(lines[i]));
  }
  return absl::StrJoin(kept, "\n");
}

nb::object MakeSample(Sample sample, nb::object base, bool is_verified) {
  return nb::cast(
      SampleObject{ModuleObject::Make(std::move(sample), std::move(base), is_verified)});
}

Sample WholeCopyOf(const Sample& sample) {
  Sample copy = WithoutModule(sample);
  copy.module = sample.module->Clone();
  return copy;
}

BorrowedSamples::BorrowedSamples(const std::vector<ModuleObject*>& modules) {
  for (ModuleObject* module : modules) {
    samples_.push_back(WithoutModule(module->sample()));
    samples_.back().module.reset(module->sample().module.get());
  }
}

BorrowedSamples::~BorrowedSamples() {
  for (Sample& sample : samples_) (void)sample.module.release();  // NOLINT: it is not ours
}

void BindSample(nb::module_& m) {
  nb::class_<SampleObject> cls(
      m, "Sample", nb::type_slots(TraverseSlots<SampleObject, &SampleObject::owner>()),
      nb::is_weak_referenceable(),
      "A module, where it came from, and how its inputs are drawn: the unit that is loaded and "
      "saved.");
  cls.def(
      "__init__",
      [](SampleObject* self, nb::object module) {
        if (!nb::isinstance<ModuleObject>(module))
          Raise(PyExc_TypeError, "the module of a sample must be a Module");
        new (self) SampleObject{std::move(module)};
      },
      nb::arg("module"), "Makes a sample that shares a module.");
  cls.def_prop_ro(
      "module", [](const SampleObject& self) { return self.owner; }, "Its module.");
  cls.def_prop_ro(
      "graph", [](const SampleObject& self) { return self.owner.attr("graph"); },
      "The main graph of its module.");
  BindText(cls, "name", &Sample::name, "The name: 'resnet18'.");
  BindText(cls, "graph_net_json", &Sample::graph_net_json, "graph_net.json as it stands, or ''.");
  BindText(cls, "graph_hash", &Sample::graph_hash, "The content of graph_hash.txt, or ''.");
  cls.def_prop_rw(
      "extra_files", [](const SampleObject& self) { return self.get().sample().extra_files; },
      [](const SampleObject& self, std::map<std::string, std::string> files) {
        self.get().SampleForChange().extra_files = std::move(files);
      },
      "Other files of a GraphNet folder, name to content; a copy.");
  cls.def_prop_rw(
      "provenance",
      [](const SampleObject& self) {
        nb::list list;
        for (const Provenance& part : self.get().sample().provenance) {
          nb::dict fields;
          fields["parent"] = part.parent;
          fields["parent_hash"] = part.parent_hash;
          fields["start"] = part.start;
          fields["end"] = part.end;
          list.append(fields);
        }
        return list;
      },
      [](const SampleObject& self, const std::vector<nb::dict>& parts) {
        std::vector<Provenance> provenance;
        for (const nb::dict& part : parts) {
          provenance.push_back({.parent = nb::cast<std::string>(part["parent"]),
                                .parent_hash = nb::cast<std::string>(part["parent_hash"]),
                                .start = nb::cast<int64_t>(part["start"]),
                                .end = nb::cast<int64_t>(part["end"])});
        }
        self.get().SampleForChange().provenance = std::move(provenance);
      },
      nb::arg("parts"),
      "The parts of other samples that this one was cut from: dicts with parent, parent_hash, "
      "start and end; a copy.");
  cls.def_prop_ro(
      "weights",
      [](const SampleObject& self) {
        nb::dict weights;
        for (const auto& [name, data] : self.get().sample().weights)
          weights[name.c_str()] = TensorObject{data};
        return weights;
      },
      "The real values of attributes and inputs by name, as far as they are known; a copy of the "
      "dict, which shares the tensors.");
  cls.def(
      "set_weight",
      [](const SampleObject& self, const std::string& name, nb::handle value) {
        TensorData data = ReadTensor(value);
        self.get().SampleForChange().weights[name] = std::move(data);
      },
      nb::arg("name"), nb::arg("value"),
      "Gives an attribute or input a value, whose memory is shared.");
  cls.def(
      "erase_weight",
      [](const SampleObject& self, const std::string& name) {
        self.get().SampleForChange().weights.erase(name);
      },
      nb::arg("name"), "Forgets the value of an attribute or input.");
  cls.def("copy", CopySample,
          "Returns an independent copy, which shares the weights. The module must verify.");
  cls.def("__copy__", CopySample);
  cls.def("__reduce__", [](nb::handle self) {
    return nb::make_tuple(self.type(), nb::make_tuple(nb::cast<const SampleObject&>(self).owner));
  });
  cls.def(
      "save",
      [](nb::handle self, nb::handle path, nb::kwargs options) {
        return nb::module_::import_("graphnet_ir._core").attr("save")(self, path, **options);
      },
      nb::arg("path"), nb::arg("options"), "Writes the sample (graphnet_ir.save).");
  cls.def("_repr_html_", [](nb::handle self) { return CallPython("sample_html", self); });
  cls.def(
      "__str__",
      [](const SampleObject& self) { return Shortened(PrintSample(self.get().sample())); },
      "Returns the text form, shortened if it is long; graphnet_ir.show returns all of it.");
  cls.def("__repr__", [](const SampleObject& self) {
    return absl::StrCat("<graphnet_ir.Sample ", self.get().sample().name, ", ",
                        self.get().module().num_nodes(), " nodes>");
  });
}

}  // namespace graphnet

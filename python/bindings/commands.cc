// The commands of the tool as functions (graphnet/cli/call.h).
#include <string>
#include <vector>

#include "graphnet/cli/call.h"
#include "graphnet/cli/command_table.h"
#include "graphnet/cli/formats.h"
#include "graphnet/cli/tool.h"
#include "nanobind/nanobind.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/errors.h"
#include "python/bindings/long_call.h"
#include "python/bindings/sample.h"

namespace graphnet {
namespace {

nb::dict RowOf(const OptionRow& row) {
  nb::dict made;
  made["names"] = row.names;
  made["takes"] = row.value;
  made["words"] = row.words;
  made["help"] = row.help;
  made["required"] = row.required;
  made["repeated"] = row.repeated;
  return made;
}

nb::list RowsOf(const std::vector<OptionRow>& rows) {
  nb::list made;
  for (const OptionRow& row : rows) made.append(RowOf(row));
  return made;
}

nb::list Commands() {
  Tool tool;
  nb::list made;
  for (const CommandRow& row : TableOf(tool.app()).commands) {
    nb::dict command;
    command["name"] = row.name;
    command["help"] = row.help;
    command["operands"] = RowsOf(row.operands);
    command["options"] = RowsOf(row.options);
    made.append(command);
  }
  return made;
}

nb::tuple Call(const std::vector<std::string>& words) {
  const CommandResult result =
      ValueOrRaise(LongCall(Locks(), [words] { return CallCommand(words); }));
  RaiseIfError(result.error);
  return nb::make_tuple(result.code, result.text, result.aside);
}

}  // namespace

void BindCommands(nb::module_& m) {
  // Python reads and writes what the tool does. An error, of a plug-in, is that of each command.
  RegisterToolFormats().IgnoreError();
  m.def("_commands", Commands);
  m.def("_call_command", Call, nb::arg("words"));
}

}  // namespace graphnet

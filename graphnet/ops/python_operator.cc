#include "graphnet/ops/python_operator.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace graphnet {
namespace {

constexpr PythonOperator kOperators[] = {
    {"add", "add", 'n', "add"},
    {"sub", "sub", 'n', "sub"},
    {"mul", "mul", 'n', "mul"},
    {"truediv", "div", 'f', "truediv"},
    {"div", "div", 'f', "truediv"},
    {"floordiv", "floor_divide", 'n', "floordiv"},
    {"mod", "remainder", 'n', "mod"},
    {"pow", "pow", 'n', "pow"},
    {"matmul", "matmul", 'n', "matmul"},
    {"and_", "__and__", 'n', "and_"},
    {"or_", "__or__", 'n', "or_"},
    {"xor", "__xor__", 'n', "xor"},
    {"lshift", "__lshift__", 'n', "lshift"},
    {"rshift", "__rshift__", 'n', "rshift"},
    {"lt", "lt", 'b', "lt"},
    {"le", "le", 'b', "le"},
    {"gt", "gt", 'b', "gt"},
    {"ge", "ge", 'b', "ge"},
    {"eq", "eq", 'b', "eq"},
    {"ne", "ne", 'b', "ne"},
    {"neg", "neg", 'n', "neg", 1},
    {"pos", "positive", 'n', "pos", 1, false, true},
    {"abs", "abs", 'n', "abs", 1},
    {"invert", "bitwise_not", 'n', "invert", 1},
    {"inv", "bitwise_not", 'n', "invert", 1},
    {"not_", "", 'b', "not_", 1},
    {"truth", "", 'b', "truth", 1},
    {"is_", "", 'b', "is_"},
    {"is_not", "", 'b', "is_not"},
    {"contains", "", 'b', "contains"},
    {"index", "", 'i', "index", 1},
    {"concat", "", 'n', "add"},
    {"getitem", "", 'n', "getitem", 2, false, true},
    {"setitem", "", 'n', "setitem", 3, true},
    {"iadd", "add_", 'n', "add", 2, true},
    {"isub", "sub_", 'n', "sub", 2, true},
    {"imul", "mul_", 'n', "mul", 2, true},
    {"itruediv", "div_", 'f', "truediv", 2, true},
    {"ifloordiv", "floor_divide_", 'n', "floordiv", 2, true},
    {"imod", "remainder_", 'n', "mod", 2, true},
    {"ipow", "pow_", 'n', "pow", 2, true},
    {"iand", "__iand__", 'n', "and_", 2, true},
    {"ior", "__ior__", 'n', "or_", 2, true},
    {"ixor", "__ixor__", 'n', "xor", 2, true},
    {"ilshift", "__ilshift__", 'n', "lshift", 2, true},
    {"irshift", "__irshift__", 'n', "rshift", 2, true},
    {"imatmul", "matmul", 'n', "matmul"},
};

}  // namespace

const PythonOperator* FindPythonOperator(absl::string_view name) {
  static const auto* const table = [] {
    auto* made = new absl::flat_hash_map<std::string, PythonOperator>;
    for (const PythonOperator& op : kOperators) made->emplace(op.name, op);
    for (const PythonOperator& op : kOperators) {
      if (op.aten.empty() || op.is_in_place || op.num_operands != 2 || op.result == 'b') continue;
      PythonOperator reflected = op;
      reflected.is_reflected = true;
      // The name of and_ ends with "_", but its reflected form is rand.
      const absl::string_view base = op.name.substr(0, op.name.find('_'));
      made->try_emplace(absl::StrCat("r", base), reflected);
    }
    return made;
  }();
  const auto it = table->find(name);
  return it == table->end() ? nullptr : &it->second;
}

}  // namespace graphnet

// Internal to the reader of PIR: values of attributes.
#ifndef GRAPHNET_PADDLE_PIR_ATTRIBUTE_READER_H_
#define GRAPHNET_PADDLE_PIR_ATTRIBUTE_READER_H_

#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/paddle/pir/scanner.h"

namespace graphnet::pir {

struct NamedAttribute {
  absl::string_view name;
  Argument value;  // in the memory of the module
};

class AttributeReader {
 public:
  AttributeReader(Scanner* scanner, Module* module) : in_(*scanner), module_(*module) {}

  // Returns false once something failed. `known_type` is the attribute's AttributeType.
  bool Read(absl::string_view known_type, Argument* out) { return Read(known_type, 0, out); }

 private:
  bool Read(absl::string_view known_type, int depth, Argument* out);
  bool ReadTyped(absl::string_view known_type, int depth, Argument* out);
  bool ReadList(absl::string_view type, int depth, Argument* out);
  // Reads a value of `type`, which follows `(type)` if the text has one.
  bool ReadNumber(absl::string_view type, absl::string_view known_type, Argument* out);
  // Returns the value itself, or a tuple with its type if the type does not follow from the value.
  Argument WithType(absl::string_view type, absl::string_view known_type, const Argument& value);

  Scanner& in_;
  Module& module_;
};

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_ATTRIBUTE_READER_H_

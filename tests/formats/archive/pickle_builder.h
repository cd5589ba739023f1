// The opcodes of pickles, for tests.
#ifndef TESTS_FORMATS_ARCHIVE_PICKLE_BUILDER_H_
#define TESTS_FORMATS_ARCHIVE_PICKLE_BUILDER_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/formats/archive/zip_builder.h"

namespace graphnet::pickle {

// Returns a whole pickle of one value.
inline std::string Of(const std::string& value) { return "\x80\x02" + value + "."; }

inline std::string None() { return "N"; }
inline std::string Bool(bool value) { return value ? "\x88" : "\x89"; }
// Like PyTorch, writes 64 bits if the value does not fit 32.
inline std::string Int(int64_t value) {
  if (value == static_cast<int32_t>(value)) return "J" + Bytes(value, 4);
  return "\x8a\x08" + Bytes(value, 8);
}
inline std::string Double(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  std::string bytes = Bytes(bits, 8);
  return "G" + std::string(bytes.rbegin(), bytes.rend());
}
inline std::string Text(const std::string& text) { return "X" + Bytes(text.size(), 4) + text; }
inline std::string Tuple(const std::string& elements) { return "(" + elements + "t"; }
inline std::string List(const std::string& elements) { return "](" + elements + "e"; }
inline std::string Dict(const std::string& items) { return "}(" + items + "u"; }
inline std::string Global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string Reduce(const std::string& callable, const std::string& arguments) {
  return callable + arguments + "R";
}
inline std::string Object(const std::string& cls, const std::string& state) {
  return cls + ")\x81" + state + "b";
}
inline std::string PersistentId(const std::string& id) { return id + "Q"; }
inline std::string Put(uint32_t id) { return "r" + Bytes(id, 4); }
inline std::string Get(uint32_t id) { return "j" + Bytes(id, 4); }

}  // namespace graphnet::pickle

#endif  // TESTS_FORMATS_ARCHIVE_PICKLE_BUILDER_H_

// The values of attributes that a file may lack though its format holds them.
#ifndef GRAPHNET_FORMATS_MISSING_VALUES_H_
#define GRAPHNET_FORMATS_MISSING_VALUES_H_

#include <cstdint>

namespace graphnet {

// The end of a message that says that a value is not known.
inline constexpr char kValueHint[] = "; --weights FILE gives it, or --draw-weights draws it";

enum class MissingValues : uint8_t {
  kRefused,   // The file has all values, or it is refused.
  kIfStated,  // Values may lack if the file itself says so: the program was made on meta.
  kDrawn,     // Any values may lack. Whoever runs the sample draws them.
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_MISSING_VALUES_H_

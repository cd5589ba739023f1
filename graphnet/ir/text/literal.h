// Writes numbers, strings and names of the text form.
#ifndef GRAPHNET_IR_TEXT_LITERAL_H_
#define GRAPHNET_IR_TEXT_LITERAL_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

void AppendInteger(int64_t value, std::string* out);

// Appends a float as Python writes it: the shortest digits that read back as the same double, and
// never those of an integer ("1.0", "1e-05", "-inf"). A nan other than the usual one is written
// with its bits: "nan(0xfff8000000000000)".
void AppendFloat(double value, std::string* out);

// Appends `text` in double quotes, with the escapes \n \t \r \" \\ and, for other control
// characters and bytes that are not UTF-8, \xNN.
void AppendQuoted(absl::string_view text, std::string* out);

// Returns whether a name may be written without quotes: [A-Za-z0-9_.]+ without a leading dot.
bool IsBareName(absl::string_view name);
// Returns whether a bare name also starts with a letter or '_', as a dotted name of Python does.
bool IsBareWord(absl::string_view name);

// Appends `name` as it is if it is a bare name, else in quotes.
void AppendName(absl::string_view name, std::string* out);
// Appends `name` as it is if it is a bare word, else in quotes.
void AppendWord(absl::string_view name, std::string* out);

namespace literal_internal {

// One bit set per class of characters.
inline constexpr uint8_t kName = 1;   // [A-Za-z0-9_.]
inline constexpr uint8_t kDigit = 2;  // [0-9]
inline constexpr uint8_t kSpace = 4;  // blank, tab, line ends
inline constexpr uint8_t kPlain = 8;  // printable ASCII that needs no escape in a string
struct CharTable {
  uint8_t bits[256] = {};
  constexpr CharTable() {
    for (int c = 0x20; c < 0x7F; ++c) bits[c] |= (c != '"' && c != '\\') ? kPlain : 0;
    for (int c = '0'; c <= '9'; ++c) bits[c] |= kName | kDigit;
    for (int c = 'a'; c <= 'z'; ++c) bits[c] |= kName;
    for (int c = 'A'; c <= 'Z'; ++c) bits[c] |= kName;
    bits[int{'_'}] |= kName;
    bits[int{'.'}] |= kName;
    for (char c : {' ', '\t', '\n', '\r'}) bits[int{c}] |= kSpace;
  }
};
inline constexpr CharTable kChars;
inline bool Is(char c, uint8_t what) {
  return (kChars.bits[static_cast<unsigned char>(c)] & what) != 0;
}

}  // namespace literal_internal
}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_LITERAL_H_

// Bytes that nobody changes, held by all who refer to them.
#ifndef GRAPHNET_BASE_SHARED_BYTES_H_
#define GRAPHNET_BASE_SHARED_BYTES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace graphnet {

// As a pointer to them; null at first. Copies share.
class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  // Of a string, as std::make_shared yields it.
  template <typename String>
  SharedBytes(std::shared_ptr<String> string)  // NOLINT(google-explicit-constructor)
      : is_null_(string == nullptr),
        view_(is_null_ ? absl::string_view() : absl::string_view(*string)),
        owner_(std::move(string)) {}
  // Of a part of what `owner` keeps alive, such as a file that is mapped.
  SharedBytes(std::shared_ptr<const void> owner, absl::string_view part)
      : is_null_(false), view_(part), owner_(std::move(owner)) {}

  const absl::string_view& operator*() const { return view_; }
  const absl::string_view* operator->() const { return &view_; }
  explicit operator bool() const { return !is_null_; }
  // Whether it is the same memory.
  friend bool operator==(const SharedBytes& a, const SharedBytes& b) {
    return a.is_null_ == b.is_null_ && a.view_.data() == b.view_.data() &&
           a.view_.size() == b.view_.size();
  }
  friend bool operator==(const SharedBytes& a, std::nullptr_t) { return a.is_null_; }

  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  bool is_null_ = true;
  absl::string_view view_;
  std::shared_ptr<const void> owner_;
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_SHARED_BYTES_H_

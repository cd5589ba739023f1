// Bytes that nobody changes, held by all who refer to them.
#ifndef GRAPHNET_BASE_SHARED_BYTES_H_
#define GRAPHNET_BASE_SHARED_BYTES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "graphnet/base/mapped_file.h"

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
  // All of a file.
  SharedBytes(std::shared_ptr<const MappedFile> file)  // NOLINT(google-explicit-constructor)
      : is_null_(file == nullptr),
        view_(is_null_ ? absl::string_view() : file->bytes()),
        file_(file.get()),
        owner_(std::move(file)) {}
  // Of a part of what `owner` keeps alive; null: the caller does.
  SharedBytes(std::shared_ptr<const void> owner, absl::string_view part)
      : is_null_(false), view_(part), owner_(std::move(owner)) {}

  // `size` bytes from `offset` on, of the same owner.
  SharedBytes Part(size_t offset, size_t size) const {
    SharedBytes part = *this;
    part.view_ = view_.substr(offset, size);
    return part;
  }
  // To be called when they have been read, of bytes that may be many: those of a file give their
  // memory back until they are looked at again.
  void Release() const {
    if (file_ != nullptr) file_->Release(view_);
  }

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
  const MappedFile* file_ = nullptr;  // that they lie in, which is the owner; null: in memory
  std::shared_ptr<const void> owner_;
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_SHARED_BYTES_H_

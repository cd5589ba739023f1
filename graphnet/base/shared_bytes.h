// Immutable bytes with shared ownership.
#ifndef GRAPHNET_BASE_SHARED_BYTES_H_
#define GRAPHNET_BASE_SHARED_BYTES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "graphnet/base/mapped_file.h"

namespace graphnet {

// Behaves like a pointer to the bytes. It is null by default, and copies share the bytes.
class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  // Shares a string, as std::make_shared returns it.
  template <typename String>
  SharedBytes(std::shared_ptr<String> string)  // NOLINT(google-explicit-constructor)
      : is_null_(string == nullptr),
        view_(is_null_ ? absl::string_view() : absl::string_view(*string)),
        owner_(std::move(string)) {}
  // Shares all bytes of a file.
  SharedBytes(std::shared_ptr<const MappedFile> file)  // NOLINT(google-explicit-constructor)
      : is_null_(file == nullptr),
        view_(is_null_ ? absl::string_view() : file->bytes()),
        file_(file.get()),
        owner_(std::move(file)) {}
  // Shares bytes that `owner` keeps alive. If `owner` is null, the caller keeps them alive.
  SharedBytes(std::shared_ptr<const void> owner, absl::string_view part)
      : is_null_(false), view_(part), owner_(std::move(owner)) {}

  // Returns `size` bytes from `offset` on, with the same owner.
  SharedBytes Part(size_t offset, size_t size) const {
    SharedBytes part = *this;
    part.view_ = view_.substr(offset, size);
    return part;
  }
  // Call it after large bytes have been read. The bytes of a file give their memory back to the
  // system until they are accessed again.
  void Release() const {
    if (file_ != nullptr) file_->Release(view_);
  }

  const absl::string_view& operator*() const { return view_; }
  const absl::string_view* operator->() const { return &view_; }
  explicit operator bool() const { return !is_null_; }
  // Compares addresses and sizes, not contents.
  friend bool operator==(const SharedBytes& a, const SharedBytes& b) {
    return a.is_null_ == b.is_null_ && a.view_.data() == b.view_.data() &&
           a.view_.size() == b.view_.size();
  }
  friend bool operator==(const SharedBytes& a, std::nullptr_t) { return a.is_null_; }

  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  bool is_null_ = true;
  absl::string_view view_;
  const MappedFile* file_ = nullptr;  // the owner, if the bytes are a whole file; else null
  std::shared_ptr<const void> owner_;
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_SHARED_BYTES_H_

// ArgumentStack holds the arguments of the expression that is being parsed. Elements are pushed as
// they come. A closing bracket turns the topmost ones into a list, which stays valid until Reset.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_ARGUMENT_STACK_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_ARGUMENT_STACK_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

class ArgumentStack {
 public:
  size_t size() const { return stack_.size(); }
  void Push(const Argument& arg) { stack_.push_back(arg); }
  // Returns the elements from `base` on; valid until the next Push.
  absl::Span<const Argument> From(size_t base) const {
    return absl::MakeConstSpan(stack_).subspan(base);
  }
  void Pop(size_t base) { stack_.resize(base); }

  // Moves the elements from `base` on from the stack to memory that stays valid until Reset.
  absl::Span<const Argument> Close(size_t base) {
    const size_t n = stack_.size() - base;
    if (n > left_) {
      const size_t size = std::max(n, kBlock);
      blocks_.push_back(std::make_unique<Argument[]>(size));
      next_ = blocks_.back().get();
      left_ = size;
    }
    Argument* const out = next_;
    std::copy_n(stack_.data() + base, n, out);
    next_ += n;
    left_ -= n;
    stack_.resize(base);
    return absl::MakeConstSpan(out, n);
  }

  // Forgets everything. The first block is reused.
  void Reset() {
    stack_.clear();
    if (blocks_.empty()) return;
    blocks_.resize(1);
    next_ = blocks_[0].get();
    left_ = kBlock;  // The first block has at least that many elements.
  }

 private:
  static constexpr size_t kBlock = 1024;

  std::vector<Argument> stack_;
  std::vector<std::unique_ptr<Argument[]>> blocks_;
  Argument* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_ARGUMENT_STACK_H_

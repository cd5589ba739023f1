// Divides the tables of a module (symbols, relations, attributes) over pieces, and merges them
// again.
#ifndef GRAPHNET_DECOMPOSE_TABLES_H_
#define GRAPHNET_DECOMPOSE_TABLES_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Declares in each piece the entries of the parent's tables that it uses, in the parent's order:
// the attributes that its get_attrs read; the symbols that its metas, arguments and attributes
// mention; the relations among them, with the further symbols that those mention. O(sizes of the
// pieces and the tables).
class TableDistributor {
 public:
  // `observed` may be null. It is a module with further symbols that metas of pieces may mention,
  // and with examples of symbols that have none in `parent`. Both must outlive this object
  // unchanged.
  TableDistributor(const Module& parent, const Module* observed);

  // Collects the entries that a piece uses. Its graphs must be complete.
  void Add(Module* piece);
  // Declares the entries in all pieces, after the last Add. With `keep_unused`, the first piece
  // also gets the entries that no piece uses, so that nothing is lost.
  void Finish(bool keep_unused);

 private:
  // Indices into the parent's tables.
  struct Piece {
    Module* module;
    std::vector<size_t> symbols;
    std::vector<size_t> relations;
    std::vector<size_t> attributes;
  };

  // The entries of one table that are used, by the current piece and by any piece.
  class Marks {
   public:
    explicit Marks(size_t size) : last_(size, kNever) {}
    // Returns whether this is the piece's first mark of entry `i`.
    bool Mark(size_t i, size_t piece) { return std::exchange(last_[i], piece) != piece; }
    // Returns whether no piece has marked entry `i`.
    bool IsFree(size_t i) const { return last_[i] == kNever; }

   private:
    static constexpr size_t kNever = ~size_t{0};
    std::vector<size_t> last_;
  };

  // The index of the current piece, which is the last one.
  size_t current() const { return pieces_.size() - 1; }
  void CollectNode(const Node& node);
  void CollectMeta(const ValueMeta& meta);
  void CollectTensor(const TensorMeta& meta);
  void CollectExpr(const SymExpr& expr);
  Symbol SymbolAt(size_t i) const;
  void MarkSymbol(size_t i);
  void MarkAttribute(size_t i);
  // Adds the relations of the current piece's symbols, and their symbols, until nothing is new.
  // Then sorts.
  void Close();
  void Declare(const Piece& piece) const;

  const Module& parent_;
  const Module* observed_;       // may be null
  std::vector<Symbol> further_;  // symbols of `observed_` only; they come after the parent's
  std::vector<Piece> pieces_;
  Marks symbols_;
  Marks relations_;
  Marks attributes_;
  std::vector<std::vector<size_t>> relations_of_symbol_;
  std::vector<std::vector<size_t>> symbols_of_relation_;
  absl::flat_hash_set<const ValueMeta*> tuples_;  // of the current piece, already collected
};

// Declares in `module` every entry that a piece declares. The order is that of `order_like`, which
// may be null, then that of first declaration. FailedPrecondition if two pieces declare something
// differently.
absl::Status MergeTables(absl::Span<const Module* const> pieces, const Module* order_like,
                         Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_TABLES_H_

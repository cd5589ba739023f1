#!/usr/bin/env bash
# Runs surgery.cc. The graphs that it prints are those of surgery.txt; each surgery takes
# no more lines than in torch.fx, and as many as docs/architecture.md says; README.md shows
# the first as it is.
set -euo pipefail

examples/surgery | diff -u examples/surgery.txt - >&2

# Lines of code from one that matches $2 to the end of the function: no comments, no blank
# lines, none with closing brackets only.
lines() {
  awk -v start="$2" '
    $0 ~ start { inside = 1 }
    inside && NR > first && first && /^[^ ]/ { if (/^}/) exit; exit }
    inside { if (!first) first = NR }
    inside && !/^ *(\/\/|#)/ && !/^[]})"; ]*$/ { ++n }
    END { print n }' "$1"
}

while read -r cc py name; do
  ours=$(lines examples/surgery.cc "^[a-z].* $cc\\\\(")
  theirs=$(lines examples/surgery.py "^def $py\\\\(")
  ((ours > 1 && ours <= theirs)) || { echo "$name: $ours lines, $theirs in torch.fx" >&2; exit 1; }
  grep -qF "| $name | $ours | $theirs |" docs/architecture.md ||
    { echo "docs/architecture.md lacks: | $name | $ours | $theirs |" >&2; exit 1; }
done <<'END'
ReplaceOperator replace_operator replace an operator
FusePattern fuse_pattern fuse a pattern, with a predicate
InsertObserver insert_observer insert an observer
CutNodes cut_nodes cut a subgraph
ChangeDType change_dtype change a dtype
END

# The lines of the snippet, in a row.
snippet=$(awk '/^```/ { inside = /^```c\+\+/; next } inside' README.md)
[[ -n $snippet && $(<examples/surgery.cc) == *"$snippet"* ]] ||
  { echo "README.md: the snippet is not that of examples/surgery.cc" >&2; exit 1; }

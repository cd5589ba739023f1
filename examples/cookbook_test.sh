#!/usr/bin/env bash
# Runs cookbook.cc. The graphs that it prints are those of cookbook.txt, and each C++ block of
# docs/library.md that defines a function stands in it or in surgery.cc as it is.
set -euo pipefail

examples/cookbook | diff -u examples/cookbook.txt - >&2

code=$(cat examples/surgery.cc examples/cookbook.cc)
blocks=0
block=
while IFS= read -r line; do
  if [[ $line == '```c++' ]]; then
    block=$'\n'
  elif [[ $line == '```' && -n $block ]]; then
    if [[ $block == *$'\n}'* ]]; then
      [[ $code == *"$block"* ]] ||
        { echo "docs/library.md: not as in examples:$block" >&2; exit 1; }
      blocks=$((blocks + 1))
    fi
    block=
  elif [[ -n $block ]]; then
    block+=$line$'\n'
  fi
done <docs/library.md
((blocks == 11)) || { echo "docs/library.md has $blocks surgeries, not 11" >&2; exit 1; }

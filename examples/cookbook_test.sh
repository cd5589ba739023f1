#!/usr/bin/env bash
# Runs cookbook.cc. The graphs that it prints are those of cookbook.txt, and each C++ block of
# docs/library.md that defines a function stands in it, in surgery.cc or in plugin.cc as it is.
set -euo pipefail

examples/cookbook | diff -u examples/cookbook.txt - >&2

code=$(cat examples/surgery.cc examples/plugin.cc examples/cookbook.cc)
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
# Eleven surgeries and a plug-in.
((blocks == 12)) || { echo "docs/library.md has $blocks such blocks, not 12" >&2; exit 1; }

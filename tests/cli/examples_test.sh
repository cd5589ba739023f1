#!/usr/bin/env bash
# The examples in each command's help run unchanged and use that command.
set -euo pipefail
graphnet=$PWD/$1
root=$PWD
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

ln -s "$root/samples" samples
mkdir bin
ln -s "$graphnet" bin/graphnet
export PATH="$PWD/bin:$PATH"
graphnet --help >help.txt
commands=$(sed -n 's/^  \([a-z-]\+\) .*/\1/p' help.txt | grep -v '^-\|^graphnet$' | sort -u)
[ "$(wc -w <<<"$commands")" -ge 20 ] || fail "commands: $commands"
seen=
for command in $commands; do
  graphnet "$command" --help >help.txt
  examples=$(sed -n '/^Examples:$/,/^$/s/^  //p' help.txt)
  [ -n "$examples" ] || fail "$command: no example"
  while IFS= read -r line; do
    grep -q "graphnet $command\( \|)\|$\)" <<<"$line" || fail "$command: an example of another command: $line"
    [[ $seen != *"<$line>"* ]] || fail "an example stands twice: $line"
    seen+="<$line>"
    code=0
    bash -c "$line" >out.txt 2>err.txt </dev/null || code=$?
    # `diff` exits with 1 if there is a difference.
    [ "$code" -eq 0 ] || { [ "$command" = diff ] && [ "$code" -eq 1 ]; } ||
      fail "$line: exit code $code: $(tail -c 500 err.txt) $(grep -a FAIL out.txt | head -c 500)"
    ! grep -q "^graphnet: " err.txt || fail "$line: $(cat err.txt)"
  done <<<"$examples"
done
echo PASSED

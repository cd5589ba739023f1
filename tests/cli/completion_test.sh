#!/usr/bin/env bash
# The outputs of the table of commands: completions, the manual, and its page in docs.
set -euo pipefail
graphnet=$PWD/$1
page=$PWD/docs/commands.md
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }
has() { command -v "$1" >/dev/null || { echo "not here, so not tried: $1"; return 1; }; }

"$graphnet" man --markdown >commands.md
diff -u "$page" commands.md || fail "make it anew: graphnet man --markdown > docs/commands.md"

# --- bash
"$graphnet" completion bash >bash.sh
bash -n bash.sh
# completes WORDS… -- EXPECTED…: bash offers EXPECTED for the last word, as readline splits them.
completes() {
  local words=() expected
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  shift
  expected=$*
  found=$(bash --norc -c 'source ./bash.sh
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _graphnet
    echo "${COMPREPLY[@]}"' bash "${words[@]}")
  [ "$found" = "$expected" ] || fail "of ${words[*]} bash makes '$found', wanted '$expected'"
}
completes graphnet sh -- shapes show shard
completes graphnet xyz --
completes graphnet show --tr -- --trust
completes graphnet show --to t -- tabular text
completes graphnet show --to = t -- tabular text
completes graphnet show --to=t -- --to=tabular --to=text
completes graphnet opt x.pb --passes = stabi -- stabilize
completes graphnet opt x.pb -p dce,stabi -- dce,stabilize
completes graphnet opt x.pb --passes=dce,stabi -- --passes=dce,stabilize
completes graphnet completion f -- fish
completes graphnet passes stabi -- stabilize
completes graphnet show sam --            # readline offers files
completes graphnet convert a.pt -o st --
completes graphnet --ver -- --version
while read -r command; do
  completes graphnet "$command" --hel -- --help
done < <(grep -oP '^### \K.*' commands.md)
listed=$("$graphnet" --help | grep -cP '^  [a-z][a-z-]+ {2,}[A-Z]')
[ "$(grep -c '^### ' commands.md)" -eq "$listed" ] || fail "not all $listed commands: $(grep '^###' commands.md)"

# --- zsh, fish: they can read the scripts; fish also completes, which needs no terminal.
"$graphnet" completion zsh >zsh.sh
has zsh && { zsh -fn zsh.sh || fail "zsh"; }
"$graphnet" completion fish >fish.sh
if has fish; then
  export HOME=$PWD
  fish --no-execute fish.sh || fail "fish"
  fish -c 'source fish.sh; complete -C "graphnet show --to t"' >out.txt
  cut -f1 out.txt | sort | xargs | grep -qx 'tabular text' || fail "fish offers $(cat out.txt)"
  fish -c 'source fish.sh; complete -C "graphnet opt -p dce,stabi"' | grep -q 'dce,stabilize' || fail "fish, a list"
fi

# --- The manual.
"$graphnet" man >graphnet.1
has groff && { groff -man -ww -Tutf8 graphnet.1 >man.txt 2>err.txt; [ ! -s err.txt ] || fail "groff: $(cat err.txt)"; }
has mandoc && { mandoc -Tlint -W warning graphnet.1 >err.txt || fail "mandoc: $(cat err.txt)"; }
if [ -s man.txt ]; then
  sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' man.txt >plain.txt
  for text in "graphnet decompose" "--passes" "NO_COLOR" "EXIT CODES"; do
    grep -qF -- "$text" plain.txt || fail "no '$text' in the manual"
  done
fi

# --- Each option of each command is in all outputs.
"$graphnet" --help-all | grep -oE -- '--[a-z-]+' | sort -u >options.txt
[ "$(wc -l <options.txt)" -gt 40 ] || fail "too few options: $(cat options.txt)"
while read -r option; do
  for file in commands.md bash.sh zsh.sh; do
    [ "$option" = --help ] || [ "$option" = --help-all ] || [ "$option" = --version ] ||
      grep -qF -- "$option" $file || fail "$file lacks $option"
  done
done <options.txt
echo PASSED

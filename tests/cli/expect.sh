# The tests of bench source this.
fail() { echo "FAILED: $*" >&2; exit 1; }
# Runs a command whose exit code and words on either stream are known, and leaves what it prints in out.txt.
expect() {  # CODE WORDS COMMAND...
  local code=0
  "${@:3}" >out.txt 2>&1 || code=$?
  [ "$code" = "$1" ] && grep -q "$2" out.txt || { cat out.txt; fail "expected $1 and '$2', not $code"; }
}

#!/usr/bin/env bash
# corpus_faults.sh CORPUS [KILLS [CUTS]]: runs the fault tests of corpora in their long form: KILLS
# (1000) processes are killed, the power of a disk is cut CUTS (200) times, and the driver, the workers
# and the nodes of a job on Ray over CORPUS are killed. It says what each found, and fails if one did.
#
# $PY has graphnet_ir[corpus,ray]. The disk needs root, mkfs.ext4 and a loop device.
set -uo pipefail
corpus=${1:?usage: corpus_faults.sh CORPUS [KILLS [CUTS]]}
kills=${2:-1000}
cuts=${3:-200}
tools=$(dirname "${BASH_SOURCE[0]}")
failed=0
for check in "kill_corpus.py --kills $kills" "cut_corpus.py --cuts $cuts" "kill_ray_job.py $corpus"; do
  echo "== $check"
  # shellcheck disable=SC2086
  "${PY:-python3}" "$tools"/$check || failed=1
done
exit "$failed"

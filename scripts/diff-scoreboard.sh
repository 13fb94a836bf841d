#!/bin/sh
# Runs `wavecrew diff` on neighbouring releases of real packages whose own tests prove a change of behaviour, and on pairs
# of equal behaviour, and writes docs/reference/behaviour-diff-scoreboard.md. Run it by hand; a pair takes some minutes.
# Each pair has a result file, and a second call continues after the last one.
#
#   scripts/diff-scoreboard.sh [--set tuning|reported] [--prepare] [--again] [--budget SECONDS] [PACKAGE | PAIR...]
#   scripts/diff-scoreboard.sh --equal COUNT [--forced] [--jobs COUNT]   pairs of equal behaviour: every difference is a
#                                                false one; --jobs measures several packages at once
#   scripts/diff-scoreboard.sh --table           only writes the page
#   WAVECREW_DIFF_DIR  where releases are unpacked and measured (default: ~/.cache/wavecrew/diff)
#   WAVECREW_PROGRAM   the program to measure (default: a release build of this tree)
set -eu
cd "$(dirname "$0")/.."
home=${WAVECREW_DIFF_DIR:-$HOME/.cache/wavecrew/diff}
mkdir -p "$home"
if [ -z "${WAVECREW_PROGRAM:-}" ]; then
    cargo build --quiet --release -p wavecrew
    WAVECREW_PROGRAM=$PWD/target/release/wavecrew
fi
exec python3 scripts/diff/measure.py "$WAVECREW_PROGRAM" "$home" "$@"

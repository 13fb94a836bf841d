#!/bin/sh
# Runs `wavecrew testing -y --agent offline` with default settings on whole packages as their registries deliver them, and
# writes docs/reference/real-packages.md. Run it by hand; a package takes up to twenty minutes. Each package has a result
# file, and a second call continues after the last one.
#
#   scripts/real-packages.sh [--set tuning|reported] [--table] [PACKAGE...]
#   WAVECREW_PACKAGES_DIR  where packages are unpacked and measured (default: ~/.cache/wavecrew/packages)
#   WAVECREW_PROGRAM       the program to measure (default: a release build of this repository)
set -eu
cd "$(dirname "$0")/.."
home=${WAVECREW_PACKAGES_DIR:-$HOME/.cache/wavecrew/packages}
mkdir -p "$home"
if [ -z "${WAVECREW_PROGRAM:-}" ]; then
    cargo build --quiet --release -p wavecrew
    WAVECREW_PROGRAM=$PWD/target/release/wavecrew
fi
exec python3 scripts/real-packages/measure.py "$WAVECREW_PROGRAM" "$home" "$@"

#!/bin/sh
# Builds wavecrew: makes sure that a compiler, a linker and git are there, then builds target/release/wavecrew. Gives the
# example project its own pytest, where Python is at hand.
set -eu
cd "$(dirname "$0")/.."
. scripts/need.sh

need_rust
need_packages cc:gcc git:git
step cargo build --release --locked -p wavecrew

example=examples/testing/python-shop
if [ ! -x $example/.venv/bin/pytest ]; then
    need_packages python3:python3
    # Debian has it in a package of its own.
    python3 -c 'import ensurepip' 2>/dev/null || need_packages no-venv:python3-venv
    step python3 -m venv $example/.venv
    step $example/.venv/bin/python -m pip install --quiet --disable-pip-version-check pytest coverage
fi

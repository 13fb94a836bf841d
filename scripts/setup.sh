#!/bin/sh
# Builds target/release/wavecrew. Installs a compiler, a linker and git where they are missing, and gives the example project
# its own pytest. Published binaries use the slower profile `dist`: cargo build --profile dist.
set -eu
cd "$(dirname "$0")/.."
. scripts/need.sh

need_rust
need_packages cc:gcc git:git
step build cargo build --release --locked -p wavecrew

example=examples/testing/python-shop
if [ ! -x $example/.venv/bin/pytest ]; then
    need_packages python3:python3
    # Debian has it in a package of its own.
    python3 -c 'import ensurepip' 2>/dev/null || need_packages no-venv:python3-venv
    step "make a virtual environment" python3 -m venv $example/.venv
    step "install pytest" $example/.venv/bin/python -m pip install --quiet --disable-pip-version-check pytest coverage
fi
print_steps

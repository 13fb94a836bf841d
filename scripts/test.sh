#!/bin/sh
# Checks everything: format, lints, all tests. Installs what is missing first; stops at the first failure.
#
#   WAVECREW_SKIP_AGENTS=1  without npm: the tests that start real agent command lines are passed over
#   WAVECREW_SKIP_FRAMEWORKS=1  without npm, Python and Go: the tests that run real test frameworks are passed over
set -eu
cd "$(dirname "$0")/.."
. scripts/need.sh

need_rust
need_packages cc:gcc git:git strace:strace tmux:tmux
if [ "${WAVECREW_SKIP_AGENTS:-}" != 1 ]; then
    need_packages npm:npm
    step scripts/install-agents.sh
fi
if [ "${WAVECREW_SKIP_FRAMEWORKS:-}" != 1 ]; then
    need_packages npm:npm python3:python3-venv go:golang-go
    step scripts/install-frameworks.sh
fi
for component in clippy fmt; do
    cargo "$component" --version >/dev/null 2>&1 || step rustup component add clippy rustfmt
done
# Into the build folder, so that nothing of the user's is replaced, and unoptimised: it only has to start tests.
PATH=$PATH:$PWD/target/tools/bin
if ! cargo nextest --version >/dev/null 2>&1; then
    step cargo install --locked --quiet --debug --root target/tools cargo-nextest@0.9.143
fi

step cargo fmt --all --check
step cargo clippy --locked --workspace --all-targets -- -D warnings
step cargo test --locked --workspace --doc --quiet
step cargo nextest run --locked --workspace --profile ci
# What the tests saw the agents do is what the documentation says.
if [ "${WAVECREW_SKIP_AGENTS:-}" != 1 ]; then
    step scripts/agents-table.sh --check
fi

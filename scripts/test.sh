#!/bin/sh
# Checks everything: format, lints, all tests. Installs what is missing first; stops at the first failure.
#
#   WAVECREW_AGENTS_TESTS=1  also install the real agent command lines (npm) and run the tests that start them,
#                            one after the other: a quarter of an hour
set -eu
cd "$(dirname "$0")/.."
. scripts/need.sh

need_rust
need_packages cc:gcc git:git strace:strace tmux:tmux
profile=ci
if [ "${WAVECREW_AGENTS_TESTS:-}" = 1 ]; then
    need_packages npm:npm
    step scripts/install-agents.sh
    profile=agents
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
step cargo nextest run --locked --workspace --profile "$profile"

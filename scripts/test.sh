#!/bin/sh
# Checks everything: format, lints, all tests. Installs what is missing first, stops at the first failed step, and prints
# how long each step took.
#
#   WAVECREW_TEST_DEPTH=full    all kill points, all agents times all failures, long simulations (default: a sample)
#   WAVECREW_TEST_SEED=N        repeats the sample of an earlier run, which printed its seed
#   WAVECREW_SKIP_AGENTS=1      skips the tests that start real agent CLIs (they need npm)
#   WAVECREW_SKIP_FRAMEWORKS=1  skips the tests that run real test frameworks (they need npm, Python and Go)
set -eu
cd "$(dirname "$0")/.."
. scripts/need.sh

need_rust
need_packages cc:gcc git:git strace:strace tmux:tmux
if [ "${WAVECREW_SKIP_AGENTS:-}" != 1 ]; then
    need_packages npm:npm
    step "install agents" scripts/install-agents.sh
fi
if [ "${WAVECREW_SKIP_FRAMEWORKS:-}" != 1 ]; then
    need_packages npm:npm python3:python3-venv go:golang-go
    step "install frameworks" scripts/install-frameworks.sh
fi
for component in clippy fmt; do
    cargo "$component" --version >/dev/null 2>&1 || step "install $component" rustup component add clippy rustfmt
done
# Into the build folder, so that nothing of the user's is replaced, and unoptimised: it only has to start tests.
PATH=$PATH:$PWD/target/tools/bin
if ! cargo nextest --version >/dev/null 2>&1; then
    step "install nextest" cargo install --locked --quiet --debug --root target/tools cargo-nextest@0.9.143
fi

# One seed for the whole run, printed here, so that a failed sample can be repeated. It changes once a day.
: "${WAVECREW_TEST_SEED:=$(($(date +%s) / 86400))}"
export WAVECREW_TEST_SEED
echo "Test depth ${WAVECREW_TEST_DEPTH:-default}, seed $WAVECREW_TEST_SEED"

step format cargo fmt --all --check
step "build tests" cargo nextest run --locked --workspace --profile ci --no-run
step lint cargo clippy --locked --workspace --all-targets -- -D warnings
step tests cargo nextest run --locked --workspace --profile ci
step "doc tests" cargo test --locked --workspace --doc --quiet
if [ "${WAVECREW_SKIP_AGENTS:-}" != 1 ]; then
    step "agents table" scripts/agents-table.sh --check
fi
print_steps

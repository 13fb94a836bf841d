#!/bin/sh
# Builds wavecrew: makes sure that a compiler, a linker and git are there, then builds target/release/wavecrew.
set -eu
cd "$(dirname "$0")/.."
. scripts/need.sh

need_rust
need_packages cc:gcc git:git
step cargo build --release --locked -p wavecrew

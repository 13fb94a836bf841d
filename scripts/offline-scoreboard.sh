#!/bin/sh
# Writes docs/explanation/offline-scoreboard.md: measures the tests of the offline agent for nine modules from PyPI, five
# packages from npm and small functions with coverage.py, pytest, vitest and independent mutators. Run it by hand; it takes
# half an hour. Packages are installed in a cache folder outside the repository.
#
#   scripts/offline-scoreboard.sh [MODULE...]
#   WAVECREW_OFFLINE_DIR  where packages are installed (default: ~/.cache/wavecrew/offline)
#   OUTPUT                the file that is written (default: docs/explanation/offline-scoreboard.md)
#   SECONDS_EACH          budget for each module (default: 15)
#   SEED                  of the search (default: 1)
set -eu
cd "$(dirname "$0")/.."
home=${WAVECREW_OFFLINE_DIR:-$HOME/.cache/wavecrew/offline}
mkdir -p "$home"
pins=$(cksum <scripts/offline/requirements.txt | tr ' ' '-')
venv=$home/$pins
if [ ! -e "$venv/complete" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/offline/requirements.txt
    touch "$venv/complete"
fi
pins=$(cksum <scripts/offline/package.json | tr ' ' '-')
modules=$home/npm-$pins
if [ ! -e "$modules/complete" ]; then
    rm -rf "$modules"
    mkdir -p "$modules"
    cp scripts/offline/package.json "$modules/"
    (cd "$modules" && npm install --no-audit --no-fund --loglevel=error)
    touch "$modules/complete"
fi
cargo build --quiet -p wavecrew
exec "$venv/bin/python" scripts/offline/scoreboard.py target/debug/wavecrew \
    "${OUTPUT:-docs/explanation/offline-scoreboard.md}" "${SECONDS_EACH:-15}" "${SEED:-1}" "$modules/node_modules" "$@"

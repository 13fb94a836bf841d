#!/bin/sh
# Installs the test frameworks that the measuring tests run, pinned by frameworks/, and prints the folder that holds them:
# `venv` with pytest and coverage.py, `node_modules` with vitest and jest, `packages` with source distributions. Everything
# lands in a cache folder outside the tree; a second call only prints.
#
#   WAVECREW_FRAMEWORKS_DIR    where to install (default: ~/.cache/wavecrew/frameworks)
#   WAVECREW_SKIP_FRAMEWORKS=1 install nothing
set -eu

if [ "${WAVECREW_SKIP_FRAMEWORKS:-}" = 1 ]; then
    echo "install-frameworks: skipped (WAVECREW_SKIP_FRAMEWORKS=1)" >&2
    exit 0
fi
for program in npm python3; do
    command -v "$program" >/dev/null || {
        echo "install-frameworks: $program is not on PATH" >&2
        echo "help: install Node.js with npm and Python 3, or set WAVECREW_SKIP_FRAMEWORKS=1 to go on without" >&2
        exit 1
    }
done

pins=$(cd "$(dirname "$0")/frameworks" && pwd)
registry=$(cd "$(dirname "$0")/real-packages" && pwd)/registry.py
root=${WAVECREW_FRAMEWORKS_DIR:-$HOME/.cache/wavecrew/frameworks}
mkdir -p "$root"
root=$(cd "$root" && pwd)
# The set is named after this script and its pins, so that a changed pin is a new set and a half-made set is never used.
set_name=$(cat "$0" "$pins/package.json" "$pins/package-lock.json" "$pins/requirements.txt" "$pins/packages.txt" | cksum | tr ' ' '-')
home=$root/$set_name

if [ ! -e "$home/complete" ]; then
    # A virtual environment cannot be moved: the set is made where it stays, by one call at a time.
    exec 9>"$root/.lock"
    flock 9
fi
if [ ! -e "$home/complete" ]; then
    rm -rf "$home"
    mkdir "$home"
    cp "$pins/package.json" "$pins/package-lock.json" "$pins/requirements.txt" "$home/"
    failed() {
        echo "install-frameworks: $1 failed" >&2
        tail -n 20 "$home/install.log" >&2
        exit 1
    }
    cd "$home"
    # `npm install` keeps to the lock and, unlike `npm ci`, bears a registry that lacks other platforms' packages.
    npm install --ignore-scripts --no-audit --no-fund --loglevel=error >install.log 2>&1 || failed "npm install"
    python3 -m venv venv >>install.log 2>&1 || failed "python3 -m venv"
    venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt >>install.log 2>&1 ||
        failed "pip install"
    python3 "$registry" "$pins/packages.txt" packages >>install.log 2>&1 || failed "download of packages"
    touch complete
fi
ln -sfn "$set_name" "$root/current"
echo "$root/current"

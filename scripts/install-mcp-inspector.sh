#!/bin/sh
# Installs the command line of the MCP inspector that the tests talk to the server with, and prints its entry point.
# Everything lands in a cache folder outside the tree; a second call only prints.
#
#   WAVECREW_MCP_CLIENT_DIR    where to install (default: ~/.cache/wavecrew/mcp-client)
#   WAVECREW_SKIP_MCP_CLIENT=1 install nothing
set -eu

if [ "${WAVECREW_SKIP_MCP_CLIENT:-}" = 1 ]; then
    echo "install-mcp-inspector: skipped (WAVECREW_SKIP_MCP_CLIENT=1)" >&2
    exit 0
fi
command -v npm >/dev/null || {
    echo "install-mcp-inspector: npm is not on PATH" >&2
    echo "help: install Node.js with npm, or set WAVECREW_SKIP_MCP_CLIENT=1 to go on without this client" >&2
    exit 1
}

version=2.12.0
root=${WAVECREW_MCP_CLIENT_DIR:-$HOME/.cache/wavecrew/mcp-client}
home=$root/inspector-$version
if [ ! -e "$home/complete" ]; then
    mkdir -p "$root"
    rm -rf "$home"
    mkdir "$home"
    echo '{"private": true}' >"$home/package.json"
    (cd "$home" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error \
        "@modelcontextprotocol/inspector@$version" >install.log 2>&1) || {
        echo "install-mcp-inspector: npm install failed" >&2
        tail -n 20 "$home/install.log" >&2
        exit 1
    }
    touch "$home/complete"
fi
echo "$home/node_modules/.bin/mcp-inspector"

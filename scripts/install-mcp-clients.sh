#!/bin/sh
# Installs a client of the Model Context Protocol that the tests talk to the server with, and prints how it is started:
# `python` the interpreter that has the Python client, `inspector` the entry point of the inspector's command line.
# Everything lands in a cache folder outside the tree; a second call only prints.
#
#   scripts/install-mcp-clients.sh python|inspector
#
#   WAVECREW_MCP_CLIENT_DIR    where to install (default: ~/.cache/wavecrew/mcp-client)
#   WAVECREW_SKIP_MCP_CLIENT=1 install nothing, print nothing
set -eu

# Says what is wrong, what to do about it, and ends.
stop() {
    echo "install-mcp-clients: $1" >&2
    echo "help: $2, or set WAVECREW_SKIP_MCP_CLIENT=1 to go on without this client" >&2
    exit 1
}

install_python() {
    python3 -m venv . && bin/pip install --quiet --disable-pip-version-check "mcp==$version"
}

install_inspector() {
    echo '{"private": true}' >package.json
    npm install --ignore-scripts --no-audit --no-fund --loglevel=error "@modelcontextprotocol/inspector@$version"
}

client=${1:-}
case $client in
python) tool=python3 needs='install Python 3.10 or newer' version=2.3.0 name=mcp entry=bin/python ;;
inspector) tool=npm needs='install Node.js with npm' version=2.12.0 name=inspector entry=node_modules/.bin/mcp-inspector ;;
*) stop "no client \`$client\`" 'name one: python or inspector' ;;
esac
if [ "${WAVECREW_SKIP_MCP_CLIENT:-}" = 1 ]; then
    echo "install-mcp-clients: skipped (WAVECREW_SKIP_MCP_CLIENT=1)" >&2
    exit 0
fi
command -v "$tool" >/dev/null || stop "$tool is not on PATH" "$needs"

home=${WAVECREW_MCP_CLIENT_DIR:-$HOME/.cache/wavecrew/mcp-client}/$name-$version
if [ ! -e "$home/complete" ]; then
    rm -rf "$home"
    mkdir -p "$home"
    cd "$home"
    "install_$client" >install.log 2>&1 || {
        tail -n 20 install.log >&2
        stop "installing $client failed" "look at the lines above"
    }
    touch complete
fi
echo "$home/$entry"

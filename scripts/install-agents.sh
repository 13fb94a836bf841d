#!/bin/sh
# Installs the agent command lines that the real-agent tests run, pinned by agents/package-lock.json, and prints the
# folder that holds their commands. Everything lands in a cache folder outside the tree; a second call only prints.
#
#   WAVECREW_AGENTS_DIR    where to install (default: ~/.cache/wavecrew/agents)
#   WAVECREW_SKIP_AGENTS=1 install nothing
set -eu

if [ "${WAVECREW_SKIP_AGENTS:-}" = 1 ]; then
    echo "install-agents: skipped (WAVECREW_SKIP_AGENTS=1)" >&2
    exit 0
fi
command -v npm >/dev/null || {
    echo "install-agents: npm is not on PATH" >&2
    echo "help: install Node.js with npm, or set WAVECREW_SKIP_AGENTS=1 to go on without real agents" >&2
    exit 1
}

pins=$(cd "$(dirname "$0")/agents" && pwd)
root=${WAVECREW_AGENTS_DIR:-$HOME/.cache/wavecrew/agents}
mkdir -p "$root"
root=$(cd "$root" && pwd)
# The set is named after this script and its pins, so that a changed pin is a new set and a half-made set is never used.
set_name=$(cat "$0" "$pins/package.json" "$pins/package-lock.json" | cksum | tr ' ' '-')
home=$root/$set_name

if [ ! -e "$home/complete" ]; then
    staging=$root/.staging-$$
    trap 'rm -rf "$staging"' EXIT
    mkdir -p "$staging/bin"
    cp "$pins/package.json" "$pins/package-lock.json" "$staging/"
    # `npm install` keeps to the lock and, unlike `npm ci`, bears a registry that lacks other platforms' packages.
    # No install scripts: they only copy or fetch a binary that is already among the platform packages.
    (cd "$staging" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error >install.log 2>&1) || {
        echo "install-agents: npm install failed" >&2
        tail -n 20 "$staging/install.log" >&2
        exit 1
    }

    # A command names its files by where the set ends up. `exec`: a signal to the command's pid reaches the agent itself.
    launcher() { # name, words of the command relative to node_modules
        command=$staging/bin/$1
        shift
        {
            echo '#!/bin/sh'
            printf exec
            for word in "$@"; do printf ' "%s"' "$home/node_modules/$word"; done
            echo ' "$@"'
        } >"$command"
        chmod +x "$command"
    }
    present() { # the first pattern, relative to node_modules, that a file matches
        for pattern in "$@"; do
            for file in "$staging"/node_modules/$pattern; do
                if [ -f "$file" ]; then
                    chmod +x "$file"
                    echo "${file#"$staging/node_modules/"}"
                    return
                fi
            done
        done
        echo "install-agents: no package for $(uname -sm) provides $1" >&2
        exit 1
    }
    node=$(present 'node-*/bin/node')
    launcher node "$node"
    launcher codex "$node" @openai/codex/bin/codex.js
    launcher gemini "$node" @google/gemini-cli/bundle/gemini.js
    launcher qwen "$node" @qwen-code/qwen-code/cli-entry.js
    # claude and opencode are native; their npm entry points are stubs until an install script replaces them.
    launcher claude "$(present '@anthropic-ai/claude-code-*/claude')"
    launcher opencode "$(present 'opencode-*[!e]/bin/opencode' 'opencode-*/bin/opencode')"

    touch "$staging/complete"
    # Another call may have finished first; then its set is as good as this one.
    mv -T "$staging" "$home" 2>/dev/null || [ -e "$home/complete" ]
fi
ln -sfn "$set_name/bin" "$root/bin"
echo "$root/bin"

#!/bin/sh
# The table of docs/reference/agents.md, from what the tests of the agents saw. The tests run a sample by default: a cell
# that no test saw keeps its value on the page. At full depth it becomes a dash.
#
#   WAVECREW_TEST_DEPTH=full cargo nextest run -p wavecrew -E 'test(/^agents::/)'
#   WAVECREW_TEST_DEPTH=full scripts/agents-table.sh --write
#
#   scripts/agents-table.sh          print it
#   scripts/agents-table.sh --write  put it into docs/reference/agents.md
#   scripts/agents-table.sh --check  fail if docs/reference/agents.md differs
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
seen=${CARGO_TARGET_DIR:-$root/target}/tmp/seen
page=$root/docs/reference/agents.md
begin='<!-- seen: begin -->'
end='<!-- seen: end -->'
agents='codex claude gemini qwen opencode acp_gemini acp_qwen acp_opencode'

[ -d "$seen" ] || {
    echo "agents-table: nothing was seen yet in $seen" >&2
    echo "help: run the tests first: cargo nextest run -p wavecrew -E 'test(/^agents::/)'" >&2
    exit 1
}

cell_of_page() { # heading, number of the agent
    awk -F ' *[|] *' -v heading="$1" -v column="$(($2 + 2))" '$2 == heading { print $column; found = 1; exit }
        END { if (!found) print "-" }' "$page"
}

row() { # heading, name of the cell
    printf '| %s |' "$1"
    number=0
    for agent in $agents; do
        number=$((number + 1))
        if [ -f "$seen/$agent/$2" ]; then
            printf ' %s |' "$(cat "$seen/$agent/$2")"
        elif [ "${WAVECREW_TEST_DEPTH:-}" = full ]; then
            printf ' - |'
        else
            printf ' %s |' "$(cell_of_page "$1" "$number")"
        fi
    done
    echo
}

table() {
    printf '| |'
    for agent in $agents; do printf ' %s |' "$(echo "$agent" | tr _ :)"; done
    echo
    printf '| --- |'
    for agent in $agents; do printf ' --- |'; done
    echo
    row 'one-shot: a file and a report' one-shot
    row 'tokens counted' usage
    row 'report by MCP tool' mcp
    row 'interactive: a second turn in its conversation' interactive
    row 'resumes after the coordinator was killed' resume
    row 'stopped by SIGTERM or Ctrl-C: no process left' stopped
    row 'recorded and replayed' replay
    row 'asks for permissions beyond its role' asks
    row 'ended within a turn at the budget of its task' 'limit within a turn'
    row 'service answers 400' 400
    row 'service answers 401' 401
    row 'service answers 429 once' '429 once'
    row 'service answers 429' 429
    row 'service answers 500' 500
    row 'stream breaks' 'cut stream'
    row 'service hangs' hang
    row 'connection refused' 'refused connection'
}

merged() {
    table >"$seen/table.md"
    awk -v begin="$begin" -v end="$end" -v file="$seen/table.md" '
        $0 == begin { print; while ((getline line < file) > 0) print line; skip = 1; next }
        $0 == end { skip = 0 }
        !skip { print }
    ' "$page"
}

case ${1:-} in
'') table ;;
--write) merged >"$page.new" && mv "$page.new" "$page" ;;
--check)
    merged | diff -u "$page" - || {
        echo "help: scripts/agents-table.sh --write" >&2
        exit 1
    }
    ;;
*)
    echo "usage: agents-table.sh [--write|--check]" >&2
    exit 2
    ;;
esac

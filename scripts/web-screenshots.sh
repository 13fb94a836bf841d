#!/bin/sh
# The screenshots of the README: a run and a receipt, from real runs of the examples. Needs Chromium, git, python3 with venv,
# and a built `wavecrew`, by default that of target/release.
#
#   scripts/web-screenshots.sh [WAVECREW]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
wavecrew=$(realpath "${1:-$root/target/release/wavecrew}")
pictures=$root/docs/pictures
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
mkdir -p "$pictures"

# A run of team planex, which plans and implements three issues.
cp -r "$root/examples/lifecycle/notes" "$work/notes"
cp "$root/examples/planex/issues.jsonl" "$work"
cd "$work/notes"
git init -q -b main
git config user.name Example
git config user.email example@example.org
git add -A
git commit -qm notes
"$wavecrew" -q planex -y --agent "command:$root/examples/planex/agent.sh" ../issues.jsonl

# A run of team testing, whose first tests are not good enough.
cp -r "$root/examples/testing/python-shop" "$work/shop"
cd "$work/shop"
frameworks=${WAVECREW_FRAMEWORKS_DIR:-$HOME/.cache/wavecrew/frameworks}/current/venv
if [ -d "$frameworks" ]; then
    ln -s "$frameworks" .venv
else
    python3 -m venv .venv
    .venv/bin/python -m pip install -q pytest coverage
fi
"$wavecrew" -q testing -y --pipeline targeted \
    --agent "command:$root/examples/testing/agent.py $root/examples/testing/python-answers"

# picture PROJECT PATH FILE SIZE: what the browser shows of a project's latest session.
picture() {
    cd "$1"
    session=$("$wavecrew" list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["session"])')
    "$wavecrew" web --json >"$work/links" &
    server=$!
    while [ ! -s "$work/links" ]; do sleep 0.1; done
    link=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["link"])' <"$work/links")
    address="${link%%/\?*}/s/$session$2"
    case $address in *\?*) address="$address&${link#*\?}" ;; *) address="$address?${link#*\?}" ;; esac
    chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --disable-lcd-text --user-data-dir="$work/profile" \
        --window-size="$4" --timeout=3000 --screenshot="$pictures/$3" "$address" 2>/dev/null
    kill "$server"
    server=
    python3 "$root/scripts/png-palette.py" "$pictures/$3"
    size=$(wc -c <"$pictures/$3")
    echo "$pictures/$3: $size bytes"
    [ "$size" -lt 100000 ] || { echo "error: it is larger than 100 KB" >&2; exit 1; }
}

picture "$work/notes" '' web-run.png 1280,850
picture "$work/shop" '/t/TESTRUN-001' web-receipt.png 1280,800

#!/bin/sh
# Has a real agent write tests for an example, through a round that falls short and one that does not. Its model is the
# scripted service of the tests, so that no account is needed; it runs the prepared answers of the example.
#
#   scripts/live-testing.sh [AGENT [PROJECT [FLAGS OF wavecrew testing]]]
#
# AGENT is codex (default), claude, gemini, qwen or opencode; PROJECT is python-shop (default) or ts-cart. Works on a copy
# in a temporary folder, which is left there to look at.
set -eu
cd "$(dirname "$0")/.."
agent=${1:-codex} project=${2:-python-shop}
shift $(($# < 2 ? $# : 2))
case $project in
python-shop) answers=python-answers ;;
ts-cart) answers=ts-answers ;;
*)
    echo "live-testing: no example \`$project\`: there are python-shop and ts-cart" >&2
    exit 2
    ;;
esac

commands=$(scripts/install-agents.sh)
frameworks=$(scripts/install-frameworks.sh)
cargo build --quiet --locked -p wavecrew -p wavecrew-fake-model
here=$PWD
place=$(mktemp -d)/$project
cp -r "examples/testing/$project" "$place"
cd "$place"
rm -rf .venv node_modules .workflow
ln -s "$frameworks/venv" .venv
ln -s "$frameworks/node_modules" node_modules
echo "Project $place"
script=$here/examples/testing/agent.py
# Roles that only read have no shell but in codex's sandbox, and the prepared answers are put in place by a shell.
[ "$agent" = codex ] || set -- --role-agent "strategist=command:$script $answers" "$@"
PATH=$commands:$PATH exec "$here/target/debug/wavecrew-fake-model" with "$agent" "$here/target/debug/wavecrew" \
    testing -y --pipeline targeted --agent "$agent" --instruction "@@shell python3 $script $answers
@@final {\"id\":\"{id}\",\"status\":\"completed\",\"findings\":\"as prepared\"}" "$@"

#!/bin/sh
# The agent of the tour: a program that does one task and reports it as a JSON object at the end of its output.
# wavecrew starts it once per task, with the instruction on stdin and in $WAVECREW_PROMPT_FILE.
set -eu
recipes=$(dirname "$0")/recipes
notes=notes # in the project, the working folder
mkdir -p "$notes"

echo "$WAVECREW_ROLE at work on $WAVECREW_TASK, attempt $WAVECREW_ATTEMPT"
sleep 1 # long enough to be killed in the middle

case $WAVECREW_ROLE in
reader)
    # Columns of the table stand in the instruction as `- column: value`.
    recipe=$(sed -n 's/^- recipe: //p' "$WAVECREW_PROMPT_FILE")
    sed -n 's/^- //p' "$recipes/$recipe" >"$notes/$WAVECREW_TASK.txt"
    findings="needs $(paste -sd, "$notes/$WAVECREW_TASK.txt")"
    ;;
shopper)
    # So do the findings of earlier tasks: `[ID: title] findings`.
    sed -n 's/^\[.*\] needs //p' "$WAVECREW_PROMPT_FILE" | tr , '\n' | sort -u >"$notes/shopping.txt"
    findings="buy $(wc -l <"$notes/shopping.txt") things: $(paste -sd, "$notes/shopping.txt")"
    ;;
cook)
    { echo '# Menu'; head -qn 1 "$recipes"/*.txt; echo; cat "$notes/shopping.txt"; } >"$notes/menu.md"
    findings="the menu is in notes/menu.md"
    ;;
esac

printf '{"id": "%s", "status": "completed", "findings": "%s"}\n' "$WAVECREW_TASK" "$findings"

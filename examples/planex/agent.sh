#!/bin/sh
# A stand-in for an agent: gives prepared answers to the tasks of the team planex on the notes of the lifecycle example.
# The second and the third issue change the same file.
set -eu
session=$WAVECREW_SESSION_DIR
task=$WAVECREW_TASK
issue=${ISSUE:-$(grep -o 'ISS-[0-9]*-[0-9]*' "$WAVECREW_PROMPT_FILE" | head -n 1)}

report() { # FINDINGS [MORE FIELDS]
  printf '{"id":"%s","status":"completed","findings":"%s"%s}\n' "$task" "$1" "${2:+,$2}"
}

solution() { # TITLE FILES
  mkdir -p "$session/artifacts/solutions"
  cat > "$session/artifacts/solutions/$issue.json" <<END
{"session_id":"$(basename "$session")","issue_id":"$issue","planned_at":"2026-03-08T10:00:00Z",
 "solution":{"title":"$1","approach":"The smallest change to what is there.","estimated_complexity":"Low",
  "estimated_files":2,"tasks":[{"order":1,"description":"$1, with a test","files_touched":[$2]}]}}
END
  report "planned: $1" "\"artifact_path\":\"artifacts/solutions/$issue.json\""
}

method() { # what is on stdin, as a further method of the store
  printf '\n' >> app/store/__init__.py
  cat >> app/store/__init__.py
}

test_of() { # CLASS FILE: the body on stdin
  { printf 'import unittest\n\nfrom app.store import Store\n\n\nclass %s(unittest.TestCase):\n' "$1"; cat; } > "tests/test_$2.py"
}

case $task.$issue in
PLAN-*.*1) solution "Count the notes" '"app/cli/count.py","tests/test_count.py"' ;;
PLAN-*.*2) solution "Forget a note" '"app/store/__init__.py","tests/test_forget.py"' ;;
PLAN-*.*3) solution "Longest note" '"app/store/__init__.py","tests/test_longest.py"' ;;
EXEC-*.*1)
  printf '"""How many notes there are."""\n\n\ndef count(store):\n    return len(store.all())\n' > app/cli/count.py
  test_of Count count <<'END'
    def test_notes_are_counted(self):
        from app.cli.count import count

        store = Store()
        store.add("one")
        self.assertEqual(count(store), 1)
END
  report "notes are counted" ;;
EXEC-*.*2)
  method <<'END'
    def forget(self, number):
        del self.notes[number]
END
  test_of Forget forget <<'END'
    def test_a_forgotten_note_is_gone(self):
        store = Store()
        store.forget(store.add("one"))
        self.assertEqual(store.all(), {})
END
  report "notes can be forgotten" ;;
EXEC-*.*3)
  method <<'END'
    def longest(self):
        return max(self.notes, key=lambda number: len(self.notes[number]))
END
  test_of Longest longest <<'END'
    def test_the_longest_note(self):
        store = Store()
        store.add("a")
        long = store.add("long")
        self.assertEqual(store.longest(), long)
END
  report "the longest note is known" ;;
*)
  echo "there is no answer for $task of $issue" >&2
  exit 1 ;;
esac

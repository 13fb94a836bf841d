#!/bin/sh
# A stand-in for an agent: gives prepared answers to the tasks of the team lifecycle on the project beside it.
set -eu
session=$WAVECREW_SESSION_DIR
task=$WAVECREW_TASK

report() { # FINDINGS [MORE FIELDS]
  printf '{"id":"%s","status":"completed","findings":"%s"%s}\n' "$task" "$1" "${2:+,$2}"
}

note() { # FILE: what is on stdin, into the session
  mkdir -p "$(dirname "$session/$1")"
  cat > "$session/$1"
}

plan_task() { # NUMBER TITLE FILES DEPENDS REQUIREMENTS
  note "plan/TASK-00$1.json" <<END
{"id":"TASK-00$1","title":"$2","description":"$2, as the requirements say.","files":[$3],"depends_on":[$4],
 "requirements":[$5],"convergence_criteria":["make test passes"]}
END
}

case $task in
RESEARCH-001)
  note spec/discovery-context.json <<'END'
{"problem_statement":"Notes can only be found by words in them.","target_users":["writers of notes"],
 "domain":"notes","constraints":["no dependencies"],
 "exploration_dimensions":[{"name":"data","findings":"notes are texts","options":["tags beside the texts"]}]}
END
  report "notes have no tags" ;;
DRAFT-001)
  note spec/product-brief.md <<'END'
# Tags for notes
## Vision
A writer finds every note about a subject in one step.
## Problem
Today a note is found only by a word that happens to be in it.
## Users
Writers who keep more than a hundred notes.
## Goals
- Nine of ten searches end after one step, counted in the log.
END
  report "brief written" ;;
DRAFT-002)
  note spec/requirements.md <<'END'
# Requirements
## Functional requirements
### FR-001: Tag a note
Priority: Must. The app must keep tags with a note.
Acceptance criteria: given a note, when it is tagged, then the tag is kept.
### FR-002: Find by tag
Priority: Must. The app must list the notes with a tag.
Acceptance criteria: given two tagged notes, when a tag is looked for, then both are listed.
### FR-003: Share tags
Priority: Won't. Tags of others are not shown.
Acceptance criteria: given tags of another person, when listed, then they are left out.
## User stories
- As a writer, I want to tag notes, so that I find them again (FR-001, FR-002).
END
  report "three requirements" ;;
DRAFT-003)
  note spec/architecture.md <<'END'
# Architecture
## Components
The store keeps tags, the search reads them, the command line offers both.
## Tech stack
Python without dependencies, as before.
## Decisions
Tags are kept beside the texts: texts stay as they were written.
## Data model
A note has a number, a text and a set of tags.
## Integration
None: everything runs in one process.
END
  report "architecture written" ;;
DRAFT-004)
  note spec/epics.md <<'END'
# Stories
## Epics
### EPIC-001: Keep tags
Delivers FR-001.
- STORY-001: As a writer, I want to tag a note. Acceptance criteria: `tag 1 shop` answers `tagged 1`. Estimate: S
- STORY-002: As a writer, I want several tags on a note. Acceptance criteria: each of two tags finds it. Estimate: S
- STORY-003: As a writer, I want to hear of a typo. Acceptance criteria: tagging note 9 fails and names 9. Estimate: S
### EPIC-002: Find by tag
Delivers FR-002.
- STORY-004: As a writer, I want to list notes by tag. Acceptance criteria: `tagged shop` lists both numbers. Estimate: S
- STORY-005: As a writer, I want to see unused tags. Acceptance criteria: `tagged x` answers an empty line. Estimate: S
- STORY-006: As a writer, I want to keep old notes. Acceptance criteria: untagged notes are found by words. Estimate: S
## MVP
STORY-001 and STORY-004: tags can be set and found.
END
  report "two epics" ;;
CHECKPOINT-*)
  note "artifacts/$task-report.md" <<'END'
| Check | Value | Reason |
| --- | --- | --- |
| Existence | 1 | all files are there |
| Trace | 0.9 | every goal leads to a requirement |
END
  report "it fits together" '"score":0.95,"reasons":["complete"]' ;;
QUALITY-001)
  note "artifacts/$task-report.md" <<'END'
## Completeness
90: all four documents have their parts.
## Consistency
85: one name for one thing.
## Traceability
85: FR-001 leads to EPIC-001 and STORY-001.
## Depth
80: enough to begin.
END
  report "ready" '"Completeness":90,"Consistency":85,"Traceability":85,"Depth":80' ;;
PLAN-001)
  plan_task 1 "Keep tags" '"app/store/tags.py"' '' '"FR-001"'
  plan_task 2 "Find by tag" '"app/search/by_tag.py"' '' '"FR-002"'
  plan_task 3 "Offer tags" '"app/cli/tags.py","tests/test_tags.py"' '"TASK-001","TASK-002"' '"FR-001","FR-002"'
  note plan/plan.json <<'END'
{"summary":"Tags","approach":"beside the texts","complexity":"Medium","modules":["store","search","cli"],
 "tasks":["TASK-001","TASK-002","TASK-003"],"risks":[],"verification":["make test"]}
END
  report "three tasks in three modules" ;;
IMPL-001)
  cat > app/store/tags.py <<'END'
"""Tags of notes."""

from app.store import Store


class TaggedStore(Store):
    def __init__(self):
        super().__init__()
        self.tags = {}

    def tag(self, number, tag):
        if number not in self.notes:
            raise ValueError(f"there is no note {number}")
        self.tags.setdefault(number, set()).add(tag)
END
  echo "TASK-001 is done: make test passes." | note "artifacts/$task-report.md"
  report "tags are kept" ;;
IMPL-002)
  cat > app/search/by_tag.py <<'END'
"""Finds notes by their tags."""


def tagged(store, tag):
    return [number for number, tags in store.tags.items() if tag in tags]
END
  echo "TASK-002 is done: make test passes." | note "artifacts/$task-report.md"
  report "notes are found by tag" ;;
IMPL-003)
  cat > app/cli/tags.py <<'END'
"""The words for tags."""

from app.search.by_tag import tagged


def run(store, words):
    match words:
        case ["tag", number, tag]:
            store.tag(int(number), tag)
            return f"tagged {number}"
        case ["tagged", tag]:
            return " ".join(str(number) for number in tagged(store, tag))
        case _:
            raise ValueError("tag NUMBER TAG | tagged TAG")
END
  cat > tests/test_tags.py <<'END'
import unittest

from app.cli.tags import run
from app.store.tags import TaggedStore


class Tags(unittest.TestCase):
    def test_tagged_notes_are_found(self):
        store = TaggedStore()
        number = store.add("buy milk")
        self.assertEqual(run(store, ["tag", str(number), "shop"]), "tagged 1")
        self.assertEqual(run(store, ["tagged", "shop"]), "1")
END
  echo "TASK-003 is done: make test passes." | note "artifacts/$task-report.md"
  report "tags are offered" ;;
TEST-001)
  echo "make test: all pass, nothing had to be repaired." | note "artifacts/$task-report.md"
  report "all tests pass" ;;
REVIEW-001)
  note artifacts/review-report.md <<'END'
## Verdict
APPROVE: it does what was asked.
## Findings
None.
END
  report "approved" '"verdict":"APPROVE"' ;;
*)
  echo "there is no answer for $task" >&2
  exit 1 ;;
esac

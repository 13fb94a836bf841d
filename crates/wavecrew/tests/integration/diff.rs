//! `wavecrew diff`: differences of small pairs of versions, pairs without a difference, and bad input.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use wavecrew_test_support::frameworks::installed;
use wavecrew_test_support::sandbox::{Outcome, Sandbox};

/// One module per kind of difference: name, old source, new source, and the expected function, kind and
/// input, each empty if any will do.
const PAIRS: &[(&str, &str, &str, &str, &str, &str)] = &[
    (
        "boundary.py",
        "def shipping(total):\n    if total >= 50:\n        return 0\n    return 5\n",
        "def shipping(total):\n    if total > 50:\n        return 0\n    return 5\n",
        "shipping",
        "value",
        "shipping(50)",
    ),
    (
        "refusing.py",
        "def parse(text):\n    return text.split(',')\n",
        "def parse(text):\n    if text == '':\n        raise ValueError('no text')\n    return text.split(',')\n",
        "parse",
        "exception",
        "parse('')",
    ),
    (
        "printing.py",
        "def greet(name: str):\n    print('Hello ' + name)\n",
        "def greet(name: str):\n    print('Hi ' + name)\n",
        "greet",
        "output",
        "greet('')",
    ),
    (
        "objects.py",
        "class Point:\n    def __init__(self, x: int):\n        self.x = x\n\n    def __eq__(self, other):\n        return self is other\n",
        "class Point:\n    def __init__(self, x: int):\n        self.x = x\n\n    def __eq__(self, other):\n        return self.x == other.x\n",
        "Point.__eq__",
        "value",
        "",
    ),
    (
        "tables.py",
        "RATES = {'a': 1}\n\n\ndef rate(name):\n    return RATES.get(name)\n",
        "RATES = {'a': 2}\n\n\ndef rate(name):\n    return RATES.get(name)\n",
        "",
        "value",
        "",
    ),
    (
        "slower.py",
        "def unique(items: list):\n    return list(dict.fromkeys(items))\n",
        "def unique(items: list):\n    found = []\n    for at, item in enumerate(items):\n        known = False\n        for other in items[:at]:\n            known = known or other == item\n        if not known:\n            found.append(item)\n    return found\n",
        "unique",
        "slow",
        "",
    ),
];

fn git(folder: &Path, words: &[&str]) {
    let ran = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b.example"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// A repository with one commit per version.
fn repository(versions: &[&[(&str, &str)]]) -> Sandbox {
    let sandbox = Sandbox::new();
    let folder = sandbox.project();
    git(folder, &["init", "-q", "-b", "main"]);
    for (number, files) in versions.iter().enumerate() {
        for (name, text) in *files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        git(folder, &["add", "-A"]);
        git(
            folder,
            &["commit", "-q", "--allow-empty", "-m", &number.to_string()],
        );
    }
    sandbox
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn each_kind_of_difference_is_found_with_its_input_and_its_lines() {
    let old: Vec<(&str, &str)> = PAIRS.iter().map(|pair| (pair.0, pair.1)).collect();
    let new: Vec<(&str, &str)> = PAIRS.iter().map(|pair| (pair.0, pair.2)).collect();
    let sandbox = repository(&[&old, &new]);
    let outcome = sandbox.wavecrew("diff HEAD~1 --json --budget 5m");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let report = json(&outcome);
    for (file, _, _, function, kind, input) in PAIRS {
        let found = report["differences"].as_array().unwrap().iter().find(|one| {
            one["cause_file"] == *file
                && (function.is_empty() || one["function"] == *function)
                && one["kind"] == *kind
                && (input.is_empty() || one["input"] == *input)
        });
        let found = found.unwrap_or_else(|| panic!("{file}: {:#}", report["differences"]));
        assert_ne!(found["before"], found["after"], "{file}");
        assert!(!found["new_lines"].as_array().unwrap().is_empty(), "{found:#}");
    }
    assert!(report["calls"].as_u64() > Some(100), "{report:#}");
}

#[test]
fn versions_that_do_the_same_have_no_difference() {
    let old = "import random\n\n\ndef pick(items):\n    chosen = set(items)\n    return sorted(chosen)\n\n\ndef where(n: int):\n    values = []\n    for i in range(min(n, 20)):\n        values.append(i * 2)\n    return values\n\n\nclass Box:\n    def __init__(self, size=1):\n        self.size = size\n\n\ndef box(size=1):\n    return Box(size)\n\n\ndef roll():\n    return random.random()\n";
    let new = "import random\n\n\ndef pick(items):\n    return sorted({item for item in items})\n\n\ndef where(n: int):\n    return [i * 2 for i in range(min(n, 20))]\n\n\nclass Box:\n    def __init__(self, size=1):\n        self.size = (size)\n\n\ndef box(size=1):\n    made = Box(size)\n    return made\n\n\ndef roll():\n    value = random.random()\n    return value\n";
    let retyped = "# A comment\nimport random\n\n\ndef pick(items: list) -> list:\n    \"\"\"Sorts.\"\"\"\n    chosen = set(items)\n    return sorted(chosen)\n";
    let plain = "import random\n\n\ndef pick(items):\n    chosen = set(items)\n    return sorted(chosen)\n";
    let sandbox = repository(&[
        &[("same.py", old), ("typed.py", plain)],
        &[("same.py", new), ("typed.py", retyped)],
    ]);
    let outcome = sandbox.wavecrew("diff HEAD~1 --json --budget 5m --cosmetic --expect none");
    let report = json(&outcome);
    assert_eq!(report["differences"], serde_json::json!([]), "{report:#}");
    let typed = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["file"] == "typed.py");
    assert_eq!(typed.unwrap()["status"], "cosmetic");
    assert!(report["calls"].as_u64() > Some(100), "{report:#}");
}

#[test]
fn tests_of_a_change_fail_before_it_and_pass_after_it() {
    let Some(frameworks) = installed() else { return };
    let python = frameworks.join("venv/bin/python");
    let (file, old, new, ..) = PAIRS[0];
    let sandbox = repository(&[&[(file, old)], &[(file, new)]]).env("VIRTUAL_ENV", frameworks.join("venv"));
    let outcome = sandbox.wavecrew("diff HEAD~1 --json --budget 5m --write-tests --guard");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let report = json(&outcome);
    let written = report["written"].as_array().unwrap();
    let named = |kind: &str| {
        let file = written.iter().find(|file| file["kind"] == kind);
        let file = file.unwrap_or_else(|| panic!("{kind}: {report:#}"));
        file["file"].as_str().unwrap().to_owned()
    };
    let passes = |test: &str| {
        let ran = Command::new(&python)
            .args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", test])
            .env("PYTHONPATH", sandbox.project())
            .current_dir(sandbox.project())
            .output()
            .unwrap();
        ran.status.success()
    };
    assert!(passes(&named("change")) && passes(&named("guard")));
    fs::write(sandbox.path(file), old).unwrap();
    assert!(!passes(&named("change")) && passes(&named("guard")));
}

#[test]
fn a_report_has_the_interface_apart_and_comes_in_every_format() {
    let old = "def total(a, b):\n    return a + b * 2\n\n\ndef cut(text):\n    return text[:3]\n";
    let new = "def sum_of(a, b):\n    return a + b * 2\n\n\ndef cut(text, size=3):\n    return text[:size]\n";
    let sandbox = repository(&[&[("m.py", old)], &[("m.py", new)]]);
    let outcome = sandbox.wavecrew("diff HEAD~1 --budget 30s --expect none");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("the interface changed"), "{outcome:?}");
    for line in [
        "renamed    total(a, b) → sum_of(a, b)",
        "signature  cut(text) → cut(text, size=3)",
        "no difference",
    ] {
        assert!(outcome.stdout.contains(line), "{line}: {}", outcome.stdout);
    }
    // A function that only one version has is no reason why something was not compared.
    assert!(!outcome.stdout.contains("Not compared"), "{}", outcome.stdout);
    for (format, expected) in [("markdown", "## What changed"), ("html", "<!DOCTYPE html>")] {
        let words = format!("diff HEAD~1 --budget 30s --format {format} --output report.{format}");
        assert_eq!(sandbox.wavecrew(&*words).code, Some(0));
        let text = fs::read_to_string(sandbox.path(format!("report.{format}"))).unwrap();
        assert!(text.contains(expected) && text.contains("sum_of"), "{text}");
        fs::remove_file(sandbox.path(format!("report.{format}"))).unwrap();
    }
}

/// What a version does when it is imported, and what the report says.
const IMPORTS: &[(&str, &str, &str)] = &[
    ("broken.py", "def f(:\n", "SyntaxError"),
    (
        "leaving.py",
        "import sys\n\nsys.exit(3)\n\n\ndef f():\n    return 2\n",
        "SystemExit",
    ),
    (
        "missing.py",
        "import no_such_package\n\n\ndef f():\n    return 2\n",
        "No module named",
    ),
    (
        "writing.py",
        "open('/tmp/wavecrew-must-not-exist', 'w')\n\n\ndef f():\n    return 2\n",
        "the sandbox refuses what the import does: writing",
    ),
    (
        "connecting.py",
        "import socket\n\nsocket.create_connection(('127.0.0.1', 9))\n\n\ndef f():\n    return 2\n",
        "the sandbox refuses what the import does: socket",
    ),
    (
        "ending.py",
        "import os\n\nos._exit(0)\n\n\ndef f():\n    return 2\n",
        "the import ends the process",
    ),
    (
        "logging_here.py",
        "open(__file__ + '.log', 'w')\n\n\ndef f():\n    return 2\n",
        "the sandbox refuses what the import does: writing <project>/logging_here.py.log",
    ),
    (
        "endless.py",
        "while True:\n    pass\n\n\ndef f():\n    return 2\n",
        "the import",
    ),
];

#[test]
fn a_version_that_cannot_be_imported_is_reported_with_its_error() {
    let old: Vec<(&str, &str)> = IMPORTS
        .iter()
        .map(|(name, ..)| (*name, "def f():\n    return 1\n"))
        .collect();
    let new: Vec<(&str, &str)> = IMPORTS.iter().map(|(name, text, _)| (*name, *text)).collect();
    let sandbox = repository(&[&old, &new]);
    let outcome = sandbox.wavecrew("diff HEAD~1 --json --budget 10m");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    let report = json(&outcome);
    for (file, _, expected) in IMPORTS {
        let notes = report["notes"].as_array().unwrap();
        let found = notes.iter().any(|note| {
            let why = note["why"].as_str().unwrap();
            note["what"] == *file && why.contains("new version") && why.contains(expected)
        });
        assert!(found, "{file}: {notes:#?}");
    }
    assert!(!Path::new("/tmp/wavecrew-must-not-exist").exists());
}

#[test]
fn what_only_one_version_tries_and_the_sandbox_refuses_is_reported() {
    let old = "import socket\n\n\ndef send(n):\n    return n\n\n\ndef load(n):\n    return socket.create_connection(('127.0.0.1', n)).fileno()\n";
    let new = "import socket\n\n\ndef send(n):\n    socket.create_connection(('127.0.0.1', 9))\n    return n\n\n\ndef load(n):\n    return socket.create_connection(('localhost', n)).fileno()\n";
    let old_script = "exports.leave = (n) => (n > 3 ? n : 0);\n";
    let new_script = "exports.leave = (n) => (n > 3 ? process.exit(n) : 0);\n";
    let sandbox = repository(&[
        &[("m.py", old), ("index.js", old_script)],
        &[("m.py", new), ("index.js", new_script)],
    ]);
    let outcome = sandbox.wavecrew("diff HEAD~1 --json --budget 5m");
    let report = json(&outcome);
    let notes = report["notes"].as_array().unwrap();
    for (what, why) in [
        (
            "send",
            "with some inputs, the sandbox refuses the new version: socket.",
        ),
        ("load", "the sandbox refuses both versions: socket."),
        (
            "leave",
            "with some inputs, the new version tries to end the process, which the sandbox refuses",
        ),
    ] {
        let found = notes
            .iter()
            .any(|note| note["what"] == what && note["why"].as_str().unwrap().starts_with(why));
        assert!(found, "{what}: {notes:#?}");
    }
    assert_eq!(report["complete"], true, "{report:#}");
}

#[test]
fn bad_input_has_its_own_message() {
    let outside = Sandbox::new();
    let outcome = outside.wavecrew("diff");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(
        outcome.stderr.contains("is not in a git repository"),
        "{outcome:?}"
    );

    let sandbox = repository(&[
        &[("m.py", "def f():\n    return 1\n")],
        &[("README.md", "# M\n")],
        &[("tests/test_m.py", "def test_f():\n    assert True\n")],
    ]);
    for (words, code, expected) in [
        (
            "diff no-such-revision",
            2,
            "git knows no revision `no-such-revision` here",
        ),
        ("diff HEAD~7", 2, "git knows no revision `HEAD~7` here"),
        ("diff HEAD", 0, "nothing changed between HEAD and working tree"),
        (
            "diff HEAD~1",
            0,
            "only tests changed between HEAD~1 and working tree: tests/test_m.py",
        ),
        (
            "diff HEAD~2..HEAD~1",
            0,
            "only documents, settings or other languages changed between HEAD~2 and HEAD~1: README.md",
        ),
        (
            "diff HEAD~2 m.py",
            0,
            "nothing changed in m.py between HEAD~2 and working tree",
        ),
        (
            "diff HEAD~2 m.py n.py",
            2,
            "there is no n.py, neither in HEAD~2 nor in working tree",
        ),
        ("diff HEAD~1 --staged --worktree", 2, "cannot be used with"),
        ("diff HEAD~2..HEAD --staged", 2, "names two versions"),
        ("diff --budget 1s", 2, "not a time between 5s and 24h"),
        (
            "diff HEAD~2 --output missing/report.md",
            5,
            "cannot write missing/report.md",
        ),
    ] {
        let outcome = sandbox.wavecrew(words);
        assert_eq!(outcome.code, Some(code), "{words}: {outcome:?}");
        let text = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(text.contains(expected), "{words}: {text}");
    }
    let status = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(sandbox.project())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "");
}

mod reported_paths;
mod truth;

use super::*;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::LazyLock;
use wavecrew_core::event::Verdict;
use wavecrew_core::plan::seal;
use wavecrew_core::sheet::{Origin, Sheet};

const TEAM_FILE: &str = r#"
name = "probe"
title = "Probe"
prefix = "prb"
columns = [
  { name = "layer", kind = "input" },
  { name = "issues", kind = "input", type = "ids" },
  { name = "artifact_path", kind = "output", type = "path" },
  { name = "test_files", kind = "output", type = "paths" },
]

[[roles]]
name = "writer"
prefixes = ["DOC"]
instruction = "Write."
owes = [{ path = "spec/{id} ü.md", content = { kind = "markdown", headings = ["Scope", "Risks"] } }]

[[roles]]
name = "planner"
prefixes = ["PLAN"]
instruction = "Plan."
owes = [
  { path = "plans/{issues}.json", content = { kind = "json", schema = '{"required": ["id"], "properties": {"id": {"type": "string"}}}' } },
  { path = "tasks/T-*.txt", min_files = 2, max_files = 3, min_bytes = 4 },
]

[[roles]]
name = "tester"
prefixes = ["TESTGEN"]
instruction = "Test."
owes = [{ path = "tests/{layer}-*/**", content = { kind = "test-file" } }]

[[roles]]
name = "builder"
prefixes = ["BUILD"]
instruction = "Build."
owes = [{ path = "builds/{issues}.json", by_engine = true }]

[[roles]]
name = "reviewer"
prefixes = ["REVIEW"]
instruction = "Review."

[[roles.owes]]
path = "review.md"
content.kind = "review"
content.dimensions = ["quality"]
content.clean = ["APPROVE"]
content.severities = [{ name = "high", verdicts = ["BLOCK"] }]

[[roles]]
name = "keeper"
prefixes = ["KEEP"]
instruction = "Keep."
owes = [{ path = "keep.bin" }]
"#;

static TEAM: LazyLock<Team> = LazyLock::new(|| Team::parse("probe.toml", TEAM_FILE).expect("a team"));

const WRITER: &str = "DOC-1,writer,,";
const PLANNER: &str = "PLAN-1,planner,,A;B";
const TESTER: &str = "TESTGEN-1,tester,L1,";
const BUILDER: &str = "BUILD-1,builder,,A";
const KEEPER: &str = "KEEP-1,keeper,,";

/// A project with a session in it, and a place outside of both.
struct Sandbox {
    root: tempfile::TempDir,
}

impl Sandbox {
    fn new() -> Self {
        let sandbox = Self {
            root: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(sandbox.session()).unwrap();
        sandbox.outside("secret.md", "# Scope\nx\n# Risks\ny\n");
        sandbox
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn session(&self) -> PathBuf {
        self.project().join(".workflow/s-1")
    }

    fn outside(&self, name: &str, text: &str) -> PathBuf {
        put(&self.root.path().join("outside").join(name), text)
    }

    /// Writes a file of the session.
    fn file(self, name: &str, text: &str) -> Self {
        put(&self.session().join(name), text);
        self
    }

    /// Writes a file of the project.
    fn source(self, name: &str, text: &str) -> Self {
        put(&self.project().join(name), text);
        self
    }

    fn link(self, name: &str, target: impl AsRef<Path>) -> Self {
        let link = self.session().join(name);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
        self
    }

    fn verdict(&self, row: &str, outputs: &[(&str, &str)]) -> String {
        let plan = plan(row);
        let outputs: Vec<_> = outputs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let sources = Sources {
            session: &self.session(),
            project: &self.project(),
            beside: &|path| (path == "beside.py").then(|| b"one\ntwo\n".to_vec()),
        };
        let (outcome, doubts) = check(&sources, &TEAM, &plan, TaskIx(0), &outputs, None);
        match outcome {
            CheckOutcome::Confirmed { .. } if doubts.is_some() => {
                format!("ask: {}", doubts.unwrap_or_default())
            }
            CheckOutcome::Confirmed { verdict, measured } => {
                assert_eq!(measured, []);
                assert_ne!(verdict, Verdict::Contradicted);
                verdict.as_str().to_owned()
            }
            CheckOutcome::Ask(_) => unreachable!("the driver asks"),
            CheckOutcome::Measured(examined) => format!("{examined:?}"),
            CheckOutcome::SendBack(text) => format!("send back: {text}"),
            CheckOutcome::Contradicted(text) => format!("no: {text}"),
        }
    }

    fn expect(self, row: &str, expected: &str) -> Self {
        assert_eq!(self.verdict(row, &[]), expected);
        let plan = plan(row);
        let complete = artifacts_complete(&self.session(), &TEAM, &plan, TaskIx(0));
        assert_eq!(complete, expected == "verified");
        self
    }
}

fn plan(row: &str) -> Plan {
    let csv = format!("id,role,layer,issues,title,description,exec_mode\n{row},t,d,csv-wave\n");
    let sheet = Sheet::read(csv.as_bytes(), Origin::User).expect("a table");
    seal(sheet, &TEAM).expect("a plan").0
}

fn put(path: &Path, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    path.to_owned()
}

fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn a_document_with_spaces_and_umlauts_in_its_name() {
    Sandbox::new()
        .expect(
            WRITER,
            "send back: `spec/DOC-1 ü.md` is missing: write it into the session folder",
        )
        .file("spec/DOC-1 ü.md", "")
        .expect(WRITER, "send back: `spec/DOC-1 ü.md` is empty")
        .file("spec/DOC-1 ü.md", "# 1. Scope\n\n# Notes\nx\n")
        .expect(
            WRITER,
            "send back: `spec/DOC-1 ü.md` has nothing below the heading `Scope`; \
             `spec/DOC-1 ü.md` has no heading `Risks`: give the section with this content that heading",
        )
        .file(
            "spec/DOC-1 ü.md",
            "# 1. Scope\nThe shop and its till.\n## risks\nPrices are rounded twice.\n",
        )
        .expect(WRITER, "verified");
}

#[test]
fn everything_that_is_missing_is_named_at_once() {
    Sandbox::new()
        .file("plans/A.json", r#"{"id": {}}"#)
        .file("tasks/T-1.txt", "abc")
        .expect(
            PLANNER,
            "send back: `plans/A.json` does not fit its schema at /id: value is not of type \"string\"; \
             `plans/B.json` is missing: write it into the session folder; \
             too few files match `tasks/T-*.txt`: 1, at least 2 are needed; \
             `tasks/T-1.txt` has 3 bytes, at least 4 are needed",
        )
        .file("plans/A.json", r#"{"id": "A"}"#)
        .file("plans/B.json", r#"{"id": "B"}"#)
        .file("tasks/T-1.txt", "abcd")
        .file("tasks/T-2.txt", "abcd")
        .file("tasks/notes.txt", "")
        .expect(PLANNER, "verified")
        .file("tasks/T-3.txt", "abcd")
        .file("tasks/T-4.txt", "abcd")
        .expect(
            PLANNER,
            "send back: too many files match `tasks/T-*.txt`: 4, at most 3 are allowed",
        );
}

#[test]
fn test_files_at_any_depth() {
    Sandbox::new()
        .file("tests/L1-unit/.gitkeep", "")
        .file("tests/L1-unit/__init__.py", "")
        .file("tests/L1-unit/__pycache__/a.pyc", "")
        .file("tests/L2-integration/test_b.py", "x")
        .expect(
            TESTER,
            "send back: no file matches `tests/L1-*/**`: write at least 1 into the session folder",
        )
        .file("tests/L1-unit/deep/er/test größe.py", "def test(): assert 1")
        .expect(TESTER, "verified")
        .file("tests/L1-unit/test_a.py", " \n")
        .expect(TESTER, "send back: `tests/L1-unit/test_a.py` is empty");
}

#[test]
fn nothing_owed_and_nothing_reported_is_unverified() {
    Sandbox::new().expect(BUILDER, "unverified");
}

#[test]
fn links_that_lead_out() {
    Sandbox::new()
        .link("spec/DOC-1 ü.md", "../../../../outside/secret.md")
        .expect(
            WRITER,
            "no: `spec/DOC-1 ü.md` is a link that leads out of the session folder",
        );
    Sandbox::new()
        .source("docs/DOC-1 ü.md", "# Scope\nx\n# Risks\ny\n")
        .link("spec", "../../docs")
        .expect(
            WRITER,
            "no: `spec/DOC-1 ü.md` is a link that leads out of the session folder",
        );
    Sandbox::new().link("tests", "../../../outside").expect(
        TESTER,
        "no: `tests` is a link that leads out of the session folder",
    );
    Sandbox::new()
        .file("tests/L1-unit/test_a.py", "x")
        .link("tests/L1-unit/test_b.py", "../../../../../outside/secret.md")
        .expect(
            TESTER,
            "no: `tests/L1-unit/test_b.py` is a link that leads out of the session folder",
        );
    // A linked folder is not entered, so it pays nothing.
    Sandbox::new()
        .link("tests/L1-unit", "../../../../outside")
        .expect(
            TESTER,
            "send back: no file matches `tests/L1-*/**`: write at least 1 into the session folder",
        );
}

#[test]
fn links_that_stay() {
    Sandbox::new()
        .file(
            "drafts/one.md",
            "# Scope\nThe shop and its till.\n# Risks\nPrices are rounded twice.\n",
        )
        .link("spec/DOC-1 ü.md", "../drafts/one.md")
        .expect(WRITER, "verified");
    Sandbox::new()
        .file("tests/L1-unit/test_a.py", "x")
        .link("tests/L1-unit/again", "../..")
        .link("tests/L1-unit/broken", "nowhere")
        .expect(TESTER, "verified");
}

#[test]
fn unreadable_files() {
    Sandbox::new().link("spec/DOC-1 ü.md", "DOC-1 ü.md").expect(
        WRITER,
        "send back: `spec/DOC-1 ü.md` cannot be searched for: Too many levels of symbolic links (os error 40)",
    );
    Sandbox::new().file("spec/DOC-1 ü.md/inner", "x").expect(
        WRITER,
        "send back: `spec/DOC-1 ü.md` is a folder, a file is needed",
    );
    let sandbox = Sandbox::new();
    pipe(&sandbox.session().join("keep.bin"));
    sandbox.expect(KEEPER, "send back: `keep.bin` is not a regular file");
    let sandbox = Sandbox::new();
    fs::write(sandbox.session().join("keep.bin"), [0xff]).unwrap();
    sandbox.expect(KEEPER, "verified");
}

#[test]
fn a_file_without_permission() {
    let sandbox = Sandbox::new().file("keep.bin", "x");
    let file = sandbox.session().join("keep.bin");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    // Permissions do not bind the superuser.
    let expected = match File::open(&file) {
        Ok(_) => "verified".to_owned(),
        Err(error) => format!("send back: `keep.bin` cannot be read: {error}"),
    };
    sandbox.expect(KEEPER, &expected);
}

#[test]
fn text_that_is_none() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.session().join("spec")).unwrap();
    fs::write(sandbox.session().join("spec/DOC-1 ü.md"), b"# Scope\n\xff\xfe").unwrap();
    sandbox.expect(
        WRITER,
        "send back: `spec/DOC-1 ü.md` is not UTF-8 text (byte 8 is not)",
    );
}

#[test]
fn large_files_are_measured_and_not_read_whole() {
    let large = |name: &str| {
        let sandbox = Sandbox::new().file(name, "x");
        let file = File::options()
            .write(true)
            .open(sandbox.session().join(name))
            .unwrap();
        file.set_len(50 << 20).unwrap();
        sandbox
    };
    large("keep.bin").expect(KEEPER, "verified");
    large("tests/L1-unit/test_a.py").expect(TESTER, "verified");
    large("spec/DOC-1 ü.md").expect(
        WRITER,
        "send back: `spec/DOC-1 ü.md` has 52428800 bytes, at most 8388608 are read: make it shorter",
    );
}

#[test]
fn a_session_folder_that_is_gone() {
    let sandbox = Sandbox::new();
    fs::remove_dir(sandbox.session()).unwrap();
    let verdict = sandbox.verdict(KEEPER, &[]);
    assert!(verdict.starts_with("send back: the session folder "), "{verdict}");
}

#[test]
fn values_that_lead_out() {
    Sandbox::new().expect(
        "PLAN-1,planner,,../../A",
        "no: `plans/../../A.json` would lie outside the session folder: the row's values lead there",
    );
}

#[test]
fn places_in_reviews() {
    let review = |file: &str, line: &str| {
        format!(
            "## Verdict\nBLOCK\n## Findings\n| file | line | severity | dimension | fix |\n|-|-|-|-|-|\n| {file} | {line} | high | quality | f |\n"
        )
    };
    for (file, line, expected) in [
        ("a.py", "2", "verified"),
        ("./a.py", "1", "verified"),
        ("beside.py", "2", "verified"),
        ("review.md", "1", "verified"),
        (
            "a.py",
            "3",
            "send back: `review.md` names line 3 of `a.py`, which has 2 in finding 1",
        ),
        (
            "beside.py",
            "3",
            "send back: `review.md` names line 3 of `beside.py`, which has 2 in finding 1",
        ),
        (
            "b.py",
            "1",
            "send back: `review.md` names `b.py`, which does not exist in finding 1",
        ),
        (
            "../outside/secret.md",
            "1",
            "send back: `review.md` names `../outside/secret.md`, which is not a path in the project in finding 1",
        ),
    ] {
        let sandbox = Sandbox::new()
            .source("a.py", "x = 1\ny = 2")
            .file("review.md", &review(file, line));
        assert_eq!(
            sandbox.verdict("REVIEW-1,reviewer,,", &[("verdict", "block")]),
            expected
        );
    }
    let sandbox = Sandbox::new().file("review.md", &review("beside.py", "1"));
    assert_eq!(
        sandbox.verdict("REVIEW-1,reviewer,,", &[("verdict", "APPROVE")]),
        "send back: `review.md` says BLOCK, but `APPROVE` was reported: they must be the same"
    );
}

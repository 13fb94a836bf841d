use super::super::reported_paths::MAX_PATHS;
use super::*;

#[test]
fn reported_paths() {
    let sandbox = Sandbox::new()
        .file("keep.bin", "x")
        .file("tests/a b.py", "x")
        .file("tests/größe.py", "")
        .source("src/lib.rs", "x")
        .link("way out", "../../../outside/secret.md")
        .link("way in", "../../src/lib.rs");
    pipe(&sandbox.session().join("pipe"));
    let absolute = sandbox.session().join("keep.bin").to_str().unwrap().to_owned();
    let secret = sandbox.outside("secret.md", "x").to_str().unwrap().to_owned();
    let outside =
        |path: &str| format!("no: `{path}` in `test_files` lies outside the session folder and the project");
    let absent = |path: &str| {
        format!("send back: `{path}` in `test_files` does not exist: write it, or report what is there")
    };
    let fine = "verified".to_owned();
    for (value, expected) in [
        ("", fine.clone()),
        (" tests/a b.py ; tests/größe.py;", fine.clone()),
        ("./tests//a b.py", fine.clone()),
        ("src/lib.rs", fine.clone()),
        ("../../src/lib.rs", fine.clone()),
        (".workflow/s-1/keep.bin", fine.clone()),
        ("way in", fine.clone()),
        ("tests", fine.clone()),
        (&absolute, fine),
        ("tests/none.py", absent("tests/none.py")),
        ("keep.bin/x", absent("keep.bin/x")),
        ("way out", outside("way out")),
        (&secret, outside(&secret)),
        ("/no/such/file", outside("/no/such/file")),
        (
            "../../../outside/secret.md",
            outside("../../../outside/secret.md"),
        ),
        ("../../../../../../no/such", outside("../../../../../../no/such")),
        (
            ".",
            "send back: `.` in `test_files` is the whole folder: name the files".to_owned(),
        ),
        (
            "../..",
            "send back: `../..` in `test_files` is the whole folder: name the files".to_owned(),
        ),
        (
            "pipe",
            "send back: `pipe` in `test_files` is not a regular file".to_owned(),
        ),
    ] {
        assert_eq!(
            sandbox.verdict(KEEPER, &[("test_files", value)]),
            expected,
            "{value}"
        );
    }
    let long = "x".repeat(5000);
    let verdict = sandbox.verdict(KEEPER, &[("artifact_path", &long)]);
    assert!(
        verdict.starts_with("send back: `xxx") && verdict.contains("cannot be read"),
        "{verdict}"
    );
    let verdict = sandbox.verdict(KEEPER, &[("artifact_path", "a\0b")]);
    assert!(verdict.contains("cannot be read"), "{verdict}");
    let many = "keep.bin;".repeat(MAX_PATHS + 1);
    let verdict = sandbox.verdict(KEEPER, &[("test_files", &many)]);
    assert_eq!(
        verdict,
        "send back: more than 10000 paths are reported: name fewer"
    );
}

#[test]
fn a_reported_file_alone_can_be_verified() {
    let sandbox = Sandbox::new().source("src/lib.rs", "x");
    assert_eq!(
        sandbox.verdict(BUILDER, &[("artifact_path", "src/lib.rs")]),
        "verified"
    );
}

#[test]
fn what_the_engine_will_write_need_not_exist_yet() {
    let sandbox = Sandbox::new();
    let absolute = sandbox
        .session()
        .join("builds/A.json")
        .to_str()
        .unwrap()
        .to_owned();
    for path in ["builds/A.json", ".workflow/s-1/builds/A.json", &absolute] {
        assert_eq!(
            sandbox.verdict(BUILDER, &[("artifact_path", path)]),
            "unverified",
            "{path}"
        );
    }
    let verdict = sandbox.verdict(BUILDER, &[("artifact_path", "builds/B.json")]);
    assert!(verdict.starts_with("send back: `builds/B.json`"), "{verdict}");
}

#[test]
fn a_session_reached_by_a_link() {
    let sandbox = Sandbox::new().file("keep.bin", "x");
    let alias = sandbox.root.path().join("alias");
    symlink(sandbox.session(), &alias).unwrap();
    let plan = plan(KEEPER);
    let outputs = [(
        "artifact_path".to_owned(),
        alias.join("keep.bin").to_str().unwrap().to_owned(),
    )];
    let sources = Sources {
        session: &alias,
        project: &sandbox.project(),
        beside: &|_| None,
    };
    let verdict = check(&sources, &TEAM, &plan, TaskIx(0), &outputs, None);
    assert!(
        matches!(
            verdict.0,
            CheckOutcome::Confirmed {
                verdict: Verdict::Verified,
                ..
            }
        ),
        "{verdict:?}"
    );
}

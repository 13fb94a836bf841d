use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::*;

/// A project of these files in a repository, if it is one.
struct Lab(TempDir);

impl Lab {
    fn new(files: &[&str]) -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        for file in files {
            lab.write(file, "x = 1\n");
        }
        lab
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, words: &[&str]) -> &Self {
        let identity = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "init.defaultBranch=main",
        ];
        let done = Command::new("git")
            .args(identity)
            .args(words)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        self
    }

    fn committed(files: &[&str]) -> Self {
        let lab = Self::new(files);
        lab.git(&["init", "-q"])
            .git(&["add", "."])
            .git(&["commit", "-qm", "one"]);
        lab
    }

    fn find(&self, since: Option<&str>, request: &str) -> (Vec<String>, String) {
        let words = [request.to_owned()];
        let found = find(&self.path(), &ScopeRequest { since, words: &words }).unwrap();
        (
            found
                .files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
            found.how,
        )
    }
}

#[test]
fn changed_and_untracked_sources_are_in_scope_and_nothing_else() {
    let lab = Lab::committed(&["pyproject.toml", "shop/a.py", "shop/b.py", "README.md"]);
    lab.write("shop/b.py", "x = 2\n");
    lab.write("tests/test_b.py", "x = 2\n");
    lab.write("README.md", "new\n");
    lab.git(&["add", "."]).git(&["commit", "-qm", "two"]);
    lab.write("shop/neu und schön.py", "x = 3\n");
    lab.write(".workflow/.csv-wave/s/x.py", "x = 3\n");
    let (files, how) = lab.find(None, "");
    assert_eq!(files, ["shop/b.py", "shop/neu und schön.py"]);
    assert_eq!(how, "2 source files changed since HEAD~1 or untracked");
    assert_eq!(lab.find(Some("HEAD"), "").0, ["shop/neu und schön.py"]);
    assert_eq!(lab.find(None, "test shop/b.py, please").0, ["shop/b.py"]);
    // A path that did not change was still named.
    let (files, how) = lab.find(None, "test `shop/a.py`.");
    assert_eq!(
        (files, how.as_str()),
        (
            vec!["shop/a.py".to_owned()],
            "all of shop/a.py: none of its source files changed since HEAD~1 or untracked"
        )
    );
}

#[test]
fn what_falls_back_to_the_whole_project_says_why() {
    let lab = Lab::new(&["pyproject.toml", "shop/a.py", "shop/b.py"]);
    let (files, how) = lab.find(None, "");
    assert_eq!(files, ["shop/a.py", "shop/b.py"]);
    assert_eq!(
        how,
        "the whole project: not a git repository, so changes are unknown"
    );

    lab.git(&["init", "-q"]).git(&["add", "shop/a.py"]);
    // No commit yet: what is staged counts.
    assert_eq!(lab.find(None, "").1, "2 source files uncommitted");
    lab.git(&["add", "."]).git(&["commit", "-qm", "one"]);
    assert_eq!(lab.find(None, "").1, "the whole project: nothing uncommitted");

    lab.write("shop/a.py", "x = 2\n");
    assert_eq!(
        lab.find(None, ""),
        (
            vec!["shop/a.py".to_owned()],
            "1 source file uncommitted".to_owned()
        )
    );
    lab.git(&["checkout", "-q", "."]);

    fs::remove_file(lab.path().join("shop/b.py")).unwrap();
    lab.git(&["commit", "-qam", "two"]);
    let found = find(&lab.path(), &ScopeRequest::default()).unwrap();
    assert!(found.is_fallback());
    assert_eq!(
        found.how,
        "the whole project: all of 1 file changed since HEAD~1 or untracked are deleted"
    );

    lab.write("README.md", "new\n");
    lab.git(&["add", "."]).git(&["commit", "-qm", "three"]);
    let how = lab.find(None, "").1;
    assert_eq!(
        how,
        "the whole project: no source file is among 1 file changed since HEAD~1 or untracked"
    );
}

#[test]
fn a_package_of_built_files_is_tested_through_its_entries() {
    let lab = Lab::new(&[
        "dist/index.cjs",
        "dist/index.mjs",
        "dist/index.d.ts",
        "dist/inner.js",
    ]);
    let package = r#"{"devDependencies": {"vitest": "4"}, "main": "./dist/index.cjs", "exports": {".": {"types": "./dist/index.d.ts", "import": "./dist/index.mjs"},
        "./package.json": "./package.json", "./gone": "./dist/gone.js", "./up": "../up.js"}}"#;
    lab.write("package.json", package);
    let found = find(&lab.path(), &ScopeRequest::default()).unwrap();
    assert_eq!(found.files, [PathBuf::from("dist/index.mjs")]);
    assert!(found.how.contains("built files only"), "{}", found.how);

    lab.write(
        "dist/index.mjs",
        "import{a}from\"./inner.js\"\nexport * from './parts';\nimport '../vendor/b.js'\nimport fs from 'fs'\n",
    );
    lab.write("dist/parts/index.js", "require('./gone')\n");
    lab.write("vendor/b.js", "");
    let found = find(&lab.path(), &ScopeRequest::default()).unwrap();
    assert_eq!(
        found.files,
        ["dist/index.mjs", "dist/inner.js", "dist/parts/index.js"].map(PathBuf::from),
        "with what they import"
    );
    let jest = package.replace("vitest", "jest");
    lab.write("package.json", &jest);
    let found = find(&lab.path(), &ScopeRequest::default()).unwrap();
    assert_eq!(found.files, [PathBuf::from("dist/index.cjs")]);
    let shim = r#"{"main": "./dist/index.mjs", "exports": {"./browser": "./browser.js"}}"#;
    lab.write("package.json", shim);
    lab.write("browser.js", "export * from './dist/inner.js'\n");
    let found = find(&lab.path(), &ScopeRequest::default()).unwrap();
    assert_eq!(found.files.len(), 4, "{:?}", found.files);

    lab.write("src/index.js", "export const a = 1\n");
    let found = find(&lab.path(), &ScopeRequest::default()).unwrap();
    assert_eq!(
        found.files,
        ["browser.js", "src/index.js"].map(PathBuf::from),
        "source comes first"
    );
}

#[test]
fn a_revision_that_git_does_not_know_is_refused() {
    let lab = Lab::committed(&["a.py"]);
    let reason = |since| {
        find(
            &lab.path(),
            &ScopeRequest {
                since: Some(since),
                words: &[],
            },
        )
        .unwrap_err()
        .to_string()
    };
    assert_eq!(reason("nowhere"), "git knows no revision `nowhere` here");
    assert_eq!(reason("--output=x"), "git knows no revision `--output=x` here");
    let bare = Lab::new(&["a.py"]);
    let error = find(
        &bare.path(),
        &ScopeRequest {
            since: Some("HEAD"),
            words: &[],
        },
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "`--since HEAD` requires a git repository");
}

#[test]
fn modules_are_the_first_folders_below_the_source_roots() {
    let lab = Lab::new(&["package.json", "packages/api/pyproject.toml"]);
    for (file, expected) in [
        ("src/auth/x.ts", "auth"),
        ("src/auth/deep/y.ts", "auth"),
        ("src/z.ts", "."),
        ("cart/z.js", "cart"),
        ("packages/api/app/users/u.py", "packages/api/users"),
    ] {
        lab.write(file, "");
        assert_eq!(module(Path::new(file), &lab.path()), expected, "{file}");
    }
}

#[test]
fn frameworks_are_found_per_root_with_a_place_beside_the_tests_that_are_there() {
    let lab = Lab::new(&[
        "pyproject.toml",
        "shop/a.py",
        "tests/unit/test_a.py",
        "web/src/cart.ts",
        "web/vitest.config.ts",
        "go/go.mod",
        "go/m/x.go",
    ]);
    lab.write("web/package.json", "{}");
    lab.write("web/node_modules/vitest/package.json", r#"{"version":"4.1.0"}"#);
    let files = ["shop/a.py", "web/src/cart.ts", "go/m/x.go"].map(PathBuf::from);
    let (frameworks, scoped) = frameworks(&lab.path(), &files);
    let shown: Vec<String> = frameworks
        .iter()
        .map(|f| {
            format!(
                "{} {} {} {:?}",
                f.root.display(),
                f.framework.name(),
                f.place.display(),
                f.version
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ". pytest tests/unit None",
            "go go  None",
            "web vitest tests Some(\"4.1.0\")",
        ]
    );
    assert_eq!(scoped[2].root, Path::new("web"));
    assert_eq!(scoped[0].lines, 1);
}

#[test]
fn arguments_that_are_paths_are_taken_as_they_are() {
    let lab = Lab::committed(&["web/src/a.ts", "web/src/b c.ts", "api/x.py", "api/y.py"]);
    lab.git(&["commit", "-qm", "two", "--allow-empty"]);
    lab.write("api/x.py", "x = 2\n");
    let find = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = find(
            &lab.path(),
            &ScopeRequest {
                since: None,
                words: &words,
            },
        )
        .unwrap();
        let files: Vec<String> = found
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        (files.join("|"), found.how, found.missing.join("|"))
    };
    for (words, files) in [
        // A folder without a separator, one with its full path, one that changed in part.
        (&["web"][..], "web/src/a.ts|web/src/b c.ts"),
        (&["./web/src/"], "web/src/a.ts|web/src/b c.ts"),
        (
            &[lab.path().join("web/src").to_str().unwrap()],
            "web/src/a.ts|web/src/b c.ts",
        ),
        (&["api"], "api/x.py"),
        (&["web/src/b c.ts"], "web/src/b c.ts"),
        // A named path without changes is in scope, beside the changed files.
        (&["api", "web/src/a.ts"], "api/x.py|web/src/a.ts"),
        // Among other words a plain one is a word.
        (&["test", "the", "web"], "api/x.py"),
    ] {
        assert_eq!(find(words).0, files, "{words:?}");
    }
    assert_eq!(
        find(&["api", "web/src/a.ts"]).1,
        "1 source file changed since HEAD~1 or untracked, all of web/src/a.ts"
    );
    assert_eq!(
        find(&["api/gone.py", "and/or", "https://example.com/a", "x y.py"]).2,
        "api/gone.py"
    );
}

#[test]
fn a_framework_that_cannot_run_is_skipped_while_others_can() {
    let lab = Lab::new(&["pyproject.toml", "shop/a.py", "static/menu.js"]);
    let team = wavecrew_core::team::Team::builtin("testing").unwrap();
    let prepare =
        || crate::prepare::prepare(&lab.path(), &team, &crate::prepare::Options::default()).unwrap();
    let scope = prepare().scope;
    let files: Vec<&Path> = scope.files.iter().map(|file| file.path.as_path()).collect();
    assert_eq!(files, [Path::new("shop/a.py")]);
    assert_eq!(
        scope.skipped[0].to_string(),
        "jest in . is skipped with 1 file: jest is not installed for this project"
    );
    assert_eq!(scope.skipped[0].fix, "npm install --save-dev jest");
    // Alone it stays, and its absence is an error later.
    fs::remove_file(lab.path().join("shop/a.py")).unwrap();
    let scope = prepare().scope;
    assert_eq!((scope.files.len(), scope.skipped.len()), (1, 0));
}

#[test]
fn a_large_scope_is_divided_by_folder() {
    let files: Vec<String> = ["a/x", "a/y", "b"]
        .iter()
        .flat_map(|folder| (0..4).map(move |n| format!("{folder}/m{n}.py")))
        .chain(["setup_tools.py".to_owned(), "top.py".to_owned()])
        .collect();
    let names: Vec<&str> = files
        .iter()
        .map(String::as_str)
        .chain(["pyproject.toml"])
        .collect();
    let lab = Lab::new(&names);
    let team = wavecrew_core::team::Team::builtin("testing").unwrap();
    let parts = |limit: usize| {
        let mut prepared =
            crate::prepare::prepare(&lab.path(), &team, &crate::prepare::Options::default()).unwrap();
        let mut own = team.clone();
        prepared.split(&mut own, limit);
        let pipeline = team.pipeline("comprehensive").unwrap();
        let rows = prepared.pipeline(pipeline, "all of it").tasks;
        let titles = rows.iter().filter(|row| row.id.starts_with("TESTGEN-001"));
        let titles: Vec<String> = titles.map(|row| row.title.clone()).collect();
        (prepared.scope, own, rows, titles)
    };
    assert_eq!(parts(14).3, ["Generate L1 unit tests"]);
    assert_eq!(
        parts(8).3,
        [
            "Generate L1.1 unit tests: setup_tools.py to top.py",
            "Generate L1.2 unit tests: a",
            "Generate L1.3 unit tests: b",
        ]
    );
    let (scope, own, rows, titles) = parts(3);
    assert_eq!(titles[1], "Generate L1.2 unit tests: a/x, m0.py to m1.py");
    assert_eq!(titles.len(), 7);
    assert_eq!(scope.for_layer("L2.2").files.len(), 2);
    assert_eq!(
        (scope.target("L2.2"), scope.team_layer("L2.2")),
        (Some(60.0), "L2")
    );
    assert_eq!(scope.folder("L2.2").unwrap(), Path::new("tests/L2.2-integration"));
    assert!(own.folders.contains(&"tests/L3.7-e2e".to_owned()));
    let row = |id: &str| rows.iter().find(|row| row.id == id).unwrap();
    assert_eq!(row("TESTGEN-003.2").deps, ["TESTRUN-001.2", "TESTRUN-002.2"]);
    assert_eq!(row("TESTANA-001").deps.len(), 7);
    assert_eq!(row("TESTRUN-001.7").deps, ["TESTGEN-001.7"]);
    assert_eq!(row("TESTRUN-001.7").set["coverage_target"], "80");
    let text = &row("TESTRUN-002.2").description;
    assert!(
        text.contains("of tests/L2.2-integration/") && text.contains("results/run-L2.2.json"),
        "{text}"
    );
}

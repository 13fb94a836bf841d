use std::fs;
use std::path::Path;

use super::*;

/// A tree of files, each with its content.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn found(files: &[(&str, &str)], of: &str) -> (String, Framework, Certainty) {
    let dir = tree(files);
    let project = project_of(&dir.path().join(of), dir.path()).unwrap();
    let root = project
        .root
        .strip_prefix(dir.path())
        .unwrap()
        .to_string_lossy()
        .into_owned();
    (root, project.framework, project.certainty)
}

#[test]
fn the_nearest_project_of_a_monorepo_is_detected() {
    let files = [
        (
            "package.json",
            r#"{"workspaces":["packages/*"],"devDependencies":{"jest":"30"}}"#,
        ),
        ("packages/a/package.json", r#"{"devDependencies":{"vitest":"4"}}"#),
        ("packages/a/src/x.ts", ""),
        ("packages/b/package.json", "{}"),
        ("packages/b/src/y.js", ""),
        ("services/api/pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("services/api/app/z.py", ""),
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
        ("crates/c/Cargo.toml", "[package]\nname = \"c\"\n"),
        ("crates/c/src/lib.rs", ""),
        ("tools/go.mod", "module m\n"),
        ("tools/main.go", ""),
    ];
    let cases = [
        ("packages/a/src/x.ts", "packages/a", Framework::Vitest),
        // A package without settings of its own is tested with the workspace's framework.
        ("packages/b/src/y.js", "", Framework::Jest),
        ("services/api/app/z.py", "services/api", Framework::Pytest),
        ("crates/c/src/lib.rs", "crates/c", Framework::Cargo),
        ("tools/main.go", "tools", Framework::Go),
    ];
    let count = cases.len();
    for (file, root, framework) in cases {
        assert_eq!(
            found(&files, file),
            (root.to_owned(), framework, Certainty::Found),
            "{file}"
        );
    }
    let dir = tree(&files);
    assert_eq!(by_project(dir.path(), dir.path()).len(), count);
}

#[test]
fn vitest_and_jest_are_detected_by_settings_script_and_dependencies() {
    let cases = [
        (
            vec![
                ("vitest.config.mts", ""),
                ("package.json", r#"{"devDependencies":{"jest":"1"}}"#),
            ],
            Framework::Vitest,
        ),
        (
            vec![
                ("jest.config.cjs", ""),
                ("package.json", r#"{"devDependencies":{"vitest":"1"}}"#),
            ],
            Framework::Jest,
        ),
        (vec![("package.json", r#"{"jest":{}}"#)], Framework::Jest),
        (
            vec![(
                "package.json",
                r#"{"scripts":{"test":"jest"},"devDependencies":{"vitest":"1","jest":"1"}}"#,
            )],
            Framework::Jest,
        ),
    ];
    for (mut files, framework) in cases {
        files.push(("src/a.ts", ""));
        assert_eq!(
            found(&files, "src/a.ts"),
            (String::new(), framework, Certainty::Found)
        );
    }
}

#[test]
fn without_evidence_the_default_framework_is_assumed() {
    let jest = (String::new(), Framework::Jest, Certainty::Assumed);
    assert_eq!(found(&[("a.js", "")], "a.js"), jest);
    assert_eq!(
        found(&[("package.json", "{ not json"), ("a.js", "")], "a.js"),
        jest
    );
    for (file, framework) in [
        ("a.py", Framework::Pytest),
        ("a.rs", Framework::Cargo),
        ("a.go", Framework::Go),
    ] {
        let assumed = (String::new(), framework, Certainty::Assumed);
        assert_eq!(found(&[(file, "")], file), assumed);
    }
    assert_eq!(project_of(Path::new("/x/README.md"), Path::new("/x")), None);
}

#[test]
fn conventions_are_counted() {
    let dir = tree(&[
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("shop/price.py", ""),
        ("shop/price_test.py", ""),
        ("tests/conftest.py", ""),
        ("tests/test_a.py", ""),
        ("tests/test_b.py", ""),
        ("node_modules/x/test_c.py", ""),
    ]);
    let project = project_of(&dir.path().join("shop/price.py"), dir.path()).unwrap();
    let conventions = conventions(&project, dir.path());
    assert_eq!(conventions.test_files, 3);
    assert_eq!(conventions.folders, ["tests", "shop"]);
    assert_eq!(conventions.naming, ["test_*.py", "*_test.py"]);
    assert_eq!(conventions.fixtures, ["tests/conftest.py"]);
    assert_eq!(
        source_files(&project, dir.path()),
        [dir.path().join("shop/price.py")]
    );
}

#[test]
fn conventions_without_tests_come_from_the_settings() {
    let python = "[tool.pytest.ini_options]\ntestpaths = ['checks']\n";
    for (settings, text, source, folder) in [
        (
            "jest.config.ts",
            "export default { testMatch: ['**/src/**/*.test.ts'] }",
            "src/a.ts",
            "src",
        ),
        (
            "package.json",
            r#"{"jest":{"roots":["<rootDir>/spec"]}}"#,
            "a.js",
            "spec",
        ),
        (
            "vitest.config.mts",
            "include: ['unit/**/*.test.ts']",
            "a.ts",
            "unit",
        ),
        ("pyproject.toml", python, "a.py", "checks"),
    ] {
        let dir = tree(&[("package.json", "{}"), (settings, text), (source, "")]);
        let project = project_of(&dir.path().join(source), dir.path()).unwrap();
        assert_eq!(conventions(&project, dir.path()).folders, [folder], "{settings}");
    }
}

#[test]
fn documents_examples_environments_and_generated_files_are_not_source() {
    let dir = tree(&[
        ("pyproject.toml", "[project]\nname = \"shop\"\n"),
        ("setup.py", "x = 1\n"),
        ("shop/__init__.py", ""),
        ("shop/price.py", "x = 1\n"),
        (
            "shop/version.py",
            "# file generated by setuptools-scm\nversion = '1'\n",
        ),
        ("shop/cart_pb2.py", "x = 1\n"),
        ("shop/docs/__init__.py", ""),
        ("shop/docs/page.py", "x = 1\n"),
        ("shop/_vendor/six.py", "x = 1\n"),
        ("docs/conf.py", "x = 1\n"),
        ("examples/demo.py", "x = 1\n"),
        ("benchmarks/fast.py", "x = 1\n"),
        ("my-env/pyvenv.cfg", "home = /usr/bin\n"),
        ("my-env/lib/python3.13/foreign.py", "x = 1\n"),
    ]);
    let found = |below: &str| -> Vec<String> {
        let sources = by_project(&dir.path().join(below), dir.path())
            .into_values()
            .flatten();
        let relative = |file: &Path| file.strip_prefix(dir.path()).unwrap().display().to_string();
        sources.map(|file| relative(&file)).collect()
    };
    assert_eq!(
        found(""),
        [
            "shop/__init__.py",
            "shop/docs/__init__.py",
            "shop/docs/page.py",
            "shop/price.py"
        ]
    );
    // A named folder is in scope.
    assert_eq!(found("examples"), ["examples/demo.py"]);
}

//! Keeps documents true where a program can: what they list is what there is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_dependency_has_its_reason_and_every_reason_its_dependency() {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let declared: BTreeSet<String> = manifest["workspace"]["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .filter(|name| !name.starts_with("wavecrew-"))
        .cloned()
        .collect();
    let text = read("docs/reference/dependencies.md");
    let crates = text.split("## Programs").next().unwrap();
    let listed: BTreeSet<String> = crates
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .filter(|cell| *cell != "crate" && !cell.starts_with('-'))
        .map(str::to_owned)
        .collect();
    let missing: Vec<_> = declared.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&declared).collect();
    assert!(
        missing.is_empty(),
        "not in docs/reference/dependencies.md: {missing:?}"
    );
    assert!(
        stale.is_empty(),
        "in docs/reference/dependencies.md but not used: {stale:?}"
    );
}

#[test]
fn ci_runs_the_test_command_of_the_readme() {
    let ci = read(".ci/run");
    let command = ci.lines().find(|line| !line.starts_with('#')).unwrap();
    assert!(
        read("README.md").contains(&format!("```sh\n{command}\n```")),
        "README.md does not show `{command}`"
    );
}

/// All Markdown files that people read, as paths from the root.
fn documents() -> Vec<String> {
    let mut found: Vec<String> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(str::to_owned)
        .to_vec();
    let mut folders = vec!["docs".to_owned(), "examples".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{folder}/{name}");
            let is_installed = name.starts_with('.') || name == "node_modules";
            if entry.file_type().unwrap().is_dir() && !is_installed {
                folders.push(path);
            } else if folder == "docs/pictures" {
                // Pictures are part of the pages that show them.
            } else if folder.starts_with("docs") || name == "README.md" {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The lines of a document outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// The anchors of a document's headings, as code hosts derive them.
fn anchors(text: &str) -> BTreeSet<String> {
    prose(text)
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read(&document);
        let folder = Path::new(&document).parent().unwrap().to_owned();
        let prose = prose(&text).collect::<Vec<_>>().join("\n");
        for link in prose
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => root().join(&document),
                file => root().join(&folder).join(file),
            };
            let has_anchor =
                || fs::read_to_string(&target).is_ok_and(|target| anchors(&target).contains(anchor));
            if !target.exists() || (!anchor.is_empty() && !has_anchor()) {
                broken.push(format!("{document}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_index_names_every_page() {
    let index = read("docs/README.md");
    let pages = documents().into_iter().filter_map(|path| {
        let page = path.strip_prefix("docs/")?.to_owned();
        (page != "README.md").then_some(page)
    });
    let missing: Vec<String> = pages
        .filter(|page| !index.contains(&format!("]({page})")))
        .collect();
    assert!(missing.is_empty(), "not in docs/README.md: {missing:?}");
}

#[test]
fn the_readme_is_short_and_table_cells_are_too() {
    let lines = read("README.md").lines().count();
    assert!(
        lines <= 200,
        "README.md has {lines} lines, at most 200 are allowed"
    );
    let long: Vec<String> = documents()
        .into_iter()
        .flat_map(|document| {
            let text = read(&document);
            let cells: Vec<String> = prose(&text)
                .filter(|line| line.starts_with('|'))
                .flat_map(|line| line.split(" | ").map(str::to_owned).collect::<Vec<_>>())
                .filter(|cell| cell.chars().count() > 300)
                .map(|cell| format!("{document}: {cell}"))
                .collect();
            cells
        })
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

/// `crate/path` and `crate/path::function` in `ARCHITECTURE.md` name files and functions that exist.
#[test]
fn the_architecture_names_files_and_functions_that_exist() {
    let text = read("ARCHITECTURE.md");
    let names = text.split('`').skip(1).step_by(2);
    let mut checked = 0;
    let mut missing = Vec::new();
    for name in names.filter(|name| name.starts_with("wavecrew") && name.contains('/')) {
        let (path, function) = name.split_once("::").map_or((name, None), |(p, f)| (p, Some(f)));
        let file = root().join("crates").join(path);
        let found = match function {
            None => file.exists(),
            Some(function) => fs::read_to_string(&file).is_ok_and(|code| {
                let definition = format!("fn {function}");
                code.match_indices(&definition).any(|(at, _)| {
                    let rest = &code[at + definition.len()..];
                    rest.starts_with(['(', '<'])
                })
            }),
        };
        checked += 1;
        if !found {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "not in the tree: {missing:#?}");
    assert!(checked > 40, "only {checked} paths found");
}

/// The test command runs no doc tests, because there are none: building for them takes longer than they are worth.
#[test]
fn examples_in_comments_are_marked_as_text() {
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let comments = text
                    .lines()
                    .filter_map(|line| line.trim().strip_prefix("//")?.strip_prefix(['/', '!']));
                let mut is_open = false;
                for fence in comments.filter_map(|line| line.trim().strip_prefix("```")) {
                    is_open = !is_open;
                    assert!(
                        !is_open || !["", "rust", "no_run", "should_panic"].contains(&fence),
                        "{}: nobody compiles this example: make it a test, or mark it as text",
                        path.display()
                    );
                }
            }
        }
    }
}

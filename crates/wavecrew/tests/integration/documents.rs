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
    let text = read("docs/dependencies.md");
    let crates = text.split("## Programs").next().unwrap();
    let listed: BTreeSet<String> = crates
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .filter(|cell| *cell != "crate" && !cell.starts_with('-'))
        .map(str::to_owned)
        .collect();
    let missing: Vec<_> = declared.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&declared).collect();
    assert!(missing.is_empty(), "not in docs/dependencies.md: {missing:?}");
    assert!(
        stale.is_empty(),
        "in docs/dependencies.md but not used: {stale:?}"
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

#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents: Vec<String> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(str::to_owned)
        .to_vec();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        documents.push(format!("docs/{}", entry.unwrap().file_name().to_string_lossy()));
    }
    let mut broken = Vec::new();
    for document in documents {
        let text = read(&document);
        let folder = root().join(Path::new(&document).parent().unwrap());
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let is_file = !file.is_empty() && !link.contains("://");
            if is_file && !folder.join(file).exists() {
                broken.push(format!("{document}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

//! Signs of vitest and jest: settings files, `package.json`. In a workspace a package's own signs come first, then those
//! of the folders above it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Certainty, Framework, Project};

const ENDINGS: &[&str] = &["ts", "mts", "cts", "js", "mjs", "cjs", "json"];

pub fn find(folders: &[&Path]) -> Option<Project> {
    let packages = || {
        folders
            .iter()
            .filter(|folder| folder.join("package.json").is_file())
    };
    let found = packages().find_map(|root| {
        let (framework, evidence) = sign(root)?;
        Some(Project {
            root: (*root).to_owned(),
            framework,
            evidence,
            certainty: Certainty::Found,
        })
    });
    found.or_else(|| {
        packages().next().map(|root| Project {
            root: (*root).to_owned(),
            framework: Framework::Jest,
            evidence: "package.json names neither vitest nor jest".to_owned(),
            certainty: Certainty::Assumed,
        })
    })
}

/// The names that a settings file may have.
pub fn settings_files(name: &str) -> impl Iterator<Item = String> {
    ENDINGS.iter().map(move |ending| format!("{name}.{ending}"))
}

fn sign(folder: &Path) -> Option<(Framework, String)> {
    let settings = |name: &str| settings_files(name).find(|file| folder.join(file).is_file());
    if let Some(file) = settings("vitest.config").or_else(|| settings("vitest.workspace")) {
        return Some((Framework::Vitest, file));
    }
    if let Some(file) = settings("jest.config") {
        return Some((Framework::Jest, file));
    }
    let text = fs::read(folder.join("package.json")).unwrap_or_default();
    let package: Value = serde_json::from_slice(&text).unwrap_or_default();
    if package.get("jest").is_some() {
        return Some((Framework::Jest, "`jest` in package.json".to_owned()));
    }
    let script = package["scripts"]["test"].as_str().unwrap_or_default();
    let depends = |name: &str| {
        let lists = ["devDependencies", "dependencies", "peerDependencies"];
        lists.iter().any(|list| package[list].get(name).is_some())
    };
    // While a project moves from one to the other it has both; its test script says which is in use.
    for (framework, name) in [(Framework::Vitest, "vitest"), (Framework::Jest, "jest")] {
        if script.contains(name) {
            return Some((framework, format!("the test script in package.json: `{script}`")));
        }
    }
    [(Framework::Vitest, "vitest"), (Framework::Jest, "jest")]
        .into_iter()
        .find(|(_, name)| depends(name))
        .map(|(framework, name)| (framework, format!("`{name}` in the dependencies of package.json")))
}

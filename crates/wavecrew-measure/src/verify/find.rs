//! Finds the commands that build and test a project: what its owner says, else what its files say.

use super::CommandSettings;
use crate::detect::{Certainty, Project, by_project};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What is run, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    pub setup: Option<String>,
    pub build: Option<String>,
    pub tests: TestMethod,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestMethod {
    None,
    /// Frameworks that tell test by test.
    Measured {
        projects: Vec<Project>,
        /// What the project calls its tests, for when a framework does not run.
        otherwise: Option<String>,
    },
    /// A command that tells by its exit code.
    Command {
        line: String,
    },
}

/// What npm puts into every new project.
const PLACEHOLDER: &str = "no test specified";

/// Finds the commands of the project in a folder. The folder is absolute.
pub fn find_commands(folder: &Path, settings: &CommandSettings) -> Commands {
    let has = |name: &str| folder.join(name).is_file();
    let scripts = scripts(folder);
    let targets = targets(folder);
    let script = |name: &str| {
        let line = scripts.get(name).and_then(Value::as_str)?;
        let real = !line.trim().is_empty() && !line.contains(PLACEHOLDER);
        real.then(|| format!("{} run {name}", manager(folder)))
    };
    let target = |name: &str| {
        targets
            .iter()
            .any(|target| target == name)
            .then(|| format!("make {name}"))
    };
    let build = settings
        .build
        .clone()
        .or_else(|| script("build"))
        .or_else(|| has("Cargo.toml").then(|| "cargo build --all-targets".to_owned()))
        .or_else(|| has("go.mod").then(|| "go build ./...".to_owned()))
        .or_else(|| target("build"));
    let own = script("test")
        .or_else(|| target("test"))
        .or_else(|| target("check"));
    let projects: Vec<Project> = by_project(folder, folder)
        .into_keys()
        .filter(|project| project.certainty == Certainty::Found)
        .collect();
    let tests = match (&settings.test, projects.is_empty(), own) {
        (Some(line), _, _) => TestMethod::Command { line: line.clone() },
        (None, false, otherwise) => TestMethod::Measured { projects, otherwise },
        (None, true, Some(line)) => TestMethod::Command { line },
        (None, true, None) => TestMethod::None,
    };
    Commands {
        setup: settings.setup.clone(),
        build,
        tests,
    }
}

fn scripts(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("package.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
    manifest.get("scripts").cloned().unwrap_or_default()
}

/// The program that runs scripts of `package.json`, by the lock file it leaves.
fn manager(folder: &Path) -> &'static str {
    let has = |name: &str| folder.join(name).is_file();
    if has("pnpm-lock.yaml") {
        "pnpm"
    } else if has("yarn.lock") {
        "yarn"
    } else if has("bun.lock") || has("bun.lockb") {
        "bun"
    } else {
        "npm"
    }
}

/// Targets of a makefile that are written as such.
fn targets(folder: &Path) -> Vec<String> {
    let text = ["GNUmakefile", "makefile", "Makefile"]
        .iter()
        .find_map(|name| fs::read_to_string(folder.join(name)).ok())
        .unwrap_or_default();
    let target = |line: &str| {
        let (names, rest) = line.split_once(':')?;
        let plain =
            !line.starts_with(['\t', ' ', '#', '.']) && !names.contains(['=', '$']) && !rest.starts_with('=');
        plain.then(|| names.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    text.lines().filter_map(target).flatten().collect()
}

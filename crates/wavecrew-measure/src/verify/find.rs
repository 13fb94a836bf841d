//! Finds the commands that build and test a project: the owner's settings, else what the project's files show.

use super::CommandSettings;
use crate::detect::{Certainty, Project, by_project};
use crate::framework::all_facts;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The commands, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    pub setup: Option<String>,
    pub build: Option<String>,
    pub tests: TestMethod,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestMethod {
    None,
    /// Frameworks that report single tests.
    Measured {
        projects: Vec<Project>,
        /// The project's own test command, if a framework does not run.
        otherwise: Option<String>,
    },
    /// A command whose exit code is the result.
    Command {
        line: String,
    },
}

/// What npm puts into every new project.
const PLACEHOLDER: &str = "no test specified";

/// The folder is absolute.
pub fn find_commands(folder: &Path, settings: &CommandSettings) -> Commands {
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
        .or_else(|| {
            let mut builds = all_facts().filter_map(|facts| facts.build);
            let (_, command) = builds.find(|(manifest, _)| folder.join(manifest).is_file())?;
            Some(command.to_owned())
        })
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
    let lock_files = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
    ];
    let mut managers = lock_files.into_iter();
    let found = managers.find(|(file, _)| folder.join(file).is_file());
    found.map_or("npm", |(_, manager)| manager)
}

/// Explicit targets of a makefile.
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

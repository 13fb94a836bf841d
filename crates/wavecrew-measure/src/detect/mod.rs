//! Finds which framework tests a file, from which folder it runs, and how the project names and places its tests. Looks at
//! files and settings alone; whether anything is installed shows when it runs.

mod conventions;
mod node;
mod python;
mod settings;
mod walk;

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use conventions::{Conventions, conventions};
pub use walk::{by_project, files, is_test, source_files};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framework {
    Pytest,
    Vitest,
    Jest,
    Cargo,
    Go,
    /// A command line of the user's that writes JUnit XML and a coverage report into `$WAVECREW_REPORTS`.
    Command {
        line: String,
    },
}

impl Framework {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Vitest => "vitest",
            Self::Jest => "jest",
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Command { .. } => "command",
        }
    }

    pub fn language(&self) -> Option<Language> {
        match self {
            Self::Pytest => Some(Language::Python),
            Self::Vitest | Self::Jest => Some(Language::JavaScript),
            Self::Cargo => Some(Language::Rust),
            Self::Go => Some(Language::Go),
            Self::Command { .. } => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Python,
    /// TypeScript too.
    JavaScript,
    Rust,
    Go,
}

impl Language {
    pub fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "py" => Some(Self::Python),
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => {
                Some(Self::JavaScript)
            }
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            _ => None,
        }
    }
}

/// A folder from which one framework runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Project {
    pub root: PathBuf,
    pub framework: Framework,
    /// What speaks for the framework: a file, or a line in one.
    pub evidence: String,
    pub certainty: Certainty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    Found,
    /// Nothing in the project says so: the usual framework of the language. Worth a warning.
    Assumed,
}

/// The project that a file belongs to: the nearest one above it, not beyond `top`. Both absolute. `None` for files in
/// other languages.
pub fn project_of(file: &Path, top: &Path) -> Option<Project> {
    let language = Language::of(file)?;
    let start = if file.is_dir() { file } else { file.parent()? };
    let folders: Vec<&Path> = start
        .ancestors()
        .take_while(|folder| folder.starts_with(top))
        .collect();
    let found = |root: &Path, framework, evidence: &str| Project {
        root: root.to_owned(),
        framework,
        evidence: evidence.to_owned(),
        certainty: Certainty::Found,
    };
    let nearest = |name: &str| folders.iter().find(|folder| folder.join(name).is_file());
    let project = match language {
        Language::Python => python::find(&folders),
        Language::JavaScript => node::find(&folders),
        Language::Rust => folders
            .iter()
            .find(|folder| is_package(&folder.join("Cargo.toml")))
            .map(|root| found(root, Framework::Cargo, "Cargo.toml")),
        Language::Go => nearest("go.mod").map(|root| found(root, Framework::Go, "go.mod")),
    };
    Some(project.unwrap_or_else(|| Project {
        root: top.to_owned(),
        framework: match language {
            Language::Python => Framework::Pytest,
            Language::JavaScript => Framework::Jest,
            Language::Rust => Framework::Cargo,
            Language::Go => Framework::Go,
        },
        evidence: "nothing names a framework".to_owned(),
        certainty: Certainty::Assumed,
    }))
}

/// A workspace's own manifest may have no package.
fn is_package(manifest: &Path) -> bool {
    let table = fs::read_to_string(manifest)
        .ok()
        .and_then(|text| text.parse::<toml::Table>().ok());
    table.is_some_and(|table| table.contains_key("package"))
}

#[cfg(test)]
mod tests;

//! Finds which framework tests a file, from which folder it runs, and how the project names and places its
//! tests. Reads only files and settings; whether anything is installed shows when it runs.

mod conventions;
pub(crate) mod settings;
mod walk;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::framework;

pub use crate::framework::{Framework, Language};
pub use conventions::{Conventions, conventions};
pub use walk::{ROOT_MARKS, by_project, files, is_test, source_files};

/// A folder from which one framework runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Project {
    pub root: PathBuf,
    pub framework: Framework,
    /// What shows the framework: a file, or a line in one.
    pub evidence: String,
    pub certainty: Certainty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    Found,
    /// The default framework of the language: nothing in the project names one. Warn the user.
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
    let project = framework::detect(language, &folders);
    Some(project.unwrap_or_else(|| Project {
        root: top.to_owned(),
        framework: framework::assumed(language),
        evidence: "assumed".to_owned(),
        certainty: Certainty::Assumed,
    }))
}

#[cfg(test)]
mod tests;

//! `scope.json`: the scope of a session, read by everything after its start, the offline agent included.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wavecrew_measure::detect::{Certainty, Conventions, Framework, Project};
use wavecrew_measure::framework::{MissingTool, TestFolder};

use crate::sealed;
use wavecrew_core::view::count;
use wavecrew_session::SessionPaths;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    /// What the files were compared with; none for the whole project.
    pub base: Option<String>,
    pub commit: Option<String>,
    pub how: String,
    pub files: Vec<ScopedFile>,
    pub frameworks: Vec<FrameworkInScope>,
    /// Frameworks that cannot run here, while others can; their files are not in scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedFramework>,
    /// Percent of the lines in scope, by layer.
    pub targets: BTreeMap<String, f64>,
    pub layers: Vec<LayerInScope>,
    pub mutation: MutationEffort,
    /// Percent of the mutants that the kept tests must kill to count as verified.
    #[serde(default = "min_effectiveness")]
    pub min_effectiveness: u8,
    /// How long one run of the tests may take.
    pub run_seconds: u64,
    /// Random seed for test orders and the choice of mutants.
    pub seed: u64,
    /// Search time of the offline agent per module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline_seconds: Option<u64>,
}

/// The value for sessions that set none.
pub const fn min_effectiveness() -> u8 {
    60
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopedFile {
    /// Relative to the project.
    pub path: PathBuf,
    /// The root of its framework, relative to the project; `.` is the project itself.
    pub root: PathBuf,
    pub framework: Framework,
    pub lines: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameworkInScope {
    pub root: PathBuf,
    pub framework: Framework,
    pub config_file: String,
    pub certainty: Certainty,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The folder below the root in which tests of the session run.
    pub place: PathBuf,
    pub conventions: Conventions,
}

/// A framework that cannot run, with the reason and the command that would fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFramework {
    pub framework: Framework,
    pub root: PathBuf,
    pub files: usize,
    pub reason: String,
    pub fix: String,
}

impl std::fmt::Display for SkippedFramework {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} in {} is skipped with {}: {}",
            self.framework.name(),
            self.root.display(),
            count(self.files, "file"),
            self.reason
        )
    }
}

/// A layer of the team, or a part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerInScope {
    pub name: String,
    /// Of the session.
    pub folder: PathBuf,
    /// The layer of the team, for a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
    /// The files of a part, relative to the project; a whole layer is for all files in scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
}

/// How many mutants are tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MutationEffort {
    Off,
    #[default]
    Quick,
    Full,
}

impl Scope {
    pub fn read(session: &Path) -> io::Result<Self> {
        let text = fs::read(SessionPaths::at(session).scope_json())?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }

    /// Writes the scope of a new session. Facts of an earlier session in the same folder no longer count.
    pub fn write_first(&self, session: &Path) -> io::Result<()> {
        sealed::discard(session)?;
        self.write(session)
    }

    pub fn write(&self, session: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        text.push(b'\n');
        sealed::write(session, &SessionPaths::at(session).scope_json(), &text)
    }

    /// Removes a framework and its files from the scope, unless it is the last one.
    pub fn skip(&mut self, root: &Path, framework: &Framework, reason: String, fix: String) {
        let is_skipped = |own: &Framework, at: &Path| own == framework && at == root;
        if self
            .frameworks
            .iter()
            .all(|known| is_skipped(&known.framework, &known.root))
        {
            return;
        }
        self.frameworks
            .retain(|known| !is_skipped(&known.framework, &known.root));
        let before = self.files.len();
        self.files.retain(|file| !is_skipped(&file.framework, &file.root));
        self.skipped.push(SkippedFramework {
            framework: framework.clone(),
            root: root.to_owned(),
            files: before - self.files.len(),
            reason,
            fix,
        });
    }

    /// What must be installed if no framework can run, judging by the project's files.
    pub(crate) fn missing(&self, project: &Path) -> Option<MissingTool> {
        let missing = |known: &FrameworkInScope| known.framework.missing(&known.in_tree(project).root);
        let all: Option<Vec<MissingTool>> = self.frameworks.iter().map(missing).collect();
        all?.into_iter().next()
    }

    /// Removes frameworks that are not installed, judging by the project's files.
    pub(crate) fn skip_missing(&mut self, project: &Path) {
        for framework in self.frameworks.clone() {
            if let Some(missing) = framework.framework.missing(&framework.in_tree(project).root) {
                let reason = format!("{} is not installed for this project", missing.what);
                self.skip(&framework.root, &framework.framework, reason, missing.fix);
            }
        }
    }

    pub fn target(&self, layer: &str) -> Option<f64> {
        self.targets.get(self.team_layer(layer)).copied()
    }

    /// The layer of the team that a row's layer is, or is a part of.
    pub fn team_layer<'a>(&'a self, layer: &'a str) -> &'a str {
        let known = self.layers.iter().find(|known| known.name == layer);
        known.map_or(layer, LayerInScope::team_layer)
    }

    /// The folder of a layer in the session.
    pub fn folder(&self, layer: &str) -> Option<&Path> {
        let found = self.layers.iter().find(|known| known.name == layer)?;
        Some(&found.folder)
    }

    /// The files that a framework covers, relative to the project.
    pub fn files_of<'a>(&'a self, framework: &'a FrameworkInScope) -> impl Iterator<Item = &'a ScopedFile> {
        let own = |file: &&ScopedFile| file.root == framework.root && file.framework == framework.framework;
        self.files.iter().filter(own)
    }
}

impl ScopedFile {
    pub(super) fn new(path: PathBuf, framework: &FrameworkInScope, project: &Path) -> Self {
        let text = fs::read(project.join(&path)).unwrap_or_default();
        Self {
            root: framework.root.clone(),
            framework: framework.framework.clone(),
            lines: text
                .split(|&byte| byte == b'\n')
                .filter(|line| !line.trim_ascii().is_empty())
                .count(),
            path,
        }
    }
}

impl FrameworkInScope {
    pub(super) fn new(owner: &Project, conventions: Conventions, project: &Path) -> Self {
        let root = owner.root.strip_prefix(project).unwrap_or(Path::new(""));
        Self {
            version: owner.framework.version(&owner.root, project),
            place: place(owner, &conventions),
            root: if root.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                root.to_owned()
            },
            framework: owner.framework.clone(),
            config_file: owner.evidence.clone(),
            certainty: owner.certainty,
            conventions,
        }
    }

    /// The framework as it runs in a copy of the project.
    pub fn in_tree(&self, tree: &Path) -> Project {
        Project {
            root: if self.root == Path::new(".") {
                tree.to_owned()
            } else {
                tree.join(&self.root)
            },
            framework: self.framework.clone(),
            evidence: self.config_file.clone(),
            certainty: self.certainty,
        }
    }

    /// The file name pattern of tests.
    pub fn test_pattern(&self) -> String {
        if let Some(usual) = self.conventions.naming.first() {
            return usual.clone();
        }
        self.framework.facts().test_pattern.to_owned()
    }
}

/// Beside the existing tests, so that settings that name test folders apply to new ones.
fn place(owner: &Project, conventions: &Conventions) -> PathBuf {
    match owner.framework.facts().test_folder {
        TestFolder::Flat(folder) => PathBuf::from(folder),
        TestFolder::ByConvention => match conventions.folders.first().map(String::as_str) {
            None | Some(".") => PathBuf::from("tests"),
            Some(folder) => PathBuf::from(folder),
        },
    }
}

//! Prepares a new session of team Testing: files in scope, frameworks, targets. Reads, and changes nothing.

use std::collections::BTreeSet;
use std::path::Path;

use wavecrew_core::team::{ChangeSize, CheckKind, Pipeline, Team};
use wavecrew_core::view::first_few;

use crate::layer;
use crate::scope::{
    self, ChangesError, FilesInScope, LayerInScope, MutationEffort, Scope, ScopeRequest, min_effectiveness,
};
use crate::targets::{TargetError, targets};
use wavecrew_measure::framework::MissingTool;

/// How many files a request names before it refers to `scope.json`.
const MAX_NAMED: usize = 40;
const RUN_SECONDS: u64 = 300;

/// The options that a person set.
#[derive(Debug, Clone, Default)]
pub struct Options<'a> {
    pub request: ScopeRequest<'a>,
    /// `L1=85`
    pub targets: &'a [String],
    pub mutation: Option<MutationEffort>,
    /// Percent of mutants.
    pub min_effectiveness: Option<u8>,
    /// For one run of the tests.
    pub run_seconds: Option<u64>,
    pub seed: u64,
    /// For the built-in agent, per module.
    pub offline_seconds: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error(transparent)]
    Git(#[from] ChangesError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("the request names `{path}`, which does not exist in the project")]
    MissingPath { path: String, meant: Option<String> },
}

impl PrepareError {
    pub fn help(&self) -> String {
        match self {
            Self::Git(error) => error.help().to_owned(),
            Self::Target(error) => error.help(),
            Self::MissingPath {
                meant: Some(path), ..
            } => format!("did you mean `{path}`?"),
            Self::MissingPath { meant: None, .. } => {
                "give paths relative to the project, or omit them".to_owned()
            }
        }
    }
}

#[derive(Debug)]
pub struct Prepared {
    pub found: FilesInScope,
    pub scope: Scope,
    /// `None` if there is nothing to count.
    pub size: Option<ChangeSize>,
    /// What must be installed before any test can run, judging by the project's files.
    pub missing: Option<MissingTool>,
}

/// Whether claims in this team are checked by running tests of the session.
pub fn is_testing(team: &Team) -> bool {
    team.roles.iter().any(|role| match role.check {
        Some(CheckKind::GeneratedTests | CheckKind::TestRun | CheckKind::TestReport) => true,
        Some(CheckKind::CodeWork | CheckKind::CodeTests) | None => false,
    })
}

/// Finds what is in scope.
pub fn prepare(project: &Path, team: &Team, options: &Options<'_>) -> Result<Prepared, PrepareError> {
    let targets = targets(team, options.targets)?;
    let mut found = scope::find(project, &options.request)?;
    if let Some(path) = found.missing.first() {
        return Err(PrepareError::MissingPath {
            meant: scope::meant_path(project, path),
            path: path.clone(),
        });
    }
    let (frameworks, files) = scope::frameworks(project, &found.files);
    let layer = |target: &wavecrew_core::team::CoverageTarget| LayerInScope {
        name: target.name.clone(),
        folder: target.folder.clone().into(),
        ..LayerInScope::default()
    };
    let mut scope = Scope {
        base: found.base.revision().map(str::to_owned),
        commit: found.commit.clone(),
        how: found.how.clone(),
        files,
        frameworks,
        skipped: Vec::new(),
        targets: targets.into_iter().collect(),
        layers: team.targets.iter().map(layer).collect(),
        mutation: options.mutation.unwrap_or_default(),
        min_effectiveness: options.min_effectiveness.unwrap_or_else(min_effectiveness),
        run_seconds: options.run_seconds.unwrap_or(RUN_SECONDS),
        seed: options.seed,
        offline_seconds: options.offline_seconds,
    };
    scope.skip_missing(project);
    let missing = scope.missing(project);
    let in_scope: BTreeSet<&Path> = scope.files.iter().map(|file| file.path.as_path()).collect();
    found.files.retain(|file| in_scope.contains(file.as_path()));
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let size = (!scope.files.is_empty()).then(|| ChangeSize {
        files: count(scope.files.len()),
        modules: count(found.modules(project).len()),
    });
    Ok(Prepared {
        found,
        scope,
        size,
        missing,
    })
}

impl Prepared {
    /// Splits a large scope into parts of at most so many files, and makes them known to the team.
    pub fn split(&mut self, team: &mut Team, files_per_task: usize) {
        self.scope.split(files_per_task);
        self.scope.add_parts_to(team);
    }

    /// The rows for the request: targets, files in scope, a row per part of a large scope.
    #[must_use]
    pub fn pipeline(&self, pipeline: &Pipeline, request: &str) -> Pipeline {
        let split = self
            .scope
            .split_rows(pipeline, |part| described_request(part, request));
        let mut filled = split.for_request(&described_request(&self.scope, request));
        self.set_targets(&mut filled);
        filled
    }

    /// Writes the targets into the rows of their layers.
    fn set_targets(&self, pipeline: &mut Pipeline) {
        for task in &mut pipeline.tasks {
            let target = task.set.get("layer").and_then(|layer| self.scope.target(layer));
            if let Some((target, cell)) = target.zip(task.set.get_mut("coverage_target")) {
                *cell = target.to_string();
            }
        }
    }
}

/// The request with the scope, so that a worker need not find it again.
fn described_request(scope: &Scope, request: &str) -> String {
    if scope.files.is_empty() {
        return request.to_owned();
    }
    let names = scope.files.iter().map(|file| file.path.display().to_string());
    let mut files = first_few(names, MAX_NAMED);
    if scope.files.len() > MAX_NAMED {
        files += ", see scope.json";
    }
    let places: Vec<String> = scope
        .frameworks
        .iter()
        .map(|f| {
            let place = layer::folder_of(f, Path::new("LAYER"));
            format!(
                "{} in {}: tests named {}, their imports written as from {}",
                f.framework.name(),
                f.root.display(),
                f.test_pattern(),
                place.display()
            )
        })
        .collect();
    let asked = match request.trim() {
        "" => String::new(),
        request => format!("{}. ", request.trim_end_matches('.')),
    };
    format!(
        "{asked}In scope are {files}. Frameworks: {} (LAYER is the name of the layer's folder).",
        places.join("; ")
    )
}

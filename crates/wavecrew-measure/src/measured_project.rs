//! Measures whole projects: finds those that some paths belong to, runs their tests, and on request looks for flaky tests and
//! surviving mutants.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::detect::{Certainty, Framework, Project, by_project};
use crate::measurement::Measurement;
use crate::mutation::{KillingTests, MutationBudget, MutationReport, MutationRequest, MutationTarget};
use crate::run::{MeasureError, Request, Runner};

/// What to do besides running the tests once.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeasureOptions {
    /// Run the tests this many more times to find flaky ones.
    pub reruns: u32,
    /// Take coverage from passing tests only.
    pub passing_only: bool,
    pub mutation: Option<MutationBudget>,
}

#[derive(Debug)]
pub struct MeasuredProject {
    pub project: Project,
    pub result: Result<Measurement, MeasureError>,
    pub mutation: Option<Result<MutationReport, MeasureError>>,
}

impl MeasuredProject {
    pub fn was_stopped(&self) -> bool {
        matches!(self.result, Err(MeasureError::Stopped))
            || matches!(self.mutation, Some(Err(MeasureError::Stopped)))
    }

    pub fn all_tests_passed(&self) -> bool {
        matches!(&self.result, Ok(found) if found.failing().next().is_none())
    }
}

/// Why a path has nothing to measure.
#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    #[error("cannot measure {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} contains no source that can be measured", .0.display())]
    NoSource(PathBuf),
}

impl ScopeError {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "name a file or a folder",
            Self::NoSource(_) => "supported languages are Python, JavaScript, TypeScript, Rust and Go",
        }
    }
}

/// The projects that the paths belong to, each with its files in scope. Paths are relative to `here`; no path stands for all of
/// it. A command replaces the frameworks of all projects.
pub fn projects_in_scope(
    paths: &[PathBuf],
    here: &Path,
    top: &Path,
    command: Option<&str>,
) -> Result<BTreeMap<Project, Vec<PathBuf>>, ScopeError> {
    let mut scopes: BTreeMap<Project, Vec<PathBuf>> = BTreeMap::new();
    let whole = [PathBuf::from(".")];
    let paths = if paths.is_empty() { &whole[..] } else { paths };
    for path in paths {
        let unreadable = |source| ScopeError::Unreadable {
            path: path.clone(),
            source,
        };
        let full = here.join(path).canonicalize().map_err(unreadable)?;
        let found = by_project(&full, top);
        if found.is_empty() {
            return Err(ScopeError::NoSource(path.clone()));
        }
        for (project, files) in found {
            let project = match command {
                Some(line) => Project {
                    root: here.to_owned(),
                    framework: Framework::Command {
                        line: line.to_owned(),
                    },
                    evidence: format!("`{line}`"),
                    certainty: Certainty::Found,
                },
                None => project,
            };
            let scope = scopes.entry(project).or_default();
            scope.extend(files);
            scope.sort();
            scope.dedup();
        }
    }
    Ok(scopes)
}

/// The repository around a folder, or the folder itself.
pub fn repository_root(folder: &Path) -> &Path {
    let mut above = folder.ancestors();
    above
        .find(|folder| folder.join(".git").exists())
        .unwrap_or(folder)
}

impl Runner {
    /// Runs all tests of a project. `top` is the folder to copy for mutants.
    pub fn measure_project(
        &self,
        project: Project,
        scope: &[PathBuf],
        top: &Path,
        options: MeasureOptions,
    ) -> MeasuredProject {
        let request = Request::new(&project, scope);
        let result = self.measure(&request).and_then(|mut measurement| {
            self.find_flaky(&request, options.reruns, &mut measurement)?;
            if options.passing_only {
                self.measure_passing_coverage(&request, &mut measurement)?;
            }
            Ok(measurement)
        });
        let measured = result.as_ref().ok().zip(options.mutation);
        let mutation = measured.map(|(measurement, budget)| {
            self.mutate(&MutationRequest {
                control_files: 0,
                project: &project,
                top,
                targets: &MutationTarget::covered(measurement, scope, &project.root),
                tests: &[],
                budget,
                killing_tests: KillingTests::First,
            })
        });
        MeasuredProject {
            project,
            result,
            mutation,
        }
    }
}

//! What to test: the source files in scope, the frameworks that test them, the targets. Determined once, when
//! a session starts, and stored in its `scope.json`, which all later steps read.

mod built_files;
mod changes;
mod file;
mod named_paths;
mod parts;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use wavecrew_measure::detect::{Project, by_project, conventions, project_of};

use named_paths::Named;
use wavecrew_core::sheet::closest;
use wavecrew_core::view::count;
use wavecrew_session::WORKFLOW_FOLDER;

pub use changes::{Base, ChangesError};
pub use parts::FILES_PER_TASK;

pub use file::{
    FrameworkInScope, LayerInScope, MutationEffort, Scope, ScopedFile, SkippedFramework, min_effectiveness,
};

/// What a person asked for.
#[derive(Debug, Clone, Default)]
pub struct ScopeRequest<'a> {
    /// Compare with this revision in place of the last commit.
    pub since: Option<&'a str>,
    /// The request as it was given, argument by argument; existing paths in it narrow the scope.
    pub words: &'a [String],
}

/// Files in scope, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesInScope {
    pub base: Base,
    pub commit: Option<String>,
    /// Relative to the project, sorted.
    pub files: Vec<PathBuf>,
    /// What the files are, in a sentence for people.
    pub how: String,
    /// Words of the request that can only be paths, but do not exist.
    pub missing: Vec<String>,
}

impl FilesInScope {
    /// Whether the whole project is in scope only because nothing else was found; then the person is asked.
    pub fn is_fallback(&self) -> bool {
        matches!(self.base, Base::Whole)
    }

    /// First folders below the source roots; files directly in a root count as one more.
    pub fn modules(&self, project: &Path) -> BTreeSet<String> {
        self.files.iter().map(|file| module(file, project)).collect()
    }
}

/// Finds the changed files in `project`, an absolute path; all files if nothing changed.
pub fn find(project: &Path, request: &ScopeRequest<'_>) -> Result<FilesInScope, ChangesError> {
    let Named {
        paths: named,
        missing,
    } = Named::of(project, request.words);
    let all_sources = |named: &[PathBuf]| -> Vec<PathBuf> {
        if named.is_empty() {
            return sources(project, project);
        }
        let below = named
            .iter()
            .flat_map(|path| sources(&project.join(path), project));
        below.collect()
    };
    let changes = changes::changes(project, request.since)?;
    let commit = changes.as_ref().and_then(|changes| changes.commit.clone());
    let whole = |why: &str| {
        let mut files = all_sources(&named);
        files.sort();
        files.dedup();
        let mut why = why;
        if named.is_empty() {
            let built = built_files::entries(project);
            // Files beside the built ones that are entries themselves only pass these on.
            if built.len() > files.len() && files.iter().all(|file| built.contains(file)) {
                files = built;
                why = "it has built files only, so those that package.json names are tested";
            }
        }
        let what = if named.is_empty() {
            "the whole project".to_owned()
        } else {
            let shown: Vec<String> = named.iter().map(|path| path.display().to_string()).collect();
            format!("all of {}", shown.join(", "))
        };
        FilesInScope {
            // Paths that a person named are a choice, not a fallback.
            base: if named.is_empty() {
                Base::Whole
            } else {
                Base::Named
            },
            commit: commit.clone(),
            files,
            how: format!("{what}: {why}"),
            missing: missing.clone(),
        }
    };
    let Some(changes) = changes else {
        return Ok(whole("not a git repository, so changes are unknown"));
    };
    let files: Vec<PathBuf> = if changes.files.is_empty() {
        Vec::new()
    } else {
        // One directory walk for all of them, so that a large change stays cheap.
        let all: BTreeSet<PathBuf> = all_sources(&named).into_iter().collect();
        changes.files.intersection(&all).cloned().collect()
    };
    if !files.is_empty() {
        let mut how = format!(
            "{} {}",
            count(files.len(), "source file"),
            changes.base.describe()
        );
        // A named path is tested whether it changed or not.
        let unchanged = named
            .iter()
            .filter(|path| !files.iter().any(|file| file.starts_with(path)));
        let mut all: BTreeSet<PathBuf> = BTreeSet::new();
        for path in unchanged {
            let there = sources(&project.join(path), project);
            if !there.is_empty() {
                how.push_str(&format!(", all of {}", path.display()));
            }
            all.extend(there);
        }
        all.extend(files);
        return Ok(FilesInScope {
            base: changes.base,
            commit,
            files: all.into_iter().collect(),
            how,
            missing,
        });
    }
    let there = changes
        .files
        .iter()
        .filter(|file| project.join(file).exists())
        .count();
    Ok(whole(&match (changes.files.len(), there) {
        (0, _) => format!("nothing {}", changes.base.describe()),
        (gone, 0) => format!(
            "all of {} {} are deleted",
            count(gone, "file"),
            changes.base.describe()
        ),
        _ if !named.is_empty() => format!("none of its source files {}", changes.base.describe()),
        (n, _) => format!(
            "no source file is among {} {}",
            count(n, "file"),
            changes.base.describe()
        ),
    }))
}

/// The existing path that is most similar to one that does not exist.
pub fn meant_path(project: &Path, missing: &str) -> Option<String> {
    let sources = sources(project, project);
    let name = Path::new(missing).file_name()?;
    let mut of_name = sources.iter().filter(|file| file.file_name() == Some(name));
    if let (Some(only), None) = (of_name.next(), of_name.next()) {
        return Some(only.display().to_string());
    }
    let folders = sources.iter().flat_map(|file| file.ancestors());
    let known: BTreeSet<String> = folders.map(|path| path.display().to_string()).collect();
    let wanted = missing.trim_start_matches("./").trim_end_matches('/');
    closest(wanted, known.iter().map(String::as_str)).map(str::to_owned)
}

fn sources(path: &Path, project: &Path) -> Vec<PathBuf> {
    by_project(path, project)
        .into_values()
        .flatten()
        .filter(|file| !file.starts_with(project.join(WORKFLOW_FOLDER)))
        .filter_map(|file| Some(file.strip_prefix(project).ok()?.to_owned()))
        .collect()
}

/// `src/auth/x.ts` belongs to module `auth`.
fn module(file: &Path, project: &Path) -> String {
    let root =
        project_of(&project.join(file), project).map_or_else(|| project.to_owned(), |owner| owner.root);
    let root = root.strip_prefix(project).unwrap_or(Path::new(""));
    let mut parts: Vec<String> = file
        .strip_prefix(root)
        .unwrap_or(file)
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if parts.len() > 1 && ["src", "lib", "app", "source"].contains(&parts[0].as_str()) {
        parts.remove(0);
    }
    let first = if parts.len() > 1 {
        parts.swap_remove(0)
    } else {
        ".".to_owned()
    };
    match root.to_string_lossy() {
        root if root.is_empty() => first,
        root => format!("{root}/{first}"),
    }
}

/// The frameworks of some files, each with its root; and the files as they stand in `scope.json`.
pub fn frameworks(project: &Path, files: &[PathBuf]) -> (Vec<FrameworkInScope>, Vec<ScopedFile>) {
    let mut owners: BTreeMap<Project, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        if let Some(owner) = project_of(&project.join(file), project) {
            owners.entry(owner).or_default().push(file.clone());
        }
    }
    let mut frameworks = Vec::new();
    let mut scoped = Vec::new();
    for (owner, files) in owners {
        let info = FrameworkInScope::new(&owner, conventions(&owner, project), project);
        scoped.extend(
            files
                .into_iter()
                .map(|path| ScopedFile::new(path, &info, project)),
        );
        frameworks.push(info);
    }
    scoped.sort_by(|a, b| a.path.cmp(&b.path));
    (frameworks, scoped)
}

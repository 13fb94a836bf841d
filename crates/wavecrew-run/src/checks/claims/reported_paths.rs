//! Checks the paths that a worker reports.

use super::is_absent;
use std::fs;
use std::path::{Component, Path, PathBuf};
use wavecrew_core::claim::{ClaimCheck, OwedPaths, quoted_path};

/// Paths that are checked in one report.
pub(super) const MAX_PATHS: usize = 10_000;

/// Checks the columns' paths; each comes with the name of its column.
pub(super) fn check<'a>(
    session_dir: &Path,
    project_dir: &Path,
    owed_paths: &OwedPaths<'_>,
    paths: impl Iterator<Item = (&'a str, &'a str)>,
    findings: &mut ClaimCheck,
) {
    let mut paths = paths.peekable();
    if paths.peek().is_none() {
        return;
    }
    let allowed = Allowed::new(session_dir, project_dir);
    for (column, path) in paths.by_ref().take(MAX_PATHS) {
        check_path(&allowed, owed_paths, column, path, findings);
    }
    if paths.next().is_some() {
        findings.add_fixable(format!("more than {MAX_PATHS} paths are reported: name fewer"));
    }
}

fn check_path(
    allowed: &Allowed,
    owed_paths: &OwedPaths<'_>,
    column: &str,
    path: &str,
    findings: &mut ClaimCheck,
) {
    let what = format!("{} in `{column}`", quoted_path(path));
    match allowed.resolve(path) {
        ReportedPath::There => findings.count_check(),
        // The engine writes it once the claim is verified.
        ReportedPath::Absent(names) if names.iter().any(|name| is_of_engine(owed_paths, name)) => {}
        ReportedPath::Absent(_) => {
            findings.add_fixable(format!(
                "{what} does not exist: write it, or report what is there"
            ));
        }
        ReportedPath::Outside => {
            findings.add_outside(format!("{what} lies outside the session folder and the project"));
        }
        ReportedPath::Bad(why) => findings.add_fixable(format!("{what} {why}")),
    }
}

fn is_of_engine(owed_paths: &OwedPaths<'_>, name: &Path) -> bool {
    let name = name.to_string_lossy();
    owed_paths
        .by_engine
        .iter()
        .any(|owed| owed.pattern.matches(&name))
}

/// The folders in which reported paths may lie.
struct Allowed {
    session: Folder,
    project: Folder,
}

struct Folder {
    /// As workers know it.
    given: PathBuf,
    /// With all links resolved.
    real: PathBuf,
}

/// What a reported path is.
enum ReportedPath {
    There,
    /// It does not exist; the names it may stand for in the session folder.
    Absent(Vec<PathBuf>),
    Outside,
    /// Something is wrong with it; continues a sentence that starts with its name.
    Bad(String),
}

impl Folder {
    fn new(given: &Path) -> Self {
        // A folder that cannot be resolved is empty; its own name serves for absent paths.
        let real = given.canonicalize().unwrap_or_else(|_| given.to_owned());
        Self {
            given: given.to_owned(),
            real,
        }
    }

    /// The path in this folder, of a file that may not exist.
    fn name_of(&self, path: &Path) -> Option<PathBuf> {
        let name = path
            .strip_prefix(&self.given)
            .or_else(|_| path.strip_prefix(&self.real));
        name.ok().map(Path::to_owned)
    }
}

impl Allowed {
    fn new(session_dir: &Path, project_dir: &Path) -> Self {
        Self {
            session: Folder::new(session_dir),
            project: Folder::new(project_dir),
        }
    }

    /// Resolves a path in the session folder, or else in the project.
    fn resolve(&self, path: &str) -> ReportedPath {
        let mut may_be_inside = false;
        let mut names = vec![];
        for folder in [&self.session, &self.project] {
            let candidate = folder.given.join(path);
            match candidate.canonicalize() {
                Ok(real) if self.contains(&real) => return self.check_kind(&real),
                Ok(_) => return ReportedPath::Outside,
                Err(error) if is_absent(&error) => {
                    let plain = without_dots(&candidate);
                    may_be_inside |= self.project.name_of(&plain).is_some();
                    names.extend(self.session.name_of(&plain));
                }
                Err(error) => return ReportedPath::Bad(format!("cannot be read: {error}")),
            }
        }
        if may_be_inside || !names.is_empty() {
            ReportedPath::Absent(names)
        } else {
            ReportedPath::Outside
        }
    }

    fn contains(&self, real: &Path) -> bool {
        real.starts_with(&self.session.real) || real.starts_with(&self.project.real)
    }

    /// Checks something inside the allowed folders.
    fn check_kind(&self, real: &Path) -> ReportedPath {
        if real == self.session.real || real == self.project.real {
            return ReportedPath::Bad("is the whole folder: name the files".to_owned());
        }
        match fs::metadata(real) {
            Ok(about) if about.is_file() || about.is_dir() => ReportedPath::There,
            Ok(_) => ReportedPath::Bad("is not a regular file".to_owned()),
            Err(error) => ReportedPath::Bad(format!("cannot be read: {error}")),
        }
    }
}

/// Removes `.` and `..` from a path without reading the disk.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

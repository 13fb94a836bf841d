//! Looks for the paths a worker reports.

use super::is_absent;
use std::fs;
use std::path::{Component, Path, PathBuf};
use wavecrew_core::claim::{ClaimCheck, OwedPaths, quoted_path};

/// Paths looked at in one report.
pub(super) const MAX_PATHS: usize = 10_000;

/// Checks the columns' paths; each comes with the name of its column.
pub(super) fn check<'a>(
    session_dir: &Path,
    project_dir: &Path,
    debts: &OwedPaths<'_>,
    paths: impl Iterator<Item = (&'a str, &'a str)>,
    findings: &mut ClaimCheck,
) {
    let mut paths = paths.peekable();
    if paths.peek().is_none() {
        return;
    }
    let allowed = Allowed::new(session_dir, project_dir);
    for (column, path) in paths.by_ref().take(MAX_PATHS) {
        check_path(&allowed, debts, column, path, findings);
    }
    if paths.next().is_some() {
        findings.add_fixable(format!("more than {MAX_PATHS} paths are reported: name fewer"));
    }
}

fn check_path(allowed: &Allowed, debts: &OwedPaths<'_>, column: &str, path: &str, findings: &mut ClaimCheck) {
    let what = format!("{} in `{column}`", quoted_path(path));
    match allowed.place(path) {
        Place::There => findings.count_check(),
        // The engine writes it after the claim has held.
        Place::Absent(names) if names.iter().any(|name| is_of_engine(debts, name)) => {}
        Place::Absent(_) => {
            findings.add_fixable(format!(
                "{what} does not exist: write it, or report what is there"
            ));
        }
        Place::Outside => {
            findings.add_outside(format!("{what} lies outside the session folder and the project"));
        }
        Place::Bad(why) => findings.add_fixable(format!("{what} {why}")),
    }
}

fn is_of_engine(debts: &OwedPaths<'_>, name: &Path) -> bool {
    let name = name.to_string_lossy();
    debts.by_engine.iter().any(|debt| debt.pattern.matches(&name))
}

/// The folders in which reported paths may lie.
struct Allowed {
    session: Folder,
    project: Folder,
}

struct Folder {
    /// As workers know it.
    given: PathBuf,
    /// As it really lies.
    real: PathBuf,
}

/// Where a reported path leads.
enum Place {
    There,
    /// Nothing is there; the names it may mean in the session folder.
    Absent(Vec<PathBuf>),
    Outside,
    /// Something is wrong with it; goes on from its name.
    Bad(String),
}

impl Folder {
    fn new(given: &Path) -> Self {
        // A folder that cannot be resolved holds nothing; its own name serves for what is absent.
        let real = given.canonicalize().unwrap_or_else(|_| given.to_owned());
        Self {
            given: given.to_owned(),
            real,
        }
    }

    /// The name from this folder of a path that may not exist.
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

    /// Looks for a path in the session folder, then in the project.
    fn place(&self, path: &str) -> Place {
        let mut may_be_inside = false;
        let mut names = vec![];
        for folder in [&self.session, &self.project] {
            let candidate = folder.given.join(path);
            match candidate.canonicalize() {
                Ok(real) if self.holds(&real) => return self.judge(&real),
                Ok(_) => return Place::Outside,
                Err(error) if is_absent(&error) => {
                    let plain = without_dots(&candidate);
                    may_be_inside |= self.project.name_of(&plain).is_some();
                    names.extend(self.session.name_of(&plain));
                }
                Err(error) => return Place::Bad(format!("cannot be looked at: {error}")),
            }
        }
        if may_be_inside || !names.is_empty() {
            Place::Absent(names)
        } else {
            Place::Outside
        }
    }

    fn holds(&self, real: &Path) -> bool {
        real.starts_with(&self.session.real) || real.starts_with(&self.project.real)
    }

    /// Judges something that lies where it may.
    fn judge(&self, real: &Path) -> Place {
        if real == self.session.real || real == self.project.real {
            return Place::Bad("is the whole folder: name the files".to_owned());
        }
        match fs::metadata(real) {
            Ok(about) if about.is_file() || about.is_dir() => Place::There,
            Ok(_) => Place::Bad("is not a regular file".to_owned()),
            Err(error) => Place::Bad(format!("cannot be looked at: {error}")),
        }
    }
}

/// Takes `.` and `..` out of a path without looking at the disk.
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

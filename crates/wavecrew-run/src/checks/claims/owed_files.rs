//! Checks the files that a task owes. Reads a bounded part of each.

use super::is_absent;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use wavecrew_core::claim::{
    ClaimCheck, DocumentContext, OwedPath, OwedPaths, Problem, content_problems, quoted_path,
};
use wavecrew_core::team::{Content, Owed};

/// No document that people read is longer.
const MAX_BYTES: u64 = 8 << 20;
/// Entries that are searched for one pattern.
const MAX_ENTRIES: usize = 100_000;

pub(super) fn check(
    session_dir: &Path,
    project_dir: &Path,
    owed_paths: &OwedPaths<'_>,
    context: DocumentContext<'_>,
) -> ClaimCheck {
    let mut findings = ClaimCheck::default();
    for leaves in &owed_paths.escaping {
        let path = quoted_path(&leaves.0);
        findings.add_outside(format!(
            "{path} would lie outside the session folder: the row's values lead there"
        ));
    }
    if owed_paths.by_worker.is_empty() {
        return findings;
    }
    match session_dir.canonicalize() {
        Ok(session) => {
            for owed in &owed_paths.by_worker {
                findings.count_check();
                check_owed(&session, project_dir, owed, context, &mut findings);
            }
        }
        Err(error) => {
            let session = quoted_path(&session_dir.to_string_lossy());
            findings.add_fixable(format!("the session folder {session} cannot be read: {error}"));
        }
    }
    findings
}

fn check_owed(
    session: &Path,
    project: &Path,
    owed: &OwedPath<'_>,
    context: DocumentContext<'_>,
    findings: &mut ClaimCheck,
) {
    let mut found = match FoundFiles::of(session, owed) {
        Ok(found) => found,
        Err(error) => {
            let name = quoted_path(owed.pattern.as_str());
            findings.add_fixable(format!("{name} cannot be searched for: {error}"));
            return;
        }
    };
    for name in found.outside {
        let name = quoted_path(&name);
        findings.add_outside(format!("{name} is a link that leads out of the session folder"));
    }
    found.files.sort_unstable();
    if let Some(problem) = owed.count_problem(found.files.len()) {
        findings.add_fixable(match misplaced(session, project, owed) {
            Some(there) => {
                let (name, there) = (
                    quoted_path(owed.pattern.as_str()),
                    quoted_path(&there.to_string_lossy()),
                );
                format!("{name} is missing; found {there} instead: move it to {name} in the session folder")
            }
            None => problem,
        });
    }
    for (name, real) in &found.files {
        match file_problems(name, real, owed.owed, context) {
            Ok(problems) => {
                for problem in &problems {
                    findings.add(&quoted_path(name), problem);
                }
            }
            Err(problem) => findings.add_fixable(format!("{} {problem}", quoted_path(name))),
        }
    }
}

/// The owed files that exist, relative to the session folder.
pub(super) fn delivered(session_dir: &Path, owed_paths: &OwedPaths<'_>) -> Vec<String> {
    if owed_paths.by_worker.is_empty() && owed_paths.by_engine.is_empty() {
        return vec![];
    }
    let Ok(session) = session_dir.canonicalize() else {
        return vec![];
    };
    let mut names = vec![];
    for owed in owed_paths.by_worker.iter().chain(&owed_paths.by_engine) {
        if let Ok(found) = FoundFiles::of(&session, owed) {
            names.extend(found.files.into_iter().map(|(name, _)| name));
        }
    }
    names.sort_unstable();
    names
}

/// The owed file in a folder where workers put it by mistake.
fn misplaced(session: &Path, project: &Path, owed: &OwedPath<'_>) -> Option<PathBuf> {
    let path = Path::new(owed.pattern.as_str());
    let name = path.file_name().filter(|_| owed.pattern.is_literal())?;
    let candidates = [session.join(name), project.join(path), project.join(name)];
    candidates
        .into_iter()
        .find(|candidate| *candidate != session.join(path) && candidate.is_file())
}

/// The files of a session that match what is owed.
#[derive(Default)]
struct FoundFiles {
    /// The path in the session folder, and the real path.
    files: Vec<(String, PathBuf)>,
    outside: Vec<String>,
}

impl FoundFiles {
    fn of(session: &Path, owed: &OwedPath<'_>) -> io::Result<Self> {
        let mut found = Self::default();
        if owed.pattern.is_literal() {
            found.add(session, owed.pattern.as_str().to_owned())?;
        } else {
            found.search(session, owed)?;
        }
        Ok(found)
    }

    /// Adds the file at a path, if it exists.
    fn add(&mut self, session: &Path, name: String) -> io::Result<()> {
        match session.join(&name).canonicalize() {
            Ok(real) if real.starts_with(session) => self.files.push((name, real)),
            Ok(_) => self.outside.push(name),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Adds everything that matches. Linked folders are not entered: they may lead out or in circles.
    fn search(&mut self, session: &Path, owed: &OwedPath<'_>) -> io::Result<()> {
        let base = owed.pattern.base();
        match session.join(&base).canonicalize() {
            Ok(real) if real.starts_with(session) => {}
            Ok(_) => {
                self.outside.push(base);
                return Ok(());
            }
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut seen = 0;
        let mut folders = vec![base];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(session.join(&folder)) {
                Ok(entries) => entries,
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(error),
            };
            for entry in entries {
                let entry = entry?;
                seen += 1;
                if seen > MAX_ENTRIES {
                    return Err(io::Error::other(format!(
                        "there are more than {MAX_ENTRIES} files"
                    )));
                }
                // Patterns are text, so a name that is not cannot match.
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                let name = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    if owed.leads_into(&name) {
                        folders.push(name);
                    }
                } else if owed.is_satisfied_by(&name) && !(kind.is_symlink() && entry.path().is_dir()) {
                    self.add(session, name)?;
                }
            }
        }
        Ok(())
    }
}

/// What is wrong with an owed file; each problem continues a sentence that starts with its name.
fn file_problems(
    name: &str,
    real: &Path,
    owed: &Owed,
    context: DocumentContext<'_>,
) -> Result<Vec<Problem>, String> {
    match read(real, owed) {
        Ok(Ok(Some(bytes))) => Ok(content_problems(&owed.content, name, &bytes, context)),
        Ok(Ok(None)) => Ok(Vec::new()),
        Ok(Err(problem)) => Err(problem),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

/// What is in the file, if that matters, or what is wrong with it as a file.
fn read(real: &Path, owed: &Owed) -> io::Result<Result<Option<Vec<u8>>, String>> {
    // Opening a pipe without a writer would block.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(nonblocking).open(real)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Ok(Err("is a folder, a file is needed".to_owned()));
    }
    if !about.is_file() {
        return Ok(Err("is not a regular file".to_owned()));
    }
    let (len, min) = (about.len(), u64::from(owed.min_bytes));
    if len < min {
        return Ok(Err(if len == 0 {
            "is empty".to_owned()
        } else {
            format!("has {len} bytes, at least {min} are needed")
        }));
    }
    match &owed.content {
        Content::Any => return Ok(Ok(None)),
        Content::TestFile => {}
        Content::Markdown { .. }
        | Content::Requirements { .. }
        | Content::Epics { .. }
        | Content::Review(_)
        | Content::Json { .. } => {
            if len > MAX_BYTES {
                return Ok(Err(format!(
                    "has {len} bytes, at most {MAX_BYTES} are read: make it shorter"
                )));
            }
        }
    }
    let mut bytes = vec![];
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(Ok(Some(bytes)))
}

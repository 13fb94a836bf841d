//! Changes of the project itself, which a person may edit during a run and a worker may not.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wavecrew_measure::detect::Language;

use super::{Change, Manifest};
use wavecrew_diff::project_copy::walk;

impl Manifest {
    /// Code of the project that was edited, removed or added after a time.
    pub fn changed_since(&self, since: SystemTime) -> io::Result<Vec<Change>> {
        let mut found = Vec::new();
        for file in self.names().filter(|file| Language::of(file).is_some()) {
            let path = self.project.join(file);
            if path.symlink_metadata().is_ok() {
                if touched(&path).is_some_and(|at| at > since) && !self.is_unchanged(&self.project, file) {
                    found.push(Change::Edited(file.to_owned()));
                }
            } else if left_since(&path, since) {
                found.push(Change::Removed(file.to_owned()));
            }
        }
        let is_new = |file: &PathBuf| {
            Language::of(file).is_some()
                && !self.contains(file)
                && touched(&self.project.join(file)).is_some_and(|at| at > since)
        };
        let added = walk(&self.project, |_| true)?.into_iter().filter(is_new);
        found.extend(added.map(Change::Added));
        Ok(found)
    }
}

/// When a file's content, name or permissions last changed. Programs cannot set this time.
fn touched(path: &Path) -> Option<SystemTime> {
    let about = path.symlink_metadata().ok()?;
    let seconds = u64::try_from(about.ctime()).ok()?;
    let nanos = u32::try_from(about.ctime_nsec()).ok()?;
    Some(UNIX_EPOCH + Duration::new(seconds, nanos))
}

/// Whether a missing file may have been removed after a time, by the time of the closest folder that exists.
fn left_since(path: &Path, since: SystemTime) -> bool {
    let above = path.ancestors().skip(1).find_map(touched);
    above.is_some_and(|at| at > since)
}

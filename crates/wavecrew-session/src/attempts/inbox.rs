//! The folders of open attempts, each written by one worker: reads reports from them, and moves them to where
//! no worker can write.

use super::{Attempts, MAX_REPORT, open_if_there};
use crate::atomic::{self, read_all, sync_folder};
use crate::error::{IoContext, SessionError};
use crate::worker_file::read_limited;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::SystemTime;

impl Attempts {
    /// Collects the reports of attempts that another coordinator opened.
    pub(super) fn collect_foreign_reports(&self) -> Result<(), SessionError> {
        for (number, task, attempt) in self.open_attempts()? {
            let _ = self.take_from(Some(number), &task, attempt)?;
        }
        Ok(())
    }

    /// The report from the folder of this number, or from the place to which it was already moved.
    pub(super) fn take_from(
        &self,
        number: Option<u32>,
        task: &str,
        attempt: u32,
    ) -> Result<Option<Vec<u8>>, SessionError> {
        let path = self.paths.report_file(task, attempt);
        if let Some(mut file) = open_if_there(&path)? {
            let report = read_all(&mut file, &path)?;
            return Ok((!report.is_empty()).then_some(report));
        }
        let Some(number) = number else { return Ok(None) };
        let submitted = self.paths.submitted_report(number, task, attempt);
        let found = read_limited(&submitted, MAX_REPORT as u64).context("read", &submitted)?;
        let Some((report, false)) = found.regular().filter(|(report, _)| !report.is_empty()) else {
            return Ok(None);
        };
        let draft = atomic::temp_with(&path, &report, 0o600)?;
        // The time of the report, not of its discovery.
        let handed_in = fs::symlink_metadata(&submitted).and_then(|found| found.modified());
        if let Ok(handed_in) = handed_in {
            let _ = draft.as_file().set_modified(handed_in.min(SystemTime::now()));
        }
        draft.as_file().sync_all().context("sync", draft.path())?;
        draft
            .persist(&path)
            .map_err(|error| error.error)
            .context("keep", &path)?;
        sync_folder(&self.paths.run_folder())?;
        Ok(Some(report))
    }

    /// Whether the folder of this number has no report.
    pub(super) fn is_empty(&self, number: u32, task: &str, attempt: u32) -> bool {
        let submitted = self.paths.submitted_report(number, task, attempt);
        let looked = fs::symlink_metadata(submitted);
        looked.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Takes the report's name before a reporter that has begun, or returns the report that has the name.
    pub(super) fn block_name(
        &self,
        number: u32,
        task: &str,
        attempt: u32,
    ) -> Result<Option<Vec<u8>>, SessionError> {
        let create = |name: &Path| {
            File::options()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(name)
        };
        let name = self.paths.submitted_report(number, task, attempt);
        let taken = match create(&name) {
            Ok(_) => None,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.take_from(Some(number), task, attempt)?
            }
            Err(error) => return Err(error).context("close", &name),
        };
        if taken.is_none() {
            // Later readers find it here.
            let _ = create(&self.paths.report_file(task, attempt));
        }
        Ok(taken)
    }
}

//! The folder of the settings files that wavecrew writes for agents. gemini ignores a settings file if others may write a
//! folder above it, so the files are not in the project, which may be anywhere.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use wavecrew_core::pool::name_of;
use wavecrew_session::SessionDir;

use crate::worker::files::create_private_folder;

/// The settings files of one session: below the user's cache folder, else below the user's runtime folder, else in the
/// session itself.
#[derive(Debug)]
pub struct AgentFiles {
    /// Folders that only the user may write, if all is well; the best first.
    private: Vec<PathBuf>,
    scratch: PathBuf,
    chosen: OnceCell<PathBuf>,
}

impl AgentFiles {
    pub fn of_session(session: &SessionDir) -> Self {
        Self::find(session.path(), &session.scratch_folder(), |name| {
            std::env::var_os(name)
        })
    }

    fn find(session: &Path, scratch: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| {
            let path = PathBuf::from(variable(name)?);
            path.is_absolute().then_some(path)
        };
        let below_home = || Some(set("HOME")?.join(".cache"));
        let roots = [set("XDG_CACHE_HOME"), below_home(), set("XDG_RUNTIME_DIR")];
        let title = session.file_name().unwrap_or_default().to_string_lossy();
        let name = name_of(&title, [session.as_os_str().as_bytes()]);
        let below = |root: PathBuf| root.join("wavecrew/agent-files").join(&name);
        Self {
            private: roots.into_iter().flatten().map(below).collect(),
            scratch: scratch.to_owned(),
            chosen: OnceCell::new(),
        }
    }

    /// The folders that may hold the files of all workers of all sessions.
    pub fn roots(&self) -> Vec<PathBuf> {
        let parents = self.private.iter().filter_map(|folder| folder.parent());
        parents.map(Path::to_owned).collect()
    }

    /// The folder of one worker; not created yet.
    pub fn of_worker(&self, task: &str, attempt: u32) -> PathBuf {
        let choose = || {
            let usable =
                |folder: &&PathBuf| create_private_folder(folder).is_ok() && only_owner_writes(folder);
            self.private.iter().find(usable).unwrap_or(&self.scratch).clone()
        };
        let folder = self.chosen.get_or_init(choose);
        folder.join(format!("{task}.{attempt}"))
    }

    /// Removes the files of one worker.
    pub fn remove_worker(&self, task: &str, attempt: u32) {
        // Most agents have none; what cannot be removed now is removed with the rest.
        let _ = fs::remove_dir_all(self.of_worker(task, attempt));
    }

    /// Removes the files of all workers, also those that an earlier run left behind.
    pub fn remove(&self) {
        // What cannot be removed now is removed by the next run of the session.
        for folder in &self.private {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Whether nobody but its owner may write the folder or one above it.
fn only_owner_writes(folder: &Path) -> bool {
    let Ok(real) = folder.canonicalize() else {
        return false;
    };
    real.ancestors().all(|folder| {
        folder
            .metadata()
            .is_ok_and(|found| found.permissions().mode() & 0o022 == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_others_may_write_is_passed_over() {
        let open = tempfile::tempdir().unwrap();
        let scratch = open.path().join("session/.run/scratch");
        // On most machines the temporary folder itself is open to everybody; the test makes sure that it is.
        let shared = open.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        let found = |name: &str| Some(OsString::from(shared.join(name)));
        let files = AgentFiles::find(&open.path().join("session"), &scratch, found);
        assert_eq!(files.of_worker("A", 1), scratch.join("A.1"));
    }

    #[test]
    fn sessions_of_one_name_have_folders_of_their_own() {
        let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        if !only_owner_writes(root.path()) {
            eprintln!("not checked: the clone lies below a folder that others may write");
            return;
        }
        let variable = |name: &str| (name == "XDG_CACHE_HOME").then(|| root.path().into());
        let of = |session: &str| AgentFiles::find(Path::new(session), Path::new("/scratch"), variable);
        let (one, other) = (of("/one/s"), of("/other/s"));
        assert!(one.of_worker("A", 1).starts_with(root.path()));
        assert_ne!(one.of_worker("A", 1), other.of_worker("A", 1));
        fs::create_dir_all(one.of_worker("A", 1)).unwrap();
        one.remove();
        assert!(!one.of_worker("A", 1).exists());
    }
}

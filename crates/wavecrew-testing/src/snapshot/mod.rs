//! The project as of the start of the session, with uncommitted and untracked work, in two copies: one for
//! workers, and one for measurements, whose location workers do not know. A person can keep editing the
//! original. Environments such as `node_modules` are linked, not copied.

mod manifest;
mod original;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::sealed;
use wavecrew_diff::project_copy;
use wavecrew_session::SessionPaths;

pub use manifest::{Change, Manifest};

/// The copies of a session.
#[derive(Debug)]
pub struct Snapshot {
    session: PathBuf,
    pub manifest: Manifest,
}

impl Snapshot {
    /// Copies the project as it is now. A session that has its copies keeps them.
    pub fn make(project: &Path, session: &Path) -> io::Result<Self> {
        if let Ok(there) = Self::open(session) {
            return Ok(there);
        }
        let workers = Self::worker_copy_of(session);
        if workers.exists() {
            // An interrupted start left it incomplete.
            fs::remove_dir_all(&workers)?;
        }
        fs::create_dir_all(&workers)?;
        let files = project_copy::copy(project, &workers)?;
        let manifest = Manifest::of(&workers, files, project)?;
        let snapshot = Self {
            session: session.to_owned(),
            manifest,
        };
        snapshot.manifest.write(session)?;
        Ok(snapshot)
    }

    pub fn open(session: &Path) -> io::Result<Self> {
        Ok(Self {
            manifest: Manifest::read(&SessionPaths::at(session).project_copy_manifest())?,
            session: session.to_owned(),
        })
    }

    /// The copy that workers work in.
    pub fn worker_copy(&self) -> PathBuf {
        Self::worker_copy_of(&self.session)
    }

    pub fn worker_copy_of(session: &Path) -> PathBuf {
        SessionPaths::at(session).project_copy()
    }

    /// The copy for measurements, made when it is missing. It is outside the project and outside hidden folders, which
    /// some coverage tools skip.
    pub fn measuring_copy(&mut self) -> io::Result<PathBuf> {
        if let Some(folder) = self.manifest.measuring.as_ref().filter(|folder| folder.is_dir()) {
            return Ok(folder.clone());
        }
        let folder = tempfile::Builder::new()
            .prefix("wavecrew-tree-")
            .tempdir()?
            .keep();
        let folder = folder.canonicalize()?;
        let from = [self.worker_copy(), self.manifest.project.clone()];
        for name in self.manifest.names() {
            self.restore(name, &folder, &from)?;
        }
        project_copy::link_environments(&self.manifest.project, &folder)?;
        self.manifest.measuring = Some(folder.clone());
        self.manifest.write(&self.session)?;
        Ok(folder)
    }

    /// Restores a file from a copy in which it is unchanged.
    fn restore(&self, name: &Path, into: &Path, from: &[PathBuf]) -> io::Result<()> {
        let good = from.iter().find(|tree| self.manifest.is_unchanged(tree, name));
        let Some(tree) = good else {
            return Err(io::Error::other(format!(
                "{} has changed everywhere since the session started: start a new session",
                name.display()
            )));
        };
        project_copy::copy_file(&tree.join(name), &into.join(name))
    }

    /// Undoes changes in the workers' copy.
    pub fn undo(&mut self, changes: &[Change]) -> io::Result<()> {
        let from = [self.measuring_copy()?, self.manifest.project.clone()];
        let workers = self.worker_copy();
        for change in changes {
            self.restore(change.file(), &workers, &from)?;
        }
        Ok(())
    }

    /// Restores files of the measuring copy that tests changed while they ran, and returns them.
    pub fn restore_changed(&mut self, names: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        let folder = self.measuring_copy()?;
        let from = [self.worker_copy(), self.manifest.project.clone()];
        let mut changed = Vec::new();
        for name in names {
            if self.manifest.contains(name) && !self.manifest.is_unchanged(&folder, name) {
                changed.push(name.clone());
                self.restore(name, &folder, &from)?;
            }
        }
        Ok(changed)
    }

    /// Removes the measuring copy, which is outside the session. It is made again when it is needed.
    pub fn remove_measuring_copy(session: &Path) -> io::Result<()> {
        let Ok(snapshot) = Self::open(session) else {
            return Ok(());
        };
        match &snapshot.manifest.measuring {
            Some(folder) if folder.exists() => fs::remove_dir_all(folder),
            Some(_) | None => Ok(()),
        }
    }

    /// Removes the copies; they are made again when they are needed.
    pub fn remove(session: &Path) -> io::Result<()> {
        Self::remove_measuring_copy(session)?;
        let Ok(snapshot) = Self::open(session) else {
            return Ok(());
        };
        if snapshot.worker_copy().exists() {
            fs::remove_dir_all(snapshot.worker_copy())?;
        }
        let manifest = SessionPaths::at(session).project_copy_manifest();
        sealed::forget(session, &manifest)?;
        fs::remove_file(manifest)
    }
}

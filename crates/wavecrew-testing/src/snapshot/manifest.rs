//! Fingerprints of the files of a copy, to find changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::sealed;
use wavecrew_session::SessionPaths;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    pub project: PathBuf,
    /// The copy in which measurements are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measuring: Option<PathBuf>,
    /// The fingerprint of every file.
    files: BTreeMap<PathBuf, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Edited(PathBuf),
    Removed(PathBuf),
    Added(PathBuf),
}

impl Change {
    pub fn file(&self) -> &Path {
        match self {
            Self::Edited(file) | Self::Removed(file) | Self::Added(file) => file,
        }
    }
}

impl Manifest {
    pub(super) fn of(tree: &Path, files: BTreeSet<PathBuf>, project: &Path) -> io::Result<Self> {
        let mut fingerprints = BTreeMap::new();
        for file in files {
            fingerprints.insert(file.clone(), fingerprint(&tree.join(&file))?);
        }
        Ok(Self {
            project: project.to_owned(),
            measuring: None,
            files: fingerprints,
        })
    }

    pub(super) fn read(path: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(path)?).map_err(io::Error::other)
    }

    pub(super) fn write(&self, session: &Path) -> io::Result<()> {
        let path = SessionPaths::at(session).project_copy_manifest();
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        sealed::write(session, &path, &text)
    }

    pub fn names(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    pub fn contains(&self, file: &Path) -> bool {
        self.files.contains_key(file)
    }

    /// Whether a copy has the file unchanged.
    pub fn is_unchanged(&self, tree: &Path, file: &Path) -> bool {
        let now = fingerprint(&tree.join(file)).ok();
        now.is_some() && now.as_ref() == self.files.get(file)
    }

    /// Files that differ in a copy, without added ones.
    pub fn changes(&self, tree: &Path) -> Vec<Change> {
        let mut found = Vec::new();
        for (file, was) in &self.files {
            match fingerprint(&tree.join(file)) {
                Ok(now) if now == *was => {}
                Ok(_) => found.push(Change::Edited(file.clone())),
                Err(_) => found.push(Change::Removed(file.clone())),
            }
        }
        found
    }
}

/// Of a link, its target; of a file, its content.
fn fingerprint(path: &Path) -> io::Result<String> {
    let bytes = if path.symlink_metadata()?.is_symlink() {
        [b"->", fs::read_link(path)?.as_os_str().as_bytes()].concat()
    } else {
        fs::read(path)?
    };
    Ok(format!("{:032x}", xxh3_128(&bytes)))
}

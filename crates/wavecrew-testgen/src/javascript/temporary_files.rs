//! Files in the project's copy that are removed again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Removes its files, and the folders that it created, on drop.
#[derive(Default)]
pub struct TemporaryFiles {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl TemporaryFiles {
    /// Makes sure that a folder exists until the result is dropped.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        let folders = missing.map(Path::to_owned).collect();
        fs::create_dir_all(folder)?;
        Ok(Self {
            files: Vec::new(),
            folders,
        })
    }

    /// Writes a new file. Fails when it exists.
    pub fn create(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let mut file = fs::File::create_new(path)?;
        self.files.push(path.to_owned());
        io::Write::write_all(&mut file, text.as_bytes())
    }
}

impl Drop for TemporaryFiles {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

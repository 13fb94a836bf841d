//! The project folder of a server. Tools read and write nothing outside it.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    pub fn new(folder: &Path) -> io::Result<Self> {
        folder.canonicalize().map(Self)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// An existing table.
    pub fn existing(&self, path: &str) -> Result<PathBuf, String> {
        self.found(path, "csv ")
    }

    /// An existing file.
    pub fn file(&self, path: &str) -> Result<PathBuf, String> {
        self.found(path, "")
    }

    fn found(&self, path: &str, kind: &str) -> Result<PathBuf, String> {
        let found = self.0.join(path).canonicalize();
        let found = found.map_err(|error| format!("failed to read {kind}{path}: {error}"))?;
        self.inside(path, found)
    }

    /// A table to write: a file that need not exist, in an existing folder. It may not take the place of a setting, a
    /// program or a hook, nor of a link.
    pub fn output(&self, path: &str) -> Result<PathBuf, String> {
        let file = self.new_file(path)?;
        let inside = file.strip_prefix(&self.0).unwrap_or(&file);
        let is_hidden =
            |part: std::path::Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        if inside.components().any(is_hidden) {
            return Err(format!(
                "{path} is in a hidden file or folder; write the table elsewhere"
            ));
        }
        if !file
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
        {
            return Err(format!("{path} does not end in `.csv`"));
        }
        match file.symlink_metadata() {
            Ok(found) if !found.is_file() => {
                Err(format!("{path} is a link or not a regular file; remove it first"))
            }
            _ => Ok(file),
        }
    }

    /// A file that need not exist, in an existing folder.
    pub fn new_file(&self, path: &str) -> Result<PathBuf, String> {
        let full = self.0.join(path);
        let (Some(folder), Some(name)) = (full.parent(), full.file_name()) else {
            return Err(format!("{path} is not the name of a file"));
        };
        if full.is_dir() {
            return Err(format!("{path} is a folder"));
        }
        let folder = folder
            .canonicalize()
            .map_err(|error| format!("the folder of {path} cannot be used: {error}"))?;
        self.inside(path, folder.join(name))
    }

    /// An existing folder.
    pub fn folder(&self, path: &str) -> Result<PathBuf, String> {
        let full = self.0.join(path);
        let found = full
            .canonicalize()
            .map_err(|error| format!("the folder {path} cannot be used: {error}"))?;
        if !found.is_dir() {
            return Err(format!("{path} is not a folder"));
        }
        self.inside(path, found)
    }

    fn inside(&self, given: &str, found: PathBuf) -> Result<PathBuf, String> {
        if found.starts_with(&self.0) {
            return Ok(found);
        }
        Err(format!(
            "{given} is outside of the project folder {}; start the server with -C in a folder that holds it",
            self.0.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_leads_out_of_the_project_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let project = outer.path().join("project");
        fs::create_dir(&project).unwrap();
        fs::write(outer.path().join("secret.csv"), "a\n1\n").unwrap();
        fs::write(project.join("in.csv"), "a\n1\n").unwrap();
        std::os::unix::fs::symlink(outer.path(), project.join("up")).unwrap();
        let root = Root::new(&project).unwrap();
        assert!(root.existing("in.csv").is_ok());
        assert!(root.new_file("./out.csv").is_ok());
        for path in ["../secret.csv", "up/secret.csv"] {
            assert!(
                root.existing(path)
                    .unwrap_err()
                    .contains("outside of the project")
            );
            assert!(
                root.new_file(path)
                    .unwrap_err()
                    .contains("outside of the project")
            );
        }
        let absolute = outer.path().join("secret.csv");
        assert!(root.existing(absolute.to_str().unwrap()).is_err());
        assert!(root.new_file("up").is_err());
        fs::create_dir_all(project.join(".git/hooks")).unwrap();
        fs::create_dir(project.join(".wavecrew")).unwrap();
        fs::create_dir(project.join("tables")).unwrap();
        std::os::unix::fs::symlink("in.csv", project.join("link.csv")).unwrap();
        for path in [
            ".git/config",
            ".git/hooks/pre-commit",
            ".git/hooks/x.csv",
            "tables/../.git/x.csv",
            ".wavecrew/x.csv",
            "wavecrew.toml",
            "link.csv",
            "Makefile",
        ] {
            assert!(root.output(path).is_err(), "{path}");
        }
        assert!(root.output("tables/out.csv").is_ok() && root.output("in.csv").is_ok());
        assert!(
            root.existing("missing.csv")
                .unwrap_err()
                .starts_with("failed to read csv missing.csv: ")
        );
    }
}

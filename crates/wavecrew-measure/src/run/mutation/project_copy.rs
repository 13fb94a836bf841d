//! A copy of a project to change files in: sources are copied, installed packages are linked, build output and caches are
//! left out.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::detect::Project;

/// Installed, large, and only read by tests.
const LINKED: &[&str] = &["node_modules", ".venv", "venv"];
/// Made by tools from the rest. Python would take old byte code for that of a changed file.
const EXCLUDED: &[&str] = &[
    ".git",
    ".hg",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".workflow",
    "__pycache__",
    "htmlcov",
    "target",
];

pub struct ProjectCopy {
    _folder: TempDir,
    from: PathBuf,
    to: PathBuf,
}

impl ProjectCopy {
    pub fn of(top: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("wavecrew-mutants-").tempdir()?;
        let to = folder.path().canonicalize()?.join("tree");
        copy(top, &to)?;
        // Packages that are installed above the project must be found from the copy, too.
        for name in LINKED {
            let above = top.ancestors().skip(1).map(|folder| folder.join(name));
            if !to.join(name).exists()
                && let Some(found) = above.into_iter().find(|path| path.is_dir())
            {
                symlink(found, to.join(name))?;
            }
        }
        Ok(Self {
            _folder: folder,
            from: top.to_owned(),
            to,
        })
    }

    /// The folder of the copy.
    pub fn top(&self) -> &Path {
        &self.to
    }

    /// The path in the copy that corresponds to a path of the original.
    pub fn at(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.from) {
            Ok(below) if below.as_os_str().is_empty() => self.to.clone(),
            Ok(below) => self.to.join(below),
            Err(_) => path.to_owned(),
        }
    }

    pub fn project(&self, project: &Project) -> Project {
        Project {
            root: self.at(&project.root),
            ..project.clone()
        }
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if EXCLUDED.contains(&&*name) {
            continue;
        }
        if LINKED.contains(&&*name) {
            symlink(path, target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&path)?, target)?;
        } else if kind.is_dir() {
            copy(&path, &target)?;
        } else if kind.is_file() {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_copied_and_installed_packages_are_linked() {
        let dir = tempfile::tempdir().unwrap();
        let above = dir.path().canonicalize().unwrap();
        let top = above.join("top");
        for name in [
            "top/src/a.py",
            "top/.git/x",
            "top/src/__pycache__/a.pyc",
            "top/.venv/bin/python",
        ] {
            let path = above.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        fs::create_dir(above.join("node_modules")).unwrap();
        let copy = ProjectCopy::of(&top).unwrap();
        let file = copy.at(&top.join("src/a.py"));
        fs::write(&file, "changed").unwrap();
        assert_eq!(fs::read_to_string(top.join("src/a.py")).unwrap(), "top/src/a.py");
        assert!(!copy.at(&top.join(".git")).exists());
        assert!(!copy.at(&top.join("src/__pycache__")).exists());
        assert_eq!(
            fs::read_link(copy.at(&top.join(".venv"))).unwrap(),
            top.join(".venv")
        );
        assert_eq!(
            fs::read_link(copy.at(&top.join("node_modules"))).unwrap(),
            above.join("node_modules")
        );
        assert_eq!(
            copy.at(Path::new("/elsewhere/b.py")),
            Path::new("/elsewhere/b.py")
        );
    }
}

//! A project in a temporary folder with real vitest and jest.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use wavecrew_test_support::frameworks;

use wavecrew_testgen::{Feedback, Framework, Imports, Module, Request, generate};

pub struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    pub fn new(files: &[(&str, &str)]) -> Option<Self> {
        let folder = frameworks::installed()?;
        let dir = tempfile::tempdir().unwrap();
        let lab = Self { dir };
        for (name, text) in files {
            let path = lab.root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink(folder.join("node_modules"), lab.root().join("node_modules")).unwrap();
        Some(lab)
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Writes tests for a file, straight into the folder that they are run in.
    pub fn write(&self, framework: Framework, file: &str) -> Module {
        self.write_again(framework, file, None)
    }

    pub fn write_again(&self, framework: Framework, file: &str, round: Option<Feedback>) -> Module {
        self.write_all(framework, &[file], round).remove(0)
    }

    /// Writes tests for files side by side.
    pub fn write_all(&self, framework: Framework, files: &[&str], round: Option<Feedback>) -> Vec<Module> {
        let root = self.root().canonicalize().unwrap();
        let request = Request {
            files: files.iter().map(|file| root.join(file)).collect(),
            root,
            framework,
            layer_folder: self.root().join("tests"),
            laid_in: PathBuf::from("tests"),
            imports: Imports::default(),
            round,
            commit: Some("abc1234".to_owned()),
            seed: 7,
            budget_per_module: Duration::from_secs(4),
            jobs: files.len(),
        };
        generate(&request, &mut |_| {}).unwrap().modules
    }

    /// The project's own framework takes what was written.
    pub fn passes(&self, words: &[&str]) {
        let ran = Command::new(self.root().join("node_modules/.bin").join(words[0]))
            .args(&words[1..])
            .current_dir(self.root())
            .env("TZ", "Pacific/Apia")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }
}

/// The file that was written.
pub fn text(module: &Module) -> String {
    fs::read_to_string(
        &module
            .written
            .first()
            .unwrap_or_else(|| panic!("{module:?}"))
            .path,
    )
    .unwrap()
}

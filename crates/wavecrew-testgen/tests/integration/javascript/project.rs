//! A project in a temporary folder with real vitest and jest.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use wavecrew_test_support::frameworks::installed;

use wavecrew_testgen::{Feedback, Framework, Imports, Module, Priorities, Request, generate};

pub struct TestProject {
    dir: tempfile::TempDir,
}

impl TestProject {
    pub fn new(files: &[(&str, &str)]) -> Option<Self> {
        let folder = installed()?;
        let dir = tempfile::tempdir().unwrap();
        let project = Self { dir };
        for (name, text) in files {
            let path = project.root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink(folder.join("node_modules"), project.root().join("node_modules")).unwrap();
        Some(project)
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Generates tests for a file, in the folder that they run in.
    pub fn generate(&self, framework: Framework, file: &str) -> Module {
        self.generate_again(framework, file, None)
    }

    pub fn generate_again(&self, framework: Framework, file: &str, feedback: Option<Feedback>) -> Module {
        self.generate_all(framework, &[file], feedback).remove(0)
    }

    /// Generates tests for several files at the same time.
    pub fn generate_all(
        &self,
        framework: Framework,
        files: &[&str],
        feedback: Option<Feedback>,
    ) -> Vec<Module> {
        let root = self.root().canonicalize().unwrap();
        let request = Request {
            files: files.iter().map(|file| root.join(file)).collect(),
            root,
            framework,
            layer_folder: self.root().join("tests"),
            run_folder: PathBuf::from("tests"),
            imports: Imports::default(),
            feedback,
            commit: Some("abc1234".to_owned()),
            seed: 7,
            budget_per_module: Duration::from_secs(4),
            deadline: None,
            priorities: Priorities::default(),
            jobs: files.len(),
        };
        generate(&request, &mut |_| {}).unwrap().modules
    }

    /// Runs the written tests with the project's own framework.
    pub fn assert_passes(&self, command: &[&str]) {
        let ran = self.run(command);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }

    pub fn assert_fails(&self, command: &[&str]) {
        let ran = self.run(command);
        assert_eq!(
            ran.status.code(),
            Some(1),
            "{}",
            String::from_utf8_lossy(&ran.stdout)
        );
    }

    fn run(&self, command: &[&str]) -> Output {
        Command::new(self.root().join("node_modules/.bin").join(command[0]))
            .args(&command[1..])
            .current_dir(self.root())
            .env("TZ", "Pacific/Apia")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

/// The text of the written file.
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

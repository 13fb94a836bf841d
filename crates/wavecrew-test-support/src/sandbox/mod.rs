//! The sandbox of all tests: a project in a temporary folder, its table, its scripted workers, and the program to run
//! there.
//!
//! ```text
//! let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a").agent("a", "exit=1");
//! sandbox.run().expect_exit(1);
//! assert_eq!(sandbox.statuses(), "a failed, b skipped");
//! ```

mod agent;
mod files;
mod outcome;
mod processes;
mod session;
pub mod terminal;
mod wait;
mod words;

pub use agent::AgentSandbox;
pub use files::copy_folder;
pub use outcome::{Outcome, Running};
pub use session::{read_rows, test_agent};
pub use wait::{wait_for, wait_until};
pub use words::Words;
use words::join;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A project, its table, and what its workers do. Everything is removed with it.
pub struct Sandbox {
    root: TempDir,
    project: PathBuf,
    table: String,
    scripts: BTreeMap<String, String>,
    flags: Vec<String>,
    env: Vec<(OsString, OsString)>,
    inherits_env: bool,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// A sandbox in a new folder below this one.
    pub fn below(folder: &Path) -> Self {
        let root = tempfile::tempdir_in(folder).expect("a temporary folder");
        let project = root
            .path()
            .canonicalize()
            .expect("the folder exists")
            .join("project");
        std::fs::create_dir(&project).expect("an empty folder");
        let sandbox = Self {
            project,
            root,
            table: String::new(),
            scripts: BTreeMap::new(),
            flags: Vec::new(),
            env: Vec::new(),
            inherits_env: true,
        };
        let (cache, state) = (sandbox.beside("cache"), sandbox.beside("state"));
        sandbox
            // Whoever runs the tests may allow more.
            .env("WAVECREW_ALLOW_WRITE", "")
            .env("XDG_CACHE_HOME", cache)
            .env("WAVECREW_STATE_DIR", state)
            .env("RUST_BACKTRACE", "0")
    }

    /// Workers may write in the whole folder of the sandbox: scripts that act as people, or leave traces beside the project.
    /// The others may do only what their role allows, as in any project.
    #[must_use]
    pub fn with_open_folder(self) -> Self {
        let folder = self.root.path().to_owned();
        self.with_writable(&folder)
    }

    /// Nothing runs unless it is confined, where this machine can do that.
    #[must_use]
    pub fn requiring_confinement(self) -> Self {
        let mut probe = Command::new("unshare");
        let probed = probe
            .args(["--user", "--mount", "true"])
            .stderr(Stdio::null())
            .status();
        if probed.is_ok_and(|status| status.success()) {
            self.env("WAVECREW_SANDBOX", "require")
        } else {
            eprintln!("not required: this machine cannot confine everything");
            self
        }
    }

    /// Workers may write in this folder too.
    #[must_use]
    pub fn with_writable(self, folder: &Path) -> Self {
        self.env("WAVECREW_ALLOW_WRITE", folder)
    }

    /// The table, without descriptions: the description of a task is the script of its worker.
    #[must_use]
    pub fn tasks(mut self, csv: &str) -> Self {
        csv.clone_into(&mut self.table);
        self
    }

    /// The script of one task's worker. The other workers report success.
    #[must_use]
    pub fn agent(mut self, task: &str, script: &str) -> Self {
        self.scripts.insert(task.to_owned(), script.to_owned());
        self
    }

    /// A flag of every run: one word, or several with spaces between them.
    #[must_use]
    pub fn flag(mut self, words: &str) -> Self {
        self.flags.extend(words.split(' ').map(str::to_owned));
        self
    }

    /// A file of the project.
    #[must_use]
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(name, content);
        self
    }

    /// A shell script of the project that may be executed.
    #[must_use]
    pub fn script(self, name: &str, content: &str) -> Self {
        self.write_script(name, content);
        self
    }

    /// A variable in the environment of the program.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// The program inherits nothing but `PATH`.
    #[must_use]
    pub fn without_inherited_env(mut self) -> Self {
        self.inherits_env = false;
        self
    }

    /// The project's folder.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// A path in the project.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.project.join(name)
    }

    /// A path beside the project, which goes with the sandbox.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.project.with_file_name(name)
    }

    /// The program with these words, in the project.
    pub fn command(&self, words: impl Words) -> Command {
        let mut command = Command::new(program());
        command.args(words.list());
        self.prepare(&mut command);
        command
    }

    /// Gives any command the folder and the environment of the sandbox.
    pub fn prepare(&self, command: &mut Command) {
        if !self.inherits_env {
            command.env_clear();
            command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        }
        for name in ["SESSION_DIR", "TASK", "ATTEMPT", "TOKEN", "ROLE"] {
            command.env_remove(format!("WAVECREW_{name}"));
        }
        command
            .current_dir(&self.project)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
    }

    /// Runs the program with these words.
    pub fn wavecrew(&self, words: impl Words) -> Outcome {
        self.spawn(&mut self.command(words)).wait()
    }

    /// Starts a command whose output is kept for its [`Outcome`].
    pub fn spawn(&self, command: &mut Command) -> Running {
        Running::start(command)
    }

    /// `wavecrew run tasks.csv -y`, to its end.
    pub fn run(&self) -> Outcome {
        self.start().wait()
    }

    /// The same with more flags.
    pub fn run_with(&self, flags: impl Words) -> Outcome {
        self.start_with(flags).wait()
    }

    pub fn start(&self) -> Running {
        self.start_with("")
    }

    pub fn start_with(&self, flags: impl Words) -> Running {
        self.write_table();
        self.start_run(join("run tasks.csv -y", flags))
    }

    /// Continues the latest session.
    pub fn resume(&self) -> Outcome {
        self.resume_with("")
    }

    pub fn resume_with(&self, flags: impl Words) -> Outcome {
        let command = format!("run --continue {}", self.session_id());
        self.start_run(join(&command, flags)).wait()
    }

    /// Starts the program with these words and the flags of every run. The scripted worker is the agent unless the words
    /// name another one.
    pub fn start_run(&self, words: impl Words) -> Running {
        self.complete_run(Command::new(program()), words)
    }

    /// The same by a command that starts the program: a shell, a tracer.
    pub fn start_run_under(&self, mut command: Command, words: impl Words) -> Running {
        command.arg(program());
        self.complete_run(command, words)
    }

    fn complete_run(&self, mut command: Command, words: impl Words) -> Running {
        let words = words.list();
        let has_agent = words.iter().any(|word| word == "--agent");
        command.args(words).args(&self.flags);
        if !has_agent {
            command.arg("--agent").arg(test_agent());
        }
        self.prepare(&mut command);
        self.spawn(&mut command)
    }

    /// Waits until a file of the project exists.
    #[track_caller]
    pub fn wait_for_file(&self, name: &str) {
        wait_until(name, || self.path(name).exists());
    }

    fn root_name(&self) -> String {
        let name = self.root.path().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// The program under test, which is built beside the tests.
pub fn program() -> PathBuf {
    built("wavecrew")
}

/// A program in the build folder.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.parent().and_then(Path::parent).expect("the build folder");
    let program = folder.join(name);
    assert!(program.exists(), "{} is not built", program.display());
    program
}

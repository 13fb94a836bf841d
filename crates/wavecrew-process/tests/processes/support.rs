//! A coordinator for tests, and questions to the process table.

use std::ffi::OsString;
use std::fs::File;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;
use wavecrew_process::guardian::{Guardian, GuardianCommand};
use wavecrew_process::{GuardianEvent, ProcessExit, ProcessId, Spawn};

/// No test takes this long; a hanging one must not hang the whole suite.
const PATIENCE: Duration = Duration::from_mins(1);

pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, test)
            .await
            .expect("the test hangs")
    })
}

/// The example that plays guardian, coordinator and worker. It is built with the tests.
pub fn stand_in() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder.join("examples/stand_in")
}

/// A guardian, a folder, and a mark by which the processes of this test are found.
pub struct Crew {
    pub guardian: Guardian,
    pub notices: UnboundedReceiver<GuardianEvent>,
    pub folder: TempDir,
    tag: String,
}

impl Crew {
    pub async fn start() -> Self {
        Self::start_with(GuardianCommand {
            program: stand_in().into(),
            args: vec!["__guardian".into()],
            env: Vec::new(),
        })
        .await
    }

    pub async fn start_with(launch: GuardianCommand) -> Self {
        let (guardian, notices) = Guardian::start(launch).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let tag = tag_of(&folder);
        Self {
            guardian,
            notices,
            folder,
            tag,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A worker that does what the words say; `{}` stands for the test's folder.
    pub fn worker(&self, script: &str) -> Spawn {
        let script = script.replace("{}", self.folder.path().to_str().unwrap());
        let mut args: Vec<OsString> = vec![self.tag.clone().into()];
        args.extend(script.split_whitespace().map(OsString::from));
        Spawn {
            program: stand_in().into(),
            args,
            cwd: self.folder.path().to_owned(),
            env_set: Vec::new(),
            env_remove: Vec::new(),
            stdin: null(),
            stdout: null(),
            stderr: null(),
        }
    }

    pub async fn spawned(&mut self) -> (u64, ProcessId) {
        match self.notices.recv().await {
            Some(GuardianEvent::Spawned { key, process }) => (key, process),
            other => panic!("{other:?} instead of a spawn"),
        }
    }

    pub async fn exited(&mut self) -> (u64, ProcessExit, u32) {
        match self.notices.recv().await {
            Some(GuardianEvent::Exited {
                key,
                status,
                killed_leftovers,
            }) => (key, status, killed_leftovers),
            other => panic!("{other:?} instead of an exit"),
        }
    }

    pub fn alive(&self) -> Vec<String> {
        alive(&self.tag)
    }
}

pub fn tag_of(folder: &TempDir) -> String {
    format!("tag={}", folder.path().file_name().unwrap().to_str().unwrap())
}

/// Until the file is there: the workers' way to say how far they are.
pub async fn appears(path: &Path) {
    while !path.exists() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The command lines of all living processes with this argument. (A process that ended has none.)
pub fn alive(argument: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(line) = std::fs::read(process.path().join("cmdline")) else {
            continue;
        };
        let mut arguments = line.split(|&b| b == 0);
        if arguments.any(|a| a == argument.as_bytes()) {
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(format!("{} {line}", process.file_name().to_string_lossy()));
        }
    }
    found
}

pub fn null() -> OwnedFd {
    File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .unwrap()
        .into()
}

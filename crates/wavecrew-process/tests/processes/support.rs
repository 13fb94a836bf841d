//! A coordinator for tests, and queries of the process table.

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

/// A test that hangs must not block the whole suite.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(TEST_TIMEOUT, test)
            .await
            .expect("the test hangs")
    })
}

/// The example that acts as guardian, coordinator or worker. It is built with the tests.
pub fn test_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder.join("examples/test_program")
}

/// A guardian, a folder, and a tag that identifies the processes of this test.
pub struct TestCoordinator {
    pub guardian: Guardian,
    pub events: UnboundedReceiver<GuardianEvent>,
    pub folder: TempDir,
    tag: String,
}

impl TestCoordinator {
    pub async fn start() -> Self {
        Self::start_with(GuardianCommand {
            program: test_program().into(),
            args: vec!["__guardian".into()],
            env: Vec::new(),
        })
        .await
    }

    pub async fn start_with(launch: GuardianCommand) -> Self {
        let (guardian, events) = Guardian::start(launch).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let tag = tag_argument(&folder);
        Self {
            guardian,
            events,
            folder,
            tag,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A worker that runs a script of the fake agent; `{}` stands for the test's folder.
    pub fn worker(&self, script: &str) -> Spawn {
        let script = script.replace("{}", self.folder.path().to_str().unwrap());
        let mut args: Vec<OsString> = vec![self.tag.clone().into()];
        args.extend(script.split_whitespace().map(OsString::from));
        Spawn {
            program: test_program().into(),
            args,
            cwd: self.folder.path().to_owned(),
            env_set: Vec::new(),
            env_remove: Vec::new(),
            confinement: None,
            stdin: null(),
            stdout: null(),
            stderr: null(),
        }
    }

    pub async fn spawned(&mut self) -> (u64, ProcessId) {
        match self.events.recv().await {
            Some(GuardianEvent::Spawned { key, process }) => (key, process),
            other => panic!("{other:?} instead of a spawn"),
        }
    }

    pub async fn exited(&mut self) -> (u64, ProcessExit, u32) {
        match self.events.recv().await {
            Some(GuardianEvent::Exited {
                key,
                status,
                killed_leftovers,
            }) => (key, status, killed_leftovers),
            other => panic!("{other:?} instead of an exit"),
        }
    }

    pub fn alive(&self) -> Vec<String> {
        processes_with_argument(&self.tag)
    }
}

pub fn tag_argument(folder: &TempDir) -> String {
    format!("tag={}", folder.path().file_name().unwrap().to_str().unwrap())
}

/// Workers write files to signal their progress.
pub async fn wait_for_file(path: &Path) {
    while !path.exists() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The command lines of all living processes with this argument. (A process that ended has none.)
pub fn processes_with_argument(argument: &str) -> Vec<String> {
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

//! One turn of a conversation: a process of the agent, started by the guardian.

use super::hear::{Ear, Stream};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use wavecrew_core::id::ExecMode;
use wavecrew_core::team::Access;
use wavecrew_run::agent::Adapter;
use wavecrew_run::agent::launch::{Conversation, Request, Stdin};
use wavecrew_run::process::{Exit, Spawn, output_pipe, pump};

/// A process has ended and everything it printed has been heard.
pub(super) struct Ended {
    pub key: u64,
    pub exit: Exit,
}

/// A turn that is to be started.
pub(super) struct Turn<'a> {
    pub agent: &'a dyn Adapter,
    pub message: &'a str,
    pub conversation: Conversation<'a>,
    /// Where the agent works.
    pub folder: &'a Path,
    /// Where relative programs are.
    pub project: &'a Path,
    /// The agent's own folder, for prompts and private files.
    pub home: &'a Path,
    pub number: u32,
}

impl Turn<'_> {
    /// What the guardian is to start, and what tells the pumps that it is gone.
    pub fn prepare(
        &self,
        key: u64,
        ear: &Rc<Ear>,
        ended: UnboundedSender<Ended>,
    ) -> io::Result<(Spawn, watch::Sender<Option<Exit>>)> {
        let scratch = self.home.join("scratch");
        let launch = self.agent.launch(&Request {
            prompt: self.message,
            // A process per turn; the conversation is resumed.
            mode: ExecMode::CsvWave,
            access: Access::Source,
            model: None,
            mcp: None,
            schema: None,
            conversation: self.conversation,
            project: self.folder,
            scratch: &scratch,
            folders: &[],
            extra: &[],
        });
        private_files(&scratch, &launch.files)?;
        let prompt = self.home.join(format!("prompt-{}.txt", self.number));
        let Stdin::Text(text) = &launch.stdin else {
            return Err(io::Error::other(
                "agents that speak ACP cannot be held in a conversation here: name another one",
            ));
        };
        let stdin = prompt_file(&prompt, text)?;
        let mut env: Vec<(OsString, OsString)> = vec![
            ("WAVECREW_PROMPT_FILE".into(), prompt.into_os_string()),
            ("WAVECREW_TURN".into(), self.number.to_string().into()),
        ];
        env.extend(
            launch
                .env
                .into_iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        let (stdout, stderr, exited) = listen(key, ear, ended)?;
        let program = Path::new(&launch.program);
        let program = if program.is_relative() && program.components().count() > 1 {
            self.project.join(program)
        } else {
            program.to_owned()
        };
        let spawn = Spawn {
            program: program.into_os_string(),
            args: launch.args.into_iter().map(OsString::from).collect(),
            cwd: self.folder.to_owned(),
            env_set: env,
            env_remove: Vec::new(),
            stdin,
            stdout,
            stderr,
        };
        Ok((spawn, exited))
    }
}

type Ends = (OwnedFd, OwnedFd, watch::Sender<Option<Exit>>);

/// Pipes for what the process prints, and pumps that hand it to the ear.
fn listen(key: u64, ear: &Rc<Ear>, ended: UnboundedSender<Ended>) -> io::Result<Ends> {
    let (out_from, stdout) = output_pipe()?;
    let (err_from, stderr) = output_pipe()?;
    let (exited, exit) = watch::channel(None::<Exit>);
    let ear = Rc::clone(ear);
    tokio::task::spawn_local(async move {
        let gone = |mut exit: watch::Receiver<Option<Exit>>| async move {
            // The other end is dropped when nothing was started.
            let _ = exit.wait_for(Option::is_some).await;
        };
        // A pipe that cannot be read any more has nothing more to say.
        let _ = tokio::join!(
            pump(&out_from, gone(exit.clone()), |chunk| ear
                .hear(Stream::Stdout, chunk)),
            pump(&err_from, gone(exit.clone()), |chunk| ear
                .hear(Stream::Stderr, chunk)),
        );
        gone(exit.clone()).await;
        let exit = *exit.borrow();
        if let Some(exit) = exit {
            let _ = ended.send(Ended { key, exit });
        }
    });
    Ok((stdout, stderr, exited))
}

/// Files that only the user may read.
fn private_files(folder: &Path, files: &[(PathBuf, String)]) -> io::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for (path, content) in files {
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(path)?.write_all(content.as_bytes())?;
    }
    Ok(())
}

/// The prompt as a file that is also the stdin of the process.
fn prompt_file(path: &Path, text: &str) -> io::Result<OwnedFd> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(true);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

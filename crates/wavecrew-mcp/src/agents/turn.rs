//! The process of a conversation: one for each turn, or an interactive one for all turns. The guardian starts it.

use super::agent::Agent;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use wavecrew_agents::launch::{Request, Stdin};
use wavecrew_core::id::ExecMode;
use wavecrew_core::worker_variables;
use wavecrew_process::Spawn;
use wavecrew_run::sandbox::SingleAgent;
use wavecrew_run::session::resolve_program;
use wavecrew_run::worker::files::{write_files, write_prompt};
use wavecrew_run::worker::streams::{ProcessState, WorkerEvent, open_streams};

impl Agent {
    /// The file with the message of the current turn.
    pub fn prompt_file(&self) -> PathBuf {
        self.home.join(format!("prompt-{}.txt", self.turns))
    }

    /// Prepares the process of the current turn: its start, and the sender that informs its output readers.
    pub fn prepare_process(
        &self,
        message: &str,
        project: &Path,
        key: u64,
        events: UnboundedSender<WorkerEvent>,
    ) -> Result<(Spawn, watch::Sender<ProcessState>), String> {
        let scratch = self.home.join("scratch");
        let launch = self.adapter.launch(&Request {
            // Interactive agents keep their process from turn to turn.
            mode: ExecMode::Interactive,
            model: self.settings.model.as_deref(),
            conversation: self.conversation.for_next_turn(),
            extra: &self.settings.args,
            confined: self.sandbox.is_on(),
            ..Request::new(message, &self.folder, &scratch)
        });
        write_files(&scratch, &launch.files).map_err(|error| error.to_string())?;
        let (text, interactive) = match launch.stdin {
            Stdin::Text(text) => (text, None),
            Stdin::Interactive(protocol) => (message.to_owned(), Some((protocol, message))),
        };
        let path = self.prompt_file();
        let prompt = write_prompt(&path, &text).map_err(|error| error.to_string())?;
        let streams = open_streams(
            key,
            &self.output,
            events,
            prompt,
            interactive,
            ProcessState::Watched,
        );
        let streams = streams.map_err(|error| error.to_string())?;
        let mut env: Vec<(OsString, OsString)> = vec![
            (worker_variables::PROMPT_FILE.into(), path.into_os_string()),
            (worker_variables::TURN.into(), self.turns.to_string().into()),
        ];
        let temp = self.home.join("tmp");
        let confinement = self.sandbox.confine(&SingleAgent {
            name: &self.name,
            folder: &self.folder,
            worktree: self.worktree.as_ref().map(|worktree| worktree.path.as_path()),
            scratch: &scratch,
            temp: &temp,
            prompt: &self.prompt_file(),
        });
        if confinement.is_some() {
            env.push(("TMPDIR".into(), temp.into_os_string()));
        }
        let own = launch.env.into_iter();
        env.extend(own.map(|(name, value)| (name.into(), value.into())));
        let program = resolve_program(project, launch.program.as_ref());
        let (mut spawn, state) = streams.spawn(program, launch.args, self.folder.clone(), env);
        spawn.confinement = confinement;
        Ok((spawn, state))
    }
}

//! The process of a conversation: one for each turn, or one that is spoken to for as long as the conversation lasts. It is
//! started by the guardian.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use wavecrew_agents::AgentSetting;
use wavecrew_agents::launch::{Conversation, Request, Stdin};
use wavecrew_core::id::ExecMode;
use wavecrew_core::team::Access;
use wavecrew_process::Spawn;
use wavecrew_run::session::resolve_program;
use wavecrew_run::worker::files::write_files;
use wavecrew_run::worker::files::write_prompt;
use wavecrew_run::worker::output::Output;
use wavecrew_run::worker::streams::ProcessState;
use wavecrew_run::worker::streams::WorkerEvent;
use wavecrew_run::worker::streams::open_streams;

/// A turn that is to be started with a process of its own.
pub(super) struct Turn<'a> {
    pub agent: &'a dyn wavecrew_agents::Agent,
    pub settings: &'a AgentSetting,
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

/// The file that keeps the message of a turn.
pub(super) fn prompt_file(home: &Path, number: u32) -> PathBuf {
    home.join(format!("prompt-{number}.txt"))
}

impl Turn<'_> {
    /// What the guardian is to start, and what tells the pumps that it is gone.
    pub fn prepare(
        &self,
        key: u64,
        output: &Rc<Output>,
        news: UnboundedSender<WorkerEvent>,
    ) -> Result<(Spawn, watch::Sender<ProcessState>), String> {
        let scratch = self.home.join("scratch");
        let launch = self.agent.launch(&Request {
            prompt: self.message,
            // Agents that can be spoken to keep their process from turn to turn.
            mode: ExecMode::Interactive,
            access: Access::Source,
            model: self.settings.model.as_deref(),
            mcp: None,
            schema: None,
            conversation: self.conversation,
            project: self.folder,
            scratch: &scratch,
            folders: &[],
            extra: &self.settings.args,
        });
        write_files(&scratch, &launch.files).map_err(|error| error.to_string())?;
        let (text, spoken) = match launch.stdin {
            Stdin::Text(text) => (text, None),
            Stdin::Interactive(dialogue) => (self.message.to_owned(), Some((dialogue, self.message))),
        };
        let path = prompt_file(self.home, self.number);
        let prompt = write_prompt(&path, &text).map_err(|error| error.to_string())?;
        let streams = open_streams(key, output, news, prompt, spoken, ProcessState::Watched);
        let streams = streams.map_err(|error| error.to_string())?;
        let mut env: Vec<(OsString, OsString)> = vec![
            ("WAVECREW_PROMPT_FILE".into(), path.into_os_string()),
            ("WAVECREW_TURN".into(), self.number.to_string().into()),
        ];
        let own = launch.env.into_iter();
        env.extend(own.map(|(name, value)| (name.into(), value.into())));
        let spawn = Spawn {
            program: resolve_program(self.project, launch.program.as_ref()),
            args: launch.args.into_iter().map(OsString::from).collect(),
            cwd: self.folder.to_owned(),
            env_set: env,
            env_remove: Vec::new(),
            stdin: streams.stdin,
            stdout: streams.stdout,
            stderr: streams.stderr,
        };
        Ok((spawn, streams.state))
    }
}

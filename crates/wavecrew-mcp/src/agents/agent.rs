//! One agent that is talked to: what it does right now, what it was not told yet, how it stands.

use super::turn::{Turn, prompt_file};
use super::{Closed, Status};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};
use wavecrew_agents::AgentSetting;
use wavecrew_core::engine::{Permission, Reply, UNATTENDED, WorkerRequest};
use wavecrew_process::ProcessExit;
use wavecrew_process::guardian::Guardian;
use wavecrew_run::worker::conversation::WorkerConversation;
use wavecrew_run::worker::files::write_prompt;
use wavecrew_run::worker::output::Output;
use wavecrew_run::worker::streams::ProcessState;
use wavecrew_run::worker::streams::WorkerEvent;
use wavecrew_run::worker::turn_end::final_message;
use wavecrew_run::worktree::Worktree;

/// How long an agent that is to end may take to do so, and one that is to end its turn before that.
pub(super) const GRACE: Duration = Duration::from_secs(3);

pub(super) struct Agent {
    pub adapter: Rc<dyn wavecrew_agents::Agent>,
    pub settings: AgentSetting,
    pub output: Rc<Output>,
    pub folder: PathBuf,
    pub home: PathBuf,
    pub worktree: Option<Worktree>,
    pub conversation: WorkerConversation,
    pub turns: u32,
    pub pending_messages: VecDeque<String>,
    pub activity: Activity,
    /// Its turn was asked to end; until when it may take.
    pub last_call: Option<Instant>,
    pub status: watch::Sender<Status>,
    pub closing: Option<(Status, oneshot::Sender<Option<Closed>>)>,
}

/// What an agent does, with the key of its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Activity {
    /// It has no process.
    Nothing,
    /// Its process waits to be spoken to.
    Listening(u64),
    Working(u64),
}

impl Activity {
    pub fn process(self) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Listening(key) | Self::Working(key) => Some(key),
        }
    }
}

/// A process that is to look after a turn.
pub(super) type Starter<'a> = (u64, &'a Guardian, UnboundedSender<WorkerEvent>);

impl Agent {
    /// Begins the next turn if there is something to say and nobody speaks. What tells the pumps of a new process that it is
    /// gone, if one is started.
    pub fn start_next_turn(
        &mut self,
        project: &Path,
        (key, guardian, news): Starter<'_>,
    ) -> Option<watch::Sender<ProcessState>> {
        if matches!(self.activity, Activity::Working(_)) || self.closing.is_some() {
            return None;
        }
        let message = self.pending_messages.pop_front()?;
        self.turns += 1;
        if self.turns > 1 {
            self.output.start_turn();
        }
        if let Activity::Listening(key) = self.activity {
            // Kept for whoever looks; the process is told it directly.
            let _ = write_prompt(&prompt_file(&self.home, self.turns), &message);
            self.output.send_message(&message);
            self.activity = Activity::Working(key);
            return None;
        }
        let turn = Turn {
            agent: &*self.adapter,
            settings: &self.settings,
            message: &message,
            conversation: self.conversation.for_next_turn(),
            folder: &self.folder,
            project,
            home: &self.home,
            number: self.turns,
        };
        let started = turn.prepare(key, &self.output, news).and_then(|(spawn, life)| {
            guardian.spawn(key, spawn).map_err(|error| error.to_string())?;
            Ok(life)
        });
        match started {
            Ok(life) => {
                self.activity = Activity::Working(key);
                Some(life)
            }
            Err(error) => {
                self.output.end_conversation();
                self.status.send_replace(Status::Errored(error));
                None
            }
        }
    }

    /// Its turn is over, by itself or with its process.
    pub fn turn_over(&mut self, exit: ProcessExit) {
        let came_to = final_message(&*self.adapter, &self.output, exit);
        self.settle(came_to);
    }

    /// It has no process any more.
    pub fn ended(&mut self, exit: ProcessExit) {
        self.gone(|agent| final_message(&*agent.adapter, &agent.output, exit));
    }

    /// Its process was taken away, and with it all that it was to be told.
    pub fn lost(&mut self, why: &str) {
        self.pending_messages.clear();
        self.gone(|_| Err(why.to_owned()));
    }

    fn gone(&mut self, came_to: impl FnOnce(&Self) -> Result<String, String>) {
        self.output.end_turn();
        // One that waited to be spoken to has told what it had to tell.
        if matches!(self.activity, Activity::Working(_)) {
            let came_to = came_to(self);
            self.settle(came_to);
        }
        self.output.end_conversation();
        self.activity = Activity::Nothing;
    }

    /// Tells what a turn came to, once: whoever waits sees the first word.
    fn settle(&mut self, came_to: Result<String, String>) {
        self.last_call = None;
        let told = self.output.conversation().map(|(id, _, _)| id);
        self.conversation
            .started(self.adapter.resume_by(), told.as_deref());
        if self.pending_messages.is_empty() {
            self.status.send_replace(match came_to {
                Ok(text) => Status::Completed(text),
                Err(text) => Status::Errored(text),
            });
        }
    }

    /// Asks for the end of its turn, or of its process where that is the same.
    pub fn interrupt_turn(&mut self, guardian: &Guardian) {
        if let Activity::Working(key) = self.activity {
            if self.output.is_interactive() {
                self.output.interrupt_turn();
                self.last_call = Some(Instant::now() + GRACE);
            } else {
                guardian.close(key, GRACE);
            }
        }
    }

    /// Ends its process, after its turn if there is one.
    pub fn leave(&mut self, guardian: &Guardian) {
        match self.activity {
            Activity::Nothing => {}
            Activity::Working(_) => self.interrupt_turn(guardian),
            Activity::Listening(key) => {
                self.output.end_conversation();
                guardian.close(key, GRACE);
            }
        }
    }

    /// Looks at what only time brings: questions that nobody but we can answer, and a turn that does not end.
    pub fn look(&mut self, guardian: &Guardian) {
        for (question, wish) in self.output.take_requests() {
            let reply = match wish {
                // What it may do by itself is not asked.
                WorkerRequest::Permission(_) => Reply::Permission(Permission::Denied),
                WorkerRequest::Question { .. } => Reply::Text(UNATTENDED.to_owned()),
            };
            self.output.reply(&question, &reply);
        }
        if self.last_call.is_some_and(|until| Instant::now() >= until)
            && let Some(key) = self.activity.process()
        {
            self.last_call = None;
            guardian.close(key, GRACE);
        }
    }
}

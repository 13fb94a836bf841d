//! One agent in a conversation: its activity, its pending messages, its status.

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
use wavecrew_run::sandbox::AgentSandbox;
use wavecrew_run::worker::conversation::WorkerConversation;
use wavecrew_run::worker::files::write_prompt;
use wavecrew_run::worker::output::Output;
use wavecrew_run::worker::streams::{ProcessState, WorkerEvent};
use wavecrew_run::worker::turn_end::final_message;
use wavecrew_run::worktree::Worktree;

/// How long an agent may take to end its turn, and then its process.
pub(super) const GRACE: Duration = Duration::from_secs(3);

pub(super) struct Agent {
    pub name: String,
    pub sandbox: Rc<AgentSandbox>,
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
    /// When its turn must have ended, once it was asked to.
    pub turn_deadline: Option<Instant>,
    pub status: watch::Sender<Status>,
    pub closing: Option<(Status, oneshot::Sender<Option<Closed>>)>,
}

/// What an agent does, with the key of its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Activity {
    /// It has no process.
    Nothing,
    /// Its process waits for a message.
    Waiting(u64),
    Working(u64),
}

impl Activity {
    pub fn process(self) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Waiting(key) | Self::Working(key) => Some(key),
        }
    }
}

impl Agent {
    /// Starts the next turn if there is a message for it and no turn is open. Returns the sender that informs the output
    /// readers of a new process, if one was started.
    pub fn start_next_turn(
        &mut self,
        project: &Path,
        key: u64,
        guardian: &Guardian,
        events: UnboundedSender<WorkerEvent>,
    ) -> Option<watch::Sender<ProcessState>> {
        if matches!(self.activity, Activity::Working(_)) || self.closing.is_some() {
            return None;
        }
        let message = self.pending_messages.pop_front()?;
        self.turns += 1;
        if self.turns > 1 {
            self.output.start_turn();
        }
        if let Activity::Waiting(key) = self.activity {
            // The file is only for people: the process gets the message directly.
            let _ = write_prompt(&self.prompt_file(), &message);
            self.output.send_message(&message);
            self.activity = Activity::Working(key);
            return None;
        }
        let prepared = self.prepare_process(&message, project, key, events);
        let started = prepared.and_then(|(spawn, state)| {
            guardian.spawn(key, spawn).map_err(|error| error.to_string())?;
            Ok(state)
        });
        match started {
            Ok(state) => {
                self.activity = Activity::Working(key);
                Some(state)
            }
            Err(error) => {
                self.output.end_conversation();
                self.status.send_replace(Status::Errored(error));
                None
            }
        }
    }

    /// Its turn has ended, and its process waits for the next one.
    pub fn turn_ended(&mut self) {
        let result = final_message(&*self.adapter, &self.output, ProcessExit::Code(0));
        self.publish_result(result);
    }

    pub fn process_ended(&mut self, exit: ProcessExit) {
        self.process_gone(|agent| final_message(&*agent.adapter, &agent.output, exit));
    }

    /// Its process is lost, and its pending messages with it.
    pub fn process_lost(&mut self, why: &str) {
        self.pending_messages.clear();
        self.process_gone(|_| Err(why.to_owned()));
    }

    fn process_gone(&mut self, result: impl FnOnce(&Self) -> Result<String, String>) {
        self.output.end_turn();
        // A process that waited for a message has published its result.
        if matches!(self.activity, Activity::Working(_)) {
            let result = result(self);
            self.publish_result(result);
        }
        self.output.end_conversation();
        self.activity = Activity::Nothing;
    }

    /// Publishes the result of a turn, unless another turn follows.
    fn publish_result(&mut self, result: Result<String, String>) {
        self.turn_deadline = None;
        let reported = self.output.conversation().map(|(id, _, _)| id);
        self.conversation
            .started(self.adapter.resume_by(), reported.as_deref());
        if self.pending_messages.is_empty() {
            self.status.send_replace(match result {
                Ok(text) => Status::Completed(text),
                Err(text) => Status::Errored(text),
            });
        }
    }

    /// Asks it to end its turn; an agent with one process per turn ends its process.
    pub fn interrupt_turn(&mut self, guardian: &Guardian) {
        if let Activity::Working(key) = self.activity {
            if self.output.is_interactive() {
                self.output.interrupt_turn();
                self.turn_deadline = Some(Instant::now() + GRACE);
            } else {
                guardian.close(key, GRACE);
            }
        }
    }

    /// Ends its process, after its turn if one is open.
    pub fn end_process(&mut self, guardian: &Guardian) {
        match self.activity {
            Activity::Nothing => {}
            Activity::Working(_) => self.interrupt_turn(guardian),
            Activity::Waiting(key) => {
                self.output.end_conversation();
                guardian.close(key, GRACE);
            }
        }
    }

    /// Answers its requests, because no person can, and ends a turn that is overdue.
    pub fn run_periodic_work(&mut self, guardian: &Guardian) {
        for (key, request) in self.output.take_requests() {
            let reply = match request {
                // It does not ask about what it may do.
                WorkerRequest::Permission(_) => Reply::Permission(Permission::Denied),
                WorkerRequest::Question { .. } => Reply::Text(UNATTENDED.to_owned()),
            };
            self.output.reply(&key, &reply);
        }
        if self.turn_deadline.is_some_and(|until| Instant::now() >= until)
            && let Some(key) = self.activity.process()
        {
            self.turn_deadline = None;
            guardian.close(key, GRACE);
        }
    }
}

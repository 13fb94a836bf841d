//! Conversations with agents of any vendor, which a client holds by id. A thread of its own looks after them; all of
//! them end with it, and it ends with the server.

mod agent;
mod host;
mod losses;
mod turn;

use crate::paths::Root;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use wavecrew_agents::AgentSettings;
use wavecrew_process::guardian::GuardianCommand;
use wavecrew_run::recording::PREFIX;
use wavecrew_run::worktree::{Isolation, KeptWorktree};

/// The arguments of `spawn_agent`.
#[derive(Deserialize, Debug, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnAgent {
    /// What the agent should do.
    pub message: String,
    /// Such as codex, claude, acp:PROGRAM or command:PROGRAM; default: the server's.
    pub agent: Option<String>,
    /// The folder it works in, inside the project.
    pub cwd: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::isolation")]
    pub isolation: Isolation,
}

/// How an agent stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Status {
    Running,
    /// Its turn is over; this is what it said last.
    Completed(String),
    Errored(String),
    /// Closed.
    Shutdown,
}

impl Status {
    fn is_final(&self) -> bool {
        *self != Self::Running
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Running => json!("running"),
            Self::Completed(text) => json!({ "completed": text }),
            Self::Errored(text) => json!({ "errored": text }),
            Self::Shutdown => json!("shutdown"),
        }
    }
}

/// What the thread is asked to do.
enum AgentRequest {
    Spawn {
        message: String,
        agent: String,
        folder: std::path::PathBuf,
        isolation: Isolation,
        answer: oneshot::Sender<Result<String, String>>,
    },
    Send {
        id: String,
        message: String,
        interrupt: bool,
        answer: oneshot::Sender<Result<(), String>>,
    },
    Watch {
        id: String,
        answer: oneshot::Sender<Option<watch::Receiver<Status>>>,
    },
    Close {
        id: String,
        answer: oneshot::Sender<Option<Closed>>,
    },
}

/// An agent that was closed.
struct Closed {
    /// As it was before.
    status: Status,
    kept: Result<Option<KeptWorktree>, String>,
}

/// The conversations of one server.
pub(crate) struct Agents {
    root: Root,
    guardian: GuardianCommand,
    settings: AgentSettings,
    host: OnceLock<Host>,
}

struct Host {
    requests: Option<UnboundedSender<AgentRequest>>,
    /// Why nothing is granted any more.
    ended: Arc<OnceLock<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Agents {
    pub fn new(root: Root, guardian: GuardianCommand, settings: AgentSettings) -> Self {
        Self {
            root,
            guardian,
            settings,
            host: OnceLock::new(),
        }
    }

    pub async fn spawn(&self, call: SpawnAgent, agent: String) -> Result<Value, String> {
        if call.message.trim().is_empty() {
            return Err("message must be non-empty".to_owned());
        }
        if agent.starts_with(PREFIX) {
            return Err("a recording cannot be talked to; choose another agent".to_owned());
        }
        wavecrew_run::agent_name::by_name(&agent).map_err(|error| error.to_string())?;
        let folder = self.root.folder(call.cwd.as_deref().unwrap_or("."))?;
        let id = self
            .ask(|answer| AgentRequest::Spawn {
                message: call.message,
                agent,
                folder,
                isolation: call.isolation,
                answer,
            })
            .await??;
        Ok(json!({ "agent_id": id }))
    }

    pub async fn send(&self, id: String, message: String, interrupt: bool) -> Result<Value, String> {
        if message.trim().is_empty() {
            return Err("message must be non-empty".to_owned());
        }
        self.ask(|answer| AgentRequest::Send {
            id,
            message,
            interrupt,
            answer,
        })
        .await??;
        Ok(json!({ "accepted": true }))
    }

    /// Waits until one of the agents has ended its turn, and says how all of them stand.
    pub async fn wait(&self, ids: &[String], patience: Duration) -> Result<Value, String> {
        if ids.is_empty() {
            return Err("ids must be non-empty".to_owned());
        }
        let mut watched = Vec::new();
        for id in ids {
            let id = id.clone();
            let watch = self.ask(|answer| AgentRequest::Watch { id, answer }).await?;
            watched.push(watch);
        }
        let known: Vec<_> = watched.iter().flatten().cloned().collect();
        // One that is not there has come to its end too: nothing will change about it.
        let ended = known.len() < ids.len() || tokio::time::timeout(patience, first(known)).await.is_ok();
        let status: serde_json::Map<_, _> = ids
            .iter()
            .zip(&watched)
            .map(|(id, watch)| {
                let told = match watch {
                    Some(status) => status.borrow().to_json(),
                    None => json!("not_found"),
                };
                (id.clone(), told)
            })
            .collect();
        Ok(json!({ "status": status, "timed_out": !ended }))
    }

    pub async fn close(&self, id: String) -> Result<Value, String> {
        let closed = self.ask(|answer| AgentRequest::Close { id, answer }).await?;
        let Some(Closed { status, kept }) = closed else {
            return Ok(json!({ "status": "not_found" }));
        };
        let mut told = json!({ "status": status.to_json() });
        match kept {
            Ok(Some(kept)) => told["kept"] = json!(kept),
            Ok(None) => {}
            // It is still there; the caller can look after it.
            Err(error) => told["worktree_error"] = error.into(),
        }
        Ok(told)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> AgentRequest) -> Result<T, String> {
        let (answer, answered) = oneshot::channel();
        let host = self.host.get_or_init(|| self.start());
        let requests = host.requests.as_ref().ok_or_else(|| host.gone())?;
        requests.send(request(answer)).map_err(|_| host.gone())?;
        answered.await.map_err(|_| host.gone())
    }

    fn start(&self) -> Host {
        let (requests, waiting) = unbounded_channel();
        let (root, guardian) = (self.root.clone(), self.guardian.clone());
        let settings = self.settings.clone();
        let ended = Arc::new(OnceLock::new());
        let told = Arc::clone(&ended);
        Host {
            requests: Some(requests),
            ended,
            thread: Some(std::thread::spawn(move || {
                host::run(&root, &guardian, &settings, waiting, &told);
            })),
        }
    }
}

impl Host {
    fn gone(&self) -> String {
        let why = self.ended.get().map_or("nobody looks after them", String::as_str);
        format!("conversations have ended: {why}; help: start the server again")
    }
}

impl Drop for Host {
    /// The client is gone, and so is everything it talked to.
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been told already.
            let _ = thread.join();
        }
    }
}

/// Until one of them is in a final state.
async fn first(mut watched: Vec<watch::Receiver<Status>>) {
    let waits = watched
        .iter_mut()
        .map(|watch| Box::pin(async { watch.wait_for(Status::is_final).await.map(drop) }));
    let mut waits: Vec<_> = waits.collect();
    std::future::poll_fn(|context| {
        let ready = waits
            .iter_mut()
            .any(|wait| wait.as_mut().poll(context).is_ready());
        if ready {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_guardian_whoever_talks_hears_why() {
        let project = tempfile::tempdir().unwrap();
        let guardian = GuardianCommand {
            program: "false".into(),
            args: Vec::new(),
            env: Vec::new(),
        };
        let root = Root::new(project.path()).unwrap();
        let agents = Agents::new(root, guardian, AgentSettings::default());
        for _ in 0..2 {
            let said = agents.send("any".into(), "hello".into(), false).await;
            assert_eq!(
                said,
                Err(
                    "conversations have ended: the process that guards agents was lost 6 times in a row, \
                     last: the guardian process `false` did not get ready: it ended at once; help: start the server again"
                        .to_owned()
                )
            );
        }
    }
}

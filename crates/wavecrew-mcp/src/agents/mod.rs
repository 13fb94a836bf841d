//! Conversations of a client with agents of any vendor, by id. They run on their own thread and end with the server.

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
use wavecrew_run::sandbox::SandboxSettings;
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

/// The status of an agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Status {
    Running,
    /// Its turn has ended, with this final message.
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

/// A request to the thread.
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
    sandbox: SandboxSettings,
    host: OnceLock<HostThread>,
}

/// The thread that runs the conversations.
struct HostThread {
    requests: Option<UnboundedSender<AgentRequest>>,
    /// Why it gave up.
    ended: Arc<OnceLock<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Agents {
    pub fn new(
        root: Root,
        guardian: GuardianCommand,
        settings: AgentSettings,
        sandbox: SandboxSettings,
    ) -> Self {
        Self {
            root,
            guardian,
            settings,
            sandbox,
            host: OnceLock::new(),
        }
    }

    pub async fn spawn(&self, call: SpawnAgent, agent: String) -> Result<Value, String> {
        if call.message.trim().is_empty() {
            return Err("message must be non-empty".to_owned());
        }
        if agent.starts_with(PREFIX) {
            return Err("a recording cannot hold a conversation; choose another agent".to_owned());
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

    /// Waits until one of the agents has ended its turn, and returns the status of all of them.
    pub async fn wait(&self, ids: &[String], timeout: Duration) -> Result<Value, String> {
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
        // An unknown id has no turn to wait for.
        let ended = known.len() < ids.len() || tokio::time::timeout(timeout, first(known)).await.is_ok();
        let status: serde_json::Map<_, _> = ids
            .iter()
            .zip(&watched)
            .map(|(id, watch)| {
                let status = match watch {
                    Some(status) => status.borrow().to_json(),
                    None => json!("not_found"),
                };
                (id.clone(), status)
            })
            .collect();
        Ok(json!({ "status": status, "timed_out": !ended }))
    }

    pub async fn close(&self, id: String) -> Result<Value, String> {
        let closed = self.ask(|answer| AgentRequest::Close { id, answer }).await?;
        let Some(Closed { status, kept }) = closed else {
            return Ok(json!({ "status": "not_found" }));
        };
        let mut result = json!({ "status": status.to_json() });
        match kept {
            Ok(Some(kept)) => result["kept"] = json!(kept),
            Ok(None) => {}
            // It is still there.
            Err(error) => result["worktree_error"] = error.into(),
        }
        Ok(result)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> AgentRequest) -> Result<T, String> {
        let (answer, answered) = oneshot::channel();
        let host = self.host.get_or_init(|| self.start());
        let requests = host.requests.as_ref().ok_or_else(|| host.gone())?;
        requests.send(request(answer)).map_err(|_| host.gone())?;
        answered.await.map_err(|_| host.gone())
    }

    fn start(&self) -> HostThread {
        let (requests, requests_in) = unbounded_channel();
        let (root, guardian) = (self.root.clone(), self.guardian.clone());
        let (settings, sandbox) = (self.settings.clone(), self.sandbox.clone());
        let ended = Arc::new(OnceLock::new());
        let reason = Arc::clone(&ended);
        HostThread {
            requests: Some(requests),
            ended,
            thread: Some(std::thread::spawn(move || {
                host::run(&root, &guardian, &settings, sandbox, requests_in, &reason);
            })),
        }
    }
}

impl HostThread {
    fn gone(&self) -> String {
        let why = self.ended.get().map_or("their thread has ended", String::as_str);
        format!("conversations have ended: {why}; help: start the server again")
    }
}

impl Drop for HostThread {
    /// Ends the thread and with it all conversations.
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed already.
            let _ = thread.join();
        }
    }
}

/// Waits until one of them is in a final state.
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
    async fn without_a_guardian_a_message_fails_with_the_reason() {
        let project = tempfile::tempdir().unwrap();
        let guardian = GuardianCommand {
            program: "false".into(),
            args: Vec::new(),
            env: Vec::new(),
        };
        let root = Root::new(project.path()).unwrap();
        let agents = Agents::new(
            root,
            guardian,
            AgentSettings::default(),
            SandboxSettings::default(),
        );
        for _ in 0..2 {
            let sent = agents.send("any".into(), "hello".into(), false).await;
            assert_eq!(
                sent,
                Err(
                    "conversations have ended: the guardian process was lost 6 times in a row, \
                     last: the guardian process `false` did not become ready: it exited at once; help: start the server again"
                        .to_owned()
                )
            );
        }
    }
}

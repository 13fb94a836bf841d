//! The event loop of conversations, on its own thread: starts their turns under a guardian, and ends them.

use super::agent::{Activity, Agent};
use super::losses::{Losses, Next};
use super::{AgentRequest, Closed, Status};
use crate::paths::Root;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use wavecrew_agents::{AgentSettings, Redactor};
use wavecrew_core::event::TokenUsage;
use wavecrew_process::guardian::{Guardian, GuardianCommand, USER_NAMESPACE};
use wavecrew_process::{GuardianEvent, ProcessExit};
use wavecrew_run::agent_name::by_name;
use wavecrew_run::sandbox::{AgentSandbox, SandboxSettings};
use wavecrew_run::worker::conversation::{WorkerConversation, conversation_id};
use wavecrew_run::worker::output::Output;
use wavecrew_run::worker::streams::{ProcessState, WorkerEvent};
use wavecrew_run::worktree::{Isolation, KeptWorktree, Worktree};
use wavecrew_session::ProjectPaths;

/// Bytes of an agent's output that are kept on disk.
const LOG_BYTES: u64 = 64 << 20;
/// How often requests of agents and deadlines are checked.
const TICK: Duration = Duration::from_millis(100);

/// Runs conversations until all senders of requests are gone. If it has to give up before that, it first sets the reason in
/// `ended`.
pub(super) fn run(
    root: &Root,
    command: &GuardianCommand,
    settings: &AgentSettings,
    sandbox: SandboxSettings,
    mut requests: UnboundedReceiver<AgentRequest>,
    ended: &OnceLock<String>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ended.set(format!("their event loop cannot be started: {error}"));
            return;
        }
    };
    let sandbox = Rc::new(AgentSandbox::new(sandbox, root.path()));
    let mut command = command.clone();
    match sandbox.support() {
        Ok(support) if support.needs_user_namespace() => command.args.push(USER_NAMESPACE.into()),
        Ok(_) => {}
        Err(reason) => {
            let _ = ended.set(reason);
            return;
        }
    }
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let (events, mut worker_events) = unbounded_channel();
        let mut left = Left {
            agents: HashMap::new(),
            next_key: 1,
        };
        let mut losses = Losses::default();
        let mut held = VecDeque::new();
        loop {
            let since = Instant::now();
            let why = match Guardian::start(command.clone()).await {
                Ok((guardian, guardian_events)) => {
                    let mut host = Host {
                        project: root.path().to_owned(),
                        settings: settings.clone(),
                        sandbox: Rc::clone(&sandbox),
                        guardian,
                        agents: left.agents,
                        processes: HashMap::new(),
                        next_key: left.next_key,
                        redactor: Rc::new(Redactor::new(std::env::vars_os())),
                        events: events.clone(),
                    };
                    held.drain(..).for_each(|request| host.handle(request));
                    left = match host
                        .run_event_loop(&mut requests, guardian_events, &mut worker_events)
                        .await
                    {
                        Some(lost) => lost,
                        None => return,
                    };
                    "it was killed".to_owned()
                }
                Err(error) => error.to_string(),
            };
            match losses.add(since.elapsed()) {
                Next::TryAfter(wait) => {
                    if !hold_requests(wait, &mut requests, &mut held).await {
                        return left.finish();
                    }
                }
                Next::GiveUp { losses } => {
                    let _ = ended.set(format!(
                        "the guardian process was lost {losses} times in a row, last: {why}"
                    ));
                    return left.finish();
                }
            }
        }
    });
}

/// Waits, and keeps the requests that arrive meanwhile. Returns whether there can be more.
async fn hold_requests(
    wait: Duration,
    requests: &mut UnboundedReceiver<AgentRequest>,
    held: &mut VecDeque<AgentRequest>,
) -> bool {
    let over = tokio::time::sleep(wait);
    tokio::pin!(over);
    loop {
        tokio::select! {
            () = &mut over => return true,
            request = requests.recv() => match request {
                Some(request) => held.push_back(request),
                None => return false,
            },
        }
    }
}

/// What remains after a guardian is lost: agents without processes, whose conversations another guardian can resume.
struct Left {
    agents: HashMap<String, Agent>,
    /// Not reset, so that late events of a process are not attributed to another one.
    next_key: u64,
}

impl Left {
    /// There will be no other guardian.
    fn finish(&self) {
        finish_all(&self.agents);
    }
}

/// A worktree with changes stays; `git worktree list` shows it.
fn finish_all(agents: &HashMap<String, Agent>) {
    for agent in agents.values() {
        let _ = finish(agent);
    }
}

/// Ends the log of an agent, and removes its worktree unless that has changes.
fn finish(agent: &Agent) -> Result<Option<KeptWorktree>, String> {
    agent.output.finish();
    let kept = agent.worktree.as_ref().map(Worktree::remove_if_unchanged);
    kept.unwrap_or(Ok(None)).map_err(|error| error.to_string())
}

struct Host {
    project: PathBuf,
    settings: AgentSettings,
    sandbox: Rc<AgentSandbox>,
    guardian: Guardian,
    agents: HashMap<String, Agent>,
    /// The agent of each process, and the sender that informs its output readers.
    processes: HashMap<u64, (String, watch::Sender<ProcessState>)>,
    next_key: u64,
    redactor: Rc<Redactor>,
    events: UnboundedSender<WorkerEvent>,
}

impl Host {
    /// Runs until all senders of requests are gone (`None`), or until the guardian is lost.
    async fn run_event_loop(
        mut self,
        requests: &mut UnboundedReceiver<AgentRequest>,
        mut guardian_events: UnboundedReceiver<GuardianEvent>,
        worker_events: &mut UnboundedReceiver<WorkerEvent>,
    ) -> Option<Left> {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                Some(event) = guardian_events.recv() => match event {
                    GuardianEvent::Spawned { .. } => {}
                    GuardianEvent::SpawnFailed { key, error } => self.spawn_failed(key, error.to_string()),
                    GuardianEvent::Exited { key, status, .. } => {
                        if let Some((_, state)) = self.processes.get(&key) {
                            // Its output readers send `WorkerEvent::ProcessEnded` once they have read the rest.
                            let _ = state.send(ProcessState::Exited(status));
                        }
                    }
                    GuardianEvent::GuardianLost => return Some(self.guardian_lost()),
                },
                Some(event) = worker_events.recv() => match event {
                    WorkerEvent::TurnEnded { key } => self.turn_ended(key),
                    WorkerEvent::ProcessEnded { key, exit } => self.process_ended(key, exit),
                },
                request = requests.recv() => match request {
                    Some(request) => self.handle(request),
                    None => break,
                },
                _ = ticks.tick() => {
                    for agent in self.agents.values_mut() {
                        agent.run_periodic_work(&self.guardian);
                    }
                }
            }
        }
        self.guardian.shutdown().await;
        finish_all(&self.agents);
        None
    }

    /// All processes are gone with the guardian; the conversations can be resumed.
    fn guardian_lost(mut self) -> Left {
        let ids: Vec<String> = self.agents.keys().cloned().collect();
        for id in ids {
            let Some(agent) = self.agents.get_mut(&id) else {
                continue;
            };
            agent.process_lost(
                "its turn was lost: the guardian process was killed; send the message again with send_input",
            );
            self.finish_closing(&id);
        }
        Left {
            agents: self.agents,
            next_key: self.next_key,
        }
    }

    fn handle(&mut self, request: AgentRequest) {
        // A receiver that is gone needs no answer.
        match request {
            AgentRequest::Spawn {
                message,
                agent,
                folder,
                isolation,
                answer,
            } => {
                let id = self.add(&agent, folder, isolation);
                if let Ok(id) = &id {
                    self.send(id, message);
                }
                let _ = answer.send(id);
            }
            AgentRequest::Send {
                id,
                message,
                interrupt,
                answer,
            } => {
                let known = self.agents.get_mut(&id).filter(|agent| agent.closing.is_none());
                let result = match known {
                    Some(agent) => {
                        if interrupt {
                            agent.interrupt_turn(&self.guardian);
                        }
                        self.send(&id, message);
                        Ok(())
                    }
                    None => Err(format!("there is no agent {id}")),
                };
                let _ = answer.send(result);
            }
            AgentRequest::Watch { id, answer } => {
                let _ = answer.send(self.agents.get(&id).map(|agent| agent.status.subscribe()));
            }
            AgentRequest::Close { id, answer } => self.close(&id, answer),
        }
    }

    /// Adds an agent without a message.
    fn add(&mut self, name: &str, folder: PathBuf, isolation: Isolation) -> Result<String, String> {
        let adapter = by_name(name).map_err(|error| error.to_string())?;
        let failed = |error: io::Error| format!("the agent's folder cannot be created: {error}");
        if isolation == Isolation::Worktree {
            Worktree::check_possible(&folder).map_err(|error| error.to_string())?;
        }
        let id = conversation_id().map_err(|error| error.to_string())?;
        let home = agents_folder(&self.project).map_err(failed)?.join(&id);
        fs::create_dir(&home).map_err(failed)?;
        let worktree = match isolation {
            Isolation::None => None,
            Isolation::Worktree => {
                let branch = format!("wavecrew/agent-{}", &id[..8]);
                let opened = Worktree::open(&folder, &home.join("tree"), &branch);
                Some(opened.map_err(|error| error.to_string())?)
            }
        };
        let agent = Agent {
            name: name.to_owned(),
            sandbox: Rc::clone(&self.sandbox),
            output: Rc::new(Output::new(
                home.join("log.txt"),
                LOG_BYTES,
                adapter.output_reader(TokenUsage::default()),
                Rc::clone(&self.redactor),
            )),
            adapter,
            settings: self.settings.of(name),
            folder: worktree.as_ref().map_or(folder, Worktree::project_folder),
            home,
            worktree,
            conversation: WorkerConversation::new(id.clone(), None),
            turns: 0,
            pending_messages: VecDeque::new(),
            activity: Activity::Nothing,
            turn_deadline: None,
            status: watch::Sender::new(Status::Running),
            closing: None,
        };
        // A log file from the start, so that people can follow the conversation.
        agent.output.create_log_file();
        self.agents.insert(id.clone(), agent);
        Ok(id)
    }

    fn send(&mut self, id: &str, message: String) {
        if let Some(agent) = self.agents.get_mut(id) {
            agent.pending_messages.push_back(message);
            agent.status.send_replace(Status::Running);
        }
        self.start_next_turn(id);
    }

    fn start_next_turn(&mut self, id: &str) {
        let Some(agent) = self.agents.get_mut(id) else {
            return;
        };
        let (key, events) = (self.next_key, self.events.clone());
        if let Some(state) = agent.start_next_turn(&self.project, key, &self.guardian, events) {
            self.processes.insert(key, (id.to_owned(), state));
            self.next_key += 1;
        }
    }

    fn spawn_failed(&mut self, key: u64, error: String) {
        let Some((id, _)) = self.processes.remove(&key) else {
            return;
        };
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.output.end_conversation();
            agent.activity = Activity::Nothing;
            agent.status.send_replace(Status::Errored(error));
        }
        self.finish_closing(&id);
    }

    /// An interactive process waits for the next message.
    fn turn_ended(&mut self, key: u64) {
        let Some((id, _)) = self.processes.get(&key) else {
            return;
        };
        let id = id.clone();
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.turn_ended();
            agent.activity = Activity::Waiting(key);
            if agent.closing.is_some() {
                agent.end_process(&self.guardian);
            }
        }
        self.start_next_turn(&id);
    }

    fn process_ended(&mut self, key: u64, exit: ProcessExit) {
        let Some((id, _)) = self.processes.remove(&key) else {
            return;
        };
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.process_ended(exit);
        }
        self.start_next_turn(&id);
        self.finish_closing(&id);
    }

    fn close(&mut self, id: &str, answer: oneshot::Sender<Option<Closed>>) {
        let Some(agent) = self.agents.get_mut(id).filter(|agent| agent.closing.is_none()) else {
            let _ = answer.send(None);
            return;
        };
        agent.pending_messages.clear();
        let status = agent.status.borrow().clone();
        agent.closing = Some((status, answer));
        agent.end_process(&self.guardian);
        self.finish_closing(id);
    }

    /// Removes an agent that is being closed once its process is gone.
    fn finish_closing(&mut self, id: &str) {
        let Some(agent) = self.agents.get_mut(id) else {
            return;
        };
        if agent.activity != Activity::Nothing {
            return;
        }
        let Some((status, answer)) = agent.closing.take() else {
            return;
        };
        let kept = finish(agent);
        let _ = fs::remove_dir_all(agent.home.join("scratch"));
        agent.status.send_replace(Status::Shutdown);
        self.agents.remove(id);
        let _ = answer.send(Some(Closed { status, kept }));
    }
}

/// The folder of the agents' folders; git ignores it.
fn agents_folder(project: &Path) -> io::Result<PathBuf> {
    let paths = ProjectPaths::at(project);
    let mut folder = project.to_owned();
    for path in [paths.workflow_folder(), paths.agents_folder()] {
        folder.push(path.file_name().unwrap_or_default());
        fs::create_dir_all(&folder)?;
        folder = folder.canonicalize()?;
        if !folder.starts_with(project) {
            return Err(io::Error::other(".workflow leads out of the project"));
        }
    }
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        fs::write(ignore, "*\n")?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_where_a_link_leads_out_of_the_project() {
        let outer = tempfile::tempdir().unwrap();
        let (project, other) = (outer.path().join("project"), outer.path().join("other"));
        for folder in [&project, &other] {
            fs::create_dir(folder).unwrap();
        }
        let project = project.canonicalize().unwrap();
        std::os::unix::fs::symlink(&other, project.join(".workflow")).unwrap();
        assert!(agents_folder(&project).is_err());
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        fs::remove_file(project.join(".workflow")).unwrap();
        let found = agents_folder(&project).unwrap();
        assert_eq!(found, project.join(".workflow/.agents"));
        assert_eq!(fs::read_to_string(found.join(".gitignore")).unwrap(), "*\n");
    }
}

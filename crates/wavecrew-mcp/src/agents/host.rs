//! The thread that looks after conversations: starts their turns under a guardian, one at a time each, and ends them.

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
use wavecrew_agents::stream::Usage;
use wavecrew_agents::{AgentSettings, Redactor};
use wavecrew_process::guardian::{Guardian, GuardianCommand};
use wavecrew_process::{GuardianEvent, ProcessExit};
use wavecrew_run::agent_name::by_name;
use wavecrew_run::worker::conversation::WorkerConversation;
use wavecrew_run::worker::conversation::conversation_id;
use wavecrew_run::worker::output::Output;
use wavecrew_run::worker::streams::ProcessState;
use wavecrew_run::worker::streams::WorkerEvent;
use wavecrew_run::worktree::{Isolation, Worktree};
use wavecrew_session::ProjectPaths;

/// Kept of what an agent prints, on disk.
const LOG_BYTES: u64 = 64 << 20;
/// How often questions of agents and clocks are looked at.
const TICK: Duration = Duration::from_millis(100);

/// Looks after conversations until nobody requests anything any more. If it cannot go on before that, it says why in `ended`
/// before it lets go of what is wished.
pub(super) fn run(
    root: &Root,
    command: &GuardianCommand,
    settings: &AgentSettings,
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
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let (news, mut news_of_processes) = unbounded_channel();
        let mut left = Left {
            agents: HashMap::new(),
            next_key: 1,
        };
        let mut losses = Losses::default();
        let mut held = VecDeque::new();
        loop {
            let since = Instant::now();
            let why = match Guardian::start(command.clone()).await {
                Ok((guardian, notices)) => {
                    let mut host = Host {
                        project: root.path().to_owned(),
                        settings: settings.clone(),
                        guardian,
                        agents: left.agents,
                        processes: HashMap::new(),
                        next_key: left.next_key,
                        redactor: Rc::new(Redactor::new(std::env::vars_os())),
                        news: news.clone(),
                    };
                    held.drain(..).for_each(|request| host.handle(request));
                    left = match host
                        .look_after(&mut requests, notices, &mut news_of_processes)
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
                    if !hold_wishes(wait, &mut requests, &mut held).await {
                        return left.finish();
                    }
                }
                Next::GiveUp { losses } => {
                    let _ = ended.set(format!(
                        "the process that guards agents was lost {losses} times in a row, last: {why}"
                    ));
                    return left.finish();
                }
            }
        }
    });
}

/// Waits, and keeps what is wished meanwhile; whether there is still somebody to request something.
async fn hold_wishes(
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

/// What a guardian that was lost leaves: agents without processes, which can be talked to again under another one.
struct Left {
    agents: HashMap<String, Agent>,
    /// Late news of a process that is gone must not be taken for news of another.
    next_key: u64,
}

impl Left {
    /// There will be no other one.
    fn finish(&self) {
        self.agents.values().for_each(finish);
    }
}

fn finish(agent: &Agent) {
    agent.output.finish();
    // What has changes stays, and whoever looks finds it in `git worktree list`.
    let _ = agent.worktree.as_ref().map(Worktree::remove_if_unchanged);
}

struct Host {
    project: PathBuf,
    settings: AgentSettings,
    guardian: Guardian,
    agents: HashMap<String, Agent>,
    /// Whose process it is, and what tells its pumps that it is gone.
    processes: HashMap<u64, (String, watch::Sender<ProcessState>)>,
    next_key: u64,
    redactor: Rc<Redactor>,
    news: UnboundedSender<WorkerEvent>,
}

impl Host {
    /// Until nobody requests anything any more, or until the guardian is lost.
    async fn look_after(
        mut self,
        requests: &mut UnboundedReceiver<AgentRequest>,
        mut notices: UnboundedReceiver<GuardianEvent>,
        news: &mut UnboundedReceiver<WorkerEvent>,
    ) -> Option<Left> {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                Some(notice) = notices.recv() => match notice {
                    GuardianEvent::Spawned { .. } => {}
                    GuardianEvent::SpawnFailed { key, error } => self.failed(key, error.to_string()),
                    GuardianEvent::Exited { key, status, .. } => {
                        if let Some((_, life)) = self.processes.get(&key) {
                            // The pumps answer once they have heard the rest.
                            let _ = life.send(ProcessState::Exited(status));
                        }
                    }
                    GuardianEvent::GuardianLost => return Some(self.lost()),
                },
                Some(news) = news.recv() => match news {
                    WorkerEvent::TurnEnded { key } => self.turn_over(key),
                    WorkerEvent::ProcessEnded { key, exit } => self.ended(key, exit),
                },
                request = requests.recv() => match request {
                    Some(request) => self.handle(request),
                    None => break,
                },
                _ = ticks.tick() => {
                    for agent in self.agents.values_mut() {
                        agent.look(&self.guardian);
                    }
                }
            }
        }
        self.guardian.shutdown().await;
        self.agents.values().for_each(finish);
        None
    }

    /// All processes are gone with the guardian; the conversations can be gone on with.
    fn lost(mut self) -> Left {
        let ids: Vec<String> = self.agents.keys().cloned().collect();
        for id in ids {
            let Some(agent) = self.agents.get_mut(&id) else {
                continue;
            };
            agent.lost(
                "its turn was lost: the process that guards agents was killed; say it again with send_input",
            );
            self.closed_if_gone(&id);
        }
        Left {
            agents: self.agents,
            next_key: self.next_key,
        }
    }

    fn handle(&mut self, request: AgentRequest) {
        // Whoever does not wait for an answer any more does not need one.
        match request {
            AgentRequest::Spawn {
                message,
                agent,
                folder,
                isolation,
                answer,
            } => {
                let made = self.add(&agent, folder, isolation);
                if let Ok(id) = &made {
                    self.say(id, message);
                }
                let _ = answer.send(made);
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
                        self.say(&id, message);
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

    /// A new agent, which has nothing to do yet.
    fn add(&mut self, name: &str, folder: PathBuf, isolation: Isolation) -> Result<String, String> {
        let adapter = by_name(name).map_err(|error| error.to_string())?;
        let failed = |error: io::Error| format!("the agent's folder cannot be made: {error}");
        if isolation == Isolation::Worktree {
            Worktree::check_possible(&folder).map_err(|error| error.to_string())?;
        }
        let id = conversation_id().map_err(|error| error.to_string())?;
        let home = home(&self.project).map_err(failed)?.join(&id);
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
            output: Rc::new(Output::new(
                home.join("log.txt"),
                LOG_BYTES,
                adapter.listener(Usage::NONE),
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
            last_call: None,
            status: watch::Sender::new(Status::Running),
            closing: None,
        };
        // A conversation has a file from the start: it is looked into while it goes on.
        agent.output.create_log_file();
        self.agents.insert(id.clone(), agent);
        Ok(id)
    }

    fn say(&mut self, id: &str, message: String) {
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
        let starter = (self.next_key, &self.guardian, self.news.clone());
        if let Some(life) = agent.start_next_turn(&self.project, starter) {
            self.processes.insert(self.next_key, (id.to_owned(), life));
            self.next_key += 1;
        }
    }

    fn failed(&mut self, key: u64, error: String) {
        let Some((id, _)) = self.processes.remove(&key) else {
            return;
        };
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.output.end_conversation();
            agent.activity = Activity::Nothing;
            agent.status.send_replace(Status::Errored(error));
        }
        self.closed_if_gone(&id);
    }

    /// A process that is spoken to waits for the next message.
    fn turn_over(&mut self, key: u64) {
        let Some((id, _)) = self.processes.get(&key) else {
            return;
        };
        let id = id.clone();
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.turn_over(ProcessExit::Code(0));
            agent.activity = Activity::Listening(key);
            if agent.closing.is_some() {
                agent.leave(&self.guardian);
            }
        }
        self.start_next_turn(&id);
    }

    fn ended(&mut self, key: u64, exit: ProcessExit) {
        let Some((id, _)) = self.processes.remove(&key) else {
            return;
        };
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.ended(exit);
        }
        self.start_next_turn(&id);
        self.closed_if_gone(&id);
    }

    fn close(&mut self, id: &str, answer: oneshot::Sender<Option<Closed>>) {
        let Some(agent) = self.agents.get_mut(id).filter(|agent| agent.closing.is_none()) else {
            let _ = answer.send(None);
            return;
        };
        agent.pending_messages.clear();
        let status = agent.status.borrow().clone();
        agent.closing = Some((status, answer));
        agent.leave(&self.guardian);
        self.closed_if_gone(id);
    }

    fn closed_if_gone(&mut self, id: &str) {
        let gone = |agent: &Agent| agent.activity == Activity::Nothing && agent.closing.is_some();
        if !self.agents.get(id).is_some_and(gone) {
            return;
        }
        let Some(mut agent) = self.agents.remove(id) else {
            return;
        };
        agent.output.finish();
        let _ = fs::remove_dir_all(agent.home.join("scratch"));
        agent.status.send_replace(Status::Shutdown);
        let kept = agent
            .worktree
            .as_ref()
            .map_or(Ok(None), Worktree::remove_if_unchanged);
        let kept = kept.map_err(|error| error.to_string());
        if let Some((status, answer)) = agent.closing.take() {
            let _ = answer.send(Some(Closed { status, kept }));
        }
    }
}

/// Where agents have their folders; kept out of the user's commits.
fn home(project: &Path) -> io::Result<PathBuf> {
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
        assert!(home(&project).is_err());
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        fs::remove_file(project.join(".workflow")).unwrap();
        let found = home(&project).unwrap();
        assert_eq!(found, project.join(".workflow/.agents"));
        assert_eq!(fs::read_to_string(found.join(".gitignore")).unwrap(), "*\n");
    }
}

//! The thread that looks after conversations: starts their turns under a guardian, one at a time each, and ends them.

use super::hear::Ear;
use super::turn::{Ended, Turn};
use super::{Closed, Status, Wish};
use crate::paths::Root;
use wavecrew_run::worktree::{Isolation, Worktree};
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use wavecrew_run::agent::launch::Conversation;
use wavecrew_run::agent::{Adapter, Memory, Redactor, by_name};
use wavecrew_run::guardian::{Guardian, GuardianCommand};
use wavecrew_run::process::{Exit, Notice};
use wavecrew_store::Token;

/// How long an agent that is to end may take to do so.
const GRACE: Duration = Duration::from_secs(3);

/// Looks after conversations until nobody wishes anything any more.
pub(super) fn run(root: &Root, guardian: GuardianCommand, wishes: UnboundedReceiver<Wish>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        // Without a guardian nothing is started; whoever wishes something hears that nobody is there.
        if let Ok((guardian, notices)) = Guardian::start(guardian).await {
            Host::new(root, guardian).look_after(wishes, notices).await;
        }
    });
}

struct Host {
    project: PathBuf,
    guardian: Guardian,
    agents: HashMap<String, Agent>,
    /// Whose process it is, and what tells its pumps that it is gone.
    processes: HashMap<u64, (String, watch::Sender<Option<Exit>>)>,
    next_key: u64,
    redactor: Rc<Redactor>,
}

struct Agent {
    adapter: Rc<dyn Adapter>,
    ear: Rc<Ear>,
    folder: PathBuf,
    home: PathBuf,
    worktree: Option<Worktree>,
    /// The id that a conversation gets, and the one that it has.
    fresh: String,
    known: Option<String>,
    turns: u32,
    unsaid: VecDeque<String>,
    process: Option<u64>,
    status: watch::Sender<Status>,
    closing: Option<(Status, oneshot::Sender<Option<Closed>>)>,
}

impl Host {
    fn new(root: &Root, guardian: Guardian) -> Self {
        Self {
            project: root.path().to_owned(),
            guardian,
            agents: HashMap::new(),
            processes: HashMap::new(),
            next_key: 1,
            redactor: Rc::new(Redactor::new(std::env::vars_os())),
        }
    }

    async fn look_after(
        mut self,
        mut wishes: UnboundedReceiver<Wish>,
        mut notices: UnboundedReceiver<Notice>,
    ) {
        let (ended_out, mut ended) = unbounded_channel();
        loop {
            tokio::select! {
                Some(notice) = notices.recv() => match notice {
                    Notice::Spawned { .. } => {}
                    Notice::SpawnFailed { key, error } => self.failed(key, error.to_string()),
                    Notice::Exited { key, status, .. } => {
                        if let Some((_, exited)) = self.processes.get(&key) {
                            // The pumps answer once they have heard the rest.
                            let _ = exited.send(Some(status));
                        }
                    }
                    Notice::GuardianLost => return,
                },
                Some(end) = ended.recv() => self.ended(&end, &ended_out),
                wish = wishes.recv() => match wish {
                    Some(wish) => self.grant(wish, &ended_out),
                    None => break,
                },
            }
        }
        self.guardian.shutdown().await;
        for agent in self.agents.values() {
            agent.ear.finish();
            // What has changes stays, and whoever looks finds it in `git worktree list`.
            let _ = agent.worktree.as_ref().map(Worktree::settle);
        }
    }

    fn grant(&mut self, wish: Wish, ended: &UnboundedSender<Ended>) {
        // Whoever does not wait for an answer any more does not need one.
        match wish {
            Wish::Spawn {
                message,
                agent,
                folder,
                isolation,
                answer,
            } => {
                let made = self.add(&agent, folder, isolation);
                if let Ok(id) = &made {
                    self.say(id, message);
                    self.go_on(id, ended);
                }
                let _ = answer.send(made);
            }
            Wish::Send {
                id,
                message,
                interrupt,
                answer,
            } => {
                let known = self.agents.get(&id).filter(|agent| agent.closing.is_none());
                let result = match known {
                    Some(agent) => {
                        if let Some(key) = agent.process.filter(|_| interrupt) {
                            self.guardian.close(key, GRACE);
                        }
                        self.say(&id, message);
                        self.go_on(&id, ended);
                        Ok(())
                    }
                    None => Err(format!("there is no agent {id}")),
                };
                let _ = answer.send(result);
            }
            Wish::Watch { id, answer } => {
                let _ = answer.send(self.agents.get(&id).map(|agent| agent.status.subscribe()));
            }
            Wish::Close { id, answer } => self.close(&id, answer),
        }
    }

    /// A new agent, which has nothing to do yet.
    fn add(&mut self, name: &str, folder: PathBuf, isolation: Isolation) -> Result<String, String> {
        let adapter = by_name(name).map_err(|error| error.to_string())?;
        let failed = |error: io::Error| format!("the agent's folder cannot be made: {error}");
        if isolation == Isolation::Worktree {
            Worktree::possible(&folder).map_err(|error| error.to_string())?;
        }
        let token = Token::random().map_err(|error| error.to_string())?;
        let id = uuid(token.as_str());
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
            ear: Rc::new(Ear::new(
                home.join("log.txt"),
                &*adapter,
                Rc::clone(&self.redactor),
            )),
            adapter,
            folder: worktree.as_ref().map_or(folder, Worktree::folder),
            home,
            worktree,
            fresh: id.clone(),
            known: None,
            turns: 0,
            unsaid: VecDeque::new(),
            process: None,
            status: watch::Sender::new(Status::Running),
            closing: None,
        };
        self.agents.insert(id.clone(), agent);
        Ok(id)
    }

    fn say(&mut self, id: &str, message: String) {
        if let Some(agent) = self.agents.get_mut(id) {
            agent.unsaid.push_back(message);
            agent.status.send_replace(Status::Running);
        }
    }

    /// Starts the next turn if there is something to say and nobody speaks.
    fn go_on(&mut self, id: &str, ended: &UnboundedSender<Ended>) {
        let Some(agent) = self.agents.get_mut(id).filter(|agent| agent.process.is_none()) else {
            return;
        };
        let Some(message) = agent.unsaid.pop_front() else {
            return;
        };
        agent.turns += 1;
        if agent.turns > 1 {
            agent.ear.new_turn();
        }
        let key = self.next_key;
        self.next_key += 1;
        let turn = Turn {
            agent: &*agent.adapter,
            message: &message,
            conversation: match &agent.known {
                Some(id) => Conversation::Resume { id },
                None => Conversation::New { id: &agent.fresh },
            },
            folder: &agent.folder,
            project: &self.project,
            home: &agent.home,
            number: agent.turns,
        };
        let started = turn
            .prepare(key, &agent.ear, ended.clone())
            .map_err(|error| error.to_string())
            .and_then(|(spawn, exited)| {
                self.guardian
                    .spawn(key, spawn)
                    .map_err(|error| error.to_string())?;
                Ok(exited)
            });
        match started {
            Ok(exited) => {
                agent.process = Some(key);
                self.processes.insert(key, (id.to_owned(), exited));
            }
            Err(error) => drop(agent.status.send_replace(Status::Errored(error))),
        }
    }

    fn failed(&mut self, key: u64, error: String) {
        let Some((id, _)) = self.processes.remove(&key) else {
            return;
        };
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.process = None;
            agent.status.send_replace(Status::Errored(error));
        }
        self.closed_if_gone(&id);
    }

    fn ended(&mut self, end: &Ended, ended: &UnboundedSender<Ended>) {
        let Some((id, _)) = self.processes.remove(&end.key) else {
            return;
        };
        let Some(agent) = self.agents.get_mut(&id) else {
            return;
        };
        agent.process = None;
        let said = agent.ear.end_turn(end.exit);
        agent.known = match (agent.ear.conversation(), agent.adapter.memory()) {
            (_, Memory::None) => None,
            (Some(told), _) => Some(told),
            (None, Memory::Named) => Some(agent.fresh.clone()),
            (None, Memory::Own) => agent.known.take(),
        };
        if agent.unsaid.is_empty() {
            agent.status.send_replace(match said {
                Ok(text) => Status::Completed(text),
                Err(text) => Status::Errored(text),
            });
        }
        self.go_on(&id, ended);
        self.closed_if_gone(&id);
    }

    fn close(&mut self, id: &str, answer: oneshot::Sender<Option<Closed>>) {
        let Some(agent) = self.agents.get_mut(id).filter(|agent| agent.closing.is_none()) else {
            let _ = answer.send(None);
            return;
        };
        agent.unsaid.clear();
        let status = agent.status.borrow().clone();
        agent.closing = Some((status, answer));
        if let Some(key) = agent.process {
            self.guardian.close(key, GRACE);
        }
        self.closed_if_gone(id);
    }

    fn closed_if_gone(&mut self, id: &str) {
        let gone = |agent: &Agent| agent.process.is_none() && agent.closing.is_some();
        if !self.agents.get(id).is_some_and(gone) {
            return;
        }
        let Some(mut agent) = self.agents.remove(id) else {
            return;
        };
        agent.ear.finish();
        let _ = fs::remove_dir_all(agent.home.join("scratch"));
        agent.status.send_replace(Status::Shutdown);
        let kept = agent.worktree.as_ref().map_or(Ok(None), Worktree::settle);
        let kept = kept.map_err(|error| error.to_string());
        if let Some((status, answer)) = agent.closing.take() {
            let _ = answer.send(Some(Closed { status, kept }));
        }
    }
}

/// Where agents have their folders; kept out of the user's commits.
fn home(project: &Path) -> io::Result<PathBuf> {
    let folder = project.join(".workflow/.agents");
    fs::create_dir_all(&folder)?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        fs::write(ignore, "*\n")?;
    }
    let found = folder.canonicalize()?;
    if found.starts_with(project) {
        Ok(found)
    } else {
        Err(io::Error::other(".workflow leads out of the project"))
    }
}

/// 32 random hexadecimal digits in the form of a UUID, which agents take as the id of a conversation.
fn uuid(hex: &str) -> String {
    format!(
        "{}-{}-4{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    )
}

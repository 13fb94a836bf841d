//! Teams for clients: planned, run, continued and asked about by this very program, as a person would.

use super::choice::choose;
use super::progress::{Progress, ProgressCounts};
use super::questions::put;
use super::team_args::{TeamContinue, TeamPlan, TeamRun};
use crate::job::error_text;
use crate::limits;
use crate::paths::Root;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use wavecrew_process::{DetachedChild, start_detached};
use wavecrew_run::questions;
use wavecrew_session::SessionDir;

const POLL: Duration = Duration::from_millis(100);

pub(super) struct Teams {
    pub root: Root,
    pub program: PathBuf,
    pub agent: Option<String>,
}

impl Teams {
    pub async fn plan(&self, call: &TeamPlan) -> Result<Value, String> {
        let mut words = vec!["plan".to_owned(), "--json".to_owned()];
        words.extend(call.command_line(&self.root)?);
        self.ask_program(&words).await
    }

    pub async fn run(&self, call: &TeamRun, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        let asks = call
            .run
            .ask
            .unwrap_or_else(|| super::questions::can_be_put(context));
        let agent = choose(call.run.agent.as_deref(), self.agent.as_deref(), context)?;
        let mut words = vec!["run".to_owned(), "--json".to_owned(), "-y".to_owned()];
        words.push(format!("--agent={agent}"));
        words.extend(call.max_workers.map(|count| format!("--concurrency={count}")));
        words.extend(asks.then(|| "--ask-in-folder".to_owned()));
        words.extend(call.run.limit_flags()?);
        words.extend(call.plan.command_line(&self.root)?);
        self.start(&words, call.run.background, ProgressCounts::default(), context)
            .await
    }

    pub async fn resume(
        &self,
        call: &TeamContinue,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let dir = self.find(&call.session)?;
        let asks = call
            .run
            .ask
            .unwrap_or_else(|| super::questions::can_be_put(context));
        let mut words = if call.retry {
            vec!["retry".to_owned(), dir.id().to_owned()]
        } else {
            vec!["run".to_owned(), format!("--continue={}", dir.id())]
        };
        words.extend(["--json".to_owned(), "-y".to_owned()]);
        words.extend(call.run.agent.as_ref().map(|agent| format!("--agent={agent}")));
        words.extend(asks.then(|| "--ask-in-folder".to_owned()));
        words.extend(call.run.limit_flags()?);
        let status = ["status", "--json", dir.id()].map(str::to_owned);
        let counts = kept(&self.ask_program(&status).await?, call.retry);
        self.start(&words, call.run.background, counts, context).await
    }

    /// Where a session stands, after at most `patience` if it runs. A question of it is put to the client on the way.
    pub async fn status(
        &self,
        session: Option<&str>,
        patience: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let until = Instant::now() + patience;
        loop {
            let mut words = vec!["status".to_owned(), "--json".to_owned()];
            if let Some(session) = session {
                words.push(self.find(session)?.id().to_owned());
            }
            let mut status = self.ask_program(&words).await?;
            let runs = status["state"] == "running";
            let dir = status["session"].as_str().map(|id| self.find(id)).transpose()?;
            let question = dir.as_ref().filter(|_| runs).and_then(questions::open);
            if let (Some(dir), Some(asked)) = (&dir, &question)
                && super::questions::can_be_put(context)
            {
                put(dir, asked, context).await?;
                continue;
            }
            if !runs || question.is_some() || Instant::now() >= until || context.ct.is_cancelled() {
                status["question"] = json!(question);
                status["timed_out"] = (runs && question.is_none()).into();
                return Ok(status);
            }
            sleep(POLL * 3).await;
        }
    }

    pub fn answer(&self, session: &str, answer: &str) -> Result<Value, String> {
        let dir = self.find(session)?;
        let Some(asked) = questions::open(&dir) else {
            return Err(format!("session {session} has no open question"));
        };
        if !asked.takes(answer) {
            return Err(format!(
                "`{answer}` is not an option; options: {}",
                asked.options.join(", ")
            ));
        }
        questions::answer(&dir, &asked, answer).map_err(|error| error.to_string())?;
        Ok(json!({"accepted": true, "question": asked.question}))
    }

    pub fn find(&self, session: &str) -> Result<SessionDir, String> {
        SessionDir::open(self.root.path(), session).map_err(|error| error.to_string())
    }

    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .current_dir(self.root.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What ends the client's terminal is not meant for it.
            .process_group(0);
        command
    }

    /// One JSON document of a command that does not take long.
    async fn ask_program(&self, words: &[String]) -> Result<Value, String> {
        let (child, _apart) = apart(self.command(words).stdin(Stdio::null()))?;
        let Output {
            status,
            stdout,
            stderr,
        } = child
            .wait_with_output()
            .await
            .map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(error_text(&stderr).unwrap_or_default());
        }
        serde_json::from_slice(&stdout).map_err(|error| error.to_string())
    }

    async fn start(
        &self,
        words: &[String],
        background: bool,
        counts: ProgressCounts,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let mut words = words.to_vec();
        if !background {
            // It ends when we do, however we do.
            words.insert(1, "--attached".to_owned());
        }
        let mut command = self.command(&words);
        command.stdin(if background { Stdio::null() } else { Stdio::piped() });
        let (mut child, apart) = apart(&mut command)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(mut stderr)) = (stdout, stderr) else {
            unreachable!("both are piped")
        };
        let mut run = Attached {
            child: Some(child),
            _apart: apart,
        };
        let mut lines = BufReader::new(stdout).lines();
        // It says first of all which session it is.
        let first = next(&mut lines).await;
        let Some(first) = first.filter(|line| line.get("error").is_none()) else {
            let mut said = Vec::new();
            let _ = stderr.read_to_end(&mut said).await;
            return Err(error_text(&said).unwrap_or_default());
        };
        // Read to its end, so that it never waits for us.
        let stderr_log = tokio::spawn(async move {
            let mut said = Vec::new();
            let _ = stderr.read_to_end(&mut said).await;
            said
        });
        let dir = self.find(first["session"].as_str().unwrap_or_default())?;
        if !background {
            return attend(run, (lines, stderr_log), &dir, counts, context).await;
        }
        let child = run.child.take();
        tokio::spawn(async move {
            // As long as it runs, it is apart.
            let _run = run;
            while next(&mut lines).await.is_some() {}
            if let Some(mut child) = child {
                let _ = child.wait().await;
            }
        });
        Ok(json!({"session": dir.id(), "state": "running", "dir": dir.path()}))
    }
}

/// Starts a process that does not end with the agents that are talked to.
pub(super) fn apart(command: &mut Command) -> Result<(Child, Option<DetachedChild>), String> {
    start_detached(|| command.spawn(), Child::id).map_err(|error| error.to_string())
}

/// A run that ends with the call it was started by.
struct Attached {
    child: Option<Child>,
    _apart: Option<DetachedChild>,
}

impl Attached {
    fn stop(&self) {
        let pid = self.child.as_ref().and_then(Child::id);
        let pid = pid.and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        if let Some(pid) = pid {
            // One that is gone already needs no word.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Stays with a run until it ends.
async fn attend(
    run: Attached,
    (mut lines, stderr_log): (Lines<BufReader<ChildStdout>>, JoinHandle<Vec<u8>>),
    dir: &SessionDir,
    mut counts: ProgressCounts,
    context: &RequestContext<RoleServer>,
) -> Result<Value, String> {
    let mut progress = Progress::of(context);
    counts.total = rows(dir);
    loop {
        tokio::select! {
            line = next(&mut lines) => match line {
                Some(mut line) if line["event"] == "end" => {
                    progress.notify(counts, context).await;
                    line["session"] = dir.id().into();
                    if let Some(flags) = line["ending"]["go_on"].as_str() {
                        let more = limits::arguments(flags);
                        line["ending"]["go_on"] = format!("team_continue with session {}{more}", dir.id()).into();
                    }
                    if let Some(fields) = line.as_object_mut() {
                        fields.remove("event");
                    }
                    return Ok(line);
                }
                Some(line) => count(&mut counts, &line),
                None => {
                    let said = stderr_log.await.unwrap_or_default();
                    let silent = || format!("the run ended without a result; check it with team_status {}", dir.id());
                    return Err(error_text(&said).unwrap_or_else(silent));
                }
            },
            () = context.ct.cancelled() => {
                run.stop();
                return Err(format!("the call was cancelled; continue with team_continue {}", dir.id()));
            }
            () = sleep(POLL) => {
                progress.notify(counts.clone(), context).await;
                if let Some(asked) = questions::open(dir)
                    && super::questions::can_be_put(context)
                {
                    put(dir, &asked, context).await?;
                }
            }
        }
    }
}

/// The next event, past what is none.
async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<Value> {
    loop {
        let line = lines.next_line().await.ok()??;
        if let Ok(event) = serde_json::from_str(&line) {
            return Some(event);
        }
    }
}

fn count(counts: &mut ProgressCounts, event: &Value) {
    match event["event"].as_str() {
        Some("started") => counts.running += 1,
        Some("finished") => {
            counts.running = counts.running.saturating_sub(1);
            counts.done += 1;
            counts.failed += usize::from(event["result"]["status"] == "failed");
        }
        Some("skipped") => counts.done += 1,
        Some("usage") => {
            if let Some(cost) = event["cost"].as_f64() {
                *counts.cost.get_or_insert(0.0) += cost;
            }
        }
        Some(_) | None => {}
    }
}

/// What is left of a session's results when it is gone on with; `retry` runs again what failed.
fn kept(status: &Value, retry: bool) -> ProgressCounts {
    let count = |name: &str| {
        let found = status["counts"][name].as_u64().unwrap_or(0);
        usize::try_from(found).unwrap_or(usize::MAX)
    };
    let failed = if retry { 0 } else { count("failed") };
    let skipped = if retry { 0 } else { count("skipped") };
    ProgressCounts {
        done: count("completed") + failed + skipped,
        failed,
        cost: status["usage"]["cost_usd"].as_f64(),
        ..ProgressCounts::default()
    }
}

fn rows(dir: &SessionDir) -> usize {
    let reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(dir.tasks_csv());
    reader.map_or(0, |mut reader| reader.byte_records().count())
}

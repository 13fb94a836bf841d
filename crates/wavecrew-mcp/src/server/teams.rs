//! Teams for clients: each call runs a command of this program, as a person would.

use super::choice::choose;
use super::progress::{Progress, ProgressCounts};
use super::questions::{can_elicit, elicit_answer};
use super::team_args::{TeamContinue, TeamPlan, TeamRun};
use crate::job::error_text;
use crate::limits;
use crate::paths::Root;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use wavecrew_process::{DetachedChild, start_detached};
use wavecrew_run::questions::{self, WrittenAnswer};
use wavecrew_session::SessionDir;

const POLL: Duration = Duration::from_millis(100);

pub(super) struct Teams {
    pub root: Root,
    pub program: PathBuf,
    pub agent: Option<String>,
}

impl Teams {
    pub async fn plan(&self, call: &TeamPlan) -> Result<Value, String> {
        let mut args = vec!["plan".to_owned(), "--json".to_owned()];
        args.extend(call.command_line(&self.root)?);
        self.run_to_end(&args).await
    }

    pub async fn run(&self, call: &TeamRun, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        let agent = choose(call.run.agent.as_deref(), self.agent.as_deref(), context)?;
        let mut args = vec!["run".to_owned()];
        args.extend(call.run.flags(Some(&agent), can_elicit(context))?);
        args.extend(call.max_workers.map(|count| format!("--concurrency={count}")));
        args.extend(call.plan.command_line(&self.root)?);
        self.start(args, call.run.background, ProgressCounts::default(), context)
            .await
    }

    pub async fn resume(
        &self,
        call: &TeamContinue,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let dir = self.find(&call.session)?;
        let mut args = if call.retry {
            vec!["retry".to_owned(), dir.id().to_owned()]
        } else {
            vec!["run".to_owned(), format!("--continue={}", dir.id())]
        };
        args.extend(call.run.flags(call.run.agent.as_deref(), can_elicit(context))?);
        let status = ["status", "--json", dir.id()].map(str::to_owned);
        let counts = counts_to_keep(&self.run_to_end(&status).await?, call.retry);
        self.start(args, call.run.background, counts, context).await
    }

    /// The status of a session; if it runs, after a question, its end or `timeout`. Puts its questions to the client if it can.
    pub async fn status(
        &self,
        session: Option<&str>,
        timeout: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let until = Instant::now() + timeout;
        loop {
            let mut args = vec!["status".to_owned(), "--json".to_owned()];
            if let Some(session) = session {
                args.push(self.find(session)?.id().to_owned());
            }
            let mut status = self.run_to_end(&args).await?;
            let runs = status["state"] == "running";
            let dir = status["session"].as_str().map(|id| self.find(id)).transpose()?;
            let question = dir.as_ref().filter(|_| runs).and_then(questions::open);
            if let (Some(dir), Some(asked)) = (&dir, &question)
                && can_elicit(context)
            {
                elicit_answer(dir, asked, context).await?;
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

    pub fn answer(&self, session: &str, answer: &str, remark: Option<&str>) -> Result<Value, String> {
        let dir = self.find(session)?;
        let Some(asked) = questions::open(&dir) else {
            return Err(format!("session {session} has no open question"));
        };
        if !asked.accepts(answer) {
            return Err(format!(
                "`{answer}` is not an option; options: {}",
                asked.options.join(", ")
            ));
        }
        let written = WrittenAnswer {
            remark: remark.map(str::to_owned),
            ..WrittenAnswer::of_client(answer)
        };
        questions::answer(&dir, &asked, written).map_err(|error| error.to_string())?;
        Ok(json!({"accepted": true, "question": asked.question}))
    }

    pub fn find(&self, session: &str) -> Result<SessionDir, String> {
        SessionDir::open(self.root.path(), session).map_err(|error| error.to_string())
    }

    fn command(&self, args: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .current_dir(self.root.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Signals of the client's terminal do not reach it.
            .process_group(0);
        command
    }

    /// Compares two versions; differences are an answer, not a failure. Ends when the client cancels the call.
    pub async fn compare(
        &self,
        args: &[String],
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let answer = tokio::select! {
            answer = self.run_until(args, |status| matches!(status.code(), Some(0..=2))) => answer?,
            () = context.ct.cancelled() => return Err("the call was cancelled".to_owned()),
        };
        match answer["error"]["message"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }

    /// Runs a short command; returns the JSON document that it prints.
    async fn run_to_end(&self, args: &[String]) -> Result<Value, String> {
        self.run_until(args, ExitStatus::success).await
    }

    /// Runs a command to its end, or until the client no longer waits for it.
    async fn run_until(&self, args: &[String], is_good: fn(&ExitStatus) -> bool) -> Result<Value, String> {
        let mut command = self.command(args);
        command.stdin(Stdio::null());
        let (child, _detached) = start_detached_process(&mut command)?;
        let mut ending = EndOnDrop(child.id());
        let Output {
            status,
            stdout,
            stderr,
        } = child
            .wait_with_output()
            .await
            .map_err(|error| error.to_string())?;
        ending.0 = None;
        if !is_good(&status) {
            return Err(error_text(&stderr).unwrap_or_default());
        }
        serde_json::from_slice(&stdout).map_err(|error| error.to_string())
    }

    async fn start(
        &self,
        mut args: Vec<String>,
        background: bool,
        counts: ProgressCounts,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        if !background {
            // It ends with this process, even if this one is killed.
            args.insert(1, "--attached".to_owned());
        }
        let mut command = self.command(&args);
        command.stdin(if background { Stdio::null() } else { Stdio::piped() });
        let (mut child, detached) = start_detached_process(&mut command)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(mut stderr)) = (stdout, stderr) else {
            unreachable!("both are piped")
        };
        let mut run = Attached {
            child: Some(child),
            _detached: detached,
        };
        let mut lines = BufReader::new(stdout).lines();
        // Its stderr is read all the time, so that it never blocks.
        let stderr_log = tokio::spawn(async move {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text).await;
            text
        });
        // The first line names the session.
        let first = next_event(&mut lines).await;
        let Some(first) = first.filter(|line| line.get("error").is_none()) else {
            return Err(error_text(&stderr_log.await.unwrap_or_default()).unwrap_or_default());
        };
        let dir = self.find(first["session"].as_str().unwrap_or_default())?;
        if !background {
            return follow(run, (lines, stderr_log), &dir, counts, context).await;
        }
        let child = run.child.take();
        tokio::spawn(async move {
            let _run = run;
            while next_event(&mut lines).await.is_some() {}
            if let Some(mut child) = child {
                let _ = child.wait().await;
            }
        });
        Ok(json!({"session": dir.id(), "state": "running", "dir": dir.path()}))
    }
}

/// Starts a process that does not end with the guardian of the conversations.
pub(super) fn start_detached_process(
    command: &mut Command,
) -> Result<(Child, Option<DetachedChild>), String> {
    start_detached(|| command.spawn(), Child::id).map_err(|error| error.to_string())
}

/// A run that ends with the call that started it.
struct Attached {
    child: Option<Child>,
    _detached: Option<DetachedChild>,
}

impl Attached {
    fn stop(&self) {
        terminate(self.child.as_ref().and_then(Child::id));
    }
}

/// Ends a command that nobody waits for any more. It removes its temporary files.
struct EndOnDrop(Option<u32>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        terminate(self.0);
    }
}

fn terminate(id: Option<u32>) {
    if let Some(pid) = id.and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
        // It may have exited already.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Follows a run until it ends.
async fn follow(
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
            line = next_event(&mut lines) => match line {
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
                    let output = stderr_log.await.unwrap_or_default();
                    let silent = || format!("the run ended without a result; check it with team_status {}", dir.id());
                    return Err(error_text(&output).unwrap_or_else(silent));
                }
            },
            () = context.ct.cancelled() => {
                run.stop();
                return Err(format!("the call was cancelled; continue with team_continue {}", dir.id()));
            }
            () = sleep(POLL) => {
                progress.notify(counts.clone(), context).await;
                if let Some(asked) = questions::open(dir)
                    && can_elicit(context)
                {
                    elicit_answer(dir, &asked, context).await?;
                }
            }
        }
    }
}

/// The next event; skips other lines.
async fn next_event(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<Value> {
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

/// The counts of the results that stay when a session continues; `retry` runs failed tasks again.
fn counts_to_keep(status: &Value, retry: bool) -> ProgressCounts {
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

//! The page of a project: all sessions, newest first, their cost per day, and the rate limits of their
//! agents.

use super::{Frame, badge, board, inbox, meters, paged, pager, svg};
use crate::server::desk::Prompt;
use crate::shot::{Medium, Query, clock, encode};
use maud::{Markup, html};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};
use wavecrew_core::budget::{dollars, grouped};
use wavecrew_core::engine::Counts;
use wavecrew_core::pool::Pool;
use wavecrew_core::time::human;
use wavecrew_core::view::{one_line, wait_line};
use wavecrew_process::LockAnyway;
use wavecrew_run::questions::{self, OpenQuestion};
use wavecrew_session::{SessionDir, SessionEntry, SessionError, SessionView, list_sessions};

const LISTED: usize = 100;

/// A session in one line.
#[derive(Clone)]
struct Summary {
    id: String,
    team: String,
    request: String,
    started_at: String,
    agent: String,
    state: &'static str,
    counts: Counts,
    used: Duration,
    tokens: u64,
    cost: Option<f64>,
    verdicts: [usize; 3],
    pools: BTreeMap<String, Pool>,
    /// Why it cannot be read.
    problem: Option<String>,
}

type Stamp = (Option<SystemTime>, u64, Option<SystemTime>, bool);

/// The summaries of sessions that have not changed since they were read.
#[derive(Default)]
pub struct Summaries(Mutex<HashMap<String, (Stamp, Summary)>>);

impl Summaries {
    fn all(&self, project: &Path) -> Result<Vec<Summary>, SessionError> {
        Ok(list_sessions(project)?
            .into_iter()
            .map(|entry| self.of(entry))
            .collect())
    }

    fn of(&self, entry: SessionEntry) -> Summary {
        match entry {
            SessionEntry::Session(dir, _) => {
                let stamp = stamp(&dir);
                let known = self
                    .0
                    .lock_anyway()
                    .get(dir.id())
                    .filter(|(of, _)| *of == stamp)
                    .cloned();
                if let Some((_, summary)) = known {
                    return summary;
                }
                let id = dir.id().to_owned();
                let summary = summarise(dir).unwrap_or_else(|error| broken(&id, &error));
                self.0.lock_anyway().insert(id, (stamp, summary.clone()));
                summary
            }
            SessionEntry::Broken { path, error } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                broken(&name, &error)
            }
        }
    }
}

fn stamp(dir: &SessionDir) -> Stamp {
    let journal = fs::metadata(dir.journal_file()).ok();
    let info = fs::metadata(dir.session_json())
        .ok()
        .and_then(|meta| meta.modified().ok());
    let written = journal.as_ref().and_then(|meta| meta.modified().ok());
    let runs = dir.holder().ok().flatten().is_some();
    (written, journal.map_or(0, |meta| meta.len()), info, runs)
}

fn summarise(dir: SessionDir) -> Result<Summary, SessionError> {
    let view = SessionView::load(dir)?;
    let info = view.info.as_ref();
    Ok(Summary {
        id: view.dir.id().to_owned(),
        team: view.team().to_owned(),
        request: info.map(|info| info.request.clone()).unwrap_or_default(),
        started_at: info.map(|info| info.started_at.clone()).unwrap_or_default(),
        agent: info.map(|info| info.default_agent.clone()).unwrap_or_default(),
        state: view.state(),
        counts: view.counts(),
        used: view.ledger.time_used(clock()),
        tokens: view.ledger.totals.spent.tokens(),
        cost: view.ledger.totals.spent.cost,
        verdicts: meters::verdicts(&view.ledger),
        pools: view.ledger.pools.clone(),
        problem: (!view.problems.is_empty()).then(|| view.problems.join("; ")),
    })
}

fn broken(id: &str, error: &SessionError) -> Summary {
    Summary {
        id: id.to_owned(),
        team: String::new(),
        request: String::new(),
        started_at: String::new(),
        agent: String::new(),
        state: "broken",
        counts: Counts::default(),
        used: Duration::ZERO,
        tokens: 0,
        cost: None,
        verdicts: [0; 3],
        pools: BTreeMap::new(),
        problem: Some(error.first_line()),
    }
}

/// The parts of the page, by the ids of their elements, and the questions that are open.
pub struct Parts {
    pub fragments: Vec<(&'static str, Markup)>,
    pub asked: Vec<String>,
}

pub fn parts(
    summaries: &Summaries,
    project: &Path,
    query: &Query,
    prompts: &[Prompt],
    medium: Medium,
) -> Result<Parts, SessionError> {
    let all = summaries.all(project)?;
    let running = all.iter().filter(|one| one.state == "running");
    let asked: Vec<(SessionDir, OpenQuestion)> = running
        .filter_map(|one| {
            let dir = SessionDir::open(project, &one.id).ok()?;
            let asked = questions::open(&dir)?;
            Some((dir, asked))
        })
        .collect();
    let inbox = html! {
        (inbox::prompts(prompts, medium))
        @for (dir, asked) in &asked { (inbox::form(dir, asked, &format!("{} asks", one_line(dir.id())), medium)) }
    };
    Ok(Parts {
        fragments: vec![
            ("inbox", inbox),
            ("sessions", sessions(&all, query)),
            ("days", days(&all)),
            ("agents", agents(&all)),
        ],
        asked: asked.into_iter().map(|(_, asked)| asked.question).collect(),
    })
}

pub fn page(project: &Path, query: &Query, parts: Parts) -> Markup {
    let [inbox, sessions, days, agents] = <[_; 4]>::try_from(parts.fragments)
        .expect("the parts above")
        .map(|(_, markup)| markup);
    let name = project.file_name().map_or_else(
        || project.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    let body = html! {
        div.head { div.grow { h1 { (one_line(&name)) } p.soft.mono { (project.display()) } } }
        div #inbox aria-live="assertive" { (inbox) }
        form.row.controls data-auto="" method="get" role="search" aria-label="Find sessions" {
            label { "Find " input #search type="search" name="q" value=(query.q); } button type="submit" { "Find" }
        }
        section.panel #sessions { (sessions) }
        section.panel #days { (days) }
        section.panel #agents { (agents) }
    };
    let frame = Frame {
        title: &name,
        trail: Vec::new(),
        stream: Some(format!("/stream{}", query.text())),
    };
    frame.around(&body)
}

fn sessions(all: &[Summary], query: &Query) -> Markup {
    let text = query.q.to_lowercase();
    let fits = |one: &&Summary| {
        let texts = [&one.id, &one.team, &one.request];
        text.is_empty() || one.state == text || texts.iter().any(|found| found.to_lowercase().contains(&text))
    };
    let found: Vec<&Summary> = all.iter().filter(fits).collect();
    let (range, pages) = paged(found.len(), LISTED, query.page());
    html! {
        h2 { "Sessions" }
        @if all.is_empty() { p { "There is no session in this project yet. Start one with " code { "wavecrew run" } " or " code { "wavecrew testing" } ", or name another project with " code { "-C" } "." } }
        @else if found.is_empty() { p { "No session matches. " a href="/" { "Show all" } } }
        @else {
            div.scroll tabindex="0" { table {
                thead { tr { th scope="col" { "Session" } th scope="col" { "State" } th scope="col" { "Team" } th scope="col" { "Progress" } th.num scope="col" { "Time" } th.num scope="col" { "Tokens" } th.num scope="col" { "Cost" } th scope="col" { "Verdicts" } } }
                tbody { @for one in &found[range] { (line(one)) } }
            } }
            (pager(query.page(), pages, |page| query.link(|query| query.page = Some(page.to_string()))))
        }
    }
}

fn line(one: &Summary) -> Markup {
    let [verified, unverified, contradicted] = one.verdicts;
    html! {
        tr {
            th scope="row" {
                a href={ "/s/" (encode(&one.id)) } { (one_line(&one.id)) }
                @if !one.request.is_empty() { div.soft { (one_line(&super::shortened(&one.request, 200))) } }
                @if let Some(problem) = &one.problem { div.is-failed { (one_line(problem)) } }
            }
            td { (badge(one.state)) div.soft { (one_line(&one.started_at).replace('T', " ").trim_end_matches('Z').to_owned()) } }
            td { (one_line(&one.team)) div.soft { (board::short_agent(&one.agent)) } }
            td { (one.counts.completed) " of " (one.counts.total()) @if one.counts.failed > 0 { ", " span.is-failed { (one.counts.failed) " failed" } } (meters::progress_bar(&one.counts)) }
            td.num { (human(one.used)) }
            td.num { (grouped(one.tokens)) }
            td.num { @if let Some(cost) = one.cost { (dollars(cost)) } }
            td { span.is-verified title="verified" { (verified) " ✓" } " " span.is-unverified title="unverified" { (unverified) " ○" } " " span.is-contradicted title="contradicted" { (contradicted) " ✕" } }
        }
    }
}

/// Cost and time per day.
fn days(all: &[Summary]) -> Markup {
    let mut days: BTreeMap<String, (f64, Duration, usize)> = BTreeMap::new();
    for one in all {
        if let Some(day) = one.started_at.get(..10) {
            let of = days.entry(day.to_owned()).or_default();
            of.0 += one.cost.unwrap_or(0.0);
            of.1 += one.used;
            of.2 += 1;
        }
    }
    let column = |value: fn(&(f64, Duration, usize)) -> f64| -> Vec<(String, f64)> {
        let latest = days.iter().rev().take(60);
        let mut values: Vec<(String, f64)> = latest.map(|(day, of)| (day.clone(), value(of))).collect();
        values.reverse();
        values
    };
    html! {
        h2 { "Per day" }
        @if days.is_empty() { p.soft { "Nothing has run yet." } }
        @else {
            div.plots {
                div { h3 { "Cost" } (svg::columns("Cost per day", &column(|of| of.0))) }
                div { h3 { "Time" } (svg::columns("Time per day", &column(|of| of.1.as_secs_f64()))) }
            }
            details #days-table {
                summary { "The same as a table" }
                table {
                    thead { tr { th scope="col" { "Day" } th.num scope="col" { "Sessions" } th.num scope="col" { "Time" } th.num scope="col" { "Cost" } } }
                    tbody { @for (day, (cost, time, number)) in days.iter().rev() { tr { th scope="row" { (day) } td.num { (number) } td.num { (human(*time)) } td.num { (dollars(*cost)) } } } }
                }
            }
        }
    }
}

/// The agents of the sessions, and the current rate limits of their services.
fn agents(all: &[Summary]) -> Markup {
    let mut agents: BTreeMap<String, usize> = BTreeMap::new();
    let mut pools: BTreeMap<&str, Pool> = BTreeMap::new();
    for one in all {
        if !one.agent.is_empty() {
            *agents.entry(board::short_agent(&one.agent)).or_default() += 1;
        }
        for (name, pool) in &one.pools {
            let known = pools.entry(name).or_insert(*pool);
            if pool.refused_at > known.refused_at {
                *known = *pool;
            }
        }
    }
    let now = clock();
    html! {
        h2 { "Agents" }
        @if agents.is_empty() { p.soft { "No agent has run yet." } }
        ul.facts { @for (agent, number) in &agents { li { strong { (agent) } " in " (number) @if *number == 1 { " session" } @else { " sessions" } } } }
        @if pools.is_empty() { p.soft { "No service has refused anything." } }
        ul { @for (name, pool) in &pools {
            li { @if pool.until > now { (wait_line(name, pool, now)) } @else { (one_line(name)) " answers; refused last at " (pool.refused_at) " (" (pool.reason.as_str()) ")" } }
        } }
    }
}

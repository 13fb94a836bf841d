//! The plan as columns of waves with cards. Sends only what fits a screen: the most important cards of a few
//! waves, and links to the rest.

use super::meters::progress_bar;
use super::svg::{count, round};
use super::{paged, pager, part, sign};
use crate::shot::{Medium, Query, Shot, task_state};
use maud::{Markup, html};
use std::collections::BTreeSet;
use wavecrew_core::budget::{dollars, grouped};
use wavecrew_core::engine::TaskProgress;
use wavecrew_core::id::TaskIx;
use wavecrew_core::time::human;
use wavecrew_core::view::{duration, one_line};

/// Cards in a column, columns on the board, and cards on a page of a list.
const CARDS: usize = 24;
const WAVES: u32 = 10;
const LISTED: usize = 120;
/// Bars of the overview.
const OVERVIEW: usize = 160;

const STATES: [&str; 6] = ["running", "failed", "waiting", "pending", "skipped", "completed"];

pub fn board(shot: &Shot<'_>) -> Markup {
    let (query, plan) = (shot.query, shot.ledger.plan());
    let compact = if query.compact.is_empty() { "" } else { "compact" };
    html! {
        (controls(shot))
        @if plan.is_empty() {
            p { "The plan has no tasks." }
        } @else if query.is_filtered() || query.wave().is_some() {
            (list(shot))
        } @else {
            @let waves = window(shot);
            (overview(shot))
            div class={ "board-wrap " (compact) } #board-wrap data-scroll="" tabindex="0" role="region" aria-label="Plan by wave" {
                div.board #board-cards {
                    svg.edges #edges aria-hidden="true" {}
                    @for wave in waves { (column(shot, wave)) }
                }
            }
        }
    }
}

/// The waves around the running one, or those of the requested page.
fn window(shot: &Shot<'_>) -> std::ops::RangeInclusive<u32> {
    let waves = shot.ledger.plan().waves();
    let most = if shot.medium == Medium::File { waves } else { WAVES };
    let last = waves.saturating_sub(most - 1).max(1);
    let from = match &shot.query.page {
        Some(_) => {
            let page = u32::try_from(shot.query.page()).unwrap_or(u32::MAX);
            (page.min(waves.div_ceil(WAVES)).max(1) - 1) * WAVES + 1
        }
        // A run that has ended is shown from its beginning.
        None if shot.medium == Medium::File || !shot.is_running() => 1,
        None => shot.ledger.wave.max(1).saturating_sub(2).max(1).min(last),
    };
    from..=(from + most - 1).min(waves)
}

fn controls(shot: &Shot<'_>) -> Markup {
    let Query {
        q,
        state,
        role,
        wave,
        compact,
        ..
    } = shot.query;
    let plan = shot.ledger.plan();
    let roles: BTreeSet<&str> = plan.tasks().map(|task| plan.role(task)).collect();
    if shot.medium == Medium::File {
        return html! {};
    }
    html! {
        form.row.controls data-auto="" method="get" role="search" aria-label="Filter tasks" {
            @if shot.past { input type="hidden" name="at" value=[shot.query.at.as_deref()]; }
            @if let Some(wave) = wave { input type="hidden" name="wave" value=(wave); }
            label { "Text " input #search type="search" name="q" value=(q) size="14"; }
            label { "State "
                select #filter-state name="state" {
                    option value="" selected[state.is_empty()] { "all" }
                    @for known in STATES { option value=(known) selected[state == known] { (known) } }
                }
            }
            @if roles.len() > 1 {
                label { "Role "
                    select #filter-role name="role" {
                        option value="" selected[role.is_empty()] { "all" }
                        @for known in roles.iter().take(200) { option value=(known) selected[role == known] { (one_line(known)) } }
                    }
                }
            }
            label { input #compact type="checkbox" name="compact" value="1" checked[!compact.is_empty()]; " Compact" }
            button type="submit" { "Filter" }
            @if shot.query.is_filtered() || wave.is_some() { a href=(shot.query.link(|query| *query = Query { at: query.at.take(), compact: query.compact.clone(), ..Query::default() })) { "Show all" } }
            span role="group" aria-label="Zoom" {
                button type="button" data-zoom="0.833" aria-label="Zoom out" { "−" } " "
                button type="button" data-zoom="0" title="Zoom to 100 %" { "100 %" } " "
                button type="button" data-zoom="1.2" aria-label="Zoom in" { "+" }
            }
        }
    }
}

/// One small bar for every wave, or for a few together, with links.
fn overview(shot: &Shot<'_>) -> Markup {
    let waves = shot.ledger.plan().waves() as usize;
    if waves <= WAVES as usize || shot.medium == Medium::File {
        return html! {};
    }
    let each = waves.div_ceil(OVERVIEW);
    let groups: Vec<(usize, [usize; 2])> = (1..=waves)
        .step_by(each)
        .map(|first| {
            let mut sums = [0, 0];
            for wave in first..(first + each).min(waves + 1) {
                let counts = shot.ledger.wave_counts(u32::try_from(wave).unwrap_or(1));
                sums[0] += counts.completed + counts.failed + counts.skipped;
                sums[1] += counts.total();
            }
            (first, sums)
        })
        .collect();
    let width = 1000.0 / count(groups.len());
    let bars = html! {
        svg.overview viewBox="0 0 1000 30" preserveAspectRatio="none" aria-label="All waves" role="group" {
            @for (at, (first, [done, total])) in groups.iter().enumerate() {
                @let tall = count(*done) / count((*total).max(1)) * 28.0;
                // The pager below leads to the same pages, with fewer stops for the keyboard.
                a tabindex="-1" href=(shot.query.link(|query| query.page = Some(((first - 1) / WAVES as usize + 1).to_string()))) {
                    title { "Wave " (first) ": " (done) " of " (total) " done" }
                    rect.fill-soft x=(round(count(at) * width)) y="0" width=(round(width - 1.0)) height="30" {}
                    rect.fill-completed x=(round(count(at) * width)) y=(round(29.0 - tall)) width=(round(width - 1.0)) height=(round(tall)) {}
                }
            }
        }
    };
    html! {
        div #overview { (part("overview", &bars)) }
        (pager(window(shot).start().div_ceil(WAVES) as usize, waves.div_ceil(WAVES as usize), |page| shot.query.link(|query| query.page = Some(page.to_string()))))
    }
}

fn column(shot: &Shot<'_>, wave: u32) -> Markup {
    let counts = shot.ledger.wave_counts(wave);
    let tasks = telling(shot, shot.ledger.plan().wave_tasks(wave));
    let hidden = counts.total() - tasks.len();
    let id = format!("wave-{wave}");
    let content = html! {
        h2 { "Wave " (wave) " " small { (counts.completed) " of " (counts.total()) } (progress_bar(&counts)) }
        ol { @for task in tasks { li { (card(shot, task)) } } }
        @if hidden > 0 {
            @if shot.medium == Medium::File { span.more.soft { (hidden) " more" } }
            @else { a.more href=(shot.query.link(|query| { query.wave = Some(wave.to_string()); query.page = None; })) { "All " (counts.total()) " tasks of wave " (wave) } }
        }
    };
    html! { section.wave id=(id) aria-label={ "Wave " (wave) } { (part(&id, &content)) } }
}

/// All tasks of a small column; in a large one, running, failed and waiting tasks come first.
fn telling(shot: &Shot<'_>, tasks: &[TaskIx]) -> Vec<TaskIx> {
    if tasks.len() <= CARDS {
        return tasks.to_vec();
    }
    let mut chosen: Vec<TaskIx> = Vec::with_capacity(CARDS);
    for wanted in STATES {
        let of_state = tasks
            .iter()
            .filter(|task| task_state(shot.ledger.task(**task)) == wanted);
        chosen.extend(of_state.take(CARDS - chosen.len()));
        if chosen.len() == CARDS {
            break;
        }
    }
    chosen
}

/// The tasks that fit the filter, on pages.
fn list(shot: &Shot<'_>) -> Markup {
    let (query, plan) = (shot.query, shot.ledger.plan());
    let text = query.q.to_lowercase();
    let fits = |task: &TaskIx| {
        (query.state.is_empty() || task_state(shot.ledger.task(*task)) == query.state)
            && (query.role.is_empty() || plan.role(*task) == query.role)
            && query.wave().is_none_or(|wave| plan.wave(*task) == wave)
            && (text.is_empty()
                || plan.id(*task).to_lowercase().contains(&text)
                || plan.title(*task).to_lowercase().contains(&text))
    };
    let found: Vec<TaskIx> = plan.tasks().filter(fits).collect();
    let (range, pages) = paged(found.len(), LISTED, query.page());
    let compact = if query.compact.is_empty() { "" } else { "compact" };
    html! {
        p role="status" {
            (found.len()) " of " (plan.len()) " tasks"
            @if let Some(wave) = query.wave() { " · wave " (wave) }
        }
        div class=(compact) { ol.grid { @for &task in &found[range] { li { (card(shot, task)) } } } }
        (pager(query.page(), pages, |page| query.link(|query| query.page = Some(page.to_string()))))
    }
}

fn card(shot: &Shot<'_>, task: TaskIx) -> Markup {
    let (ledger, plan) = (shot.ledger, shot.ledger.plan());
    let (state, id) = (ledger.task(task), plan.id(task));
    let word = task_state(state);
    let done = state.progress == TaskProgress::Done && state.attempts > 0;
    let after: Vec<&str> = plan.deps(task).iter().take(40).map(|dep| plan.id(*dep)).collect();
    let agent = state.made_from.as_ref().map(|(_, agent)| &**agent);
    html! {
        a class={ "card s-" (word) } href=(shot.task_link(id)) data-task=(id) data-after=[(!after.is_empty()).then(|| after.join(" "))] {
            span.title { (one_line(plan.title(task))) }
            span class={ "state is-" (word) } {
                @if word != "running" { (sign(word)) " " }
                (word)
                @if done { " · " span class={ "is-" (state.result.verdict.as_str()) } { (state.result.verdict.as_str()) } }
            }
            span.meta {
                span.mono { (one_line(id)) }
                @if !plan.role(task).is_empty() { span { (one_line(plan.role(task))) } }
                @if let Some(agent) = agent { span { (short_agent(agent)) } }
                @if let Some(took) = duration(state) { span { (human(took)) } }
                @else if let (TaskProgress::Open { .. }, Some(began)) = (state.progress, state.started) {
                    @if shot.past || shot.medium == Medium::File { span { (human(shot.now.since(began))) } } @else { time data-since=(began.0) { "…" } }
                }
                @if state.attempts > 1 { span { "attempt " (state.attempts) } }
                @if state.spent.tokens() > 0 { span { (grouped(state.spent.tokens())) " tok" } }
                @if let Some(cost) = state.spent.cost { span { (dollars(cost)) } }
            }
        }
    }
}

/// An agent without its path and arguments.
pub fn short_agent(agent: &str) -> String {
    let (kind, rest) = agent.split_once(':').unwrap_or((agent, ""));
    let program = rest.split(' ').next().unwrap_or_default();
    match program.rsplit('/').next() {
        Some(name) if !name.is_empty() => one_line(&format!("{kind}:{name}")),
        _ => one_line(kind),
    }
}

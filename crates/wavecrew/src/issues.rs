//! The input of a team that works on issues: ids, a file of issues, a text or a plan. Reads and checks it,
//! and returns new issues, which are filed when the run begins.

use crate::agent_choice;
use crate::clock;
use crate::exit::Failure;
use crate::show::safe;
use crate::{hint, project};
use std::fs;
use std::path::{Path, PathBuf};
use wavecrew_core::issue::{Issue, IssueId, IssueStatus, read_plan};
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::team::PipelineIssue;
use wavecrew_run::installed::installed;
use wavecrew_session::{IssueFile, IssueStore};

/// Flags of teams that work on issues.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct IssueFlags {
    /// Create an issue with this text and work on it
    #[arg(long, value_name = "TEXT", conflicts_with = "plan_file")]
    pub text: Option<String>,
    /// Create issues from the phases and checklists of a Markdown plan
    #[arg(long = "plan", id = "plan_file", value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Agent that implements; `auto` chooses an installed one [default: the run's agent]
    #[arg(long, value_name = "AGENT|auto")]
    pub exec: Option<String>,
}

impl IssueFlags {
    pub fn is_empty(&self) -> bool {
        self.text.is_none() && self.plan.is_none() && self.exec.is_none()
    }

    /// The text from which the session's name is made.
    pub fn request(&self, words: &[String]) -> String {
        match (&self.text, &self.plan) {
            (Some(text), _) => text.clone(),
            (None, Some(file)) => file.to_string_lossy().into_owned(),
            (None, None) => words.join(" "),
        }
    }
}

/// Issues to work on.
pub struct Input {
    pub rows: Vec<PipelineIssue>,
    pub new: NewIssues,
}

/// Issues that the store does not have yet.
#[derive(Default)]
pub enum NewIssues {
    #[default]
    None,
    /// They have ids of their own.
    Given(Vec<Issue>),
    /// Their ids are provisional.
    Promised(Vec<Issue>),
}

/// Up to this many issues, a quick agent is the better choice.
const FEW: usize = 3;

/// Finds the issues that flags and arguments name.
pub fn read(flags: &IssueFlags, words: &[String], quiet: bool) -> Result<Input, Failure> {
    let store = IssueStore::new(Path::new("."));
    let known = store.read()?;
    let (issues, input_type, kind) = match (&flags.text, &flags.plan) {
        (Some(_), _) | (None, Some(_)) if !words.is_empty() => {
            return Err(Failure::with_help(
                format!(
                    "`{}` is given in addition to --text or --plan",
                    safe(&words.join(" "))
                ),
                "give only one of them: issue ids, a file of issues, --text or --plan",
            ));
        }
        (Some(text), _) => (
            with_ids(&store, vec![from_text(text)?])?,
            "text",
            NewIssues::Promised as Kind,
        ),
        (None, Some(file)) => (
            with_ids(&store, planned(file)?)?,
            "plan",
            NewIssues::Promised as Kind,
        ),
        (None, None) => from_words(&known, words, &store)?,
    };
    let method = match &flags.exec {
        None => String::new(),
        Some(name) => method(name, issues.len())?,
    };
    if !quiet {
        warn_of_open(&known, &issues);
    }
    let rows = issues
        .iter()
        .map(|issue| PipelineIssue {
            id: issue.id.clone(),
            title: issue.title.clone(),
            text: issue.description.clone(),
            input_type: input_type.to_owned(),
            raw_input: match (&flags.text, &flags.plan) {
                (Some(text), _) => text.clone(),
                (None, Some(file)) => file.to_string_lossy().into_owned(),
                (None, None) => issue.id.clone(),
            },
            execution_method: method.clone(),
            depends_on: before(issue, &issues),
        })
        .collect();
    Ok(Input {
        rows,
        new: kind(issues),
    })
}

/// The work for issues that were found.
type Kind = fn(Vec<Issue>) -> NewIssues;
type FoundIssues = (Vec<Issue>, &'static str, Kind);

fn from_words(known: &IssueFile, words: &[String], store: &IssueStore) -> Result<FoundIssues, Failure> {
    if words.is_empty() {
        return Err(Failure::with_help(
            "no issues were named",
            format!(
                "give issue ids (`{}`), a file of issues, --text 'what you want' or --plan FILE",
                hint::command("issues list --all")
            ),
        ));
    }
    if let [word] = words {
        let file = project::typed(Path::new(word));
        if file.extension().is_some_and(|ending| ending == "jsonl") || file.is_file() {
            return Ok((from_file(&file)?, "issues", NewIssues::Given));
        }
    }
    let is_id = |word: &&String| IssueId::parse(word).is_some() || known.find(word).is_some();
    let ids: Vec<&String> = words.iter().filter(is_id).collect();
    if ids.is_empty() && !words.iter().any(|word| word.starts_with("ISS-")) {
        // Arguments that are not ids are the text of a new issue.
        let issues = with_ids(store, vec![from_text(&words.join(" "))?])?;
        return Ok((issues, "text", NewIssues::Promised));
    }
    let mut issues: Vec<Issue> = Vec::new();
    for word in words {
        let issue = find(known, word)?;
        if issue.status == IssueStatus::Closed {
            return Err(Failure::with_help(
                format!("the issue {word} is closed"),
                format!(
                    "leave it out, or add a new one with `{}`",
                    hint::command("issues add")
                ),
            ));
        }
        if !issues.iter().any(|other| other.id == issue.id) {
            issues.push(issue.clone());
        }
    }
    Ok((issues, "issues", |_| NewIssues::None))
}

fn from_file(path: &Path) -> Result<Vec<Issue>, Failure> {
    if !path.is_file() {
        return Err(Failure::with_help(
            format!("there is no file {}", path.display()),
            "name a file with one issue as a JSON object per line",
        ));
    }
    let file = IssueFile::read(path)?;
    if !file.problems.is_empty() {
        let lines: Vec<String> = file
            .problems
            .iter()
            .map(|problem| format!("{}:{}: {}", path.display(), problem.line, safe(&problem.reason)))
            .collect();
        return Err(Failure::with_help(
            lines.join("\n"),
            "each line is a JSON object with at least `id` and `title`",
        ));
    }
    let mut open: Vec<Issue> = file.issues;
    open.retain(|issue| issue.status == IssueStatus::Open);
    if open.is_empty() {
        return Err(Failure::with_help(
            format!("{} has no open issue", path.display()),
            format!("add one with `{}`", hint::command("issues add")),
        ));
    }
    Ok(open)
}

fn from_text(text: &str) -> Result<(Issue, Vec<usize>), Failure> {
    /// Longer first lines are cut: the title becomes part of a commit message.
    const TITLE: usize = 72;
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    if first.is_empty() {
        return Err(Failure::with_help("the text is empty", "say what you want"));
    }
    let title = match first.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", first[..end].trim_end()),
        None => first.to_owned(),
    };
    let issue = Issue {
        title,
        description: text.to_owned(),
        source: "text".to_owned(),
        ..Issue::default()
    };
    Ok((issue, Vec::new()))
}

/// New issues with the ids they will be filed under.
fn with_ids(store: &IssueStore, new: Vec<(Issue, Vec<usize>)>) -> Result<Vec<Issue>, Failure> {
    let now = clock::moment();
    let ids = store.ids_for(new.len(), &now)?;
    let issue = |((mut issue, before), id): ((Issue, Vec<usize>), &String)| {
        issue.id.clone_from(id);
        issue.created_at.clone_from(&now.at);
        issue
            .depends_on_issues
            .extend(before.into_iter().map(|place| ids[place].clone()));
        issue
    };
    Ok(new.into_iter().zip(&ids).map(issue).collect())
}

/// Which issues of the run come first: those it names, else those of the wave before its own.
fn before(issue: &Issue, all: &[Issue]) -> Vec<String> {
    if !issue.depends_on_issues.is_empty() {
        return issue.depends_on_issues.clone();
    }
    let Some(wave) = issue.wave() else {
        return Vec::new();
    };
    let earlier = all
        .iter()
        .filter_map(Issue::wave)
        .filter(|other| *other < wave)
        .max();
    let of_wave = |other: &&Issue| earlier.is_some() && other.wave() == earlier;
    all.iter().filter(of_wave).map(|other| other.id.clone()).collect()
}

fn warn_of_open(known: &IssueFile, issues: &[Issue]) {
    for issue in issues {
        for id in &issue.depends_on_issues {
            let here = issues.iter().any(|other| other.id == *id);
            let open = known
                .find(id)
                .is_none_or(|other| other.status == IssueStatus::Open);
            if !here && open {
                tell!(
                    "{} depends on {}, which is not closed and not part of this run",
                    safe(&issue.id),
                    safe(id)
                );
            }
        }
    }
}

/// The agent that `--exec` means.
fn method(name: &str, issues: usize) -> Result<String, Failure> {
    let path = agent_choice::search_path();
    if name != "auto" {
        agent_choice::check(name, &path)?;
        return Ok(name.to_owned());
    }
    let here: Vec<&str> = installed(&path).iter().map(|cli| cli.name()).collect();
    let wanted = if issues <= FEW {
        ["gemini", "claude", "codex", "qwen"]
    } else {
        ["codex", "claude", "gemini", "qwen"]
    };
    let found = wanted.into_iter().find(|name| here.contains(name));
    // If none is installed, the run's agent is used.
    Ok(found.or(here.first().copied()).unwrap_or_default().to_owned())
}

/// The issues of a Markdown plan, with the places of those that come before each.
pub fn planned(file: &Path) -> Result<Vec<(Issue, Vec<usize>)>, Failure> {
    let text = fs::read_to_string(project::typed(file)).map_err(|error| {
        Failure::with_help(
            format!("the plan {} cannot be read: {error}", file.display()),
            "name a Markdown file",
        )
    })?;
    let issues = read_plan(&text).map_err(|problem| {
        Failure::with_help(
            format!("{}: {problem}", file.display()),
            "write phases as headings (`## Phase 1: Storage`), or what is to be done as a checklist (`- [ ] Do it`)",
        )
    })?;
    let issue = |planned: wavecrew_core::issue::Planned| {
        let issue = Issue {
            title: planned.title,
            description: planned.text,
            tags: vec![format!("wave-{}", planned.wave)],
            source: "plan".to_owned(),
            ..Issue::default()
        };
        (issue, planned.depends_on)
    };
    Ok(issues.into_iter().map(issue).collect())
}

/// An issue by its id, with help for a mistyped one.
pub fn find<'a>(known: &'a IssueFile, id: &str) -> Result<&'a Issue, Failure> {
    known.find(id).ok_or_else(|| unknown(known, id))
}

pub fn unknown(known: &IssueFile, id: &str) -> Failure {
    let ids = known.issues.iter().map(|issue| issue.id.as_str());
    let help = did_you_mean(id, ids)
        .unwrap_or_else(|| format!("`{}` shows all issues", hint::command("issues list --all")));
    Failure::with_help(format!("there is no issue `{}`", safe(id)), help)
}

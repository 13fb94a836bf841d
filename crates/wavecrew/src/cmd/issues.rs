//! `wavecrew issues`: the issues of this project, which `planex` plans and implements.

use crate::clock;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::issues::{find, planned, unknown};
use crate::layout::{fit, widest};
use crate::show::safe;
use crate::{hint, json};
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use wavecrew_core::issue::{Issue, IssueStatus};
use wavecrew_session::{IssueFile, IssueStore};

/// List, add, show and close issues of this project
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew issues add 'Rate limiting' --text 'Answer 429 after 100 requests a minute.'
  wavecrew issues add 'Document it' --depends-on ISS-20260308-120000
  wavecrew issues add --plan plan.md          one issue per open box or phase of a Markdown plan
  wavecrew issues list                        open issues
  wavecrew issues close ISS-20260308-120000 --reason 'no longer needed'";

#[derive(clap::Subcommand, Debug)]
enum Action {
    List(ListArgs),
    Add(AddArgs),
    Show(ShowArgs),
    Close(CloseArgs),
}

/// List open issues
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew issues list\n  wavecrew issues list --all --json")]
struct ListArgs {
    /// List closed issues too
    #[arg(short, long)]
    all: bool,
}

/// Add an issue, or all issues of a Markdown plan
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew issues add 'Rate limiting' --text 'Answer 429 after 100 requests a minute.'\n  wavecrew issues add --plan plan.md"
)]
struct AddArgs {
    /// Title: what you want, in one line
    #[arg(required_unless_present = "plan", conflicts_with = "plan")]
    title: Option<String>,
    /// Everything that the implementer needs to know
    #[arg(long, value_name = "TEXT", conflicts_with = "plan")]
    text: Option<String>,
    /// Add a tag; `wave-N` makes it wait for the issues tagged `wave-(N-1)`
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// An issue that must be closed first
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// Create issues from the phases and checklists of a Markdown plan
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
}

/// Show one issue
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew issues show ISS-20260308-120000")]
struct ShowArgs {
    /// Issue id, as `issues list` shows it
    id: String,
}

/// Close an issue
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew issues close ISS-20260308-120000 --reason 'no longer needed'")]
struct CloseArgs {
    /// Issue id, as `issues list` shows it
    id: String,
    /// Why you close it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let store = IssueStore::new(Path::new("."));
        match &self.action {
            Action::List(args) => args.run(&store, global),
            Action::Add(args) => args.run(&store, global),
            Action::Show(args) => {
                let known = read(&store, global)?;
                show_one(find(&known, &args.id)?, global)
            }
            Action::Close(args) => {
                find(&read(&store, global)?, &args.id)?;
                match store.close(&args.id, args.reason.as_deref(), &clock::moment())? {
                    Some(issue) => print(&[issue], "Closed", global),
                    None => Err(unknown(&IssueFile::default(), &args.id)),
                }
            }
        }
    }
}

impl ListArgs {
    fn run(&self, store: &IssueStore, global: &Global) -> Result<Exit, Failure> {
        let known = read(store, global)?;
        let shown: Vec<&Issue> = known
            .issues
            .iter()
            .filter(|issue| self.all || issue.status == IssueStatus::Open)
            .collect();
        let mut out = stdout().lock();
        if global.json {
            json::print(&shown)?;
            return Ok(Exit::Done);
        }
        if shown.is_empty() {
            writeln!(
                out,
                "No open issues. `{}` adds one.",
                hint::command("issues add TITLE")
            )?;
        }
        let width = widest(shown.iter().map(|issue| issue.id.as_str()));
        for issue in shown {
            let mut line = format!(
                "{}  {:<6}  {}",
                fit(&issue.id, width),
                issue.status.as_str(),
                safe(&issue.title)
            );
            if !issue.tags.is_empty() {
                line += &format!("  [{}]", safe(&issue.tags.join(", ")));
            }
            if !issue.depends_on_issues.is_empty() {
                line += &format!("  after {}", safe(&issue.depends_on_issues.join(", ")));
            }
            writeln!(out, "{line}")?;
        }
        Ok(Exit::Done)
    }
}

impl AddArgs {
    fn run(&self, store: &IssueStore, global: &Global) -> Result<Exit, Failure> {
        let known = read(store, global)?;
        for id in &self.depends_on {
            find(&known, id)?;
        }
        let mut new = match (&self.plan, &self.title) {
            (Some(file), _) => planned(file)?,
            (None, Some(title)) if !title.trim().is_empty() => vec![(
                Issue {
                    title: title.trim().to_owned(),
                    description: self.text.clone().unwrap_or_default(),
                    source: "cli".to_owned(),
                    ..Issue::default()
                },
                Vec::new(),
            )],
            (None, _) => {
                return Err(Failure::with_help(
                    "the issue has no title",
                    "describe in one line what you want",
                ));
            }
        };
        for (issue, _) in &mut new {
            issue.tags.extend(self.tags.iter().cloned());
            issue.depends_on_issues.extend(self.depends_on.iter().cloned());
        }
        let added = store.add(new, &clock::moment())?;
        print(&added, "Added", global)
    }
}

/// The issues of the store. Warns of lines that are not issues.
fn read(store: &IssueStore, global: &Global) -> Result<IssueFile, Failure> {
    let known = store.read()?;
    if !global.quiet {
        for problem in &known.problems {
            tell!(
                "{}:{}: not an issue, ignored: {}",
                store.path().display(),
                problem.line,
                safe(&problem.reason)
            );
        }
    }
    Ok(known)
}

fn show_one(issue: &Issue, global: &Global) -> Result<Exit, Failure> {
    let mut out = stdout().lock();
    if global.json {
        json::print(issue)?;
        return Ok(Exit::Done);
    }
    writeln!(
        out,
        "{}  {}  {}",
        safe(&issue.id),
        issue.status.as_str(),
        safe(&issue.title)
    )?;
    let facts = [
        ("Tags", issue.tags.join(", ")),
        ("After", issue.depends_on_issues.join(", ")),
        ("Added", issue.created_at.clone()),
        ("Closed", issue.closed_at.clone().unwrap_or_default()),
        ("Why", issue.resolution.clone().unwrap_or_default()),
    ];
    for (name, value) in facts {
        if !value.is_empty() {
            writeln!(out, "{name:<7}{}", safe(&value))?;
        }
    }
    if !issue.description.is_empty() {
        let text = wavecrew_core::sanitise::sanitise(issue.description.as_bytes());
        writeln!(out, "\n{text}")?;
    }
    Ok(Exit::Done)
}

fn print(issues: &[Issue], what: &str, global: &Global) -> Result<Exit, Failure> {
    let mut out = stdout().lock();
    if global.json {
        json::print(issues)?;
    } else {
        for issue in issues {
            writeln!(out, "{what} {}: {}", safe(&issue.id), safe(&issue.title))?;
        }
    }
    Ok(Exit::Done)
}

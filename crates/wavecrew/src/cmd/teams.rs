//! `wavecrew teams`: lists the teams, or shows the parts of one.

use crate::exit::{Exit, Failure};
use crate::find_team::{self, FOLDER, own_teams};
use crate::global::Global;
use crate::layout::{fit, widest};
use crate::show::safe;
use crate::{hint, json};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{Write, stdout};
use wavecrew_core::team::{Column, Limits, PipelineFlag, Team};
use wavecrew_core::time::human;
use wavecrew_core::view::one_line;

/// List teams, or show one
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew teams\n  wavecrew teams testing\n  wavecrew teams testing --source > .wavecrew/teams/mine.toml"
)]
pub struct Args {
    /// A team's name, or its file
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print the team file of a built-in team, as a start for your own
    #[arg(long, requires = "name", conflicts_with = "json")]
    source: bool,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let mut out = stdout().lock();
        match &self.name {
            None if global.json => {
                let teams: Vec<Value> = all().iter().map(Listed::json).collect();
                json::print(teams)?;
            }
            None => list(&all(), &mut out)?,
            Some(name) if self.source => out.write_all(source(name)?.as_bytes())?,
            Some(name) => {
                let team = find_team::find(name)?;
                if global.json {
                    json::print(&team)?;
                } else {
                    out.write_all(text(&team).as_bytes())?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

fn source(name: &str) -> Result<&'static str, Failure> {
    Team::builtin_text(name).ok_or_else(|| {
        Failure::with_help(
            format!("`{name}` is not built in"),
            format!("built in are: {}", Team::builtin_names().join(", ")),
        )
    })
}

/// A team in the list.
struct Listed {
    name: String,
    origin: String,
    /// `None` when its file has mistakes.
    team: Option<Team>,
}

fn all() -> Vec<Listed> {
    let mut own = own_teams();
    own.sort();
    let built_in = Team::builtin_names()
        .iter()
        .filter(|name| !own.iter().any(|own| own == *name))
        .map(|name| Listed {
            name: (*name).to_owned(),
            origin: "built in".to_owned(),
            team: Team::builtin(name),
        });
    let of_project = own.iter().map(|name| {
        let path = format!("{FOLDER}/{name}.toml");
        let text = std::fs::read_to_string(&path).ok();
        Listed {
            name: name.clone(),
            team: text.and_then(|text| Team::parse(&path, &text).ok()),
            origin: path,
        }
    });
    built_in.chain(of_project).collect()
}

impl Listed {
    fn about(&self) -> String {
        match &self.team {
            Some(team) if team.about.is_empty() => one_line(&team.title),
            Some(team) => one_line(&team.about),
            None => format!(
                "has mistakes: `{}` shows them",
                hint::command(&format!("teams {}", safe(&self.name)))
            ),
        }
    }

    fn json(&self) -> Value {
        let title = self.team.as_ref().map(|team| &team.title);
        let pipelines = self.team.as_ref().map(|team| {
            let names = team.pipelines.iter().map(|pipeline| pipeline.name.as_str());
            names.collect::<Vec<_>>()
        });
        json!({"name": self.name, "origin": self.origin, "title": title, "pipelines": pipelines})
    }
}

fn list(teams: &[Listed], out: &mut impl Write) -> std::io::Result<()> {
    let width = widest(teams.iter().map(|team| team.name.as_str()));
    for team in teams {
        write!(out, "{}  {}", fit(&team.name, width), team.about())?;
        match team.origin.as_str() {
            "built in" => writeln!(out)?,
            file => writeln!(out, " ({})", safe(file))?,
        }
    }
    Ok(())
}

fn text(team: &Team) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{} · {}", team.name, one_line(&team.title));
    if !team.about.is_empty() {
        let _ = writeln!(text, "{}", one_line(&team.about));
    }
    let _ = writeln!(text, "\nSessions are named {}-…-YYYYMMDD", team.prefix);
    roles(&mut text, team);
    columns(&mut text, "Input columns", team.input_columns());
    columns(&mut text, "Output columns", team.output_columns());
    pipelines(&mut text, team);
    switches(&mut text, team);
    discoveries(&mut text, team);
    limits(&mut text, &team.limits);
    text
}

fn roles(text: &mut String, team: &Team) {
    text.push_str("\nRoles\n");
    let width = widest(team.roles.iter().map(|role| role.name.as_str()));
    for role in &team.roles {
        let prefixes = role.prefixes.join(", ");
        let _ = writeln!(
            text,
            "  {}  {}  {} · {}",
            fit(&role.name, width),
            fit(role.access.as_str(), 9),
            prefixes,
            one_line(&role.about)
        );
    }
    if team.any_role {
        text.push_str("  and any other role that a row names\n");
    }
}

fn columns<'t>(text: &mut String, title: &str, columns: impl Iterator<Item = &'t Column>) {
    let columns: Vec<&Column> = columns.collect();
    if columns.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    let width = widest(columns.iter().map(|column| column.name.as_str()));
    for column in columns {
        let mut line = format!("  {}  {}", fit(&column.name, width), one_line(&column.about));
        if !column.values.is_empty() {
            let _ = write!(line, " ({})", column.values.join(", "));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn pipelines(text: &mut String, team: &Team) {
    if team.pipelines.is_empty() {
        return;
    }
    text.push_str("\nPipelines\n");
    for pipeline in &team.pipelines {
        let _ = writeln!(text, "  {} · {}", pipeline.name, one_line(&pipeline.about));
        for (at, wave) in pipeline.waves().iter().enumerate() {
            let ids: Vec<&str> = wave.iter().map(|task| task.id.as_str()).collect();
            let _ = writeln!(text, "    wave {}  {}", at + 1, ids.join(", "));
        }
    }
}

fn switches(text: &mut String, team: &Team) {
    if team.switches.is_empty() {
        return;
    }
    text.push_str("\nSwitches (--switch)\n");
    for PipelineFlag::RemoveRole { flag, role } in &team.switches {
        let _ = writeln!(text, "  {flag}  removes the tasks of the role {role}");
    }
}

fn discoveries(text: &mut String, team: &Team) {
    if team.discoveries.is_empty() {
        return;
    }
    text.push_str("\nDiscoveries\n");
    let width = widest(team.discoveries.iter().map(|kind| kind.name.as_str()));
    for kind in &team.discoveries {
        let fields: Vec<String> = kind.fields.iter().map(|field| field.clone().into()).collect();
        let _ = writeln!(
            text,
            "  {}  {{{}}} one per {}",
            fit(&kind.name, width),
            fields.join(", "),
            if kind.key.is_empty() {
                "session".to_owned()
            } else {
                kind.key.join(" + ")
            }
        );
    }
}

fn limits(text: &mut String, limits: &Limits) {
    text.push_str("\nLimits\n");
    for (what, limit) in [
        ("one-shot task", human(limits.one_shot)),
        (
            "interactive task",
            format!(
                "{}, then {} to finish",
                human(limits.interactive),
                human(limits.interactive_grace)
            ),
        ),
        ("stalled after silence", human(limits.idle)),
        ("repairs of a report", limits.max_repairs.to_string()),
        ("output kept per task", format!("{} bytes", limits.log_bytes)),
    ] {
        let _ = writeln!(text, "  {what:<21}  {limit}");
    }
}

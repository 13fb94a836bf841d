//! `wavecrew.toml`: a project's settings. Refuses unknown settings and reports every mistake with its line.

mod remote;
mod sandbox;
mod spending;
mod verify;

pub use remote::{JournalFlag, RemoteConfig};
pub use spending::Spending;
pub use verify::Verify;

use crate::exit::Failure;
use crate::show;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wavecrew_agents::{AgentSetting, AgentSettings, cli};
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::team::TeamProblem;
use wavecrew_run::sandbox::SandboxSettings;

pub const FILE: &str = "wavecrew.toml";

/// What `wavecrew init` writes: every setting, with its default.
pub const TEMPLATE: &str = include_str!("../../templates/wavecrew.toml");

/// The settings of the file; missing ones are `None`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Config {
    /// The agent of every role that has none of its own.
    pub agent: Option<String>,
    pub role_agents: BTreeMap<String, String>,
    /// Workers at the same time.
    pub concurrency: Option<u32>,
    /// Attempts at a task whose worker crashes or times out.
    pub attempts: Option<u32>,
    pub limits: ConfigLimits,
    pub spending: Spending,
    /// Names of pools by agent.
    pub pools: BTreeMap<String, String>,
    /// Models and arguments for single agents.
    pub agents: AgentSettings,
    /// How the project is built and tested.
    pub verify: Verify,
    /// How workers are confined.
    pub sandbox: SandboxSettings,
    pub testing: TestingSettings,
    /// Workers on other machines.
    pub remote: RemoteConfig,
}

/// `[testing]`: settings of team Testing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TestingSettings {
    /// Files in scope of one task; a larger scope becomes several tasks per layer.
    pub files_per_task: Option<u32>,
}

impl TestingSettings {
    fn fill(&mut self, table: &DeTable<'_>, reader: &mut Reader<'_>) {
        for (key, value) in table {
            match &**key.get_ref() {
                "files_per_task" => self.files_per_task = reader.number("files_per_task", value),
                unknown => reader.unknown(key, unknown, " in [testing]", &["files_per_task"]),
            }
        }
    }
}

/// Limits that replace those of every team.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigLimits {
    pub one_shot_seconds: Option<u64>,
    pub interactive_seconds: Option<u64>,
    pub idle_seconds: Option<u64>,
    pub end_idle_seconds: Option<u64>,
    pub kill_grace_seconds: Option<u64>,
    pub log_bytes: Option<u64>,
    pub quota_patience_seconds: Option<u64>,
}

impl Config {
    /// Reads the project's file; without one, every setting is missing.
    pub fn load(project: &Path) -> Result<Self, Failure> {
        let mut config = Self::read_file(project)?;
        sandbox::apply_variable(&mut config.sandbox)?;
        Ok(config)
    }

    fn read_file(project: &Path) -> Result<Self, Failure> {
        let path = project.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Failure::with_help(
                    format!("{} cannot be read: {error}", path.display()),
                    "fix it, or remove it to use the defaults",
                ));
            }
        };
        Self::parse(FILE, &text).map_err(|problems| {
            show::team_problems(&text, &problems);
            Failure::Refused
        })
    }

    fn parse(file: &str, text: &str) -> Result<Self, Vec<TeamProblem>> {
        let (root, errors) = DeTable::parse_recoverable(text);
        let mut reader = Reader {
            file,
            text,
            problems: Vec::new(),
        };
        for error in errors {
            reader.problem(error.span().unwrap_or(0..0), error.message().to_owned(), None);
        }
        let mut config = Self::default();
        if reader.problems.is_empty() {
            config.fill(root.get_ref(), &mut reader);
        }
        if reader.problems.is_empty() {
            return Ok(config);
        }
        reader.problems.sort_by_key(|problem| problem.span.start);
        Err(reader.problems)
    }

    fn fill(&mut self, root: &DeTable<'_>, reader: &mut Reader<'_>) {
        const KEYS: [&str; 14] = [
            "agent",
            "role_agents",
            "concurrency",
            "attempts",
            "limits",
            "budget",
            "prices",
            "pools",
            "agents",
            "verify",
            "sandbox",
            "testing",
            "remote",
            "place",
        ];
        for (key, value) in root {
            match &**key.get_ref() {
                "agent" => self.agent = reader.text("agent", value),
                "role_agents" => self.role_agents = reader.texts("role_agents", value),
                "concurrency" => self.concurrency = reader.number("concurrency", value),
                "attempts" => self.attempts = reader.number("attempts", value),
                "pools" => self.pools = reader.pools(value),
                name @ ("limits" | "budget" | "prices" | "verify" | "testing") => match value.get_ref() {
                    DeValue::Table(table) if name == "limits" => self.limits.fill(table, reader),
                    DeValue::Table(table) if name == "budget" => self.spending.fill_budget(table, reader),
                    DeValue::Table(table) if name == "verify" => self.verify.fill(table, reader),
                    DeValue::Table(table) if name == "testing" => self.testing.fill(table, reader),
                    DeValue::Table(table) => self.spending.fill_prices(table, reader),
                    _ => reader.problem(
                        value.span(),
                        format!("`{name}` must be a table"),
                        Some(format!("write [{name}]")),
                    ),
                },
                "remote" => self.remote.fill(value, reader),
                "place" => self.remote.fill_rules(value, reader),
                "agents" => self.agents = agents(value, reader),
                "sandbox" => self.sandbox = sandbox::read(value, reader),
                unknown => reader.unknown(key, unknown, "", &KEYS),
            }
        }
    }
}

impl ConfigLimits {
    fn fill(&mut self, table: &DeTable<'_>, reader: &mut Reader<'_>) {
        let slots: [(&str, &mut Option<u64>); 7] = [
            ("one_shot_seconds", &mut self.one_shot_seconds),
            ("interactive_seconds", &mut self.interactive_seconds),
            ("idle_seconds", &mut self.idle_seconds),
            ("end_idle_seconds", &mut self.end_idle_seconds),
            ("kill_grace_seconds", &mut self.kill_grace_seconds),
            ("log_bytes", &mut self.log_bytes),
            ("quota_patience_seconds", &mut self.quota_patience_seconds),
        ];
        let names = slots.each_ref().map(|(name, _)| *name);
        for (name, slot) in slots {
            if let Some(value) = table.get(name) {
                *slot = reader.number(name, value).map(u64::from);
            }
        }
        for (key, _) in table {
            let name = &**key.get_ref();
            if !names.contains(&name) {
                reader.unknown(key, name, " in [limits]", &names);
            }
        }
    }
}

/// `[agents.NAME]`: a model and arguments for each.
fn agents(value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) -> AgentSettings {
    let known: Vec<&str> = cli::ALL.iter().map(|cli| cli.name()).chain(["acp"]).collect();
    let mut settings = AgentSettings::default();
    let DeValue::Table(table) = value.get_ref() else {
        let help = "write [agents.codex] and below it model = \"...\"";
        reader.problem(value.span(), "`agents` must be a table".into(), Some(help.into()));
        return settings;
    };
    for (key, value) in table {
        let name = &**key.get_ref();
        if !known.contains(&name) {
            reader.unknown(key, name, " in [agents]", &known);
            continue;
        }
        let DeValue::Table(table) = value.get_ref() else {
            let help = format!("write [agents.{name}] and below it model = \"...\"");
            reader.problem(value.span(), format!("`{name}` must be a table"), Some(help));
            continue;
        };
        let mut setting = AgentSetting::default();
        for (key, value) in table {
            match &**key.get_ref() {
                "model" => setting.model = reader.text("model", value),
                "args" => setting.args = reader.list("args", value),
                unknown => reader.unknown(key, unknown, &format!(" in [agents.{name}]"), &["model", "args"]),
            }
        }
        if setting != AgentSetting::default() {
            settings.0.insert(name.to_owned(), setting);
        }
    }
    settings
}

/// Takes values out of the file and collects what is wrong with them.
struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    problems: Vec<TeamProblem>,
}

impl Reader<'_> {
    fn problem(&mut self, span: std::ops::Range<usize>, message: String, help: Option<String>) {
        let start = span.start.min(self.text.len());
        self.problems.push(TeamProblem {
            file: self.file.to_owned(),
            line: 1 + self.text.get(..start).unwrap_or(self.text).matches('\n').count(),
            span,
            message,
            help,
        });
    }

    fn unknown<T>(&mut self, key: &Spanned<T>, name: &str, place: &str, known: &[&str]) {
        let help = did_you_mean(name, known.iter().copied())
            .unwrap_or_else(|| format!("known settings: {}", known.join(", ")));
        self.problem(key.span(), format!("unknown setting `{name}`{place}"), Some(help));
    }

    fn text(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Some(text.to_string()),
            DeValue::String(_) => {
                self.problem(
                    value.span(),
                    format!("`{name}` is empty"),
                    Some("leave it out instead".into()),
                );
                None
            }
            _ => {
                let help = format!("write {name} = \"...\"");
                self.problem(value.span(), format!("`{name}` must be text"), Some(help));
                None
            }
        }
    }

    fn list(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let DeValue::Array(items) = value.get_ref() else {
            let help = format!("write {name} = [\"...\"]");
            self.problem(
                value.span(),
                format!("`{name}` must be a list of texts"),
                Some(help),
            );
            return Vec::new();
        };
        items.iter().filter_map(|item| self.text(name, item)).collect()
    }

    fn texts(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> BTreeMap<String, String> {
        let DeValue::Table(table) = value.get_ref() else {
            let help = format!("write [{name}] and below it role = \"agent\"");
            self.problem(value.span(), format!("`{name}` must be a table"), Some(help));
            return BTreeMap::new();
        };
        let entries = table.iter().filter_map(|(key, value)| {
            let key = key.get_ref().to_string();
            Some((key.clone(), self.text(&key, value)?))
        });
        entries.collect()
    }

    /// A whole number from 1.
    fn number(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<u32> {
        self.number_from(name, value, 1)
    }

    fn number_from(&mut self, name: &str, value: &Spanned<DeValue<'_>>, least: u32) -> Option<u32> {
        let number = match value.get_ref() {
            DeValue::Integer(digits) => i128::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        };
        let fits = number
            .and_then(|number| u32::try_from(number).ok())
            .filter(|n| *n >= least);
        if fits.is_none() {
            let message = format!("`{name}` must be a whole number from {least} to {}", u32::MAX);
            self.problem(value.span(), message, None);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavecrew_core::budget::Budget;

    #[test]
    fn the_template_names_every_setting_with_a_value_that_is_allowed() {
        let settings = TEMPLATE.lines().map(|line| match line.strip_prefix("# ") {
            Some(setting)
                if setting
                    .split_once(" = ")
                    .is_some_and(|(key, _)| !key.contains(' ')) =>
            {
                setting
            }
            _ => line,
        });
        let all: Vec<&str> = settings.collect();
        let config = Config::parse(FILE, &all.join("\n")).expect("the template is valid");
        assert_eq!(config.concurrency, Some(3));
        assert_eq!(config.attempts, Some(1));
        assert!(config.agent.is_some() && !config.role_agents.is_empty());
        let limits = &config.limits;
        let values = [
            limits.one_shot_seconds,
            limits.interactive_seconds,
            limits.idle_seconds,
            limits.end_idle_seconds,
            limits.kill_grace_seconds,
            limits.log_bytes,
            limits.quota_patience_seconds,
        ];
        assert!(values.iter().all(Option::is_some), "{limits:?}");
        let Budget {
            cost,
            tokens,
            seconds,
            task_cost,
            task_tokens,
        } = config.spending.budget;
        assert!(cost.is_some() && task_cost.is_some() && tokens.is_some() && task_tokens.is_some());
        assert_eq!(seconds, Some(8 * 3600));
        assert!(config.spending.expected.tokens > 0 && !config.pools.is_empty());
        assert!(config.spending.prices().0.contains_key("my-model"));
        let codex = config.agents.of("codex");
        assert!(codex.model.is_some() && !codex.args.is_empty());
        assert_eq!(config.verify.words().len(), 5, "{:?}", config.verify);
        assert_eq!(
            Config::parse(FILE, TEMPLATE),
            Ok(Config::default()),
            "as written it changes nothing"
        );
    }

    #[test]
    fn every_mistake_is_named_with_its_line() {
        let text = "agnet = \"codex\"\nconcurrency = 0\n[limits]\nidle_second = 3\nlog_bytes = \"much\"\n";
        let problems = Config::parse(FILE, text).unwrap_err();
        let texts: Vec<String> = problems
            .iter()
            .map(|p| format!("{p}; {}", p.help.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            texts,
            [
                "wavecrew.toml:1: unknown setting `agnet`; did you mean `agent`?",
                "wavecrew.toml:2: `concurrency` must be a whole number from 1 to 4294967295; -",
                "wavecrew.toml:4: unknown setting `idle_second` in [limits]; did you mean `idle_seconds`?",
                "wavecrew.toml:5: `log_bytes` must be a whole number from 1 to 4294967295; -",
            ]
        );
        assert_eq!(Config::parse(FILE, "agent = \n").unwrap_err()[0].line, 1);
        for (text, message) in [
            (
                "[agents.codx]\nmodel = \"m\"",
                "unknown setting `codx` in [agents]",
            ),
            (
                "[agents.codex]\nmodle = \"m\"",
                "unknown setting `modle` in [agents.codex]",
            ),
            ("[agents.codex]\nargs = \"m\"", "`args` must be a list of texts"),
            ("[agents.codex]\nargs = [1]", "`args` must be text"),
            ("[agents]\ncodex = 1", "`codex` must be a table"),
            ("agents = 1", "`agents` must be a table"),
        ] {
            let problems = Config::parse(FILE, text).unwrap_err();
            assert_eq!(problems[0].message, message, "{text}");
        }
    }
}

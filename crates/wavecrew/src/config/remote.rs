//! `[remote]` and `[[place]]`: workers on other machines.

use super::Reader;
use clap::ValueEnum;
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wavecrew_remote::connect::ConnectionSettings;
use wavecrew_run::place::{PlaceRule, Where};

const KEYS: [&str; 16] = [
    "nats",
    "credentials",
    "user",
    "password_file",
    "nkey",
    "ca",
    "cert",
    "key",
    "tls_first",
    "inbox",
    "project",
    "place",
    "env",
    "include",
    "lease_seconds",
    "journal",
];
const PLACE_KEYS: [&str; 4] = ["role", "agent", "on", "label"];

/// Where a session has its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum JournalFlag {
    /// In the session folder only
    Local,
    /// Also on NATS, so that another machine can continue the session
    Nats,
}

/// The file's settings for other machines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RemoteConfig {
    pub connection: ConnectionSettings,
    /// The name under which hosts serve this project.
    pub project: Option<String>,
    /// Where workers run that no rule names.
    pub place: Option<Where>,
    /// Variables of this environment that workers get on other machines.
    pub env: Vec<String>,
    /// Patterns of ignored files that are sent.
    pub include: Vec<String>,
    pub lease_seconds: Option<u32>,
    /// Where journals of new sessions are written.
    pub journal: Option<JournalFlag>,
    pub rules: Vec<PlaceRule>,
}

impl RemoteConfig {
    pub(super) fn fill(&mut self, value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) {
        let DeValue::Table(table) = value.get_ref() else {
            let help = "write [remote] and below it nats = \"nats://HOST:4222\"";
            reader.problem(value.span(), "`remote` must be a table".into(), Some(help.into()));
            return;
        };
        for (key, value) in table {
            let to = &mut self.connection;
            let name = &**key.get_ref();
            match name {
                "nats" => to.nats = reader.text(name, value).unwrap_or_default(),
                "credentials" => to.credentials = path(name, value, reader),
                "user" => to.user = reader.text(name, value),
                "password_file" => to.password_file = path(name, value, reader),
                "nkey" => to.nkey = path(name, value, reader),
                "ca" => to.ca = path(name, value, reader),
                "cert" => to.cert = path(name, value, reader),
                "key" => to.key = path(name, value, reader),
                "inbox" => to.inbox = reader.text(name, value),
                "tls_first" => match value.get_ref() {
                    DeValue::Boolean(yes) => to.tls_first = *yes,
                    _ => reader.problem(value.span(), "`tls_first` must be true or false".into(), None),
                },
                "project" => self.project = reader.text(name, value),
                "place" => self.place = place(name, value, reader),
                "env" => self.env = reader.list(name, value),
                "include" => self.include = reader.list(name, value),
                "lease_seconds" => self.lease_seconds = reader.number(name, value),
                "journal" => self.journal = journal(name, value, reader),
                unknown => reader.unknown(key, unknown, " in [remote]", &KEYS),
            }
        }
    }

    pub(super) fn fill_rules(&mut self, value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) {
        let DeValue::Array(tables) = value.get_ref() else {
            let help = "write [[place]] and below it role = \"...\" and on = \"remote\"";
            reader.problem(
                value.span(),
                "`place` must be a list of tables".into(),
                Some(help.into()),
            );
            return;
        };
        for value in tables {
            if let DeValue::Table(table) = value.get_ref() {
                self.rules.push(rule(table, value.span(), reader));
            } else {
                reader.problem(value.span(), "`place` must be a list of tables".into(), None);
            }
        }
    }
}

fn rule(table: &DeTable<'_>, span: std::ops::Range<usize>, reader: &mut Reader<'_>) -> PlaceRule {
    let mut rule = PlaceRule::default();
    let mut on = None;
    for (key, value) in table {
        let name = &**key.get_ref();
        match name {
            "role" => rule.role = reader.text(name, value),
            "agent" => rule.agent = reader.text(name, value),
            "label" => rule.label = reader.text(name, value),
            "on" => on = place(name, value, reader),
            unknown => reader.unknown(key, unknown, " in [[place]]", &PLACE_KEYS),
        }
    }
    match (on, &rule.label) {
        (Some(on), _) => rule.place = on,
        (None, Some(_)) => rule.place = Where::Remote,
        (None, None) => reader.problem(
            span,
            "a [[place]] does not set where its workers run".into(),
            Some("add on = \"remote\", or a label".into()),
        ),
    }
    rule
}

fn journal(name: &str, value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) -> Option<JournalFlag> {
    let text = reader.text(name, value)?;
    let journal = JournalFlag::from_str(&text, false).ok();
    if journal.is_none() {
        let problem = format!("`{name}` cannot be `{text}`");
        reader.problem(value.span(), problem, Some("one of: local, nats".into()));
    }
    journal
}

fn path(name: &str, value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) -> Option<PathBuf> {
    reader.text(name, value).map(PathBuf::from)
}

fn place(name: &str, value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) -> Option<Where> {
    let text = reader.text(name, value)?;
    let place = Where::parse(&text);
    if place.is_none() {
        let help = format!("one of: {}", Where::NAMES.join(", "));
        reader.problem(value.span(), format!("`{name}` cannot be `{text}`"), Some(help));
    }
    place
}

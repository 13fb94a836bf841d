//! Resources and prompts: files of sessions, and prompts that start the built-in teams.

use crate::paths::Root;
use rmcp::model::{
    GetPromptResult, Prompt, PromptArgument, PromptMessage, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, Role,
};
use serde_json::{Map, Value};
use std::fs;
use wavecrew_core::team::Team;
use wavecrew_session::{SessionDir, SessionEntry, list_sessions};

const SCHEME: &str = "wavecrew://sessions/";
/// Files of a session: name, type, description.
const FILES: [(&str, &str, &str); 3] = [
    ("tasks.csv", "text/csv", "the tasks and their status"),
    ("context.md", "text/markdown", "the report of the session"),
    (
        "discoveries.ndjson",
        "application/x-ndjson",
        "the discovery board",
    ),
];
/// Sessions in the list; older ones can be read by the template.
const SHOWN: usize = 50;
/// Bytes that are read of a file.
const MAX_BYTES: usize = 4 << 20;
const TEAMS: [&str; 3] = ["testing", "lifecycle", "planex"];

pub(super) fn resources(root: &Root) -> Vec<Resource> {
    let sessions = list_sessions(root.path()).unwrap_or_default().into_iter();
    let sessions = sessions.filter_map(|listed| match listed {
        SessionEntry::Session(dir, _) => Some(dir),
        SessionEntry::Broken { .. } => None,
    });
    let files = sessions.take(SHOWN).flat_map(|dir| {
        FILES
            .into_iter()
            .filter(|(name, ..)| dir.path().join(name).is_file())
            .map(|(name, kind, about)| {
                let id = dir.id();
                Resource::new(format!("{SCHEME}{id}/{name}"), format!("{id}/{name}"))
                    .with_description(about)
                    .with_mime_type(kind)
            })
            .collect::<Vec<_>>()
    });
    files.collect()
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |(name, kind, about): (&str, &str, &str)| {
        ResourceTemplate::new(format!("{SCHEME}{{session}}/{name}"), name)
            .with_description(about)
            .with_mime_type(kind)
    };
    FILES.into_iter().map(template).collect()
}

pub(super) fn read(root: &Root, uri: &str) -> Result<ReadResourceResult, String> {
    let none = || format!("there is no resource {uri}");
    let (id, name) = uri
        .strip_prefix(SCHEME)
        .and_then(|rest| rest.split_once('/'))
        .ok_or_else(none)?;
    let (name, kind, _) = FILES
        .into_iter()
        .find(|(file, ..)| *file == name)
        .ok_or_else(none)?;
    let dir = SessionDir::open(root.path(), id).map_err(|error| error.to_string())?;
    let path = root.file(&dir.path().join(name).to_string_lossy())?;
    let mut bytes = fs::read(path).map_err(|error| error.to_string())?;
    bytes.truncate(MAX_BYTES);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let contents = ResourceContents::text(text, uri).with_mime_type(kind);
    Ok(ReadResourceResult::new(vec![contents]))
}

pub(super) fn prompts() -> Vec<Prompt> {
    let request = PromptArgument::new("request")
        .with_description("what the team should do")
        .with_required(true);
    TEAMS
        .map(|name| Prompt::new(name, Some(about(name)), Some(vec![request.clone()])))
        .to_vec()
}

fn about(team: &str) -> String {
    Team::builtin(team).map(|team| team.about).unwrap_or_default()
}

pub(super) fn prompt(name: &str, given: Option<&Map<String, Value>>) -> Result<GetPromptResult, String> {
    let team = TEAMS
        .into_iter()
        .find(|team| *team == name)
        .ok_or_else(|| format!("there is no prompt {name}"))?;
    let request = given
        .and_then(|given| given.get("request"))
        .and_then(Value::as_str)
        .filter(|request| !request.trim().is_empty())
        .ok_or("the prompt needs `request`")?;
    let text = format!(
        "Use the wavecrew tools to have the team `{team}` do this:\n\n{request}\n\n\
         1. Call team_plan with team \"{team}\" and this request; show me the waves and the pipeline, and ask whether to continue.\n\
         2. Call team_run with the same arguments and background: true; keep the session it names.\n\
         3. Call team_status with that session and timeout_ms 30000 until its state is not running. If it has a question, \
         ask me and pass my answer on with team_answer.\n\
         4. Tell me what was completed, what failed and why, and where the results are."
    );
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(
        Role::User,
        text,
    )]))
}

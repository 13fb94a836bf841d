//! Shows a table that a team made, and asks the person what to do with it.

use crate::csv_file::CsvFile;
use crate::exit::Failure;
use crate::global::Global;
use crate::target::Target;
use crate::terminal::{choose, choose_about, is_interactive};
use crate::{browser, hint, layout, show};
use std::path::Path;
use std::process::Command;
use std::{env, fs};
use wavecrew_core::plan::Problem;

/// Columns of a plan in the browser, where wide text scrolls.
const PAGE_WIDTH: usize = 160;

/// The target to run, unchanged or as the person changed it. `with_pipeline` gives it another pipeline.
pub fn confirm(
    mut target: Target,
    with_pipeline: impl Fn(&str) -> Result<Target, Failure>,
    yes: bool,
    global: &Global,
) -> Result<Target, Failure> {
    if yes || target.file.is_some() {
        return Ok(target);
    }
    if !is_interactive() || global.json {
        return Err(Failure::with_help(
            "the plan of the team needs your approval before it runs",
            format!(
                "give -y to run it as it is, or look at it with `{}` first",
                hint::command("plan")
            ),
        ));
    }
    loop {
        let shown = describe_plan(&target)?;
        let items = ["Run it", "Use another pipeline", "Edit the table first", "Cancel"];
        match choose_about(&shown, question(&target), &items, 0) {
            Some(0) => {
                browser::acted_before_session("approve plan");
                return Ok(target);
            }
            Some(1) => {
                let pipelines = target.team.pipelines.iter();
                let names: Vec<&str> = pipelines.map(|pipeline| pipeline.name.as_str()).collect();
                let now = names
                    .iter()
                    .position(|name| Some(*name) == target.pipeline.as_deref());
                let chosen = choose("Which one?", &names, now.unwrap_or(0));
                if let Some(name) = chosen.map(|at| names[at].to_owned()) {
                    target = with_pipeline(&name)?;
                    browser::acted_before_session("change pipeline");
                }
            }
            Some(2) => edit(&mut target)?,
            Some(_) | None => return Err(Failure::Declined),
        }
    }
}

/// No change was found: the person decides whether to use the whole project instead.
fn question(target: &Target) -> &'static str {
    let testing = target.testing.as_ref();
    if testing.is_some_and(|prepared| prepared.found.is_fallback()) {
        "Run this on the whole project?"
    } else {
        "Run this?"
    }
}

fn describe_plan(target: &Target) -> Result<String, Failure> {
    let mut table = Vec::new();
    let width = if browser::is_on() {
        PAGE_WIDTH
    } else {
        layout::width()
    };
    layout::table(&target.plan, &target.team.name, width, &mut table)?;
    let mut text = String::from_utf8_lossy(&table).into_owned();
    if let (Some(pipeline), Some(reason)) = (&target.pipeline, &target.reason) {
        text += &format!("\nPipeline {pipeline}: {reason}");
    }
    Ok(text)
}

/// Opens the table in the person's editor until it is a plan. Problems are comments at their rows. The table stays as it
/// was when the person saves the same text again, or the editor fails.
fn edit(target: &mut Target) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    target
        .plan
        .render(&mut bytes, |_, _| None)
        .expect("writing to memory");
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let file = tempfile::Builder::new()
        .prefix("wavecrew-")
        .suffix(".csv")
        .tempfile()
        .map_err(Failure::Output)?;
    loop {
        fs::write(file.path(), &text).map_err(Failure::Output)?;
        let edited = if browser::is_on() {
            edited_in_browser(file.path(), &text)?
        } else {
            opened_in_editor(file.path())
        };
        if !edited {
            return Ok(());
        }
        let edited = fs::read_to_string(file.path()).map_err(Failure::Output)?;
        let was_commented = text.contains(COMMENT);
        let table = without_comments(&edited);
        fs::write(file.path(), &table).map_err(Failure::Output)?;
        let read = CsvFile::open(file.path())?;
        match read.plan(&target.team) {
            Ok((plan, _)) => {
                target.plan = plan;
                browser::acted_before_session("edit plan");
                return Ok(());
            }
            Err(problems) => {
                if was_commented && edited == text {
                    show::problems(&read, &problems);
                    show::warning("the table stays as it was before you edited it", None);
                    return Ok(());
                }
                text = with_comments(&table, &problems);
            }
        }
    }
}

/// Has the table edited in the browser. Returns whether the person saved it.
fn edited_in_browser(file: &Path, text: &str) -> Result<bool, Failure> {
    let Some(edited) = browser::edit("Edit the table, one task per line", text, "Leave it as it is") else {
        return Ok(false);
    };
    fs::write(file, edited).map_err(Failure::Output)?;
    Ok(true)
}

/// Runs the person's editor; prints a message if it fails.
fn opened_in_editor(file: &Path) -> bool {
    let editor = env::var("VISUAL")
        .or_else(|_| env::var("EDITOR"))
        .unwrap_or_else(|_| "vi".to_owned());
    // The editor's command often has arguments of its own.
    let edited = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sh")
        .arg(file)
        .status();
    let edited = edited.is_ok_and(|status| status.success());
    if !edited {
        let what = format!("`{editor}` failed: the table stays as it is");
        show::warning(&what, Some("set EDITOR to the editor you use"));
    }
    edited
}

/// The beginning of a line with the problem of the row below it.
const COMMENT: &str = "#wavecrew: ";

fn with_comments(table: &str, problems: &[Problem]) -> String {
    let mut text = String::new();
    for (number, line) in (1..).zip(table.split_inclusive('\n')) {
        for problem in problems.iter().filter(|problem| problem.line.max(1) == number) {
            let help = problem.help.as_ref().map(|help| format!(" ({help})"));
            let message = format!("{}{}", problem.message, help.unwrap_or_default());
            text.push_str(&format!("{COMMENT}{}\n", message.replace('\n', " ")));
        }
        text.push_str(line);
    }
    text
}

fn without_comments(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.starts_with(COMMENT)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stand_above_their_rows_and_go_away_again() {
        let table = "id,description\na,one\nb,two\n";
        let problems = [
            Problem::new(3, "Unknown dependency: c".to_owned()).help("did you mean `a`?".to_owned()),
            Problem::new(0, "no column `deps`".to_owned()),
        ];
        let text = with_comments(table, &problems);
        assert_eq!(
            text,
            "#wavecrew: no column `deps`\nid,description\na,one\n\
             #wavecrew: Unknown dependency: c (did you mean `a`?)\nb,two\n"
        );
        assert_eq!(without_comments(&text), table);
    }
}

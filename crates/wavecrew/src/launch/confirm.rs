//! A team made the table, not the person: it is shown, and the person says what becomes of it.

use crate::csv_file::CsvFile;
use crate::exit::Failure;
use crate::global::Global;
use crate::target::{Target, TargetArgs};
use crate::terminal::{choose, choose_about, is_interactive};
use crate::{browser, hint, show};
use std::env;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The target that is to be run, as it is or as the person wants it.
pub fn confirm(mut target: Target, args: &TargetArgs, yes: bool, global: &Global) -> Result<Target, Failure> {
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
            Some(0) => return Ok(target),
            Some(1) => {
                let pipelines = target.team.pipelines.iter();
                let names: Vec<&str> = pipelines.map(|pipeline| pipeline.name.as_str()).collect();
                let now = names
                    .iter()
                    .position(|name| Some(*name) == target.pipeline.as_deref());
                let chosen = choose("Which one?", &names, now.unwrap_or(0));
                if let Some(name) = chosen.map(|at| names[at].to_owned()) {
                    target = args.read_as(global.quiet, Some(&name))?;
                }
            }
            Some(2) => edit(&mut target)?,
            Some(_) | None => return Err(Failure::Declined),
        }
    }
}

/// Nothing that changed was found: that everything is taken instead is the person's choice.
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
    crate::layout::table(
        &target.plan,
        &target.team.name,
        crate::layout::width(),
        &mut table,
    )?;
    let mut text = String::from_utf8_lossy(&table).into_owned();
    if let (Some(pipeline), Some(reason)) = (&target.pipeline, &target.reason) {
        text += &format!("\nPipeline {pipeline}: {reason}");
    }
    Ok(text)
}

/// Opens the table in the person's editor. What cannot be a plan is told, and nothing is changed.
fn edit(target: &mut Target) -> Result<(), Failure> {
    let mut file = tempfile::Builder::new()
        .prefix("wavecrew-")
        .suffix(".csv")
        .tempfile()
        .map_err(Failure::Output)?;
    let mut bytes = Vec::new();
    target
        .plan
        .render(&mut bytes, |_, _| None)
        .expect("writing to memory");
    if browser::is_on() {
        let text = String::from_utf8_lossy(&bytes);
        let Some(edited) = browser::edit("Edit the table, one task per line", &text) else {
            return Ok(());
        };
        bytes = edited.into_bytes();
    }
    file.write_all(&bytes).map_err(Failure::Output)?;
    if !browser::is_on() && !edit_in_terminal(file.path()) {
        return Ok(());
    }
    let table = CsvFile::open(file.path())?;
    match table.plan(&target.team) {
        Ok((plan, _)) => target.plan = plan,
        Err(problems) => show::problems(&table, &problems),
    }
    Ok(())
}

/// Whether the person's editor ended well.
fn edit_in_terminal(file: &Path) -> bool {
    let editor = env::var("VISUAL")
        .or_else(|_| env::var("EDITOR"))
        .unwrap_or_else(|_| "vi".to_owned());
    // Editors are often given with words of their own.
    let edited = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sh")
        .arg(file)
        .status();
    let good = edited.is_ok_and(|status| status.success());
    if !good {
        show::warning(
            &format!("`{editor}` did not end well: the table stays as it is"),
            None,
        );
    }
    good
}

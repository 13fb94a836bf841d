//! `wavecrew validate TASKS.csv`: reports all problems of a table, and writes nothing.

use crate::csv_file::CsvFile;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::{find_team, project, show};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::path::PathBuf;
use wavecrew_core::plan::Problem;

/// Check a table and report all problems at once
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew validate tasks.csv\n  wavecrew validate tasks.csv --team lifecycle --json"
)]
pub struct Args {
    /// The table to check
    #[arg(value_name = "TASKS.csv")]
    table: PathBuf,
    /// Team whose rules apply: a name or a file
    #[arg(long, default_value = "generic")]
    team: String,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let team = find_team::find(&self.team)?;
        let file = CsvFile::open(&project::typed(&self.table))?;
        let name = file.name();
        match file.plan(&team) {
            Ok((plan, warnings)) => {
                let warnings: Vec<Problem> = warnings.into_iter().map(|w| w.0).collect();
                if global.json {
                    let verdict = json!({
                        "valid": true, "team": team.name, "tasks": plan.len(), "waves": plan.waves(),
                        "problems": [], "warnings": as_json(&name, &warnings),
                    });
                    json::print(verdict)?;
                    return Ok(Exit::Done);
                }
                if !global.quiet {
                    show::warnings(&file, &warnings);
                }
                writeln!(stdout(), "{name} is valid: {}", crate::layout::size(&plan))?;
                Ok(Exit::Done)
            }
            Err(problems) if global.json => {
                let problems = as_json(&name, &problems);
                let verdict =
                    json!({"valid": false, "team": team.name, "problems": problems, "warnings": []});
                json::print(verdict)?;
                // The document contains everything, so no error follows it.
                Ok(Exit::BadInput)
            }
            Err(problems) => {
                show::problems(&file, &problems);
                Err(Failure::Refused)
            }
        }
    }
}

fn as_json(file: &str, problems: &[Problem]) -> Vec<Value> {
    let one = |p: &Problem| {
        json!({
            "file": file, "line": p.line, "column": p.column, "text": p.text,
            "message": p.message, "help": p.help,
        })
    };
    problems.iter().map(one).collect()
}

//! What a person wants planned or run: a team with a pipeline, or a table of their own.

use crate::csv_file::CsvFile;
use crate::exit::Failure;
use crate::{find_team, show};
use std::path::{Path, PathBuf};
use wavecrew_core::plan::{Plan, Problem, seal};
use wavecrew_core::sheet::SheetBuilder;
use wavecrew_core::team::Team;

/// A target, read and checked.
pub struct Target {
    pub team: Team,
    pub plan: Plan,
    pub pipeline: Option<String>,
    /// Why this pipeline.
    pub reason: Option<String>,
    /// The table it came from.
    pub file: Option<PathBuf>,
}

/// The words that name a target.
pub struct Words<'a> {
    pub target: &'a str,
    pub team: Option<&'a str>,
    pub pipeline: Option<&'a str>,
    pub request: &'a str,
    /// Leave warnings out.
    pub quiet: bool,
}

impl Words<'_> {
    pub fn read(&self) -> Result<Target, Failure> {
        if self.is_table() {
            self.read_table()
        } else {
            self.read_team()
        }
    }

    /// A table is named by its ending, or is a file that is no team file.
    fn is_table(&self) -> bool {
        let path = Path::new(self.target);
        let is = |ending: &str| {
            path.extension()
                .is_some_and(|found| found.eq_ignore_ascii_case(ending))
        };
        is("csv") || self.target == "-" || (!is("toml") && path.exists())
    }

    fn read_table(&self) -> Result<Target, Failure> {
        if self.pipeline.is_some() {
            return Err(Failure::with_help(
                "a table of your own has no pipelines",
                "leave --pipeline out, or name a team instead of the table",
            ));
        }
        let team = find_team::find(self.team.unwrap_or("generic"))?;
        let file = CsvFile::open(Path::new(self.target))?;
        let (plan, warnings) = file.plan(&team).map_err(|problems| {
            show::problems(&file, &problems);
            Failure::Refused
        })?;
        if !self.quiet {
            let warnings: Vec<Problem> = warnings.into_iter().map(|warning| warning.0).collect();
            show::warnings(&file, &warnings);
        }
        Ok(Target {
            team,
            plan,
            pipeline: None,
            reason: None,
            file: Some(PathBuf::from(self.target)),
        })
    }

    fn read_team(&self) -> Result<Target, Failure> {
        if let Some(other) = self.team {
            return Err(Failure::with_help(
                format!(
                    "`{}` is a team itself, and --team names another one: `{other}`",
                    self.target
                ),
                "give --team only with a table",
            ));
        }
        let team = find_team::find(self.target)?;
        let none = || {
            Failure::with_help(
                format!("the team `{}` has no pipelines", team.name),
                "give it a table: `wavecrew run TASKS.csv --team NAME`",
            )
        };
        let (name, reason) = match self.pipeline {
            Some(name) => (name.to_owned(), "chosen by --pipeline".to_owned()),
            None => {
                let choice = team.choose(self.request, None).ok_or_else(none)?;
                (choice.pipeline, choice.reason)
            }
        };
        let Some(pipeline) = team.pipeline(&name) else {
            let names: Vec<&str> = team
                .pipelines
                .iter()
                .map(|pipeline| pipeline.name.as_str())
                .collect();
            let help = wavecrew_core::plan::did_you_mean(&name, names.iter().copied())
                .unwrap_or_else(|| format!("there are: {}", names.join(", ")));
            let message = format!("the team `{}` has no pipeline `{name}`", team.name);
            return Err(Failure::with_help(message, help));
        };
        let (header, rows) = pipeline.for_request(self.request).to_csv_rows(&team);
        let mut sheet = SheetBuilder::new(header);
        for (line, row) in (2..).zip(&rows) {
            sheet.row(line, row.iter().map(String::as_str));
        }
        let (plan, _) = seal(sheet.finish(), &team).map_err(|problems| {
            for problem in &problems {
                show::error(
                    &format!("pipeline {name}: {}", problem.message),
                    problem.help.as_deref(),
                );
            }
            Failure::Refused
        })?;
        Ok(Target {
            team,
            plan,
            pipeline: Some(name),
            reason: Some(reason),
            file: None,
        })
    }
}

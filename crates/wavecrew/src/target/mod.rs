//! What to plan or run: a team with a pipeline, or a table.

mod testing;

pub use testing::{TestingFlags, check_scope};

use crate::csv_file::CsvFile;
use crate::exit::Failure;
use crate::issues::{self, IssueFlags, NewIssues};
use crate::{agent_choice, find_team, hint, project, show};
use std::path::{Path, PathBuf};
use wavecrew_core::engine::AgentChoice;
use wavecrew_core::plan::{Plan, Problem, seal};
use wavecrew_core::sheet::SheetBuilder;
use wavecrew_core::team::{Expansion, PipelineFlag, Team};
use wavecrew_testing::prepare::{Prepared, is_testing};
use wavecrew_testing::scope::FILES_PER_TASK;

/// A target, read and checked.
pub struct Target {
    pub team: Team,
    pub plan: Plan,
    pub pipeline: Option<String>,
    /// Why this pipeline was chosen.
    pub reason: Option<String>,
    /// The table, unless a team made it.
    pub file: Option<PathBuf>,
    /// The scope, for a team that tests code.
    pub testing: Option<Prepared>,
    /// Issues to file when the run starts.
    pub new_issues: NewIssues,
}

/// Arguments that name a target.
#[derive(clap::Args, Debug)]
pub struct TargetArgs {
    /// A team (`testing`), a team file (`mine.toml`) or a table (`tasks.csv`)
    #[arg(value_name = "TEAM|TEAM.toml|TASKS.csv")]
    pub target: Option<String>,
    /// What you want the team to do, in plain text
    #[arg(value_name = "REQUEST")]
    request: Vec<String>,
    /// The team whose rules the table follows [default: generic]
    #[arg(long, value_name = "TEAM", help_heading = "Team")]
    team: Option<String>,
    /// The team's pipeline [default: the one that fits the request]
    #[arg(long, value_name = "NAME", help_heading = "Team")]
    pipeline: Option<String>,
    /// Turn on a switch of the team (`wavecrew teams NAME` lists them)
    #[arg(long, value_name = "FLAG", help_heading = "Team", hide_short_help = true)]
    switch: Vec<String>,
    /// Run without checkpoints, in which a supervisor scores the work; the same as `--switch no-supervision`
    #[arg(long, help_heading = "Team lifecycle")]
    no_supervision: bool,
    #[command(flatten, next_help_heading = "Team testing")]
    pub testing: TestingFlags,
    #[command(flatten, next_help_heading = "Team planex")]
    issues: IssueFlags,
}

impl TargetArgs {
    /// The arguments of a team's own command.
    fn of_team(team: &str, request: Vec<String>) -> Self {
        Self {
            target: Some(team.to_owned()),
            request,
            team: None,
            pipeline: None,
            switch: Vec::new(),
            no_supervision: false,
            testing: TestingFlags::default(),
            issues: IssueFlags::default(),
        }
    }

    pub fn of_testing(request: Vec<String>, pipeline: Option<String>, testing: TestingFlags) -> Self {
        Self {
            pipeline,
            testing,
            ..Self::of_team("testing", request)
        }
    }

    pub fn of_lifecycle(request: Vec<String>, pipeline: Option<String>, no_supervision: bool) -> Self {
        Self {
            pipeline,
            no_supervision,
            ..Self::of_team("lifecycle", request)
        }
    }

    pub fn of_planex(request: Vec<String>, issues: IssueFlags) -> Self {
        Self {
            issues,
            ..Self::of_team("planex", request)
        }
    }

    /// The target as a file, which it may be.
    pub fn file(&self) -> Option<PathBuf> {
        self.target.as_deref().map(|name| project::typed(Path::new(name)))
    }

    /// Whether the person chose a pipeline.
    pub fn names_pipeline(&self) -> bool {
        self.pipeline.is_some()
    }

    pub fn request(&self) -> String {
        self.issues.request(&self.request)
    }

    /// The scope of a team that tests code; an error for another team with its flags.
    fn prepare(&self, team: &Team) -> Result<Option<Prepared>, Failure> {
        if !is_testing(team) {
            return match self.testing.given() {
                None => Ok(None),
                Some(flag) => Err(Failure::with_help(
                    format!("the team `{}` has no flag {flag}", team.name),
                    "use it with a team that tests code, such as `testing`",
                )),
            };
        }
        let project = std::env::current_dir().map_err(Failure::Output)?;
        self.testing.prepare(&project, team, &self.request).map(Some)
    }

    /// Reads and checks the target. Shows warnings unless `quiet`.
    pub fn read(&self, quiet: bool) -> Result<Target, Failure> {
        self.read_as(quiet, self.pipeline.as_deref())
    }

    /// Like `read`, with this pipeline instead of the one that fits.
    pub fn read_as(&self, quiet: bool, pipeline: Option<&str>) -> Result<Target, Failure> {
        let Some(name) = self.target.as_deref() else {
            return Err(Failure::with_help(
                "no team or table is named",
                format!(
                    "name a team (`{}` lists them) or a table (TASKS.csv)",
                    hint::command("teams")
                ),
            ));
        };
        let target = if is_table(name) {
            self.read_table(name, quiet)
        } else {
            self.read_team(name, pipeline, quiet)
        }?;
        self.apply_switches(target)
    }

    fn apply_switches(&self, mut target: Target) -> Result<Target, Failure> {
        let supervision = self.no_supervision.then_some("no-supervision");
        for switch in self.switch.iter().map(String::as_str).chain(supervision) {
            let named = |PipelineFlag::RemoveRole { flag, .. }: &&PipelineFlag| flag == switch;
            let Some(PipelineFlag::RemoveRole { role, .. }) = target.team.switches.iter().find(named) else {
                let flag = |PipelineFlag::RemoveRole { flag, .. }: &PipelineFlag| flag.clone();
                let flags: Vec<String> = target.team.switches.iter().map(flag).collect();
                let help = match flags.as_slice() {
                    [] => "this team has no switches".to_owned(),
                    flags => format!("its switches: {}", flags.join(", ")),
                };
                let message = format!("the team `{}` has no switch `{switch}`", target.team.name);
                return Err(Failure::with_help(message, help));
            };
            let plan = target.plan.without_where(|task| target.plan.role(task) == role);
            target.plan = plan;
        }
        Ok(target)
    }

    fn read_table(&self, name: &str, quiet: bool) -> Result<Target, Failure> {
        self.refuse_issue_flags("a table")?;
        if self.pipeline.is_some() {
            return Err(Failure::with_help(
                "a table has no pipelines",
                "remove --pipeline, or name a team instead of the table",
            ));
        }
        let team = find_team::find(self.team.as_deref().unwrap_or("generic"))?;
        let path = project::typed(Path::new(name));
        let file = CsvFile::open(&path)?;
        let (plan, warnings) = file.plan(&team).map_err(|problems| {
            show::problems(&file, &problems);
            Failure::Refused
        })?;
        if !quiet {
            let warnings: Vec<Problem> = warnings.into_iter().map(|warning| warning.0).collect();
            show::warnings(&file, &warnings);
        }
        let testing = self.prepare(&team)?;
        Ok(Target {
            team,
            plan,
            pipeline: None,
            reason: None,
            new_issues: NewIssues::None,
            file: Some(path),
            testing,
        })
    }

    fn read_team(&self, target: &str, pipeline: Option<&str>, quiet: bool) -> Result<Target, Failure> {
        if let Some(other) = &self.team {
            return Err(Failure::with_help(
                format!("two teams are named: `{target}`, and --team `{other}`"),
                "use --team only with a table",
            ));
        }
        let team = find_team::find(target)?;
        let none = || {
            Failure::with_help(
                format!("the team `{}` has no pipelines", team.name),
                format!(
                    "run it on a table: `{}`",
                    hint::command(&format!("run TASKS.csv --team {}", team.name))
                ),
            )
        };
        let testing = self.prepare(&team)?;
        let request = self.request();
        let size = testing.as_ref().and_then(|prepared| prepared.size);
        let (name, reason) = if let Some(name) = pipeline {
            let why = if self.pipeline.as_deref() == Some(name) {
                "chosen by --pipeline"
            } else {
                "your choice"
            };
            (name.to_owned(), why.to_owned())
        } else {
            let choice = team.choose(&request, size).ok_or_else(none)?;
            (choice.pipeline, choice.reason)
        };
        let (plan, new_issues) = self.plan_of(&team, &name, testing.as_ref(), quiet)?;
        Ok(Target {
            team,
            plan,
            pipeline: Some(name),
            reason: Some(reason),
            file: None,
            testing,
            new_issues,
        })
    }

    /// The rows of a pipeline for the request, as a plan.
    fn plan_of(
        &self,
        team: &Team,
        name: &str,
        testing: Option<&Prepared>,
        quiet: bool,
    ) -> Result<(Plan, NewIssues), Failure> {
        let Some(pipeline) = team.pipeline(name) else {
            let names: Vec<&str> = team
                .pipelines
                .iter()
                .map(|pipeline| pipeline.name.as_str())
                .collect();
            let help = wavecrew_core::plan::did_you_mean(name, names.iter().copied())
                .unwrap_or_else(|| format!("pipelines: {}", names.join(", ")));
            let message = format!("the team `{}` has no pipeline `{name}`", team.name);
            return Err(Failure::with_help(message, help));
        };
        let chain = team.expansion.iter().find_map(|expansion| match expansion {
            Expansion::PerIssue { chain, .. } => Some(chain),
            Expansion::PerPlanTask { .. } => None,
        });
        let (pipeline, new_issues) = if let Some(chain) = chain {
            let input = issues::read(&self.issues, &self.request, quiet)?;
            (pipeline.for_issues(&input.rows, chain), input.new)
        } else {
            self.refuse_issue_flags(&format!("the team `{}`", team.name))?;
            let request = self.request();
            let filled = match testing {
                Some(prepared) => prepared.pipeline(pipeline, &request),
                None => pipeline.for_request(&request),
            };
            (filled, NewIssues::None)
        };
        let (header, rows) = pipeline.to_csv_rows(team);
        let mut sheet = SheetBuilder::new(header);
        for (line, row) in (2..).zip(&rows) {
            sheet.row(line, row.iter().map(String::as_str));
        }
        let (plan, _) = seal(sheet.finish(), team).map_err(|problems| {
            for problem in &problems {
                show::error(
                    &format!("pipeline {name}: {}", problem.message),
                    problem.help.as_deref(),
                );
            }
            Failure::Refused
        })?;
        Ok((plan, new_issues))
    }

    /// The target as these agents would run it.
    pub fn for_agents(
        &self,
        mut target: Target,
        choice: &AgentChoice,
        files_per_task: Option<u32>,
    ) -> Result<Target, Failure> {
        let smallest = agent_choice::pipeline_for_offline(&target.team, choice);
        if let Some(pipeline) = smallest.filter(|_| !self.names_pipeline())
            && target.pipeline.as_ref().is_some_and(|chosen| *chosen != pipeline)
        {
            target = self.read_as(true, Some(&pipeline))?;
            target.reason = Some("the offline agent writes unit tests only".to_owned());
        }
        self.split(target, choice, files_per_task)
    }

    /// Divides a large scope into several tasks per layer, unless the offline agent writes the tests: it plans its own time.
    pub fn split(
        &self,
        mut target: Target,
        choice: &AgentChoice,
        files_per_task: Option<u32>,
    ) -> Result<Target, Failure> {
        let offline = agent_choice::pipeline_for_offline(&target.team, choice).is_some();
        if let (false, Some(name), Some(prepared)) = (offline, &target.pipeline, &mut target.testing) {
            let limit = files_per_task.map_or(FILES_PER_TASK, |files| files as usize);
            prepared.split(&mut target.team, limit);
            target.plan = self.plan_of(&target.team, name, Some(prepared), true)?.0;
            return self.apply_switches(target);
        }
        Ok(target)
    }

    fn refuse_issue_flags(&self, what: &str) -> Result<(), Failure> {
        if self.issues.is_empty() {
            return Ok(());
        }
        Err(Failure::with_help(
            format!("{what} does not take issues: --text, --plan and --exec cannot be used"),
            "use them with a team that takes issues, such as `planex`",
        ))
    }
}

/// Whether the name means a table: a `.csv` file, or any other file that is not a team file.
fn is_table(name: &str) -> bool {
    let path = project::typed(Path::new(name));
    let is = |ending: &str| {
        path.extension()
            .is_some_and(|found| found.eq_ignore_ascii_case(ending))
    };
    is("csv") || (!is("toml") && path.exists() && !is_builtin_team(name))
}

/// A folder with the name of a team does not hide the team.
fn is_builtin_team(name: &str) -> bool {
    Team::builtin_names().contains(&name)
}

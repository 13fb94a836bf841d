//! `wavecrew plan`: shows what would run, wave by wave. Asks nothing, writes nothing.

use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::RunFlags;
use crate::layout::{self, PlanJson};
use crate::target::{Target, TargetArgs};
use crate::{agent_choice, show};
use clap::ValueEnum;
use std::io::{BufWriter, Write, stdout};
use wavecrew_core::plan::{self, Plan};

/// Show what would run, wave by wave
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew plan tasks.csv\n  wavecrew plan testing\n  wavecrew plan lifecycle 'Implement undo'\n  wavecrew plan tasks.csv --team testing --json\n  \
    wavecrew plan tasks.csv --graph\n  wavecrew plan tasks.csv --graph=dot | dot -Tsvg > plan.svg"
)]
pub struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Show the dependencies as a graph
    #[arg(
        long,
        help_heading = "Options",
        value_enum,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        conflicts_with = "json"
    )]
    graph: Option<Graph>,
    // The same arguments as those of `run`; of these, only the agents change a plan.
    #[command(flatten)]
    flags: RunFlags,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Graph {
    /// A tree for the terminal
    Text,
    /// A Mermaid flow chart for documents
    Mermaid,
    /// Input for Graphviz
    Dot,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let config = Config::load(&std::env::current_dir().map_err(Failure::Output)?)?;
        let mut target = self.target.read(global.quiet)?;
        let agent = self.flags.agent.as_deref().map(agent_choice::from_project);
        // A plan can be shown even if no agent is installed.
        if let Ok(chosen) =
            agent_choice::choose(&target.team, &config, agent.as_deref(), &self.flags.role_agent)
        {
            target = self
                .target
                .split(target, &chosen.choice, config.testing.files_per_task)?;
        }
        let Target {
            team,
            plan,
            pipeline,
            reason,
            testing,
            ..
        } = target;
        let mut out = BufWriter::with_capacity(64 << 10, stdout().lock());
        if global.json {
            serde_json::to_writer(
                &mut out,
                &PlanJson {
                    team: &team.name,
                    pipeline: pipeline.as_deref(),
                    plan: &plan,
                },
            )
            .map_err(std::io::Error::from)?;
            writeln!(out)?;
        } else if let Some(graph) = self.graph {
            graph.write(&plan, &mut out)?;
        } else {
            layout::table(&plan, &team.name, layout::width(), &mut out)?;
            if let (Some(pipeline), Some(reason)) = (pipeline, reason) {
                writeln!(out, "\nPipeline {pipeline}: {reason}")?;
            }
            if let Some(prepared) = testing {
                writeln!(out, "Scope {}", show::safe(&prepared.found.how))?;
            }
        }
        out.flush()?;
        // The process ends here, so freeing a large plan would only cost time.
        std::mem::forget(plan);
        Ok(Exit::Done)
    }
}

impl Graph {
    fn write(self, plan: &Plan, out: &mut impl Write) -> std::io::Result<()> {
        match self {
            Self::Text => plan::tree(plan, out, |task| layout::node(plan, task)),
            Self::Mermaid => plan::mermaid(plan, out),
            Self::Dot => plan::dot(plan, out),
        }
    }
}

//! The dependency graph as text: a tree for terminals, Mermaid and Graphviz for documents.

use super::Plan;
use crate::id::TaskIx;
use std::io::{self, Write};

/// Beyond this depth the tree stops moving to the right: a chain of a million tasks stays readable and linear.
const MAX_INDENT: usize = 24;

/// Writes the graph as a tree of dependents. A task that waits for several others stands in full below the last of
/// them in wave order, and names the others.
pub fn tree(plan: &Plan, out: &mut impl Write, label: impl Fn(TaskIx) -> String) -> io::Result<()> {
    // Every task hangs below the first dependency of the wave just before its own.
    let parent = |task: TaskIx| {
        plan.deps(task)
            .iter()
            .copied()
            .find(|dep| plan.wave(*dep) + 1 == plan.wave(task))
    };
    let children = |task: TaskIx| {
        plan.dependents(task)
            .iter()
            .copied()
            .filter(move |c| parent(*c) == Some(task))
    };
    for &root in plan.wave_tasks(1) {
        writeln!(out, "{}", label(root))?;
        let mut lasts: Vec<bool> = Vec::new();
        let mut open: Vec<(Vec<TaskIx>, usize)> = vec![(children(root).collect(), 0)];
        while let Some((siblings, at)) = open.last_mut() {
            let Some(&task) = siblings.get(*at) else {
                open.pop();
                lasts.pop();
                continue;
            };
            *at += 1;
            let last = *at == siblings.len();
            for above in lasts.iter().take(MAX_INDENT) {
                out.write_all(if *above { "   " } else { "│  " }.as_bytes())?;
            }
            out.write_all(if last { "└─ " } else { "├─ " }.as_bytes())?;
            out.write_all(label(task).as_bytes())?;
            let mut others = plan
                .deps(task)
                .iter()
                .filter(|dep| Some(**dep) != parent(task))
                .peekable();
            if others.peek().is_some() {
                let others: Vec<&str> = others.map(|dep| plan.id(*dep)).collect();
                write!(out, "  (also after {})", others.join(", "))?;
            }
            writeln!(out)?;
            lasts.push(last);
            open.push((children(task).collect(), 0));
        }
    }
    Ok(())
}

/// Writes the graph as a Mermaid flow chart with one subgraph per wave.
pub fn mermaid(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "flowchart TD")?;
    for wave in 1..=plan.waves() {
        writeln!(out, "  subgraph wave{wave} [Wave {wave}]")?;
        for &task in plan.wave_tasks(wave) {
            writeln!(
                out,
                "    t{}[\"{}\"]",
                task.0,
                mermaid_text(&node_text(plan, task))
            )?;
        }
        writeln!(out, "  end")?;
    }
    for task in plan.tasks() {
        for dep in plan.deps(task) {
            writeln!(out, "  t{} --> t{}", dep.0, task.0)?;
        }
    }
    Ok(())
}

/// Writes the graph in the language of Graphviz, tasks of a wave side by side.
pub fn dot(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "digraph plan {{\n  rankdir=TB;\n  node [shape=box];")?;
    for wave in 1..=plan.waves() {
        writeln!(out, "  {{ rank=same; // wave {wave}")?;
        for &task in plan.wave_tasks(wave) {
            let label = node_text(plan, task);
            writeln!(out, "    \"{}\" [label=\"{}\"];", plan.id(task), dot_text(&label))?;
        }
        writeln!(out, "  }}")?;
    }
    for task in plan.tasks() {
        for dep in plan.deps(task) {
            writeln!(out, "  \"{}\" -> \"{}\";", plan.id(*dep), plan.id(task))?;
        }
    }
    writeln!(out, "}}")
}

fn node_text(plan: &Plan, task: TaskIx) -> String {
    let (id, title) = (plan.id(task), plan.title(task));
    if title == id {
        id.to_owned()
    } else {
        format!("{id}\n{title}")
    }
}

fn mermaid_text(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => "<br/>".to_owned(),
        c if c.is_control() => " ".to_owned(),
        '"' | '<' | '>' | '#' | '&' | '`' | '\\' => format!("#{};", u32::from(c)),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

fn dot_text(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => "\\n".to_owned(),
        c if c.is_control() => " ".to_owned(),
        '"' | '\\' => format!("\\{c}"),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

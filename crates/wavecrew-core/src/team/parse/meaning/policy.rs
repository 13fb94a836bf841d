//! Loops, checkpoints, gates, limits, targets and boards: roles and columns that exist, thresholds in order.

use super::{Check, did_you_mean, is_word};
use crate::team::parse::source::{Step, at};
use crate::team::{ColumnKind, Dimension, GateKind, LoopKind};

impl Check<'_, '_, '_> {
    pub(super) fn policy(&mut self) {
        for l in 0..self.team.loops.len() {
            self.a_loop(l);
        }
        for (c, checkpoint) in self.team.checkpoints.iter().enumerate() {
            self.known_role(at!["checkpoints", c, "role"], &checkpoint.role, "the checkpoint");
            self.share(at!["checkpoints", c, "pass"], checkpoint.pass, "pass");
            self.share(at!["checkpoints", c, "warn"], checkpoint.warn, "warn");
            if checkpoint.warn > checkpoint.pass {
                let message = "`warn` must not be above `pass`: scores between them are a warning";
                self.problem(at!["checkpoints", c, "warn"], message, None);
            }
            if let Some(column) = &checkpoint.verdict_column {
                let path = at!["checkpoints", c, "verdict_column"];
                self.known_column(path, column, Some(ColumnKind::Output), "the checkpoint");
            }
        }
        self.unique(
            "gates",
            "gate",
            "name",
            self.team.gates.iter().map(GateKind::name),
        );
        for g in 0..self.team.gates.len() {
            self.gate(g);
        }
    }

    fn a_loop(&mut self, l: usize) {
        let team = self.team;
        match &team.loops[l] {
            LoopKind::GeneratorCritic {
                generator,
                critic,
                per,
                min_pass_rate,
                pass_rate_column,
                coverage_column,
                target_column,
                max_rounds,
                inner,
                on_limit: _,
                state_file: _,
                brief: _,
            } => {
                self.known_role(at!["loops", l, "generator"], generator, "the loop");
                self.known_role(at!["loops", l, "critic"], critic, "the loop");
                self.share(at!["loops", l, "min_pass_rate"], *min_pass_rate, "min_pass_rate");
                self.at_least_one(at!["loops", l, "max_rounds"], *max_rounds, "max_rounds");
                let columns = [
                    ("per", per.as_ref(), ColumnKind::Input),
                    ("pass_rate_column", Some(pass_rate_column), ColumnKind::Output),
                    ("coverage_column", coverage_column.as_ref(), ColumnKind::Output),
                    ("target_column", target_column.as_ref(), ColumnKind::Input),
                ];
                for (key, column, kind) in columns {
                    if let Some(column) = column {
                        self.known_column(at!["loops", l, key], column, Some(kind), "the loop");
                    }
                }
                if coverage_column.is_some() != target_column.is_some() {
                    let message = "`coverage_column` and `target_column` are only useful together";
                    self.problem(at!["loops", l], message, None);
                }
                if let Some(inner) = inner {
                    let path = at!["loops", l, "inner", "enough_pass_rate"];
                    self.share(path, inner.enough_pass_rate, "enough_pass_rate");
                    let path = at!["loops", l, "inner", "max_iterations"];
                    self.at_least_one(path, inner.max_iterations, "max_iterations");
                }
            }
            LoopKind::FixVerify {
                fixer,
                verifier,
                min_pass_rate,
                max_rounds,
                on_limit: _,
                affected_first: _,
            } => {
                self.known_role(at!["loops", l, "fixer"], fixer, "the loop");
                if let Some(verifier) = verifier {
                    self.known_role(at!["loops", l, "verifier"], verifier, "the loop");
                }
                self.share(at!["loops", l, "min_pass_rate"], *min_pass_rate, "min_pass_rate");
                self.at_least_one(at!["loops", l, "max_rounds"], *max_rounds, "max_rounds");
            }
        }
    }

    fn gate(&mut self, g: usize) {
        let team = self.team;
        let gate = &team.gates[g];
        let what = format!("the gate `{}`", gate.name());
        self.known_prefix(at!["gates", g, "after"], gate.after(), &what);
        match gate {
            GateKind::Score {
                dimensions,
                pass,
                revise,
                score_column,
                back_to,
                approval_in,
                ..
            } => {
                self.weights(g, dimensions, &what);
                if !(0.0..=100.0).contains(pass) {
                    self.problem(at!["gates", g, "pass"], "`pass` must be between 0 and 100", None);
                }
                if revise > pass {
                    let message = "`revise` must not be above `pass`: scores between them offer a revision";
                    self.problem(at!["gates", g, "revise"], message, None);
                }
                if let Some(column) = score_column {
                    self.known_column(
                        at!["gates", g, "score_column"],
                        column,
                        Some(ColumnKind::Output),
                        &what,
                    );
                }
                self.known_role(at!["gates", g, "back_to"], back_to, &what);
                for (a, pipeline) in approval_in.iter().enumerate() {
                    self.known_pipeline(at!["gates", g, "approval_in", a], pipeline, &what);
                }
            }
            GateKind::Rating { dimensions, .. } => self.weights(g, dimensions, &what),
            GateKind::Verdict {
                pass,
                warn,
                block,
                back_to,
                ..
            } => {
                self.known_role(at!["gates", g, "back_to"], back_to, &what);
                let mut seen: Vec<&str> = vec![];
                for (key, words) in [("pass", pass), ("warn", warn), ("block", block)] {
                    for (w, word) in words.iter().enumerate() {
                        if seen.contains(&word.as_str()) {
                            self.problem(
                                at!["gates", g, key, w],
                                format!("{what} has the verdict `{word}` twice"),
                                None,
                            );
                        }
                        seen.push(word);
                    }
                }
            }
            GateKind::Approval { question, .. } => {
                if question.trim().is_empty() {
                    self.problem(at!["gates", g, "question"], format!("{what} asks nothing"), None);
                }
            }
        }
    }

    fn weights(&mut self, g: usize, dimensions: &[Dimension], what: &str) {
        let total: u64 = dimensions.iter().map(|d| u64::from(d.weight)).sum();
        if total != 100 {
            let message = format!("the weights of {what} add up to {total}, not 100");
            self.problem(at!["gates", g, "dimensions"], message, None);
        }
    }

    fn share(&mut self, path: &[Step<'_>], value: f64, key: &str) {
        if !(0.0..=1.0).contains(&value) {
            let help = (value > 1.0 && value <= 100.0).then(|| format!("did you mean {}?", value / 100.0));
            self.problem(path, format!("`{key}` must be between 0 and 1"), help);
        }
    }

    fn at_least_one(&mut self, path: &[Step<'_>], value: u32, key: &str) {
        if value == 0 {
            self.problem(path, format!("`{key}` must be at least 1"), None);
        }
    }

    pub(super) fn boards(&mut self) {
        let team = self.team;
        self.unique(
            "discoveries",
            "discovery type",
            "name",
            team.discoveries.iter().map(|d| d.name.as_str()),
        );
        for (d, discovery) in team.discoveries.iter().enumerate() {
            if !is_word(&discovery.name) {
                let message = format!("a discovery type cannot be called `{}`", discovery.name);
                self.problem(
                    at!["discoveries", d, "name"],
                    message,
                    Some("use letters, digits, `-` and `_`".to_owned()),
                );
            }
            if discovery.key.is_empty() {
                let message = format!("the discovery type `{}` has no key", discovery.name);
                let help = Some("name the fields that make two entries the same".to_owned());
                self.problem(at!["discoveries", d, "key"], message, help);
            }
            for (k, key) in discovery.key.iter().enumerate() {
                if !discovery.fields.iter().any(|field| field.name == *key) {
                    let help = did_you_mean(key, discovery.fields.iter().map(|field| field.name.as_str()));
                    let message = format!(
                        "the key of `{}` names `{key}`, which is not one of its fields",
                        discovery.name
                    );
                    self.problem(at!["discoveries", d, "key", k], message, help);
                }
            }
        }
        self.unique(
            "targets",
            "target",
            "name",
            team.targets.iter().map(|t| t.name.as_str()),
        );
        for (t, target) in team.targets.iter().enumerate() {
            if target.percent > 100 {
                self.problem(
                    at!["targets", t, "percent"],
                    "`percent` must be between 0 and 100",
                    None,
                );
            }
        }
        if team.limits.one_shot.is_zero() || team.limits.interactive.is_zero() {
            self.problem(at!["limits"], "a task needs more than 0 seconds", None);
        }
    }
}

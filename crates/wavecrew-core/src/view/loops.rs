//! The state of generator-critic loops, for the file that people and agents read.

use crate::engine::Ledger;
use crate::event::{Policy, PolicyOutcome};
use crate::team::LoopKind;
use serde_json::{Map, Value, json};

/// The state file of the team's loop and its content; `None` when no loop has one.
pub fn loop_state(ledger: &Ledger) -> Option<(&str, Value)> {
    let (file, most) = ledger.team.loops.iter().find_map(|kind| match kind {
        LoopKind::GeneratorCritic {
            state_file: Some(file),
            max_rounds,
            ..
        } => Some((file.as_str(), *max_rounds)),
        LoopKind::GeneratorCritic { .. } | LoopKind::FixVerify { .. } => None,
    })?;
    let mut rounds = Map::new();
    let mut history = Vec::new();
    for decision in &ledger.decisions {
        let Policy::Loop { line } = &decision.by else {
            continue;
        };
        let sent_back = decision.round + u32::from(decision.outcome == PolicyOutcome::Revise);
        rounds.insert(line.clone(), json!(sent_back));
        let mut entry = json!({
            "layer": line,
            "round": decision.round,
            "task": decision.task,
            "attempt": decision.attempt,
            "outcome": decision.outcome.as_str(),
            "why": decision.why,
            "rolled_back": !decision.outputs.is_empty(),
        });
        for (name, value) in &decision.measured {
            entry[name] = value
                .parse::<f64>()
                .map_or_else(|_| json!(value), |number| json!(number));
        }
        history.push(entry);
    }
    Some((
        file,
        json!({ "rounds": rounds, "coverage_history": history, "max_rounds_per_layer": most }),
    ))
}

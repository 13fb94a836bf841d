//! Checks what the shape cannot say: names that must exist, ids that must differ, thresholds in order.

use super::source::{Source, at, did_you_mean};
use crate::team::Team;

pub(super) fn check(team: &Team, source: &mut Source<'_>) {
    for (r, role) in team.roles.iter().enumerate() {
        if role.instruction.trim().is_empty() {
            let message = format!("role `{}` has an empty instruction", role.name);
            source.problem_at(at!["roles", r, "instruction"], message, None);
        }
    }
    for (p, pipeline) in team.pipelines.iter().enumerate() {
        for (t, task) in pipeline.tasks.iter().enumerate() {
            if !team.any_role && team.role(&task.role).is_none() {
                let help = did_you_mean(&task.role, team.roles.iter().map(|r| r.name.as_str()));
                let message = format!("task `{}` has the unknown role `{}`", task.id, task.role);
                source.problem_at(at!["pipelines", p, "tasks", t, "role"], message, help);
            }
        }
    }
}

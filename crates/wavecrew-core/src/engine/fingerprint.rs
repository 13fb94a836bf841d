//! Hashes of what a result was made from, the same on every machine and in every version.

use crate::event::Fingerprint;
use crate::id::TaskIx;
use crate::plan::Plan;
use crate::team::Team;
use xxhash_rust::xxh3::Xxh3;

/// Columns that the engine fills: a change in them is not a change of the task. `wave` follows from `deps`.
const ENGINE_COLUMNS: [&str; 4] = ["wave", "status", "findings", "error"];

pub fn is_engine_column(team: &Team, column: &str) -> bool {
    ENGINE_COLUMNS.contains(&column) || team.output_columns().any(|output| output.name == column)
}

/// Hashes rows of one plan without looking up its columns each time.
pub struct Fingerprinter {
    columns: Vec<String>,
}

impl Fingerprinter {
    pub fn new(plan: &Plan, team: &Team) -> Self {
        let columns = plan
            .header()
            .iter()
            .filter(|c| !is_engine_column(team, c))
            .cloned()
            .collect();
        Self { columns }
    }

    pub fn of(&self, plan: &Plan, team: &Team, task: TaskIx, prev_context: &str) -> Fingerprint {
        let mut row = Xxh3::new();
        for column in &self.columns {
            let cell = plan.cell(task, column);
            // Empty cells do not count, so that adding a column nobody filled changes nothing.
            if !cell.is_empty() {
                feed(&mut row, column);
                feed(&mut row, cell);
            }
        }
        let mut instruction = Xxh3::new();
        feed(
            &mut instruction,
            team.role(plan.role(task))
                .map_or("", |role| role.instruction.as_str()),
        );
        let mut upstream = Xxh3::new();
        feed(&mut upstream, prev_context);
        Fingerprint {
            row: row.digest(),
            instruction: instruction.digest(),
            upstream: upstream.digest(),
        }
    }
}

/// Length first, so that `ab`+`c` and `a`+`bc` differ.
fn feed(hash: &mut Xxh3, text: &str) {
    hash.update(&(text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

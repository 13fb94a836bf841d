//! `tasks.csv` during a run: published from the ledger, edited by people, extended with the rows of a plan.

pub mod edits;
pub(crate) mod expansion;
pub(crate) mod publisher;

use wavecrew_core::engine::Ledger;

/// The table as it is published.
pub(crate) fn render(ledger: &Ledger) -> Vec<u8> {
    let mut bytes = Vec::new();
    ledger
        .plan()
        .render(&mut bytes, |task, column| ledger.cell(task, column))
        .expect("writing to memory");
    bytes
}

//! Random tables of two teams: one without policies, one with policies.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use wavecrew_core::plan::{Plan, seal};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;
use wavecrew_test_support::simulation::Rng;

pub static JUDGED: LazyLock<Arc<Team>> =
    LazyLock::new(|| Arc::new(Team::parse("judged.toml", include_str!("judged.toml")).expect("a team")));
pub static TEAM: LazyLock<Arc<Team>> =
    LazyLock::new(|| Arc::new(Team::builtin("generic").expect("built in")));

pub fn read(team: &Team, csv: &str) -> Plan {
    let sheet = Sheet::read(csv.as_bytes(), Origin::Session).expect("a table");
    seal(sheet, team).expect("a plan").0
}

pub fn random_table(rng: &mut Rng) -> String {
    let mut csv = String::from("id,description,deps,context_from,exec_mode,status\n");
    let count = 1 + rng.below(9);
    for at in 0..count {
        let deps: BTreeSet<usize> = (0..rng.below(3))
            .filter(|_| at > 0)
            .map(|_| rng.below(at))
            .collect();
        let deps: Vec<String> = deps.iter().map(|dep| format!("T{dep}")).collect();
        let mode = if rng.one_in(4) { "interactive" } else { "csv-wave" };
        let context = if rng.one_in(2) {
            deps.join(";")
        } else {
            String::new()
        };
        csv.push_str(&format!(
            "T{at},work,{},{context},{mode},pending\n",
            deps.join(";")
        ));
    }
    csv
}

/// Generators, and supervisors that rate their work.
pub fn judged_table(rng: &mut Rng) -> String {
    let mut csv = String::from("id,description,role,coverage_target,deps,context_from,exec_mode,status\n");
    let kinds = [
        ("T", "maker"),
        ("C", "critic"),
        ("S", "supervisor"),
        ("R", "reviewer"),
    ];
    let mut ids: Vec<String> = Vec::new();
    for at in 0..2 + rng.below(6) {
        let (prefix, role) = if at == 0 { kinds[0] } else { *rng.pick(&kinds) };
        let id = format!("{prefix}-{at}");
        // Judges stand on what came right before them.
        let dep = match ids.last() {
            Some(last) if role != "maker" => last.clone(),
            Some(_) if rng.one_in(2) => rng.pick(&ids).clone(),
            Some(_) | None => String::new(),
        };
        let mode = if rng.one_in(3) { "interactive" } else { "csv-wave" };
        csv.push_str(&format!("{id},work,{role},60,{dep},{dep},{mode},pending\n"));
        ids.push(id);
    }
    csv
}

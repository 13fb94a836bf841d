//! Runs that go on: what stands, what runs again.

use super::*;

fn replay(csv: &str, events: &[Event]) -> Ledger {
    let mut ledger = Ledger::new(Arc::new(Team::builtin("generic").expect("built in")), table(csv));
    for event in events {
        ledger.apply(event);
    }
    ledger
}

#[test]
fn continue_keeps_what_is_done_and_runs_what_was_cut_off() {
    let mut rig = Rig::new(CHAIN);
    rig.completes(1, "A").spawned(2);
    let mut again = Engine::new(replay(CHAIN, &rig.events), Options::default());
    let actions = again.step(Timestamp(9), Input::Begin { recovered: vec![] });
    let spawned: Vec<_> = actions
        .iter()
        .filter_map(|a| {
            if let Action::Spawn(a) = a {
                Some((a.id.as_str(), a.attempt))
            } else {
                None
            }
        })
        .collect();
    assert_eq!(spawned, [("B", 2)]);
}

#[test]
fn continue_takes_a_report_that_got_in_before_the_crash() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1);
    let mut again = Engine::new(replay("id,description\nA,a\n", &rig.events), Options::default());
    let body = r#"{"id":"A","status":"completed","findings":"late"}"#.to_owned();
    let recovered = vec![RecoveredReport {
        task: "A".to_owned(),
        attempt: 1,
        body,
    }];
    let actions = again.step(Timestamp(9), Input::Begin { recovered });
    assert!(
        matches!(actions.last(), Some(Action::Finish(RunOutcome::Completed))),
        "{actions:?}"
    );
}

#[test]
fn a_report_from_before_the_crash_gets_all_its_files() {
    let table = "id,description,exec_mode\nA,a,interactive\n";
    let mut rig = Rig::new(table);
    rig.spawned(1);
    let mut again = Engine::new(replay(table, &rig.events), Options::default());
    let findings = "f".repeat(600);
    let recovered = vec![RecoveredReport {
        task: "A".to_owned(),
        attempt: 1,
        body: format!(r#"{{"id":"A","status":"completed","findings":"{findings}"}}"#),
    }];
    let actions = again.step(Timestamp(9), Input::Begin { recovered });
    let kept = actions
        .iter()
        .any(|action| matches!(action, Action::KeepFindings { text, .. } if *text == findings));
    let written = actions
        .iter()
        .any(|action| matches!(action, Action::WriteInteractive { .. }));
    assert!(kept && written, "{actions:?}");
}

#[test]
fn a_result_is_stale_when_what_it_was_made_from_changed() {
    let mut rig = Rig::new(CHAIN);
    rig.completes(1, "A").completes(2, "B");
    let agents = AgentChoice::default();
    let stale = |csv: &str, agents: &AgentChoice, base: Option<&str>| -> Vec<String> {
        let ledger = replay(csv, &rig.events);
        let basis = ResumeBasis {
            agents,
            base: base.map(str::to_owned),
        };
        let found = ledger.stale_results(&basis);
        found
            .iter()
            .map(|s| format!("{}: {}", ledger.plan().id(s.task), s.why))
            .collect()
    };
    assert_eq!(stale(CHAIN, &agents, None), [""; 0]);
    assert_eq!(
        stale(
            "id,description,deps,context_from\nA,other,,\nB,b,A,A\n",
            &agents,
            None
        ),
        ["A: its row was edited", "B: it depends on A, which runs again"]
    );
    let other = AgentChoice {
        default: "codex".to_owned(),
        ..AgentChoice::default()
    };
    assert_eq!(stale(CHAIN, &other, None).len(), 2);
    assert_eq!(stale(CHAIN, &agents, Some("the base commit changed")).len(), 2);
}

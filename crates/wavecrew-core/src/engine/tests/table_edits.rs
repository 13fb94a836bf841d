//! Tables that a person wrote or changes while they are run.

use super::*;

fn edit(rig: &mut Rig, from: &str, to: &str) {
    let patch = table(from).sheet().diff(table(to).sheet(), &[]);
    let plan = crate::plan::seal(
        rig.engine.ledger().plan().sheet().apply(&patch),
        &rig.engine.ledger().team,
    );
    let plan = Box::new(plan.expect("a plan").0);
    rig.put(Input::TableEdited { patch, plan });
}

#[test]
fn rows_added_changed_and_dropped_while_running_take_effect() {
    let mut rig = Rig::new("id,description,deps,status\nA,a,,\nB,b,A,\nC,c,A,\n");
    edit(
        &mut rig,
        "id,description,deps,status\nA,a,,\nB,b,A,\nC,c,A,\n",
        "id,description,deps,status\nA,a,,\nC,new,A,\nD,d,,\n",
    );
    assert_eq!(rig.actions(), "wave-1.csv 1, spawn A#1, spawn D#1");
    rig.completes(1, "A").completes(2, "D");
    assert!(rig.actions().ends_with("wave-2.csv 1, spawn C#1"));
    let ledger = rig.engine.ledger();
    let c = ledger.plan().find("C").unwrap();
    assert_eq!(ledger.plan().description(c), "new");
}

#[test]
fn statuses_set_by_hand_are_followed() {
    let before = "id,description,deps,status\nA,a,,failed\nB,b,A,skipped\nC,c,,pending\nD,d,,pending\n";
    let mut rig = Rig::with(
        before,
        Options {
            concurrency: 1,
            ..Options::default()
        },
    );
    assert_eq!(rig.actions(), "wave-1.csv 2, spawn C#1");
    edit(
        &mut rig,
        before,
        "id,description,deps,status\nA,a,,pending\nB,b,A,skipped\nC,c,,pending\nD,d,,completed\n",
    );
    assert_eq!(
        (rig.status("A"), rig.status("B"), rig.status("D")),
        (Status::Pending, Status::Pending, Status::Completed)
    );
    rig.completes(1, "C");
    assert_eq!(rig.actions(), "close 1, spawn A#1");
}

#[test]
fn a_table_that_says_done_is_believed() {
    let rig = Rig::new("id,description,status,findings\nA,a,completed,yes\nB,b,,\n");
    assert_eq!(rig.log.join(", "), "wave-1.csv 1, spawn B#1");
}

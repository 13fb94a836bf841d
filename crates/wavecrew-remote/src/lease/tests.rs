//! The rules of one lease, one by one. The simulation in `tests/` combines them.

use std::time::Duration;

use super::*;

const TERMS: Terms = Terms {
    lease: Duration::from_secs(30),
    grace: Duration::from_secs(8),
};

fn at(seconds: u64) -> Moment {
    Duration::from_secs(seconds)
}

fn record(renewals: u64) -> LeaseRecord {
    LeaseRecord::Held {
        host: "vm".into(),
        holder: "h1".into(),
        renewals,
    }
}

fn held() -> HostLease {
    let (mut lease, asked) = HostLease::ask(TERMS, "vm", "h1", 1, at(0));
    let write = HostAction::Write {
        expected: ABSENT,
        record: record(0),
    };
    assert_eq!(asked, [write]);
    assert_eq!(
        lease.written(&record(0), 5, at(1)),
        [HostAction::Start { turn: 1 }]
    );
    lease
}

#[test]
fn a_host_renews_in_time_and_counts_from_when_it_sent() {
    let mut lease = held();
    assert_eq!(lease.next_tick(), Some(at(10)));
    assert_eq!(lease.tick(at(9)), []);
    let write = HostAction::Write {
        expected: 5,
        record: record(1),
    };
    assert_eq!(lease.tick(at(10)), [write]);
    assert_eq!(lease.written(&record(1), 6, at(14)), []);
    assert_eq!(lease.held_since(), Some(at(10)));
}

#[test]
fn a_host_that_cannot_renew_ends_its_processes() {
    let mut lease = held();
    assert_eq!(lease.tick(at(10)).len(), 1);
    assert_eq!(lease.tick(at(15)), [HostAction::Read]);
    assert_eq!(lease.tick(at(30)), [HostAction::End]);
    assert_eq!(lease.processes_gone(at(33)), [HostAction::Over { lost: true }]);
}

#[test]
fn a_late_confirmation_does_not_bring_a_lease_back() {
    let mut lease = held();
    assert_eq!(lease.tick(at(10)).len(), 1);
    assert_eq!(lease.written(&record(1), 6, at(40)), [HostAction::End]);
}

#[test]
fn a_host_finds_its_own_write_whose_answer_was_lost() {
    let mut lease = held();
    assert_eq!(lease.tick(at(10)).len(), 1);
    assert_eq!(lease.conflict(&record(1)), [HostAction::Read]);
    assert_eq!(lease.found(Some((6, record(1))), at(12)), []);
    assert_eq!(lease.held_since(), Some(at(10)));
}

#[test]
fn a_lease_that_was_taken_back_starts_nothing_and_ends_what_runs() {
    let (mut offered, _) = HostLease::ask(TERMS, "vm", "h2", 1, at(0));
    let refused = [HostAction::Refuse, HostAction::Over { lost: true }];
    assert_eq!(offered.found(Some((6, LeaseRecord::TakenBack)), at(1)), refused);
    // A record from its own earlier start does not count as its own.
    let (mut restarted, _) = HostLease::ask(TERMS, "vm", "h2", 1, at(0));
    assert_eq!(restarted.found(Some((5, record(0))), at(1)), refused);
    let mut running = held();
    assert_eq!(running.tick(at(10)).len(), 1);
    let found = running.found(Some((6, LeaseRecord::TakenBack)), at(11));
    assert_eq!(found, [HostAction::End]);
}

#[test]
fn a_turn_starts_once_and_after_the_one_before() {
    let mut lease = held();
    assert_eq!(lease.turn(1, at(2)), []);
    assert_eq!(lease.turn(2, at(3)), []);
    assert_eq!(lease.turn(2, at(3)), []);
    assert_eq!(lease.processes_gone(at(4)), [HostAction::Start { turn: 2 }]);
    assert_eq!(lease.processes_gone(at(5)), []);
    assert_eq!(lease.release(), [HostAction::Over { lost: false }]);
}

#[test]
fn the_coordinator_waits_longer_than_any_host_lives() {
    assert!(TERMS.taken_back_after() > TERMS.bound());
    let mut lease = CoordinatorLease::offer(TERMS, 0, at(0));
    assert_eq!(lease.seen(Some((5, record(0))), at(2)), []);
    let patience = TERMS.taken_back_after();
    assert_eq!(lease.tick(patience), []);
    let write = CoordinatorAction::Write {
        expected: 5,
        record: LeaseRecord::TakenBack,
    };
    assert_eq!(lease.tick(at(2) + patience), [write]);
    assert_eq!(lease.written(5), [CoordinatorAction::Interrupted]);
    assert_eq!(lease.result(1), TurnResult::Refuse);
}

#[test]
fn a_renewal_in_the_last_moment_keeps_the_lease() {
    let mut lease = CoordinatorLease::offer(TERMS, 0, at(0));
    let _ = lease.seen(Some((5, record(0))), at(0));
    assert_eq!(lease.tick(at(60)).len(), 1);
    assert_eq!(lease.conflict(5), [CoordinatorAction::Read]);
    assert_eq!(lease.seen(Some((6, record(1))), at(61)), []);
    assert!(lease.is_held());
    assert_eq!(lease.result(1), TurnResult::Accept);
    assert_eq!(lease.result(1), TurnResult::Duplicate);
}

#[test]
fn a_lease_that_is_not_wanted_is_taken_back_whatever_its_host_does() {
    let mut lease = CoordinatorLease::offer(TERMS, 0, at(0));
    let _ = lease.seen(Some((5, record(0))), at(0));
    assert_eq!(lease.take_back(at(1)).len(), 1);
    assert_eq!(lease.conflict(5), [CoordinatorAction::Read]);
    let again = CoordinatorAction::Write {
        expected: 6,
        record: LeaseRecord::TakenBack,
    };
    assert_eq!(lease.seen(Some((6, record(1))), at(2)), [again]);
    let seen = lease.seen(Some((7, LeaseRecord::TakenBack)), at(3));
    assert_eq!(seen, [CoordinatorAction::Interrupted]);
}

#[test]
fn a_finished_attempt_leaves_a_note_in_its_key() {
    let mut lease = CoordinatorLease::offer(TERMS, 0, at(0));
    let _ = lease.seen(Some((5, record(0))), at(0));
    assert_eq!(lease.result(1), TurnResult::Accept);
    let done = |expected| CoordinatorAction::Write {
        expected,
        record: LeaseRecord::Done,
    };
    assert_eq!(lease.finish(at(1)), [done(5)]);
    assert_eq!(lease.conflict(5), [CoordinatorAction::Read]);
    assert_eq!(lease.seen(Some((6, record(1))), at(2)), [done(6)]);
    assert_eq!(lease.written(6), [CoordinatorAction::Over]);
}

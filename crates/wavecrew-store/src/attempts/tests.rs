use super::*;
use std::os::unix::fs::PermissionsExt;

struct Fixture {
    _root: tempfile::TempDir,
    session: SessionDir,
    token: Token,
}

impl Fixture {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        Self {
            _root: root,
            session,
            token: Token::random().unwrap(),
        }
    }

    fn opened() -> Self {
        let fixture = Self::new();
        fixture.attempts().open_attempt("A-1", 1, &fixture.token).unwrap();
        fixture
    }

    fn attempts(&self) -> Attempts {
        self.session.attempts()
    }

    fn submit(&self, json: &str) -> Submitted {
        submit(&self.session, "A-1", 1, &self.token, json.as_bytes()).unwrap()
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.session.run_folder()).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn the_first_report_wins_and_survives_until_it_is_forgotten() {
    let fixture = Fixture::opened();
    assert_eq!(fixture.attempts().take_report("A-1", 1).unwrap(), None);
    assert_eq!(fixture.submit("{\"n\":1}"), Submitted::Accepted);
    assert_eq!(
        fixture.submit("{\"n\":2}"),
        Submitted::Refused(Refusal::AlreadyReported)
    );
    assert_eq!(
        fixture.attempts().take_report("A-1", 1).unwrap().unwrap(),
        b"{\"n\":1}"
    );
    let closed = fixture.attempts().close_attempt("A-1", 1).unwrap();
    assert_eq!(closed.report.as_deref(), Some(&b"{\"n\":1}"[..]));
    assert_eq!(fixture.submit("{\"n\":3}"), Submitted::Refused(Refusal::NotOpen));
    fixture.attempts().forget("A-1", 1, &closed).unwrap();
    assert_eq!(fixture.submit("{\"n\":4}"), Submitted::Refused(Refusal::NotOpen));
    assert_eq!(fixture.files(), ["A-1.1"], "void");
}

#[test]
fn strangers_are_refused() {
    let fixture = Fixture::opened();
    let try_as =
        |task: &str, attempt, token: &Token| submit(&fixture.session, task, attempt, token, b"{}").unwrap();
    let wrong = Token::random().unwrap();
    assert_eq!(try_as("A-1", 1, &wrong), Submitted::Refused(Refusal::WrongToken));
    assert_eq!(
        try_as("A-1", 1, &Token::from_text("")),
        Submitted::Refused(Refusal::WrongToken)
    );
    assert_eq!(
        try_as("A-1", 2, &fixture.token),
        Submitted::Refused(Refusal::NotOpen)
    );
    assert_eq!(
        try_as("B-1", 1, &fixture.token),
        Submitted::Refused(Refusal::NotOpen)
    );
    assert_eq!(
        try_as("../s/A-1", 1, &fixture.token),
        Submitted::Refused(Refusal::NotOpen)
    );
    assert_eq!(fixture.attempts().take_report("A-1", 1).unwrap(), None);
}

#[test]
fn a_token_file_cut_short_by_a_power_cut_admits_nobody() {
    let fixture = Fixture::opened();
    fs::write(fixture.session.run_folder().join("A-1.1"), "").unwrap();
    let empty = submit(&fixture.session, "A-1", 1, &Token::from_text(""), b"{}").unwrap();
    assert_eq!(empty, Submitted::Refused(Refusal::WrongToken));
}

#[test]
fn empty_and_huge_reports_are_refused() {
    let fixture = Fixture::opened();
    assert_eq!(fixture.submit(""), Submitted::Refused(Refusal::Empty));
    let size = MAX_REPORT + 1;
    assert_eq!(
        fixture.submit(&"x".repeat(size)),
        Submitted::Refused(Refusal::TooLarge { size })
    );
    assert_eq!(fixture.submit(&"x".repeat(MAX_REPORT)), Submitted::Accepted);
}

#[test]
fn a_rejected_report_makes_room_for_the_next() {
    let fixture = Fixture::opened();
    let mut attempts = fixture.attempts();
    assert_eq!(fixture.submit("bad"), Submitted::Accepted);
    assert_eq!(attempts.reject_report("A-1", 1, "not an object").unwrap(), 1);
    assert_eq!(attempts.take_report("A-1", 1).unwrap(), None);
    assert_eq!(fixture.submit("worse"), Submitted::Accepted);
    assert_eq!(attempts.reject_report("A-1", 1, "no status").unwrap(), 2);
    assert_eq!(
        attempts.rejected("A-1", 1, 2).unwrap(),
        (b"worse".to_vec(), "no status".to_owned())
    );
    assert_eq!(fixture.submit("{}"), Submitted::Accepted);
    let closed = attempts.close_attempt("A-1", 1).unwrap();
    attempts.forget("A-1", 1, &closed).unwrap();
    assert_eq!(fixture.files(), ["A-1.1"], "void");
}

#[test]
fn a_file_that_the_next_attempt_took_over_is_of_no_use_to_the_last_one() {
    let fixture = Fixture::opened();
    let mut attempts = fixture.attempts();
    let inode = |name: &str| {
        fs::metadata(fixture.session.run_folder().join(name))
            .unwrap()
            .ino()
    };
    let file = inode("A-1.1");
    let closed = attempts.close_attempt("A-1", 1).unwrap();
    assert_eq!(closed.report, None);
    let spare = fs::read(fixture.session.run_folder().join("A-1.1")).unwrap();
    assert!(!fixture.token.matches(&spare));
    // Tokens of another length, too.
    let tokens = [
        ("B", Token::random().unwrap()),
        ("C", Token::from_text("short")),
        ("D", Token::random().unwrap()),
        ("E", Token::from_text(&"long".repeat(20))),
        ("F", Token::random().unwrap()),
    ];
    for (task, token) in tokens {
        attempts.open_attempt(task, 1, &token).unwrap();
        if task == "B" {
            assert_eq!(inode("B.1"), file);
        }
        assert_eq!(fixture.submit("{}"), Submitted::Refused(Refusal::NotOpen));
        let stolen = submit(&fixture.session, task, 1, &fixture.token, b"{}").unwrap();
        assert_eq!(stolen, Submitted::Refused(Refusal::WrongToken));
        let own = submit(&fixture.session, task, 1, &token, b"{}").unwrap();
        assert_eq!(own, Submitted::Accepted);
        let closed = attempts.close_attempt(task, 1).unwrap();
        assert_eq!(closed.report.as_deref(), Some(b"{}".as_slice()));
    }
}

#[test]
fn the_token_is_for_its_owner_only_and_never_printed() {
    let fixture = Fixture::opened();
    let mode = fs::metadata(fixture.session.run_folder().join("A-1.1"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(format!("{:?}", fixture.token), "Token(..)");
    assert_eq!(fixture.token.as_str().len(), 32);
}

#[test]
fn an_attempt_opened_again_after_a_crash_has_a_new_token() {
    let fixture = Fixture::opened();
    let mut old = File::open(fixture.session.run_folder().join("A-1.1")).unwrap();
    let token = Token::random().unwrap();
    fixture.attempts().open_attempt("A-1", 1, &token).unwrap();
    assert_eq!(fixture.submit("{}"), Submitted::Refused(Refusal::WrongToken));
    assert_eq!(
        read_all(&mut old, Path::new("old")).unwrap(),
        fixture.token.as_str().as_bytes(),
        "another file"
    );
    assert_eq!(
        submit(&fixture.session, "A-1", 1, &token, b"{}").unwrap(),
        Submitted::Accepted
    );
    let error = fixture.attempts().open_attempt("A-1", 1, &token).unwrap_err();
    assert!(matches!(error, StoreError::UnclaimedReport { .. }), "{error}");
}

#[test]
fn closing_does_not_wait_for_a_stopped_reporter_and_keeps_it_out() {
    let fixture = Fixture::opened();
    let stopped = File::open(fixture.session.run_folder().join("A-1.1")).unwrap();
    stopped.lock_shared().unwrap();
    let closed = fixture.attempts().close_attempt("A-1", 1).unwrap();
    assert_eq!(closed.report, None);
    // Its last step fails, because the name stays taken.
    let report = fixture.attempts().report_path("A-1", 1);
    assert_eq!(taken(&report).unwrap(), Some(Refusal::NotOpen));
    fixture.attempts().forget("A-1", 1, &closed).unwrap();
    assert!(report.exists());
    assert!(fixture.attempts().recover().unwrap().is_empty());
    fixture.attempts().sweep().unwrap();
    assert!(fixture.files().is_empty());
}

#[test]
fn a_reported_name_stays_taken_while_a_second_reporter_is_stopped() {
    let fixture = Fixture::opened();
    let stopped = File::open(fixture.session.run_folder().join("A-1.1")).unwrap();
    stopped.lock_shared().unwrap();
    assert_eq!(fixture.submit("{}"), Submitted::Accepted);
    let closed = fixture.attempts().close_attempt("A-1", 1).unwrap();
    assert!(closed.report.is_some());
    fixture.attempts().forget("A-1", 1, &closed).unwrap();
    assert_eq!(
        taken(&fixture.attempts().report_path("A-1", 1)).unwrap(),
        Some(Refusal::NotOpen)
    );
}

#[test]
fn after_a_crash_reports_are_found_and_the_rest_is_refused() {
    let fixture = Fixture::opened();
    let mut attempts = fixture.attempts();
    for task in ["B.2", "C"] {
        attempts.open_attempt(task, 3, &fixture.token).unwrap();
    }
    assert_eq!(fixture.submit("one"), Submitted::Accepted);
    assert_eq!(
        submit(&fixture.session, "B.2", 3, &fixture.token, b"two").unwrap(),
        Submitted::Accepted
    );
    let _ = attempts.close_attempt("B.2", 3).unwrap();
    let found = |task: &str, attempt, report: &str| Found {
        task: task.into(),
        attempt,
        report: report.into(),
    };
    let expected = [found("A-1", 1, "one"), found("B.2", 3, "two")];
    assert_eq!(attempts.recover().unwrap(), expected);
    let late = submit(&fixture.session, "C", 3, &fixture.token, b"late").unwrap();
    assert_eq!(late, Submitted::Refused(Refusal::NotOpen));
    assert_eq!(attempts.recover().unwrap(), expected, "until they are swept");
    attempts.sweep().unwrap();
    assert!(fixture.files().is_empty(), "{:?}", fixture.files());
}

#[test]
fn a_sweep_leaves_other_files_alone() {
    let fixture = Fixture::opened();
    for name in [
        "tasks.published",
        "A-1.1.result",
        "B.2.rejected-1",
        "B.2.rejected-1.reason",
        "B.2.report",
        "notes",
    ] {
        fs::write(fixture.session.run_folder().join(name), "x").unwrap();
    }
    fixture.attempts().sweep().unwrap();
    assert_eq!(fixture.files(), ["notes", "tasks.published"]);
}

#[test]
fn of_many_reporters_one_is_accepted() {
    let fixture = Fixture::opened();
    let accepted: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                (
                    n,
                    scope.spawn({
                        let f = &fixture;
                        move || f.submit(&format!("report {n}"))
                    }),
                )
            })
            .collect();
        threads
            .into_iter()
            .filter_map(|(n, thread)| (thread.join().unwrap() == Submitted::Accepted).then_some(n))
            .collect()
    });
    assert_eq!(accepted.len(), 1);
    let report = fixture.attempts().take_report("A-1", 1).unwrap().unwrap();
    assert_eq!(report, format!("report {}", accepted[0]).as_bytes());
}

#[test]
fn a_report_racing_with_the_close_is_returned_or_refused_never_both() {
    let fixture = Fixture::new();
    let mut attempts = fixture.attempts();
    for attempt in 0..100 {
        attempts.open_attempt("A-1", attempt, &fixture.token).unwrap();
        let (answers, closed) = std::thread::scope(|scope| {
            let report = || submit(&fixture.session, "A-1", attempt, &fixture.token, b"{}").unwrap();
            let (one, two) = (scope.spawn(report), scope.spawn(report));
            // At once, when a report is being written, and when it is in place.
            let sign = ["", ".tmp-", ".report"][attempt as usize % 3];
            while !one.is_finished() && !fixture.files().iter().any(|name| name.contains(sign)) {
                std::thread::yield_now();
            }
            let closed = attempts.close_attempt("A-1", attempt).unwrap();
            attempts.forget("A-1", attempt, &closed).unwrap();
            ([one.join().unwrap(), two.join().unwrap()], closed)
        });
        let accepted = answers
            .iter()
            .filter(|answer| **answer == Submitted::Accepted)
            .count();
        assert_eq!(
            accepted,
            usize::from(closed.report.is_some()),
            "attempt {attempt}: {answers:?}"
        );
        assert_eq!(attempts.take_report("A-1", attempt).unwrap(), None);
    }
}

use super::*;
use crate::atomic::read_all;
use std::os::unix::fs::PermissionsExt;

struct Fixture {
    _root: tempfile::TempDir,
    session: SessionDir,
    token: Token,
}

/// The file of the first token.
const FIRST: &str = "token-1";

impl Fixture {
    fn opened() -> Self {
        Self::with_attempts().0
    }

    /// With the coordinator's side that opened the attempt.
    fn with_attempts() -> (Self, Attempts) {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut attempts = session.attempts();
        let token = attempts.open_attempt("A-1", 1).unwrap();
        let fixture = Self {
            _root: root,
            session,
            token,
        };
        (fixture, attempts)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.session.run_folder().join(name)
    }

    fn attempts(&self) -> Attempts {
        self.session.attempts()
    }

    fn submit(&self, json: &str) -> SubmitOutcome {
        submit(&self.session, "A-1", 1, &self.token, json.as_bytes()).unwrap()
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.session.run_folder()).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            // Folders of workers, empty or not, are for the next worker.
            .filter(|name| !name.starts_with(INBOX))
            .collect();
        names.sort();
        names
    }
}

#[test]
fn the_first_report_wins_and_survives_until_it_is_forgotten() {
    let fixture = Fixture::opened();
    assert_eq!(fixture.attempts().take_report("A-1", 1).unwrap(), None);
    assert_eq!(fixture.submit("{\"n\":1}"), SubmitOutcome::Accepted);
    assert_eq!(
        fixture.submit("{\"n\":2}"),
        SubmitOutcome::Refused(ReportRefusal::AlreadyReported)
    );
    assert_eq!(
        fixture.attempts().take_report("A-1", 1).unwrap().unwrap(),
        b"{\"n\":1}"
    );
    let closed = fixture.attempts().close_attempt("A-1", 1).unwrap();
    assert_eq!(closed.report.as_deref(), Some(&b"{\"n\":1}"[..]));
    assert_eq!(
        fixture.submit("{\"n\":3}"),
        SubmitOutcome::Refused(ReportRefusal::NotOpen)
    );
    fixture.attempts().forget("A-1", 1, &closed).unwrap();
    assert_eq!(
        fixture.submit("{\"n\":4}"),
        SubmitOutcome::Refused(ReportRefusal::NotOpen)
    );
    assert_eq!(fixture.files(), [FIRST], "void");
}

#[test]
fn strangers_are_refused() {
    let fixture = Fixture::opened();
    let try_as =
        |task: &str, attempt, token: &Token| submit(&fixture.session, task, attempt, token, b"{}").unwrap();
    for wrong in [
        Token::random(1).unwrap(),
        Token::random(7).unwrap(),
        Token::from_text(""),
        Token::from_text("1"),
        Token::from_text("1-"),
        Token::from_text("/../A-1"),
        Token::from_text(&format!("{}\n", fixture.token.as_str())),
    ] {
        assert_eq!(
            try_as("A-1", 1, &wrong),
            SubmitOutcome::Refused(ReportRefusal::WrongToken)
        );
    }
    assert_eq!(
        try_as("A-1", 2, &fixture.token),
        SubmitOutcome::Refused(ReportRefusal::NotOpen)
    );
    assert_eq!(
        try_as("B-1", 1, &fixture.token),
        SubmitOutcome::Refused(ReportRefusal::NotOpen)
    );
    assert_eq!(
        try_as("../s/A-1", 1, &fixture.token),
        SubmitOutcome::Refused(ReportRefusal::NotOpen)
    );
    assert_eq!(fixture.attempts().take_report("A-1", 1).unwrap(), None);
}

#[test]
fn a_token_file_cut_short_by_a_power_cut_admits_nobody() {
    let fixture = Fixture::opened();
    let whole = fs::read(fixture.file(FIRST)).unwrap();
    for left in [b"".as_slice(), &whole[..whole.len() - 1], &[0; 50]] {
        fs::write(fixture.file(FIRST), left).unwrap();
        assert_eq!(
            fixture.submit("{}"),
            SubmitOutcome::Refused(ReportRefusal::NotOpen)
        );
        let empty = submit(&fixture.session, "A-1", 1, &Token::from_text(""), b"{}").unwrap();
        assert_eq!(empty, SubmitOutcome::Refused(ReportRefusal::NotOpen));
    }
}

#[test]
fn empty_and_huge_reports_are_refused() {
    let fixture = Fixture::opened();
    assert_eq!(fixture.submit(""), SubmitOutcome::Refused(ReportRefusal::Empty));
    let size = MAX_REPORT + 1;
    assert_eq!(
        fixture.submit(&"x".repeat(size)),
        SubmitOutcome::Refused(ReportRefusal::TooLarge { size })
    );
    assert_eq!(fixture.submit(&"x".repeat(MAX_REPORT)), SubmitOutcome::Accepted);
}

#[test]
fn a_rejected_report_makes_room_for_the_next() {
    let (fixture, mut attempts) = Fixture::with_attempts();
    assert_eq!(fixture.submit("bad"), SubmitOutcome::Accepted);
    assert_eq!(attempts.reject_report("A-1", 1, "not an object").unwrap(), 1);
    assert_eq!(attempts.take_report("A-1", 1).unwrap(), None);
    assert_eq!(fixture.submit("worse"), SubmitOutcome::Accepted);
    assert_eq!(attempts.reject_report("A-1", 1, "no status").unwrap(), 2);
    assert_eq!(
        attempts.rejected("A-1", 1, 2).unwrap(),
        (b"worse".to_vec(), "no status".to_owned())
    );
    assert_eq!(fixture.submit("{}"), SubmitOutcome::Accepted);
    let closed = attempts.close_attempt("A-1", 1).unwrap();
    attempts.forget("A-1", 1, &closed).unwrap();
    assert_eq!(fixture.files(), [FIRST], "void");
}

#[test]
fn a_file_that_the_next_attempt_took_over_is_of_no_use_to_the_last_one() {
    let (fixture, mut attempts) = Fixture::with_attempts();
    let inode = || fs::metadata(fixture.file(FIRST)).unwrap().ino();
    let file = inode();
    assert_eq!(attempts.close_attempt("A-1", 1).unwrap().report, None);
    // Names that are shorter, longer, and as long.
    for task in ["B", "C-long-name", "C", "D-1"] {
        let token = attempts.open_attempt(task, 1).unwrap();
        assert_eq!(inode(), file);
        assert_eq!(
            fixture.submit("{}"),
            SubmitOutcome::Refused(ReportRefusal::NotOpen)
        );
        let stolen = submit(&fixture.session, task, 1, &fixture.token, b"{}").unwrap();
        assert_eq!(stolen, SubmitOutcome::Refused(ReportRefusal::WrongToken));
        let for_another = submit(&fixture.session, "A-1", 1, &token, b"{}").unwrap();
        assert_eq!(for_another, SubmitOutcome::Refused(ReportRefusal::NotOpen));
        let own = submit(&fixture.session, task, 1, &token, b"{}").unwrap();
        assert_eq!(own, SubmitOutcome::Accepted);
        let closed = attempts.close_attempt(task, 1).unwrap();
        assert_eq!(closed.report.as_deref(), Some(b"{}".as_slice()));
    }
}

#[test]
fn one_worker_cannot_report_for_another() {
    let (fixture, mut attempts) = Fixture::with_attempts();
    let other = attempts.open_attempt("B", 1).unwrap();
    for (task, token) in [("A-1", &other), ("B", &fixture.token)] {
        let stolen = submit(&fixture.session, task, 1, token, b"{}").unwrap();
        assert_eq!(stolen, SubmitOutcome::Refused(ReportRefusal::WrongToken));
    }
    assert_eq!(fixture.submit("{}"), SubmitOutcome::Accepted);
}

#[test]
fn many_more_attempts_than_files_are_held_open() {
    let (fixture, mut attempts) = Fixture::with_attempts();
    for round in 1..3 {
        let tokens: Vec<Token> = (0..100)
            .map(|n| attempts.open_attempt(&format!("T{n}"), round).unwrap())
            .collect();
        for (n, token) in tokens.iter().enumerate() {
            let task = format!("T{n}");
            let own = submit(&fixture.session, &task, round, token, b"{}").unwrap();
            assert_eq!(own, SubmitOutcome::Accepted, "{task} of round {round}");
            let closed = attempts.close_attempt(&task, round).unwrap();
            assert_eq!(closed.report.as_deref(), Some(b"{}".as_slice()));
            attempts.forget(&task, round, &closed).unwrap();
            let late = submit(&fixture.session, &task, round, token, b"{}").unwrap();
            assert_eq!(late, SubmitOutcome::Refused(ReportRefusal::NotOpen));
        }
        assert_eq!(fixture.files().len(), 101, "taken in turns");
    }
}

#[test]
fn the_token_is_for_its_owner_only_and_never_printed() {
    let fixture = Fixture::opened();
    let mode = fs::metadata(fixture.file(FIRST)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(format!("{:?}", fixture.token), "Token(..)");
    assert_eq!(fixture.token.as_str().len(), "1-".len() + 32);
}

#[test]
fn an_attempt_opened_again_after_a_crash_has_a_new_token() {
    let fixture = Fixture::opened();
    let mut old = File::open(fixture.file(FIRST)).unwrap();
    let before = fs::read(fixture.file(FIRST)).unwrap();
    let token = fixture.attempts().open_attempt("A-1", 1).unwrap();
    assert_eq!(
        fixture.submit("{}"),
        SubmitOutcome::Refused(ReportRefusal::WrongToken)
    );
    assert_eq!(
        read_all(&mut old, Path::new("old")).unwrap(),
        before,
        "another file"
    );
    assert_eq!(
        submit(&fixture.session, "A-1", 1, &token, b"{}").unwrap(),
        SubmitOutcome::Accepted
    );
    let error = fixture.attempts().open_attempt("A-1", 1).unwrap_err();
    assert!(matches!(error, SessionError::UnclaimedReport { .. }), "{error}");
}

#[test]
fn closing_does_not_wait_for_a_stopped_reporter_and_keeps_it_out() {
    let fixture = Fixture::opened();
    let stopped = File::open(fixture.file(FIRST)).unwrap();
    stopped.lock_shared().unwrap();
    let closed = fixture.attempts().close_attempt("A-1", 1).unwrap();
    assert_eq!(closed.report, None);
    // Its last step fails, because the name stays occupied.
    let report = fixture.session.report_file("A-1", 1);
    assert_eq!(
        refusal_for_existing(&report).unwrap(),
        Some(ReportRefusal::NotOpen)
    );
    fixture.attempts().forget("A-1", 1, &closed).unwrap();
    assert!(report.exists());
    assert!(fixture.attempts().recover().unwrap().is_empty());
    fixture.attempts().sweep().unwrap();
    assert!(fixture.files().is_empty());
}

#[test]
fn a_reported_name_stays_taken_while_a_second_reporter_is_stopped() {
    let fixture = Fixture::opened();
    let stopped = File::open(fixture.file(FIRST)).unwrap();
    stopped.lock_shared().unwrap();
    assert_eq!(fixture.submit("{}"), SubmitOutcome::Accepted);
    let closed = fixture.attempts().close_attempt("A-1", 1).unwrap();
    assert!(closed.report.is_some());
    fixture.attempts().forget("A-1", 1, &closed).unwrap();
    assert_eq!(
        refusal_for_existing(&fixture.session.report_file("A-1", 1)).unwrap(),
        Some(ReportRefusal::NotOpen)
    );
}

#[test]
fn after_a_crash_reports_are_found_and_the_rest_is_refused() {
    let (fixture, mut attempts) = Fixture::with_attempts();
    let [b, c] = ["B.2", "C"].map(|task| attempts.open_attempt(task, 3).unwrap());
    assert_eq!(fixture.submit("one"), SubmitOutcome::Accepted);
    assert_eq!(
        submit(&fixture.session, "B.2", 3, &b, b"two").unwrap(),
        SubmitOutcome::Accepted
    );
    let _ = attempts.close_attempt("B.2", 3).unwrap();
    // From here on by another coordinator.
    let mut attempts = fixture.attempts();
    let found = |task: &str, attempt, report: &str| RecoveredReport {
        task: task.into(),
        attempt,
        body: report.to_owned(),
    };
    let expected = [found("A-1", 1, "one"), found("B.2", 3, "two")];
    assert_eq!(attempts.recover().unwrap(), expected);
    let late = submit(&fixture.session, "C", 3, &c, b"late").unwrap();
    assert_eq!(late, SubmitOutcome::Refused(ReportRefusal::NotOpen));
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
        // As earlier versions named it.
        "B.2",
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
            .filter_map(|(n, thread)| (thread.join().unwrap() == SubmitOutcome::Accepted).then_some(n))
            .collect()
    });
    assert_eq!(accepted.len(), 1);
    let report = fixture.attempts().take_report("A-1", 1).unwrap().unwrap();
    assert_eq!(report, format!("report {}", accepted[0]).as_bytes());
}

#[test]
fn a_report_racing_with_the_close_is_returned_or_refused_never_both() {
    let (fixture, mut attempts) = Fixture::with_attempts();
    for attempt in 2..102 {
        let token = attempts.open_attempt("A-1", attempt).unwrap();
        let (answers, closed) = std::thread::scope(|scope| {
            let report = || submit(&fixture.session, "A-1", attempt, &token, b"{}").unwrap();
            let (one, two) = (scope.spawn(report), scope.spawn(report));
            // At once, when a report is being written, and when it is in place.
            let sign = ["", ".tmp-", ".report"][attempt as usize % 3];
            let seen = || {
                let inbox = fixture.session.inbox(token.slot().unwrap());
                let names = fs::read_dir(inbox).into_iter().flatten().flatten();
                names
                    .map(|entry| entry.file_name())
                    .any(|name| name.to_string_lossy().contains(sign))
            };
            while !one.is_finished() && !seen() {
                std::thread::yield_now();
            }
            let closed = attempts.close_attempt("A-1", attempt).unwrap();
            attempts.forget("A-1", attempt, &closed).unwrap();
            ([one.join().unwrap(), two.join().unwrap()], closed)
        });
        let accepted = answers
            .iter()
            .filter(|answer| **answer == SubmitOutcome::Accepted)
            .count();
        assert_eq!(
            accepted,
            usize::from(closed.report.is_some()),
            "attempt {attempt}: {answers:?}"
        );
        assert_eq!(attempts.take_report("A-1", attempt).unwrap(), None);
    }
}

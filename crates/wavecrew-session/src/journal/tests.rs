use super::*;
use proptest::prelude::*;
use proptest::sample::Index;
use serde::Deserialize;
use std::fs;
use std::process::Command;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Event {
    Started { task: String, attempt: u32 },
    Ended { task: String, findings: String },
}

/// A later version of the same file, with a kind that `Event` does not have.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Later {
    Levitated { task: String },
}

fn events(n: u32) -> Vec<Event> {
    (0..n)
        .map(|i| match i % 2 {
            0 => Event::Started {
                task: format!("T-{i}"),
                attempt: i,
            },
            _ => Event::Ended {
                task: format!("T-{i}"),
                findings: "zwei\nZeilen, 二行".into(),
            },
        })
        .collect()
}

struct Fixture {
    dir: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("journal.ndjson")
    }

    fn with(n: u32) -> Self {
        let fixture = Self::new();
        let mut journal = Journal::create(&fixture.path()).unwrap();
        journal.append(&events(n)).unwrap();
        journal.sync().unwrap();
        fixture
    }

    fn open(&self) -> Result<(Journal<Event>, Vec<Event>, Recovery), SessionError> {
        Journal::open(&self.path())
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }
}

#[test]
fn what_was_appended_is_read_back_in_order() {
    let fixture = Fixture::with(3);
    let (mut journal, found, recovery) = fixture.open().unwrap();
    assert_eq!((found, recovery), (events(3), Recovery::default()));
    journal.append(&events(1)).unwrap();
    journal.append(&[]).unwrap();
    assert_eq!(journal.len_bytes(), fixture.bytes().len() as u64);
    let (found, _) = Journal::<Event>::read(&fixture.path()).unwrap();
    assert_eq!(found, [events(3), events(1)].concat());
}

#[test]
fn what_may_wait_is_written_in_order_with_the_next_batch_or_when_asked() {
    let fixture = Fixture::new();
    let mut journal = Journal::create(&fixture.path()).unwrap();
    let all = events(5);
    let read = || Journal::<Event>::read(&fixture.path()).unwrap().0;
    journal.append_later(&all[..2]).unwrap();
    assert!(journal.has_unwritten() && read().is_empty());
    journal.append(&all[2..4]).unwrap();
    assert!(!journal.has_unwritten());
    assert_eq!(read(), all[..4]);
    journal.append_later(&all[4..]).unwrap();
    journal.flush().unwrap();
    assert_eq!(read(), all);
    assert_eq!(journal.len_bytes(), fs::metadata(fixture.path()).unwrap().len());
}

#[test]
fn an_existing_journal_is_not_overwritten() {
    let fixture = Fixture::with(2);
    let error = Journal::<Event>::create(&fixture.path()).unwrap_err();
    assert_eq!(error.errno(), Some(17));
    assert_eq!(fixture.open().unwrap().1, events(2));
}

#[test]
fn cut_at_every_byte_it_opens_with_a_prefix_and_goes_on() {
    let fixture = Fixture::with(3);
    let whole = fixture.bytes();
    for cut in 0..whole.len() {
        fs::write(fixture.path(), &whole[..cut]).unwrap();
        let (mut journal, found, recovery) = fixture.open().unwrap();
        let last_line = whole[..cut]
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        assert_eq!(recovery.cut_bytes, (cut - last_line) as u64, "cut at {cut}");
        assert_eq!(found, events(3)[..found.len()], "cut at {cut}");
        journal.append(&events(1)).unwrap();
        drop(journal);
        let (_, again, recovery) = fixture.open().unwrap();
        assert_eq!(recovery, Recovery::default());
        assert_eq!(again, [found, events(1)].concat(), "cut at {cut}");
    }
}

#[test]
fn a_reader_leaves_the_torn_tail_to_the_writer() {
    let fixture = Fixture::with(2);
    let whole = fixture.bytes();
    fs::write(fixture.path(), &whole[..whole.len() - 3]).unwrap();
    let (found, recovery) = Journal::<Event>::read(&fixture.path()).unwrap();
    assert_eq!(found, events(1));
    assert!(recovery.cut_bytes > 0);
    assert_eq!(fixture.bytes().len(), whole.len() - 3);
}

#[test]
fn a_tail_of_zeros_is_cut() {
    let fixture = Fixture::with(2);
    let mut bytes = fixture.bytes();
    bytes.extend([0; 4096]);
    fs::write(fixture.path(), &bytes).unwrap();
    let (_, found, recovery) = fixture.open().unwrap();
    assert_eq!((found, recovery.cut_bytes), (events(2), 4096));
}

#[test]
fn damage_in_the_middle_is_an_error_that_changes_nothing() {
    let fixture = Fixture::with(3);
    let mut bytes = fixture.bytes();
    let second_line = bytes.iter().position(|b| *b == b'\n').unwrap() + 12;
    bytes[second_line] ^= 1;
    fs::write(fixture.path(), &bytes).unwrap();
    let error = fixture.open().unwrap_err();
    assert!(matches!(error, SessionError::Damaged { line: 2, .. }), "{error}");
    assert!(error.help().contains("head -n 1 "), "{}", error.help());
    assert_eq!(fixture.bytes(), bytes);
}

#[test]
fn a_damaged_line_end_does_not_hide_the_line_behind_it() {
    let fixture = Fixture::with(2);
    let mut bytes = fixture.bytes();
    let ends: Vec<_> = memchr::memchr_iter(b'\n', &bytes).collect();
    bytes[ends[1]] = b'a';
    fs::write(fixture.path(), &bytes).unwrap();
    assert!(matches!(
        fixture.open().unwrap_err(),
        SessionError::Damaged { line: 2, .. }
    ));
}

#[test]
fn a_newer_format_is_refused() {
    let fixture = Fixture::new();
    let mut bytes = Vec::new();
    push_line(
        &mut bytes,
        &recover::Header {
            wavecrew_journal: JOURNAL_FORMAT + 1,
        },
    )
    .unwrap();
    fs::write(fixture.path(), &bytes).unwrap();
    let error = fixture.open().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("has format 2, and this version of wavecrew reads up to 1"),
        "{error}"
    );
}

#[test]
fn an_unknown_event_is_named() {
    let fixture = Fixture::with(1);
    let (mut journal, ..) = Journal::<serde_json::Value>::open(&fixture.path()).unwrap();
    journal
        .append(&[serde_json::to_value(Later::Levitated { task: "A".into() }).unwrap()])
        .unwrap();
    let error = fixture.open().unwrap_err();
    assert!(
        matches!(error, SessionError::UnknownEvent { line: 3, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("`levitated`"), "{error}");
}

#[test]
fn a_foreign_file_is_not_taken_for_a_journal() {
    let fixture = Fixture::new();
    let mut bytes = Vec::new();
    push_line(&mut bytes, &"something else").unwrap();
    fs::write(fixture.path(), &bytes).unwrap();
    assert!(matches!(
        fixture.open().unwrap_err(),
        SessionError::Malformed { .. }
    ));
    assert_eq!(fixture.bytes(), bytes);
}

#[test]
fn a_full_disk_is_named_and_poisons_the_journal() {
    let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let mut journal = Journal::over(full, Path::new("/s/journal.ndjson"), 0);
    let error = journal.append(&events(1)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot append to `/s/journal.ndjson`"),
        "{error}"
    );
    assert!(error.help().contains("full"), "{}", error.help());
    let later = journal.append(&events(1)).unwrap_err();
    assert!(matches!(later, SessionError::Poisoned { .. }));
    // The later failure may be the one that a person sees.
    assert!(
        later
            .to_string()
            .contains("failed to append to it: No space left"),
        "{later}"
    );
    assert_eq!((later.errno(), later.help()), (error.errno(), error.help()));
    assert!(matches!(
        journal.sync().unwrap_err(),
        SessionError::Poisoned { .. }
    ));
    assert!(matches!(
        journal.syncer().sync().unwrap_err(),
        SessionError::Poisoned { .. }
    ));
}

/// Runs itself again under a file size limit, which the kernel enforces with a real short write.
#[test]
fn a_short_write_is_cut_back_to_the_last_whole_batch() {
    const INSIDE: &str = "WAVECREW_TEST_SIZE_LIMIT";
    const MYSELF: &str = "journal::tests::a_short_write_is_cut_back_to_the_last_whole_batch";
    let Some(path) = std::env::var_os(INSIDE) else {
        let fixture = Fixture::with(4);
        let before = fixture.bytes();
        let status = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$@\"", "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", MYSELF])
            .env(INSIDE, fixture.path())
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(fixture.bytes(), before);
        assert_eq!(fixture.open().unwrap().1, events(4));
        return;
    };
    let (mut journal, ..) = Journal::<Event>::open(Path::new(&path)).unwrap();
    let long = Event::Ended {
        task: "A".into(),
        findings: "x".repeat(8192),
    };
    assert_eq!(journal.append(&[long]).unwrap_err().errno(), Some(27));
}

#[test]
fn another_thread_syncs_while_the_owner_appends() {
    let fixture = Fixture::with(0);
    let (mut journal, ..) = fixture.open().unwrap();
    let syncer = journal.syncer();
    std::thread::scope(|scope| {
        scope.spawn(move || (0..5).for_each(|_| syncer.sync().unwrap()));
        for event in events(50) {
            journal.append(&[event]).unwrap();
        }
    });
    assert_eq!(fixture.open().unwrap().1, events(50));
}

/// Another program cuts the journal, writes into it and over it, and removes it.
#[test]
fn a_journal_with_a_copy_is_restored() {
    let fixture = Fixture::with(6);
    let (mut journal, ..) = fixture.open().unwrap();
    journal.keep_copy().unwrap();
    let good = fixture.bytes();
    let half = &good[..good.len() / 2];
    fs::write(fixture.path(), half).unwrap();
    journal.append(&events(7)[6..]).unwrap();
    assert!(journal.take_restored() && !journal.take_restored());
    assert_eq!(fixture.open().unwrap().1, events(7));
    fs::write(fixture.path(), [&good[..], b"forged\n"].concat()).unwrap();
    journal.append(&events(8)[7..]).unwrap();
    assert_eq!(fixture.open().unwrap().1, events(8));
    let good = fixture.bytes();
    fs::write(fixture.path(), vec![b'x'; good.len()]).unwrap();
    journal.restore_if_changed().unwrap();
    assert_eq!(fixture.bytes(), good);
    fs::remove_file(fixture.path()).unwrap();
    journal.restore_if_changed().unwrap();
    assert!(journal.take_restored() && !journal.is_in_place());
    assert_eq!(fixture.bytes(), good);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    /// Whatever happens to one byte, the result is an error or a prefix, never something else.
    #[test]
    fn a_flipped_byte_never_changes_an_event(n in 0_u32..6, at in any::<Index>(), flip in 1_u8..) {
        let mut bytes = Vec::new();
        push_line(&mut bytes, &recover::Header { wavecrew_journal: JOURNAL_FORMAT }).unwrap();
        for event in events(n) {
            push_line(&mut bytes, &event).unwrap();
        }
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        match recover::recover::<Event>(Path::new("j"), &bytes) {
            Ok(found) => {
                prop_assert!(found.recovery.cut_bytes > 0);
                prop_assert_eq!(&found.events[..], &events(n)[..found.events.len()]);
                prop_assert!(found.events.len() + 1 >= n as usize, "only the last line may be cut");
            }
            Err(SessionError::Damaged { line, .. }) => {
                let damaged = bytes[..at].split(|b| *b == b'\n').count();
                prop_assert_eq!(line, damaged);
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}

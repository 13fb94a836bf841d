use super::*;
use std::collections::BTreeSet;

struct Fixture {
    _root: tempfile::TempDir,
    session: SessionDir,
}

const LONG: Duration = Duration::from_hours(1);

impl Fixture {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        Self { _root: root, session }
    }

    /// Every change counts as finished at once.
    fn table(&self) -> TableFile {
        TableFile::open(&self.session, Duration::ZERO).unwrap()
    }

    fn content(&self) -> String {
        fs::read_to_string(self.session.tasks_csv()).unwrap()
    }

    fn replace(&self, text: &str) {
        let temp = self.session.path().join("~lock.tasks");
        fs::write(&temp, text).unwrap();
        fs::rename(&temp, self.session.tasks_csv()).unwrap();
    }

    fn leftovers(&self) -> Vec<String> {
        let names = fs::read_dir(self.session.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with(".tasks") || name.starts_with(".tmp"))
            .collect()
    }
}

fn edit(text: &str) -> PublishOutcome {
    PublishOutcome::TableEdit(text.into())
}

#[test]
fn what_is_published_is_not_an_edit() {
    let fixture = Fixture::new();
    let mut table = fixture.table();
    for version in ["one", "two", "two", "three"] {
        assert_eq!(
            table.publish(version.as_bytes()).unwrap(),
            PublishOutcome::Published
        );
        assert_eq!(fixture.content(), version);
        assert_eq!(table.check().unwrap(), None);
    }
    assert_eq!(fixture.table().check().unwrap(), None, "nor after a restart");
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn an_edit_is_found_once_and_replaced_when_it_was_dealt_with() {
    let fixture = Fixture::new();
    let mut table = fixture.table();
    assert_eq!(table.publish(b"ours").unwrap(), PublishOutcome::Published);
    fixture.replace("theirs");
    assert_eq!(table.check().unwrap().unwrap(), b"theirs");
    assert_eq!(table.check().unwrap(), None);
    assert_eq!(fixture.content(), "theirs");
    assert_eq!(table.publish(b"merged").unwrap(), PublishOutcome::Published);
    assert_eq!(fixture.content(), "merged");
    fixture.replace("theirs");
    assert_eq!(
        table.check().unwrap().unwrap(),
        b"theirs",
        "saved again is an edit again"
    );
}

#[test]
fn an_edit_in_place_of_the_same_length_is_found() {
    let fixture = Fixture::new();
    let mut table = fixture.table();
    assert_eq!(table.publish(b"ours").unwrap(), PublishOutcome::Published);
    fs::write(fixture.session.tasks_csv(), "OURS").unwrap();
    assert_eq!(table.publish(b"next").unwrap(), edit("OURS"));
    assert_eq!(fixture.content(), "OURS", "stays in place until it is merged");
    assert_eq!(table.publish(b"next").unwrap(), PublishOutcome::Published);
}

#[test]
fn a_saved_copy_without_changes_is_no_edit() {
    let fixture = Fixture::new();
    let mut table = fixture.table();
    assert_eq!(table.publish(b"ours").unwrap(), PublishOutcome::Published);
    fixture.replace("ours");
    assert_eq!(table.check().unwrap(), None);
}

#[test]
fn an_edit_made_while_nothing_ran_is_found_on_continue() {
    let fixture = Fixture::new();
    assert_eq!(
        fixture.table().publish(b"ours").unwrap(),
        PublishOutcome::Published
    );
    fixture.replace("theirs");
    assert_eq!(fixture.table().check().unwrap().unwrap(), b"theirs");
    assert_eq!(
        fixture.table().check().unwrap().unwrap(),
        b"theirs",
        "until a new version is published"
    );
}

#[test]
fn a_table_without_a_record_is_all_intent() {
    let fixture = Fixture::new();
    assert_eq!(fixture.table().check().unwrap(), None);
    fixture.replace("from elsewhere");
    assert_eq!(fixture.table().check().unwrap().unwrap(), b"from elsewhere");
}

#[test]
fn a_file_that_may_still_be_growing_waits() {
    let fixture = Fixture::new();
    assert_eq!(
        fixture.table().publish(b"ours").unwrap(),
        PublishOutcome::Published
    );
    let mut table = TableFile::open(&fixture.session, LONG).unwrap();
    fs::write(fixture.session.tasks_csv(), "half of thei").unwrap();
    assert_eq!(table.check().unwrap(), None);
    assert_eq!(table.publish(b"next").unwrap(), PublishOutcome::StillChanging);
    assert_eq!(fixture.content(), "half of thei");
    fs::write(fixture.session.tasks_csv(), "all of theirs").unwrap();
    table.quiet_time = Duration::ZERO;
    assert_eq!(table.check().unwrap().unwrap(), b"all of theirs");
}

#[test]
fn a_removed_table_is_published_again() {
    let fixture = Fixture::new();
    let mut table = fixture.table();
    assert_eq!(table.publish(b"one").unwrap(), PublishOutcome::Published);
    fs::remove_file(fixture.session.tasks_csv()).unwrap();
    assert_eq!(table.check().unwrap(), None);
    assert_eq!(table.publish(b"two").unwrap(), PublishOutcome::Published);
    assert_eq!(fixture.content(), "two");
}

/// `swap_in` follows the first check: an edit before it was made in between.
#[test]
fn an_edit_that_comes_in_between_is_kept_until_it_is_dealt_with() {
    for swap in [ReplaceMethod::Exchange, ReplaceMethod::Replace] {
        let fixture = Fixture::new();
        let mut table = fixture.table();
        table.replace_method = swap;
        assert_eq!(table.publish(b"ours").unwrap(), PublishOutcome::Published);
        fixture.replace("theirs");
        let found = match table.swap_in(b"next").unwrap() {
            PublishOutcome::TableEdit(bytes) => bytes,
            PublishOutcome::Published | PublishOutcome::StillChanging => table.check().unwrap().unwrap(),
        };
        assert_eq!(
            (found.as_slice(), fixture.content().as_str()),
            (&b"theirs"[..], "next")
        );
        // After a crash before it was handled, it is found again.
        let mut table = fixture.table();
        assert_eq!(table.check().unwrap().unwrap(), b"theirs", "{swap:?}");
        assert_eq!(table.check().unwrap(), None);
        assert_eq!(table.publish(b"merged").unwrap(), PublishOutcome::Published);
        assert_eq!(fixture.content(), "merged");
        assert!(fixture.leftovers().is_empty(), "{:?}", fixture.leftovers());
    }
}

#[test]
fn an_interrupted_publish_is_finished_on_open() {
    for (name, text, found) in [
        ("part", "half a versi", None),
        ("next", "ours", None),
        ("next", "theirs", Some(b"theirs".to_vec())),
        ("edit", "theirs", Some(b"theirs".to_vec())),
    ] {
        let fixture = Fixture::new();
        assert_eq!(
            fixture.table().publish(b"ours").unwrap(),
            PublishOutcome::Published
        );
        fs::write(fixture.session.path().join(format!(".tasks.{name}")), text).unwrap();
        let mut table = fixture.table();
        assert_eq!(table.check().unwrap(), found, "{name} with {text}");
        assert_eq!(table.publish(b"next").unwrap(), PublishOutcome::Published);
        assert!(fixture.leftovers().is_empty(), "{:?}", fixture.leftovers());
    }
}

#[test]
fn bad_edits_are_set_aside_under_new_names() {
    let fixture = Fixture::new();
    let names: Vec<_> = ["bad", "worse"]
        .iter()
        .map(|text| save_rejected_edit(&fixture.session, text.as_bytes()).unwrap())
        .collect();
    assert!(
        names[0].ends_with("tasks.rejected-1.csv") && names[1].ends_with("tasks.rejected-2.csv"),
        "{names:?}"
    );
    assert_eq!(fs::read_to_string(&names[1]).unwrap(), "worse");
}

/// A person's editor and the engine write at full speed. The editor exchanges too, so that it knows which of
/// its own versions it replaced itself; every other one must have been seen by the engine.
#[test]
fn no_edit_is_lost_in_a_race() {
    const EDITS: usize = 200;
    let fixture = Fixture::new();
    let mut table = fixture.table();
    assert_eq!(table.publish(b"ours 0").unwrap(), PublishOutcome::Published);
    let path = fixture.session.tasks_csv();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let (replaced, seen) = std::thread::scope(|scope| {
        let editor = scope.spawn(|| {
            let done = done;
            let draft = fixture.session.path().join("draft");
            let mut replaced = BTreeSet::new();
            for n in 0..EDITS {
                fs::write(&draft, format!("edit {n}")).unwrap();
                renameat_with(CWD, &draft, CWD, &path, RenameFlags::EXCHANGE).unwrap();
                replaced.insert(fs::read_to_string(&draft).unwrap());
                // The next draft is a new file: the engine may still be reading this one.
                fs::remove_file(&draft).unwrap();
            }
            drop(done);
            replaced
        });
        let mut seen = BTreeSet::new();
        let mut last_round = false;
        for n in 1.. {
            match table.publish(format!("ours {n}").as_bytes()).unwrap() {
                PublishOutcome::TableEdit(bytes) => assert!(seen.insert(String::from_utf8(bytes).unwrap())),
                PublishOutcome::Published if last_round => break,
                PublishOutcome::Published | PublishOutcome::StillChanging => {}
            }
            last_round = is_done.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected);
        }
        (editor.join().unwrap(), seen)
    });
    let lost: Vec<_> = (0..EDITS)
        .map(|n| format!("edit {n}"))
        .filter(|e| !seen.contains(e) && !replaced.contains(e))
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}

//! Every id is found, by number or by hash, and nothing else is.

use super::*;
use crate::plan::graph::all;
use crate::sheet::Origin;

fn sheet(ids: &[String]) -> Sheet {
    let text = ids.iter().fold(String::from("id\n"), |text, id| text + id + "\n");
    Sheet::read(text.as_bytes(), Origin::User).expect("a good table")
}

fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn ids_of_every_length_are_told_apart() {
    // Every id of one repeated letter, and each with one letter changed at each place.
    let mut ids = vec!["b".to_owned()];
    for len in 1..=40 {
        let base = "a".repeat(len);
        for at in 0..len {
            let mut id = base.clone();
            id.replace_range(at..=at, "c");
            ids.push(id);
        }
        ids.push(base);
    }
    let sheet = sheet(&ids);
    let index = Index::of(&sheet, 0, |row, earlier| panic!("{row:?} taken for {earlier:?}"));
    for (row, id) in all(ids.len()).zip(&ids) {
        assert_eq!(index.find(&sheet, id), Some(row), "{id}");
        assert_eq!(index.find(&sheet, &format!("{id}d")), None);
    }
}

#[test]
fn ids_that_count_are_found_by_number_and_nothing_else_is() {
    let cases: [(&[&str], &[&str]); 5] = [
        (
            &["T-08", "T-09", "T-10"],
            &["T-8", "T-010", "T-11", "T-07", "U-08", "T-", "T-0x", "08", ""],
        ),
        (
            &["T-98", "T-99", "T-100", "T-101"],
            &["T-098", "T-0100", "T-102", "T-97"],
        ),
        (&["0", "1"], &["00", "2", "01"]),
        (&["T1"], &["T01", "T2", "T", "T0", "T1 ", "T18446744073709551617"]),
        (
            &["a-long-prefix-indeed-7", "a-long-prefix-indeed-8"],
            &["a-long-prefix-instead-7"],
        ),
    ];
    for (ids, others) in cases {
        let sheet = sheet(&owned(ids));
        let index = Index::of(&sheet, 0, |_, _| panic!("all are different"));
        assert!(matches!(index, Index::Counting(_)), "{ids:?}");
        for (row, id) in (0..).zip(ids) {
            assert_eq!(index.find(&sheet, id), Some(TaskIx(row)), "{id}");
        }
        for id in others {
            assert_eq!(index.find(&sheet, id), None, "{id} in {ids:?}");
        }
    }
}

#[test]
fn ids_that_do_not_quite_count_are_found_by_hash() {
    let cases: [&[&str]; 6] = [
        &["T-1", "T-2", "T-4"],
        &["T-1", "T-02"],
        &["T-01", "U-02"],
        &["T-2", "T-1"],
        &["T", "U"],
        &["T-1234567890123", "T-1234567890124"],
    ];
    for ids in cases {
        let sheet = sheet(&owned(ids));
        let index = Index::of(&sheet, 0, |_, _| panic!("all are different"));
        let Index::Keyed(keyed) = &index else {
            panic!("{ids:?} do not count")
        };
        let mut links: Vec<_> = (ids.iter().chain(&["T-3", "none"]))
            .map(|id| Link {
                task: TaskIx(0),
                id,
                row: None,
            })
            .collect();
        keyed.find_all(&sheet, &mut links);
        let found: Vec<_> = links.iter().map(|link| link.row).collect();
        let rows = all(ids.len()).map(Some);
        assert_eq!(found, rows.chain([None, None]).collect::<Vec<_>>(), "{ids:?}");
    }
}

#[test]
fn rows_without_order_are_still_unique_or_told() {
    let sheet = sheet(&["b", "a", "b", "a"].map(str::to_owned));
    let mut again = Vec::new();
    Index::of(&sheet, 0, |row, earlier| again.push((row.0, earlier.0)));
    assert_eq!(again, [(2, 0), (3, 1)]);
}

//! Tables: what is refused, what round-trips, what a patch carries.

use super::*;
use proptest::prelude::*;

fn read(text: impl AsRef<[u8]>) -> Result<Sheet, Vec<Problem>> {
    Sheet::read(text.as_ref(), Origin::User)
}

fn good(text: &str) -> Sheet {
    read(text).expect("a good table")
}

fn cells(sheet: &Sheet) -> Vec<Vec<&str>> {
    (0..sheet.rows()).map(|row| sheet.row(row).collect()).collect()
}

/// The only problem of a bad table: its line and message.
fn refused(text: impl AsRef<[u8]>) -> (u32, String) {
    let problems = read(text).expect_err("a bad table");
    assert_eq!(problems.len(), 1, "{problems:?}");
    (problems[0].line, problems[0].message.clone())
}

#[test]
fn reads_quotes_breaks_and_a_byte_order_mark() {
    let sheet = good("\u{feff}id,\"a b\"\r\n1,\"x,\"\"y\"\"\r\nz\"\r\n\r\n2,\r\n");
    assert_eq!(sheet.header(), ["id", "a b"]);
    assert_eq!(cells(&sheet), [["1", "x,\"y\"\r\nz"], ["2", ""]]);
    assert_eq!((sheet.line(0), sheet.line(1)), (2, 5));
}

#[test]
fn a_cell_knows_its_line_below_line_breaks_in_its_row() {
    let sheet = good("id,a,b\n1,\"x\ny\nz\",w\n2,,\n");
    assert_eq!(
        (sheet.cell_line(0, 1), sheet.cell_line(0, 2), sheet.line(1)),
        (2, 4, 5)
    );
}

#[test]
fn the_last_line_needs_no_end() {
    assert_eq!(cells(&good("id,a\n1,x")), [["1", "x"]]);
    assert_eq!(cells(&good("id,a\n1,\"x\"")), [["1", "x"]]);
    assert_eq!(cells(&good("id,a\n1,")), [["1", ""]]);
}

#[test]
fn an_empty_file_is_refused() {
    assert_eq!(refused(""), (0, "The file is empty".into()));
    assert_eq!(refused("\n\r\n"), (0, "The file is empty".into()));
    assert_eq!(refused("\u{feff}"), (0, "The file is empty".into()));
}

#[test]
fn a_header_alone_is_refused() {
    assert_eq!(
        refused("id,description\n"),
        (1, "The file has a header and no tasks".into())
    );
}

#[test]
fn a_repeated_column_is_refused() {
    assert_eq!(refused("id,a,id\n1,2,3\n"), (1, "Duplicate column: id".into()));
}

#[test]
fn every_ragged_row_is_refused_with_its_line() {
    let problems = read("id,a\n1\n2,3\n4,5,6\n").expect_err("ragged");
    let found: Vec<_> = problems.iter().map(|p| (p.line, p.message.as_str())).collect();
    assert_eq!(
        found,
        [
            (2, "Row has 1 field, the header has 2"),
            (4, "Row has 3 fields, the header has 2")
        ]
    );
}

#[test]
fn a_nul_byte_is_refused_with_its_line() {
    assert_eq!(
        refused("id,a\n1,2\n3,\0\n"),
        (3, "The file contains a NUL byte".into())
    );
}

#[test]
fn text_that_is_not_utf8_is_refused_with_its_line() {
    assert_eq!(
        refused(b"id,a\n1,2\n3,\xff\n"),
        (3, "The text is not UTF-8: \\xff".into())
    );
    // A character cut in two by a comma is no character, and neither is one cut off by the end.
    assert_eq!(
        refused(b"id,a\n\xc3,\xa9\n"),
        (2, "The text is not UTF-8: \\xc3".into())
    );
    assert_eq!(
        refused(b"id,a\n1,\xc3"),
        (2, "The text is not UTF-8: \\xc3".into())
    );
}

#[test]
fn an_open_quote_is_refused_where_it_opens() {
    let message = "Field 2 opens a quote that is never closed".to_owned();
    assert_eq!(refused("id,a\n1,\"x\n2,y\n3,z\n"), (2, message.clone()));
    assert_eq!(refused("id,a\n\"1\n\",\"x"), (3, message));
}

#[test]
fn a_field_over_the_limit_is_refused() {
    let mut text = b"id,a\n1,".to_vec();
    text.resize(text.len() + (8 << 20), b'x');
    assert_eq!(read(&text).map(|s| s.rows()), Ok(1));
    text.push(b'x');
    assert_eq!(refused(&text), (2, "Field 2 is longer than 8 MiB".into()));
    // Refused long before the end, however the rest looks.
    let endless = std::io::Read::chain(b"id,a\n1,".as_slice(), std::io::repeat(b'x'));
    let problems = Sheet::read(endless, Origin::User).expect_err("endless");
    assert_eq!(problems[0].message, "Field 2 is longer than 8 MiB");
}

#[test]
fn a_failing_reader_is_a_problem() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let problems = Sheet::read(Broken, Origin::User).expect_err("broken");
    assert_eq!(problems[0].message, "The file cannot be read: the disk is gone");
}

#[test]
fn characters_survive_the_edges_of_chunks() {
    // Four-byte characters at every offset around the chunk size.
    for shift in 0..5 {
        let long = "x".repeat((256 << 10) - 10 + shift) + &"🦀".repeat(5);
        let sheet = good(&format!("id,a\n1,{long}\n"));
        assert_eq!(sheet.cell(0, 1), long);
    }
}

#[test]
fn a_session_file_is_quoted_and_guarded() {
    let sheet = good("id,a,b\n1,=SUM(A1),\"say \"\"hi\"\"\"\n2,'quoted',-3\n");
    let mut out = Vec::new();
    sheet.write(&mut out, Origin::Session).expect("memory");
    let text = String::from_utf8(out).expect("UTF-8");
    assert_eq!(
        text,
        "id,a,b\n\"1\",\"'=SUM(A1)\",\"say \"\"hi\"\"\"\n\"2\",\"''quoted'\",\"'-3\"\n"
    );
    assert_eq!(Sheet::read(text.as_bytes(), Origin::Session), Ok(sheet));
}

#[test]
fn only_our_own_guard_comes_off() {
    let text = "id,a\n1,'tis\n2,'=x\n";
    assert_eq!(
        cells(&Sheet::read(text.as_bytes(), Origin::Session).expect("good")),
        [["1", "'tis"], ["2", "=x"]]
    );
    assert_eq!(cells(&good(text)), [["1", "'tis"], ["2", "'=x"]]);
}

/// Cells that make trouble: quotes, breaks, formula starts, wide characters, nothing at all.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[=+@'\t\r-]{1,2}[a-z\"',;\n\r=]{0,6}",
        "[a-z ,;\"\r\n\u{feff}é🦀一]{0,12}",
        "\\PC{0,8}",
    ]
}

fn sheets() -> impl Strategy<Value = Sheet> {
    (1_usize..5, 1_usize..6).prop_flat_map(|(columns, rows)| {
        let header = proptest::collection::hash_set(prop_oneof!["[a-z]{1,4}", cell()], columns);
        (
            header,
            proptest::collection::vec(proptest::collection::vec(cell(), columns), rows),
        )
            .prop_map(|(header, rows)| {
                let mut sheet = SheetBuilder::new(header.into_iter().collect());
                for row in &rows {
                    sheet.row(1, row.iter().map(String::as_str));
                }
                sheet.finish()
            })
    })
}

/// Tables with ids of a small pool, so that two of them share rows.
fn tasks() -> impl Strategy<Value = Sheet> {
    let columns = proptest::sample::subsequence(vec!["title", "deps", "status", "x"], 0..=4).prop_shuffle();
    let ids = proptest::sample::subsequence(vec!["a", "b", "c", "d", "e", "f"], 0..=6).prop_shuffle();
    (columns, ids, proptest::collection::vec("[a-c]{0,1}", 24)).prop_map(|(columns, ids, pool)| {
        let header = std::iter::once("id")
            .chain(columns.iter().copied())
            .map(str::to_owned)
            .collect();
        let mut sheet = SheetBuilder::new(header);
        for (n, id) in ids.iter().enumerate() {
            let own = (0..columns.len()).map(|c| pool[n * 4 + c].as_str());
            sheet.row(1, std::iter::once(*id).chain(own));
        }
        sheet.finish()
    })
}

/// The table without a column: what a patch that ignores the column promises.
fn blind(sheet: &Sheet, column: &str) -> Vec<Vec<String>> {
    let hidden = sheet.column(column);
    let shown = |row: usize| {
        sheet
            .row(row)
            .enumerate()
            .filter(|(c, _)| Some(*c) != hidden)
            .map(|(_, cell)| cell.to_owned())
            .collect()
    };
    (0..sheet.rows()).map(shown).collect()
}

proptest! {
    #[test]
    fn a_session_file_round_trips(sheet in sheets()) {
        let mut out = Vec::new();
        sheet.write(&mut out, Origin::Session).expect("memory");
        prop_assert_eq!(Sheet::read(out.as_slice(), Origin::Session), Ok(sheet));
    }

    #[test]
    fn a_plain_file_round_trips(sheet in sheets()) {
        let mut out = Vec::new();
        sheet.write(&mut out, Origin::User).expect("memory");
        prop_assert_eq!(Sheet::read(out.as_slice(), Origin::User), Ok(sheet));
    }

    #[test]
    fn a_patch_leads_from_one_table_to_the_other(a in tasks(), b in tasks()) {
        let patch = a.diff(&b, &[]);
        prop_assert_eq!(a.apply(&patch), b.clone());
        let json = serde_json::to_string(&patch).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Patch>(&json).expect("JSON"), patch);
        prop_assert!(b.diff(&b, &[]).is_empty());
    }

    #[test]
    fn a_patch_leaves_ignored_columns_alone(a in tasks(), b in tasks()) {
        let after = a.apply(&a.diff(&b, &["status"]));
        prop_assert_eq!(after.header(), b.header());
        prop_assert_eq!(blind(&after, "status"), blind(&b, "status"));
        if let (Some(status), Some(before)) = (after.column("status"), a.column("status")) {
            for row in 0..after.rows() {
                let old = (0..a.rows()).find(|r| a.cell(*r, 0) == after.cell(row, 0));
                prop_assert_eq!(after.cell(row, status), old.map_or("", |r| a.cell(r, before)));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        match Sheet::read(bytes.as_slice(), Origin::Session) {
            Ok(sheet) => prop_assert!(sheet.rows() > 0),
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }
}

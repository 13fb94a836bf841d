//! Packs: files of earlier versions that hold the logs or prompts of many short workers. This version only reads them.
//!
//! A folder has packs `short.1.pack`, `short.2.pack`, ... An entry is a line `== NAME LENGTH`, the text, and a newline.
//! An entry that a crash cut short ends its pack and is left out.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The entries of all packs of a folder: name and text.
pub fn read_packs(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut entries = Vec::new();
    for number in 1.. {
        match fs::read(folder.join(format!("short.{number}.pack"))) {
            Ok(pack) => {
                let mut rest = pack.as_slice();
                entries.extend(std::iter::from_fn(|| next_entry(&mut rest)));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
    }
    Ok(entries)
}

fn next_entry(rest: &mut &[u8]) -> Option<(String, Vec<u8>)> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&rest[..end]).ok()?;
    let (name, length) = head.strip_prefix("== ")?.rsplit_once(' ')?;
    let (text, after) = rest[end + 1..].split_at_checked(length.parse().ok()?)?;
    *rest = after.strip_prefix(b"\n")?;
    Some((name.to_owned(), text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_cut_anywhere_is_left_out_and_hides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let kept = "== a 16\n== b 3\nno entry\n\n";
        let all = format!("{kept}== b 9\ncut\nshort\n");
        fs::write(dir.path().join("short.2.pack"), "== c 0\n\n").unwrap();
        for end in kept.len()..all.len() {
            fs::write(dir.path().join("short.1.pack"), &all[..end]).unwrap();
            let expected = [
                ("a".to_owned(), b"== b 3\nno entry\n".to_vec()),
                ("c".to_owned(), Vec::new()),
            ];
            assert_eq!(read_packs(dir.path()).unwrap(), expected, "{end}");
        }
        fs::write(dir.path().join("short.1.pack"), &all).unwrap();
        assert_eq!(read_packs(dir.path()).unwrap().len(), 3);
    }
}

//! Tables as spreadsheets export them: UTF-16, or separated by semicolons or tabs. Converts tables with one
//! possible meaning, and reports ambiguous ones.

use std::fs::File;
use std::io::{self, Read, Seek};

/// Enough to detect the format of the header.
const HEAD: u64 = 64 << 10;

#[derive(Debug)]
pub enum ConvertError {
    Io(io::Error),
    Looks { like: &'static str, help: &'static str },
}

/// The table as UTF-8 with commas; `None` if it already is.
pub fn convert(mut file: &File) -> Result<Option<String>, ConvertError> {
    let mut bytes = Vec::new();
    file.take(HEAD)
        .read_to_end(&mut bytes)
        .map_err(ConvertError::Io)?;
    let utf16 = Utf16::of(&bytes);
    let is_usual = utf16.is_none() && separator(&first_line(&String::from_utf8_lossy(&bytes)))? == b',';
    let rewind = |mut file: &File| file.rewind().map_err(ConvertError::Io);
    if is_usual {
        rewind(file)?;
        return Ok(None);
    }
    file.read_to_end(&mut bytes).map_err(ConvertError::Io)?;
    let text = match utf16 {
        Some(order) => order.decode(&bytes)?,
        None => String::from_utf8(bytes).map_err(|_| ConvertError::Looks {
            like: "text in another encoding",
            help: "save it as UTF-8",
        })?,
    };
    match separator(&first_line(&text))? {
        b',' => Ok(Some(text)),
        other => Ok(Some(with_commas(&text, other as char))),
    }
}

fn first_line(text: &str) -> String {
    text.trim_start_matches('\u{feff}')
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// What separates the columns of a header.
fn separator(header: &str) -> Result<u8, ConvertError> {
    let names = |separator: char| {
        let mut found = header.split(separator).map(|name| name.trim().trim_matches('"'));
        found.any(|name| name.eq_ignore_ascii_case("id"))
    };
    let (commas, semicolons, tabs) = (header.contains(','), header.contains(';'), header.contains('\t'));
    match (commas, semicolons, tabs) {
        (false, true, false) if names(';') => Ok(b';'),
        (false, false, true) if names('\t') => Ok(b'\t'),
        (true, true, _) if names(';') && !names(',') => Err(ConvertError::Looks {
            like: "a table with semicolons between its columns, and commas in its header",
            help: "save it with commas between the columns, or rename the columns",
        }),
        (true, _, true) if names('\t') && !names(',') => Err(ConvertError::Looks {
            like: "a table with tabs between its columns, and commas in its header",
            help: "save it with commas between the columns, or rename the columns",
        }),
        _ => Ok(b','),
    }
}

/// The same cells on the same lines, with commas between them.
fn with_commas(text: &str, separator: char) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let (mut cell, mut quoted) = (String::new(), false);
    let finish = |cell: &mut String| {
        let is_plain = cell.starts_with('"') || !cell.contains([',', '"']);
        let whole = if is_plain {
            cell.clone()
        } else {
            format!("\"{}\"", cell.replace('"', "\"\""))
        };
        cell.clear();
        whole
    };
    for c in text.trim_start_matches('\u{feff}').chars() {
        match c {
            '"' if quoted || cell.is_empty() || cell.starts_with('"') => {
                quoted = !quoted;
                cell.push(c);
            }
            c if !quoted && (c == separator || c == '\n' || c == '\r') => {
                out += &finish(&mut cell);
                out.push(if c == separator { ',' } else { c });
            }
            c => cell.push(c),
        }
    }
    out + &finish(&mut cell)
}

/// The order of the bytes in a UTF-16 text.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Utf16 {
    Little,
    Big,
}

impl Utf16 {
    /// By its mark, or by the zero bytes that ASCII has in it.
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0xff, 0xfe, ..] => Some(Self::Little),
            [0xfe, 0xff, ..] => Some(Self::Big),
            [first, 0, second, 0, ..] if *first != 0 && *second != 0 => Some(Self::Little),
            [0, first, 0, second, ..] if *first != 0 && *second != 0 => Some(Self::Big),
            _ => None,
        }
    }

    fn decode(self, bytes: &[u8]) -> Result<String, ConvertError> {
        let unit = |pair: &[u8]| match (self, pair) {
            (Self::Little, [low, high]) => u16::from_le_bytes([*low, *high]),
            (Self::Big, [high, low]) => u16::from_be_bytes([*high, *low]),
            // Half a character at the end.
            _ => 0xfffd,
        };
        let text: Result<String, _> = char::decode_utf16(bytes.chunks(2).map(unit)).collect();
        let text = text.map_err(|_| ConvertError::Looks {
            like: "damaged UTF-16",
            help: "save it again as UTF-8",
        })?;
        Ok(text.trim_start_matches('\u{feff}').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn converted(bytes: &[u8]) -> Result<Option<String>, ConvertError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        convert(&file)
    }

    fn utf16(text: &str, order: Utf16) -> Vec<u8> {
        let bytes = |unit: u16| match order {
            Utf16::Little => unit.to_le_bytes(),
            Utf16::Big => unit.to_be_bytes(),
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn what_has_one_meaning_is_converted() {
        let comma = "id,description,deps\na,\"one, two\",\nb,ü,a\n";
        assert_eq!(converted(comma.as_bytes()).unwrap(), None);
        assert_eq!(converted(b"id\na\n").unwrap(), None, "one column");
        assert_eq!(converted(b"id,a;b\n").unwrap(), None, "a column named `a;b`");
        let tabs = "id\tdescription\tdeps\na\tone, two\t\nb\tü\ta\n";
        let semicolons =
            "\u{feff}id;description;deps\r\na;\"one; \"\"two\"\"\nthree\";\r\nb;2\" wide;\"a;c\"";
        assert_eq!(converted(tabs.as_bytes()).unwrap().as_deref(), Some(comma));
        assert_eq!(
            converted(semicolons.as_bytes()).unwrap().as_deref(),
            Some("id,description,deps\r\na,\"one; \"\"two\"\"\nthree\",\r\nb,\"2\"\" wide\",\"a;c\"")
        );
        for order in [Utf16::Little, Utf16::Big] {
            for text in [comma.to_owned(), format!("\u{feff}{comma}"), tabs.to_owned()] {
                let found = converted(&utf16(&text, order)).unwrap();
                assert_eq!(found.as_deref(), Some(comma), "{order:?} {text}");
            }
        }
    }

    #[test]
    fn what_has_no_clear_meaning_is_named() {
        for (bytes, like) in [
            (&b"id;what, why;deps\na;b;c\n"[..], "semicolons"),
            (b"id\twhat, why\na\tb\n", "tabs"),
            (b"id;description\na;\xff\xfe\n", "another encoding"),
            (b"\xff\xfei\0\x00\xd8i\0", "damaged UTF-16"),
        ] {
            match converted(bytes) {
                Err(ConvertError::Looks { like: found, .. }) => assert!(found.contains(like), "{found}"),
                other => panic!("{like}: {other:?}"),
            }
        }
    }
}

//! Makes the output of strangers safe to show: no escape sequence, title or control character reaches a
//! terminal.

use serde_json::Value;

/// What is left of `bytes` when only text remains: printable characters, tabs and newlines.
///
/// A lone carriage return becomes a newline. Invisible marks that reorder text are dropped, because they make
/// a line look like another one. A sequence that is not ended swallows no more than its line.
pub fn sanitise(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            '\u{1b}' => match chars.peek() {
                Some('[') => {
                    chars.next();
                    skip_control_sequence(&mut chars);
                }
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                Some(' '..='/') => skip_intermediates(&mut chars),
                Some('0'..='~') => {
                    chars.next();
                }
                _ => {}
            },
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            c if c.is_control() || reorders(c) => {}
            c => clean.push(c),
        }
    }
    clean
}

/// The value with every text in it sanitised, names of fields included.
pub fn sanitise_value(value: Value) -> Value {
    let text = |text: String| sanitise(text.as_bytes());
    match value {
        Value::String(old) => Value::String(text(old)),
        Value::Array(items) => Value::Array(items.into_iter().map(sanitise_value).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(name, value)| (text(name), sanitise_value(value)))
                    .collect(),
            )
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

type Chars<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// Parameters and intermediates up to the final character.
fn skip_control_sequence(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

fn skip_intermediates(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
    chars.next_if(|c| matches!(c, '0'..='~'));
}

/// Titles, links and device strings, up to their terminator or the end of the line.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if(|c| *c == '\\');
                return;
            }
            _ => {}
        }
    }
}

/// Whether an invisible mark changes the order in which text is shown.
pub(crate) fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_text_remains() {
        for (raw, clean) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;evil title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;never ended\nnext", "\nnext"),
            ("\u{1b}Pdevice\u{1b}\\x", "x"),
            ("\u{1b}(Bx\u{1b}cy\u{1b}7z", "xyz"),
            ("\u{9b}2Jx\u{9d}title\u{9c}y", "xy"),
            ("10%\r20%\r\ndone", "10%\n20%\ndone"),
            ("bell\u{7} nul\0 back\u{8} del\u{7f}", "bell nul back del"),
            ("a\u{202e}b\u{2066}c", "abc"),
            ("ends with escape\u{1b}", "ends with escape"),
            ("\u{1b}\u{1b}[31mx", "x"),
            ("中文 ✓", "中文 ✓"),
        ] {
            assert_eq!(sanitise(raw.as_bytes()), clean, "{raw:?}");
        }
        assert_eq!(sanitise(b"a\xff\x9bb"), "a\u{fffd}\u{fffd}b");
    }

    proptest! {
        #[test]
        fn no_control_character_gets_through(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(!sanitise(&bytes).chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}

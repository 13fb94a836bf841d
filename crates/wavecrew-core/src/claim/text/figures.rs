//! Figures of a text that contradict each other.

/// A share such as `38 of 120 searches (75 %)` whose percentage does not fit its counts, as written.
pub(crate) fn wrong_share(text: &str) -> Option<&str> {
    const OF: [&str; 4] = [" out of ", " of ", " von ", "/"];
    /// Words between counts and percentage that state the same share.
    const SAME: [&str; 9] = [
        "(", "=", "≈", "which is", "that is", "i.e.", "or", "about", "das sind",
    ];
    text.match_indices('%').find_map(|(end, _)| {
        let before = text[..end].trim_end();
        let (before, percent) = number_at_end(before)?;
        let link = before.trim_end();
        let is_same = SAME.iter().any(|word| {
            link.strip_suffix(word).is_some_and(|rest| {
                !word.ends_with(char::is_alphabetic) || !rest.ends_with(char::is_alphanumeric)
            })
        });
        let sentence = link.rfind(['.', ';', '!', '?', '\n']).map_or(0, |at| at + 1);
        // `i.e.` does not end a sentence.
        let sentence = if link.ends_with("i.e.") { 0 } else { sentence };
        let statement = &link[sentence..];
        let last = statement.rfind(|c: char| c.is_ascii_digit())? + 1;
        let (head, whole) = number_at_end(&statement[..last])?;
        let head = OF.iter().find_map(|of| head.strip_suffix(of))?;
        let (_, part) = number_at_end(head)?;
        let start = sentence + head.len() - head.trim_start().len();
        let share = part / whole * 100.0;
        let is_wrong = is_same && whole > 0.0 && part <= whole && (share - percent).abs() > 2.0;
        is_wrong.then(|| text[start..=end].trim())
    })
}

/// The number that a text ends with, and what is before it.
fn number_at_end(text: &str) -> Option<(&str, f64)> {
    let start = text
        .rfind(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let digits = text[start..].trim_start_matches(['.', ',']);
    let at = text.len() - digits.len();
    // `1,000` is a thousand, `7,5` is seven and a half.
    let plain = match digits.rsplit_once(',') {
        Some((_, rest)) if rest.len() == 3 => digits.replace(',', ""),
        _ => digits.replace(',', "."),
    };
    Some((&text[..at], plain.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::wrong_share;

    #[test]
    fn shares_and_counts() {
        for text in [
            "In May, 38 of 120 searches failed, which is 75 % of them.",
            "38 of 120 searches (75%) failed",
            "3 out of 4 calls, i.e. 50 %",
        ] {
            assert!(wrong_share(text).is_some(), "{text}");
        }
        for text in [
            "38 of 120 searches failed, which is 32 % of them.",
            "1,200 of 4,800 notes (25 %)",
            "9 of 10 searches end at once; we want 100 %",
            "3 of 4 teams want a coverage of 80 %",
            "In 2024 it was (75 %)",
            "2/3 of the notes (66.7 %)",
        ] {
            assert_eq!(wrong_share(text), None, "{text}");
        }
    }
}

//! Words in texts of people and workers. Knows no word of any subject.

/// Whether the text contains the whole word, in the same letters.
pub fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        outside(text[..at].chars().next_back()) && outside(text[at + word.len()..].chars().next())
    })
}

/// Whether a text is the word, in any letters and in its other forms: `Approved`.
pub fn is_form_of(text: &str, word: &str) -> bool {
    let start = text
        .get(..word.len())
        .filter(|start| start.eq_ignore_ascii_case(word));
    start.is_some()
        && matches!(
            text[word.len()..].to_lowercase().as_str(),
            "" | "d" | "s" | "ed" | "ly"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_whole() {
        assert!(has_word("given a list", "given") && !has_word("forgiven", "given"));
    }

    #[test]
    fn a_word_has_forms() {
        assert!(is_form_of("Approved", "approve") && !is_form_of("approval", "approve"));
        assert!(
            !is_form_of("\u{e4}\u{e4}", "app"),
            "a border of letters is no border of bytes"
        );
    }
}

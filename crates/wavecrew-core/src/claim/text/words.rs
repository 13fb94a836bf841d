//! Words of a text. Scripts without spaces are cut into short pieces, so that counts mean the same in all languages.

use std::collections::BTreeSet;

/// Words in lower case.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut piece = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        let len = letters_per_word(c);
        if len > 0 {
            flush(&mut word, &mut words);
            piece.push(c);
            if piece.chars().count() >= len {
                flush(&mut piece, &mut words);
            }
            continue;
        }
        flush(&mut piece, &mut words);
        if c.is_alphanumeric() || (matches!(c, '\'' | '’' | '-' | '_') && !word.is_empty()) {
            word.push(c);
        } else {
            flush(&mut word, &mut words);
        }
    }
    flush(&mut word, &mut words);
    flush(&mut piece, &mut words);
    words
}

fn flush(word: &mut String, words: &mut Vec<String>) {
    let bare = word.trim_end_matches(['\'', '’', '-', '_']);
    if !bare.is_empty() {
        words.push(bare.to_owned());
    }
    word.clear();
}

/// For scripts without spaces, how many letters are about one word; 0 for others.
fn letters_per_word(c: char) -> usize {
    match c {
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => 2,
        '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}' => 4,
        _ => 0,
    }
}

pub(crate) fn word_count(text: &str) -> usize {
    words(text).len()
}

/// All sequences of `n` words.
pub(crate) fn shingles(words: &[String], n: usize) -> BTreeSet<String> {
    words.windows(n).map(|window| window.join(" ")).collect()
}

/// How much of two texts is the same, from 0 to 1.
pub(crate) fn similarity(a: &[String], b: &[String]) -> f64 {
    let (a, b) = (shingles(a, 2), shingles(b, 2));
    let all = a.union(&b).count();
    if all == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = a.intersection(&b).count() as f64 / all as f64;
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_any_script() {
        for (text, expected) in [
            ("Don't re-run `tag 1`!", &["don't", "re-run", "tag", "1"][..]),
            ("按标签查找", &["按标", "签查", "找"]),
            ("タグ tag", &["タグ", "tag"]),
            ("...", &[]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        let same = words("a b c d");
        assert!(similarity(&same, &same) > 0.99 && similarity(&same, &words("x y")) < 0.01);
    }
}

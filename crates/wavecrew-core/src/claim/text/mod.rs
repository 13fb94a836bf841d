//! Properties of a text in any language: its words, whether it is a placeholder, and whether it is specific.
//! Knows nothing of documents.

mod figures;
mod filler;
mod particular;
mod words;

pub(super) use figures::wrong_share;
pub(crate) use filler::{Gap, admission, gap, hands_over, slot};
pub(super) use filler::{defers, is_nothing, only_defers};
pub(crate) use particular::{evades, particulars, particulars_beside, particulars_without, without_ids};
pub(super) use particular::{is_english, names_a_place, only_asks, only_hopes, shares_word};
pub(crate) use words::words;
pub(super) use words::{shingles, similarity, word_count};

/// A text in backticks, on one line and shortened.
pub(crate) fn quoted(text: &str) -> String {
    const MAX: usize = 80;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(MAX).collect();
    let end = if short.len() < line.len() { "…" } else { "" };
    super::quoted_path(&format!("{}{end}", short.replace('`', "'")))
}

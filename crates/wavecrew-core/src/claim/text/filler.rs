//! Recognises placeholders and filler text, in several languages.

use super::{word_count, words};

/// Why a text does not count as content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gap {
    /// All of it is a placeholder.
    Placeholder,
    /// Filler: dummy text, or text in which a model describes itself.
    Filler,
}

/// Markers that do not count as text when they are alone or first.
const MARKERS: [&str; 10] = [
    "tbd",
    "tba",
    "tbc",
    "todo",
    "to-do",
    "fixme",
    "xxx",
    "wip",
    "placeholder",
    "???",
];
/// Phrases that announce, alone or in a short text, that something is to come.
const TO_COME: [&str; 64] = [
    "to be decided",
    "to be defined",
    "to be determined",
    "to be done",
    "to be added",
    "to be written",
    "to be completed",
    "to be confirmed",
    "to be announced",
    "to be filled",
    "to be provided",
    "to be described",
    "to be clarified",
    "to be specified",
    "to be discussed",
    "coming soon",
    "will be added",
    "will be filled",
    "will be written",
    "will be defined",
    "will be decided",
    "will be provided",
    "will be determined",
    "will be described later",
    "not yet defined",
    "not yet written",
    "none yet",
    "not decided",
    "content goes here",
    "text goes here",
    "goes here",
    "insert text",
    "fill in",
    "待定",
    "待补充",
    "待完成",
    "待办",
    "待填写",
    "待确认",
    "未定",
    "稍后补充",
    "后续补充",
    "以后补充",
    "追って",
    "準備中",
    "未記入",
    "추후",
    "미정",
    "wird noch",
    "noch offen",
    "noch zu",
    "folgt später",
    "zu ergänzen",
    "zu definieren",
    "por definir",
    "por determinar",
    "pendiente de",
    "à définir",
    "à compléter",
    "à déterminer",
    "a definir",
    "da definire",
    "будет добавлено",
    "подлежит уточнению",
];
/// Longer texts have content besides such an announcement.
const MAX_TO_COME: usize = 22;
const DUMMY: [&str; 20] = [
    "lorem",
    "ipsum",
    "dolor",
    "amet",
    "consectetur",
    "adipiscing",
    "eiusmod",
    "incididunt",
    "irure",
    "voluptate",
    "cillum",
    "fugiat",
    "pariatur",
    "excepteur",
    "asdf",
    "qwer",
    "zxcv",
    "qwerty",
    "blah",
    "foobar",
];
const OF_A_MODEL: [&str; 6] = [
    "as an ai",
    "language model",
    "i cannot access",
    "i don't have access",
    "i do not have access",
    "i'm sorry, but",
];
/// Words in square brackets that request a text.
const ASKING: [&str; 16] = [
    "insert",
    "your",
    "describe",
    "add",
    "enter",
    "fill",
    "list",
    "tbd",
    "todo",
    "placeholder",
    "name of",
    "write",
    "specify",
    "e.g",
    "user group",
    "please",
];
const NOTHING: [&str; 17] = [
    "n/a",
    "na",
    "none",
    "nothing",
    "not applicable",
    "-",
    "–",
    "—",
    "see above",
    "see below",
    "as above",
    "无",
    "暂无",
    "なし",
    "keine",
    "aucun",
    "ninguno",
];

/// Why the text does not count, if so.
pub(crate) fn gap(text: &str) -> Option<Gap> {
    let lower = text.to_lowercase();
    let bare = lower.trim_matches(|c: char| !c.is_alphanumeric() && c != '?');
    let count = word_count(&lower);
    let dummy = words(&lower)
        .iter()
        .filter(|word| DUMMY.contains(&word.as_str()))
        .count();
    if lower.contains("lorem ipsum") || dummy * 3 >= count.max(1) || dummy >= 4 {
        return Some(Gap::Filler);
    }
    if OF_A_MODEL.iter().any(|phrase| lower.contains(phrase)) {
        return Some(Gap::Filler);
    }
    if bare.trim_matches('?').is_empty() {
        let stands_for_text = ["...", "…", "??", "__"].iter().any(|mark| lower.contains(mark));
        return stands_for_text.then_some(Gap::Placeholder);
    }
    let after_marker = MARKERS.iter().find_map(|marker| bare.strip_prefix(marker));
    let by_marker = after_marker.is_some_and(|rest| {
        rest.is_empty()
            || (rest.starts_with([':', '.', ';', ',', '?', '!', ')', '-', '—']) && count < 8)
            || (rest.starts_with(' ') && count < 6 && MARKERS.iter().any(|m| rest.contains(m)))
    });
    let ends_so = count < 6
        && MARKERS
            .iter()
            .any(|marker| bare.ends_with(&format!(": {marker}")));
    let to_come = count <= MAX_TO_COME && TO_COME.iter().any(|phrase| lower.contains(phrase));
    let short_promise = count <= MAX_TO_COME && promise(text);
    (by_marker || ends_so || to_come || short_promise || is_form(text)).then_some(Gap::Placeholder)
}

/// `As a ..., I want ..., so that ...`: more than one gap where words belong.
fn is_form(text: &str) -> bool {
    let gaps = text.replace('…', "...").matches("...").count();
    gaps >= 2 && word_count(text) <= gaps * 5
}

/// Whether it only states that there is nothing, or that the content is elsewhere.
pub(crate) fn is_nothing(text: &str) -> bool {
    let lower = text
        .trim()
        .trim_matches(['*', '_', '`', '.', '(', ')', ' '])
        .to_lowercase();
    NOTHING.contains(&lower.as_str())
}

/// The author announces future work. Statements about the finished product do not count.
pub(crate) fn promise(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let first = [
        "i will ",
        "i'll ",
        "we will ",
        "we'll ",
        "i am going to ",
        "next, i will ",
        "next i will ",
        "我将",
        "我会稍后",
        "ich werde ",
    ];
    first.iter().any(|start| lower.starts_with(start))
}

/// Whether a sentence leaves what it is about to others or to later: `shall be refined in the next iteration`.
pub(crate) fn defers(text: &str) -> bool {
    const OPEN: &str = " refined clarified detailed agreed discussed specified finalised finalized decided defined \
determined elaborated aligned ";
    const TO: &str = " shall will should must can may to ";
    const LATER: [&str; 8] = [
        "during implementation",
        "next iteration",
        "later",
        "stakeholder",
        "together",
        "with the team",
        "in the future",
        "as needed",
    ];
    let is_in = |list: &str, word: &str| list.contains(&format!(" {word} "));
    text.to_lowercase().split(['.', ';', '\n', '|']).any(|sentence| {
        let words = super::words(sentence);
        let is_open = words
            .windows(3)
            .any(|w| is_in(TO, &w[0]) && w[1] == "be" && is_in(OPEN, &w[2]));
        is_open && LATER.iter().any(|later| sentence.contains(later))
    })
}

/// Whether all sentences do, and none says more.
pub(crate) fn only_defers(text: &str) -> bool {
    let mut sentences = text
        .split(['.', ';', '\n', '|'])
        .filter(|sentence| word_count(sentence) > 2)
        .peekable();
    sentences.peek().is_some() && sentences.all(defers)
}

/// A slot of a template: `{{goal}}`, `[insert ...]`. The text is without code.
pub(crate) fn slot(text: &str) -> Option<&str> {
    let between = |open: &str, close: &str| {
        let start = text.find(open)?;
        let end = start + text[start..].find(close)? + close.len();
        Some(&text[start..end])
    };
    let braces = between("{{", "}}").or_else(|| {
        between("{", "}").filter(|slot| {
            let inner = &slot[1..slot.len() - 1];
            !inner.is_empty()
                && inner
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
        })
    });
    let angles = || {
        between("<", ">").filter(|slot| {
            let inner = &slot[1..slot.len() - 1];
            let before = text[..text.find('<').unwrap_or(0)].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric())
                && !inner.is_empty()
                && inner
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
                && inner.chars().any(char::is_lowercase)
        })
    };
    let square = || {
        between("[", "]").filter(|slot| {
            let inner = slot[1..slot.len() - 1].to_lowercase();
            ASKING.iter().any(|word| inner.starts_with(word))
        })
    };
    braces.or_else(angles).or_else(square)
}

/// Where a text states that the work itself was not done.
pub(crate) fn admission(text: &str) -> Option<&'static str> {
    const ADMISSIONS: [&str; 26] = [
        "i could not",
        "i couldn't",
        "i was not able",
        "i was unable",
        "i am unable",
        "i'm unable",
        "i wasn't able",
        "we could not",
        "we were not able",
        "not able to",
        "not implemented",
        "not been implemented",
        "only a stub",
        "is a stub",
        "stub was",
        "mock data",
        "simulated the",
        "simulated result",
        "was not opened",
        "dummy implementation",
        "did not read",
        "did not run",
        "haven't run",
        "have not run",
        "without reading",
        "not done yet",
    ];
    let lower = text.to_lowercase();
    ADMISSIONS.into_iter().find(|phrase| lower.contains(phrase))
}

/// Where a text asks somebody else to do the work.
pub(crate) fn hands_over(text: &str) -> bool {
    const WHO: [&str; 11] = [
        "the user should ",
        "the user can ",
        "the user needs to ",
        "the user must ",
        "you should ",
        "you can ",
        "you need to ",
        "you have to ",
        "please ",
        "somebody should ",
        "someone should ",
    ];
    const WHAT: [&str; 16] = [
        "run", "execute", "check", "look", "open", "verify", "count", "list", "test", "use", "call", "ask",
        "see", "read", "inspect", "do",
    ];
    let lower = text.trim().to_lowercase();
    WHO.iter().any(|who| {
        let first = lower.strip_prefix(who).and_then(|rest| rest.split(' ').next());
        first.is_some_and(|first| WHAT.contains(&first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_is_handed_over() {
        for text in [
            "The user should run `ss -tlnp` on the host.",
            "Please check the log yourself.",
            "You can list them with ls.",
        ] {
            assert!(hands_over(text), "{text}");
        }
        for text in [
            "The user should be asked twice; the form asks once.",
            "3 ports; you can close 8081",
            "Please-wait pages are cached.",
        ] {
            assert!(!hands_over(text), "{text}");
        }
    }

    #[test]
    fn texts_that_defer() {
        for text in [
            "The details of the export command shall be refined during implementation.",
            "Suitable figures can be agreed on together.",
        ] {
            assert!(defers(text), "{text}");
        }
        for text in [
            "Each note can be defined by one word.",
            "The order must be decided by the number; later notes come last.",
            "Settled together with the team of the store.",
        ] {
            assert!(!defers(text), "{text}");
        }
        assert!(only_defers(
            "It shall be refined later. The rest can be agreed together."
        ));
        assert!(!only_defers(
            "It shall be refined later. The header is `number,text`."
        ));
    }

    #[test]
    fn texts_that_are_none() {
        for text in [
            "TBD",
            "*TBD.*",
            "To be defined.",
            "待定",
            "Wird noch ergänzt.",
            "???",
            "TODO: write this",
            "As a ..., I want ..., so that ...",
            "I will write it down later.",
            "XXX FIXME: describe the problem",
            "Goals: TBD",
            "…",
        ] {
            assert_eq!(gap(text), Some(Gap::Placeholder), "{text}");
        }
        for text in [
            "Lorem ipsum dolor",
            "asdf asdf qwer",
            "As an AI language model, I cannot do this.",
        ] {
            assert_eq!(gap(text), Some(Gap::Filler), "{text}");
        }
        for text in [
            "TODO list of the shop",
            "Writers keep TODO lists as notes, and cannot tell a TODO note from a recipe.",
            "Are tags shared between notebooks? TBD; default: no.",
            "A note has a set of tags.",
            "按标签查找笔记",
            "3",
        ] {
            assert_eq!(gap(text), None, "{text}");
        }
        for (text, expected) in [
            ("- <user group 1>: wants", Some("<user group 1>")),
            ("{{goal_1}}", Some("{{goal_1}}")),
            ("[Insert problem here]", Some("[Insert problem here]")),
            ("a Vec<Tag> of tags", None),
            ("a [link](x) and [1]", None),
            ("{\"a\": 1}", None),
        ] {
            assert_eq!(slot(text), expected, "{text}");
        }
    }
}

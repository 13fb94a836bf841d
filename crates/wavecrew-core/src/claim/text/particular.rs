//! Whether a text is specific, or would fit any document.

use super::words;

/// Function words, which name nothing.
const BINDING: &str = " a an the and or but if then else of in on at by for from to into with without as is are was were be been being it its this that these those there here \
has have had do does did not no nor so than too very can could may might must shall should will would i we you he she they them our your my their his her us me \
which who whom whose what when where why how all any each every some more most other such only own same just also both either neither one about after before over under up down out off \
again further once during between through against because while until per via let get got make made makes given yet cannot ";

/// Words that fit any subject: praise, promises, and words for the form of a document.
const GENERAL: &str = " works work working worked well good great nice fine ok okay perfect perfectly excellent correct correctly proper properly expected expectations successful successfully success \
satisfied satisfactory satisfaction satisfy happy easy easily simple fast quick quickly enough complete completed completely completeness done finished ready met meets meet fulfilled implemented implement implementation implements \
feature features requirement requirements functionality functional function functions system systems app application software product solution solutions platform users user customer customers stakeholder stakeholders people \
everything nothing anything something none lgtm looks look looking seems approved approve pass passed problem problems issue issues flaw flaws error errors quality high robust scalable innovative modern efficient efficiency best practices practice proven \
various relevant necessary appropriate standard suitable possible available current future goal goals vision section sections document documents content text describes describe description consists contains contain provides provide improve improved improves improvement better could \
update updated change changes changed code add adds added fix fixes fixed test tests testing task tasks step steps story stories epic epics part parts item thing things stuff refactor clean cleanup use used uses using \
technologies technology components component entities entity interfaces interface decisions decision follow follows follows interact delivers deliver delight delights increase reduce costs growth enable all-relevant end business partners administrators end-customers experience \
found findings finding identified identify great-job job very overall highest much many level yes lot lots none-found na needed need needs want wants like likes tester testers testable carry criteria criterion acceptance find finds satisfied-with experience-best ability able \
described requested request intended desired structure structured structures naming readable readability maintainable maintainability clean cleaner tidy elegant solid comprehensive thorough thoroughly \
full fully potential seamless seamlessly world-class best-in-class empower empowers unlock leverage leverages delightful frictionless future-proof cutting-edge state-of-the-art holistic significant measurable impact engagement exceed exceeds outstanding ";

/// The same in other languages.
const GENERAL_PHRASES: [&str; 12] = [
    "正常工作",
    "工作正常",
    "运行良好",
    "符合预期",
    "没有问题",
    "一切正常",
    "funktioniert",
    "wie erwartet",
    "funciona",
    "fonctionne",
    "correctamente",
    "正しく動作",
];

/// How many words of a text are specific. Code, numbers and file names count.
pub(crate) fn particulars(text: &str) -> usize {
    let is_common = |word: &str| {
        let spaced = format!(" {word} ");
        BINDING.contains(&spaced) || GENERAL.contains(&spaced)
    };
    let code = text.matches('`').count() / 2;
    let text = GENERAL_PHRASES
        .iter()
        .fold(text.to_lowercase(), |text, phrase| text.replace(phrase, " "));
    let mut found: Vec<String> = words(&text);
    found.retain(|word| word.chars().count() > 1);
    found.retain(|word| !is_common(word));
    found.sort();
    found.dedup();
    found.len() + code
}

/// The same without words of the request: a text that only rearranges these has no content of its own.
pub(crate) fn particulars_beside(text: &str, request: &[String]) -> usize {
    let own = words(&text.to_lowercase());
    let of_request: Vec<&String> = own
        .iter()
        .filter(|word| shares_word(std::slice::from_ref(word), request))
        .collect();
    let rest: Vec<&str> = own
        .iter()
        .filter(|word| !of_request.contains(word))
        .map(String::as_str)
        .collect();
    particulars(&rest.join(" ")) + text.matches('`').count() / 2
}

/// The text without ids such as `FR-001`: a criterion that names only its own requirement names nothing.
pub(crate) fn without_ids(text: &str) -> String {
    let is_id = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        bare.rsplit_once('-').is_some_and(|(name, number)| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphabetic())
                && !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit())
        })
    };
    let kept: Vec<&str> = text.split_whitespace().filter(|word| !is_id(word)).collect();
    kept.join(" ")
}

/// Whether a text is probably English: it has the commonest English words.
pub(crate) fn is_english(words: &[String]) -> bool {
    const COMMONEST: &str = " the a an is are of and to in by for with that be or it as on not ";
    let common = words
        .iter()
        .filter(|word| COMMONEST.contains(&format!(" {word} ")))
        .count();
    words.len() >= 4 && common * 8 >= words.len()
}

/// Whether the two texts share a specific word, in any of its forms.
pub(crate) fn shares_word(text: &[String], names: &[String]) -> bool {
    let is_name = |word: &&String| word.chars().count() >= 3 && !BINDING.contains(&format!(" {word} "));
    names.iter().filter(is_name).any(|name| {
        text.iter().filter(is_name).any(|word| {
            let (short, long) = if name.len() < word.len() {
                (name, word)
            } else {
                (word, name)
            };
            let stem = short
                .strip_suffix("ing")
                .or(short.strip_suffix("ed"))
                .or(short.strip_suffix('s'));
            let stem = stem.filter(|stem| stem.len() >= 3).unwrap_or(short);
            long.starts_with(stem)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particular_texts() {
        for (text, expected) in [
            ("it works well", 0),
            ("The user is satisfied with the feature.", 0),
            ("`tag 1 shop` prints `tagged 1`", 6),
            ("the tag is kept", 2),
            ("make test passes", 1),
            ("标签仍然存在", 3),
        ] {
            assert_eq!(particulars(text), expected, "{text}");
        }
        let request = words("Tag notes");
        for (text, expected) in [
            ("Notes have no tags yet, so notes cannot be tagged.", 0),
            ("Users who would like to tag their notes.", 0),
            ("A writer finds every note about a subject.", 2),
            ("`tag 1` keeps a tag", 2),
        ] {
            assert_eq!(particulars_beside(text, &request), expected, "{text}");
        }
        assert_eq!(
            without_ids("when FR-001 is used, then TASK-2 re-runs"),
            "when is used, then re-runs"
        );
        assert!(shares_word(&words("Tagging is slow"), &words("tag notes")));
        assert!(!shares_word(&words("We deliver value"), &words("tag notes")));
        assert!(is_english(&words("The store keeps the tags of a note")));
        assert!(!is_english(&words(
            "Heute findet man eine Notiz nur über ein Wort"
        )));
    }
}

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
    particulars_without(text, "")
}

/// The same without further words, which are general only where this text is.
pub(crate) fn particulars_without(text: &str, general: &str) -> usize {
    let is_common = |word: &str| {
        let spaced = format!(" {word} ");
        [BINDING, GENERAL, general]
            .iter()
            .any(|list| list.contains(&spaced))
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

/// Whether a text names something that can be looked up: an id, a file, a number, a quotation, code.
pub(crate) fn names_a_place(text: &str) -> bool {
    let is_file = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let (stem, ending) = bare.rsplit_once('.').unwrap_or_default();
        !stem.is_empty() && (1..=4).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_lowercase())
    };
    text.contains(|c: char| c.is_ascii_digit() || matches!(c, '`' | '"' | '“' | '„' | '«' | '「' | '/'))
        || text.split_whitespace().any(is_file)
}

/// Whether half of the sentences or more are questions, the others leave the answers to somebody else, and nothing can be
/// looked up.
pub(crate) fn only_asks(text: &str) -> bool {
    const OPEN: [&str; 10] = [
        "depends on",
        "depend on",
        "would have to",
        "will have to",
        "can be agreed",
        "to be agreed",
        "for the stakeholders",
        "up to the",
        "has to be found out",
        "remains open",
    ];
    let sentences = text.matches(['.', '!', '?', '。', '？', '\n']).count().max(1);
    let questions = text.matches(['?', '？']).count();
    let lower = text.to_lowercase();
    questions > 0
        && questions * 2 >= sentences
        && OPEN.iter().any(|phrase| lower.contains(phrase))
        && !names_a_place(text)
}

/// Whether every sentence or line only hopes: it has words such as `as good as possible`, and nothing that could be missed.
pub(crate) fn only_hopes(text: &str) -> bool {
    const HOPING: [&str; 9] = [
        " reasonable",
        " as good as possible",
        " as well as possible",
        " as fast as possible",
        " as easy as possible",
        " where possible",
        " most users",
        " adequate",
        " sufficiently",
    ];
    let mut sentences = text
        .split(['.', ';', '\n'])
        .filter(|sentence| words(sentence).len() > 2)
        .peekable();
    sentences.peek().is_some()
        && !names_a_place(text)
        && sentences.all(|sentence| {
            let sentence = sentence.to_lowercase();
            HOPING.iter().any(|phrase| sentence.contains(phrase))
        })
}

/// Whether a task asks for a figure, and an English answer has none, in whichever form.
pub(crate) fn evades(answer: &str, task: &str) -> bool {
    const ASKING: [&str; 6] = [
        "how fast",
        "how many",
        "how much",
        "how long",
        "how often",
        "how large",
    ];
    const FIGURES: &str = " one two three four five six seven eight nine ten dozen hundred thousand million half third \
quarter once twice double doubles none no nothing never not zero all every both constant constantly level unchanged \
same equal daily hourly weekly monthly yearly immediately ";
    let asked = words(task);
    let padded = format!(" {}", answer.to_lowercase());
    let own = words(&padded.replace(" no longer", "").replace(" one of", ""));
    let is_figure = |word: &String| {
        (FIGURES.contains(&format!(" {word} ")) && !asked.contains(word))
            || word.contains(|c: char| c.is_ascii_digit())
    };
    let task = task.to_lowercase();
    is_english(&own) && ASKING.iter().any(|words| task.contains(words)) && !own.iter().any(is_figure)
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
        assert!(names_a_place("see architecture.md") && !names_a_place("excellent linkage everywhere."));
        assert!(only_asks("Who exports notes? It depends on the context."));
        for text in [
            "Who exports notes? Accountants at the end of a month.",
            "Why can nobody sort notes? They live in one program.",
            "Who exports notes? It depends on `export`. See brief.md.",
        ] {
            assert!(!only_asks(text), "{text}");
        }
        assert!(only_hopes(
            "Notes are exported in a reasonable time.\nThe file is as good as possible"
        ));
        for text in [
            "Notes are exported in a reasonable time.\nCommas come back unchanged.",
            "A reasonable time: 2 s.",
            "ok",
        ] {
            assert!(!only_hopes(text), "{text}");
        }
        let task = "Find out which of the three services leaks memory and how fast";
        for (answer, expected) in [
            ("One of the three services leaks memory at some rate.", true),
            (
                "A leak is when a program keeps memory that it no longer needs.",
                true,
            ),
            ("The billing service leaks about a third of it per day.", false),
            ("There is a leak of 14 MB per hour.", false),
            ("None of the services leaks any memory.", false),
            ("billing", false),
        ] {
            assert_eq!(evades(answer, task), expected, "{answer}");
        }
        let which = "Find out which of the three services leaks memory";
        assert!(!evades(
            "It is the billing service, because its cache is never emptied.",
            which
        ));
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

//! Words of reviews, in several languages: fields, severities, dimensions, verdicts, and statements that
//! there are no findings.

use crate::words::is_form_of;

/// The field that a column or a key of this name holds.
pub(super) fn field(name: &str) -> Option<&'static str> {
    let name = name.trim().trim_matches(['*', '_', '`', ':']).to_lowercase();
    match name.as_str() {
        "file" | "path" | "location" | "file:line" | "place" | "where" | "文件" | "位置" | "ファイル"
        | "datei" | "ort" | "stelle" | "archivo" | "fichier" => Some("file"),
        "line" | "lines" | "l#" | "line no." | "line number" | "行" | "行号" | "zeile" | "línea"
        | "ligne" => Some("line"),
        "severity" | "level" | "priority" | "impact" | "严重程度" | "严重性" | "级别" | "重大度"
        | "schwere" | "schweregrad" | "gravedad" | "sévérité" | "gravité" => Some("severity"),
        "dimension" | "category" | "area" | "aspect" | "维度" | "类别" | "分類" | "kategorie"
        | "categoría" | "catégorie" => Some("dimension"),
        "description" | "issue" | "problem" | "finding" | "what" | "details" | "描述" | "问题" | "説明"
        | "beschreibung" | "befund" | "descripción" => Some("what"),
        other => {
            let fixes = [
                "fix",
                "recommendation",
                "suggestion",
                "remedy",
                "建议",
                "修复",
                "修正",
                "vorschlag",
                "behebung",
                "corrección",
                "correction",
            ];
            fixes.iter().any(|word| other.contains(word)).then_some("fix")
        }
    }
}

/// Other words for severities and dimensions.
const SAME: [(&str, &[&str]); 8] = [
    (
        "critical",
        &[
            "blocker", "严重", "致命", "kritisch", "crítico", "critique", "重大",
        ],
    ),
    (
        "high",
        &["major", "高", "hoch", "alto", "alta", "élevé", "élevée"],
    ),
    (
        "medium",
        &["moderate", "中", "mittel", "medio", "media", "moyen", "moyenne"],
    ),
    (
        "low",
        &[
            "minor", "trivial", "info", "低", "niedrig", "gering", "bajo", "baja", "faible",
        ],
    ),
    (
        "quality",
        &[
            "correctness",
            "code quality",
            "maintainability",
            "质量",
            "品質",
            "qualität",
            "calidad",
            "qualité",
        ],
    ),
    (
        "security",
        &["安全", "セキュリティ", "sicherheit", "seguridad", "sécurité"],
    ),
    (
        "architecture",
        &["design", "架构", "アーキテクチャ", "architektur", "arquitectura"],
    ),
    (
        "requirements",
        &[
            "requirement",
            "coverage",
            "需求",
            "要件",
            "anforderungen",
            "requisitos",
            "exigences",
        ],
    ),
];

/// The known word for this one.
pub(super) fn known<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let itself = known.iter().find(|word| word.eq_ignore_ascii_case(&bare));
    itself.copied().or_else(|| {
        let (name, _) = SAME.iter().find(|(_, others)| others.contains(&bare.as_str()))?;
        known.iter().find(|word| *word == name).copied()
    })
}

/// The verdicts that the first sentence names, in its order; if it names none, those of the rest.
pub(super) fn verdicts<'k>(text: &str, known: &[&'k str]) -> Vec<&'k str> {
    let named = |text: &str| {
        let mut found: Vec<&'k str> = Vec::new();
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-') {
            let named = known.iter().find(|known| is_form_of(word, known));
            found.extend(named.filter(|word| !found.contains(word)));
        }
        found
    };
    let first = text
        .split(['.', ':', '\n', '，', '。', '：', ',', ';'])
        .find(|part| part.chars().any(char::is_alphanumeric))
        .unwrap_or_default();
    let of_first = named(first);
    if of_first.is_empty() {
        named(text).into_iter().take(1).collect()
    } else {
        of_first
    }
}

/// Lines that state that there are no findings.
const NOTHING: [&str; 9] = [
    "none",
    "nothing",
    "no finding",
    "no findings",
    "no issue",
    "no issues",
    "no problem",
    "no problems",
    "n/a",
];
/// Endings of such lines.
const FOUND: [&str; 4] = [" were found", " found", " identified", " to report"];
/// Other wordings.
const IN_OTHER_WORDS: [&str; 40] = [
    "not find any",
    "didn't find any",
    "no findings",
    "no issues",
    "no problems",
    "no concerns",
    "no objections",
    "no defects",
    "nothing to",
    "nothing that",
    "found nothing",
    "none found",
    "all met",
    "all is well",
    "没有发现",
    "未发现",
    "无问题",
    "没有问题",
    "无发现",
    "keine befunde",
    "keine probleme",
    "keine mängel",
    "nichts gefunden",
    "nichts zu beanstanden",
    "aucun problème",
    "rien à signaler",
    "aucune remarque",
    "sin hallazgos",
    "ningún problema",
    "no se encontraron",
    "no encontré",
    "問題なし",
    "指摘なし",
    "問題は見つかり",
    "nenhum problema",
    "nessun problema",
    "замечаний нет",
    "проблем не",
    "문제 없음",
    "문제가 없",
];
/// Words that show that a line states more.
const MORE: [&str; 16] = [
    "but", "except", "however", "apart", "only", "one", "although", "though", "wrong", "broken", "fails",
    "aber", "jedoch", "但", "pero", "mais",
];

/// The same in other languages, where they begin a text.
const NONE_AT_ALL: [&str; 21] = [
    "keine",
    "geen",
    "inga",
    "ingen",
    "brak",
    "žádné",
    "žiadne",
    "nincs",
    "yok",
    "немає",
    "нет",
    "niciuna",
    "nenhum",
    "nenhuma",
    "nessuno",
    "nessuna",
    "ninguno",
    "ninguna",
    "aucun",
    "aucune",
    "无",
];
/// Words with which reviewers say what they read and ran.
const READING: [&str; 27] = [
    "read",
    "looked",
    "checked",
    "ran",
    "tried",
    "reviewed",
    "inspected",
    "tested",
    "compared",
    "gelesen",
    "geprüft",
    "gelezen",
    "bekeken",
    "leído",
    "revisado",
    "lu",
    "relu",
    "letto",
    "lido",
    "läst",
    "läste",
    "przeczytano",
    "прочитано",
    "проверено",
    "阅读",
    "检查",
    "確認",
];

/// Whether the text only states that there are no findings: its first line does, and the others do too, or say what was
/// read.
pub(super) fn states_no_findings(text: &str) -> bool {
    let mark = |c: char| c.is_whitespace() || "*_-–—.!()。`".contains(c);
    let mut lines = text
        .lines()
        .map(|line| line.trim_matches(mark).to_lowercase())
        .filter(|line| !line.is_empty())
        .peekable();
    if lines.peek().is_none() {
        // Only punctuation: a dash means none.
        return !text.trim().is_empty();
    }
    let states_it = |line: &str| {
        let bare = FOUND
            .iter()
            .find_map(|end| line.strip_suffix(end))
            .unwrap_or(line);
        NOTHING.contains(&bare)
            || NONE_AT_ALL.contains(&bare)
            || line.starts_with("none in ")
            || IN_OTHER_WORDS.iter().any(|phrase| line.contains(phrase))
    };
    let tells_what_was_read =
        |line: &str| READING.iter().any(|word| has_word(line, word)) && place(line).is_some();
    let first_states_it = |line: &str| {
        states_it(line)
            || line
                .split_once(['.', '。'])
                .is_some_and(|(first, rest)| states_it(first.trim()) && tells_what_was_read(rest))
    };
    lines
        .next()
        .is_some_and(|first| first_states_it(&first) && !objects(&first))
        && lines.all(|line| (states_it(&line) || tells_what_was_read(&line)) && !objects(&line))
}

/// A review may name a file that it has read; a named line means a finding.
fn objects(line: &str) -> bool {
    MORE.iter().any(|word| has_word(line, word)) || place(line).is_some_and(|(_, at)| !at.is_empty())
}

fn has_word(line: &str, word: &str) -> bool {
    // Scripts without spaces have no borders of words.
    if word.chars().all(char::is_lowercase) {
        line.split(|c: char| !c.is_alphanumeric()).any(|own| own == word)
    } else {
        line.contains(word)
    }
}

/// A file, and a line of it, that a text names: `app/a.py:12`.
pub(super) fn place(text: &str) -> Option<(&str, &str)> {
    let token = |word: &&str| {
        let name = word.split(':').next().unwrap_or(word);
        let (stem, ending) = name.rsplit_once('.').unwrap_or(("", ""));
        !stem.is_empty()
            && (1..=4).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
            && !stem.ends_with('.')
            && stem.chars().any(char::is_alphabetic)
    };
    let bare = |word: &'_ str| -> usize {
        word.len()
            - word
                .trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '/' | '_'))
                .len()
    };
    let word = text
        .split([' ', '\t', '\n', ',', '|', '(', ')', '`', '*'])
        .map(|word| word[bare(word)..].trim_end_matches(['.', ':', ';']))
        .find(token)?;
    Some(word.split_once(':').unwrap_or((word, "")))
}

/// A line with a problem, outside the findings.
pub(super) fn alarm(text: &str) -> Option<&str> {
    const ALARMS: [&str; 9] = [
        "critical",
        "security hole",
        "vulnerability",
        "not implemented",
        "must be fixed",
        "is broken",
        "does not work",
        "data loss",
        "not met",
    ];
    text.lines().find(|line| {
        let lower = line.to_lowercase();
        let denied = ["no ", "not find", "without", "none", "nothing", "never"]
            .iter()
            .any(|word| lower.contains(word));
        ALARMS.iter().any(|alarm| lower.contains(alarm)) && !denied
    })
}

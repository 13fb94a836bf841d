//! Recognises headings by meaning, independent of level, numbering and wording, in several languages.

use super::text::words;

/// Headings that teams require, and other titles of the same sections: words that must occur together.
const SAME: &[(&str, &[&str])] = &[
    (
        "vision",
        &[
            "purpose",
            "mission",
            "愿景",
            "目的",
            "ビジョン",
            "visión",
            "visão",
            "visione",
            "видение",
            "비전",
        ],
    ),
    (
        "problem",
        &[
            "pain",
            "motivation",
            "问题",
            "课题",
            "課題",
            "問題",
            "problema",
            "problème",
            "проблема",
            "문제",
        ],
    ),
    (
        "users",
        &[
            "user",
            "audience",
            "personas",
            "persona",
            "customers",
            "target group",
            "用户",
            "ユーザー",
            "利用者",
            "nutzer",
            "benutzer",
            "anwender",
            "zielgruppe",
            "zielgruppen",
            "usuarios",
            "usuários",
            "utilisateurs",
            "utenti",
            "пользователи",
            "사용자",
        ],
    ),
    (
        "goals",
        &[
            "goal",
            "objectives",
            "objective",
            "success metrics",
            "success criteria",
            "targets",
            "目标",
            "目標",
            "ziele",
            "objetivos",
            "objectifs",
            "obiettivi",
            "metas",
            "цели",
            "목표",
        ],
    ),
    (
        "functional requirements",
        &[
            "requirements",
            "功能需求",
            "需求",
            "機能要件",
            "要件",
            "anforderungen",
            "requisitos",
            "exigences",
            "requisiti",
            "требования",
            "요구사항",
            "requisitos funcionales",
            "exigences fonctionnelles",
        ],
    ),
    (
        "user stories",
        &[
            "user story",
            "stories",
            "用户故事",
            "ユーザーストーリー",
            "nutzergeschichten",
            "anwendergeschichten",
            "historias de usuario",
            "histórias de usuário",
            "récits utilisateur",
            "storie utente",
            "пользовательские истории",
            "사용자 스토리",
        ],
    ),
    (
        "components",
        &[
            "component",
            "modules",
            "building blocks",
            "组件",
            "模块",
            "コンポーネント",
            "komponenten",
            "bausteine",
            "componentes",
            "composants",
            "componenti",
            "компоненты",
            "구성 요소",
        ],
    ),
    (
        "tech stack",
        &[
            "technology stack",
            "technologies",
            "technology",
            "stack",
            "技术栈",
            "技术选型",
            "技術スタック",
            "technologien",
            "technologie",
            "tecnologías",
            "tecnologias",
            "технологии",
            "기술 스택",
        ],
    ),
    (
        "decisions",
        &[
            "decision",
            "adr",
            "adrs",
            "决策",
            "决定",
            "決定",
            "意思決定",
            "entscheidungen",
            "decisiones",
            "decisões",
            "décisions",
            "decisioni",
            "решения",
            "결정",
        ],
    ),
    (
        "data model",
        &[
            "data",
            "entities",
            "schema",
            "domain model",
            "数据模型",
            "データモデル",
            "datenmodell",
            "modelo de datos",
            "modelo de dados",
            "modèle de données",
            "modello dati",
            "модель данных",
            "데이터 모델",
        ],
    ),
    (
        "integration",
        &[
            "integrations",
            "interfaces",
            "apis",
            "集成",
            "接口",
            "統合",
            "連携",
            "schnittstellen",
            "integración",
            "integração",
            "intégration",
            "integrazione",
            "интеграция",
            "통합",
        ],
    ),
    (
        "epics",
        &[
            "epic",
            "史诗",
            "エピック",
            "epen",
            "épicas",
            "épicos",
            "epiche",
            "эпики",
            "에픽",
        ],
    ),
    (
        "mvp",
        &[
            "minimum viable",
            "first release",
            "first version",
            "first slice",
            "最小可行",
            "erste version",
            "primera versión",
            "première version",
            "первая версия",
            "最小限",
        ],
    ),
    (
        "completeness",
        &[
            "complete",
            "完整性",
            "完全性",
            "vollständigkeit",
            "completitud",
            "complétude",
            "completude",
            "completezza",
            "полнота",
            "완전성",
        ],
    ),
    (
        "consistency",
        &[
            "consistent",
            "coherence",
            "一致性",
            "一貫性",
            "konsistenz",
            "consistencia",
            "cohérence",
            "coerenza",
            "consistência",
            "согласованность",
            "일관성",
        ],
    ),
    (
        "traceability",
        &[
            "trace",
            "tracing",
            "可追溯性",
            "追溯",
            "トレーサビリティ",
            "追跡",
            "nachverfolgbarkeit",
            "rückverfolgbarkeit",
            "trazabilidad",
            "traçabilité",
            "rastreabilidade",
            "tracciabilità",
            "трассируемость",
            "추적성",
        ],
    ),
    (
        "depth",
        &[
            "detail",
            "深度",
            "深さ",
            "tiefe",
            "profundidad",
            "profondeur",
            "profundidade",
            "profondità",
            "глубина",
            "깊이",
        ],
    ),
    (
        "verdict",
        &[
            "conclusion",
            "decision",
            "recommendation",
            "result",
            "结论",
            "判定",
            "結論",
            "urteil",
            "fazit",
            "ergebnis",
            "veredicto",
            "conclusión",
            "conclusão",
            "giudizio",
            "вердикт",
            "결론",
        ],
    ),
    (
        "findings",
        &[
            "finding",
            "issues",
            "problems",
            "observations",
            "发现",
            "问题",
            "指摘",
            "所見",
            "befunde",
            "feststellungen",
            "hallazgos",
            "constatations",
            "constats",
            "remarques",
            "observaciones",
            "achados",
            "risultati",
            "замечания",
            "발견",
        ],
    ),
    (
        "scope",
        &[
            "范围",
            "範囲",
            "umfang",
            "alcance",
            "périmètre",
            "ambito",
            "объём",
        ],
    ),
    (
        "risks",
        &[
            "risk",
            "风险",
            "リスク",
            "risiken",
            "riesgos",
            "risques",
            "riscos",
            "rischi",
            "риски",
            "위험",
        ],
    ),
];

/// Words that give a title another meaning.
const OTHERWISE: [&str; 7] = ["out", "non", "non-functional", "not", "without", "no", "anti"];

/// How well a title fits a required heading: 3 is that heading, 1 may be another one.
pub(super) fn fit(title: &str, wanted: &str) -> u8 {
    let (title, wanted) = (key(title), key(wanted));
    if title == wanted {
        return 3;
    }
    let (title, wanted) = (words(&title), words(&wanted));
    if wanted.is_empty()
        || title
            .iter()
            .any(|word| OTHERWISE.contains(&word.as_str()) && !wanted.contains(word))
    {
        return 0;
    }
    if has_all(&title, &wanted) {
        return 2;
    }
    let own = wanted.join(" ");
    let same = SAME
        .iter()
        .find(|(name, _)| *name == own)
        .map_or(&[][..], |(_, same)| same);
    u8::from(same.iter().any(|other| has_all(&title, &words(other))))
}

fn has_all(title: &[String], wanted: &[String]) -> bool {
    let plain = |word: &str| word.trim_end_matches('s').to_owned();
    let joined: String = title.concat();
    wanted.iter().all(|wanted| title.iter().any(|word| plain(word) == plain(wanted)))
        // Scripts without spaces may be cut anywhere.
        || (!wanted.concat().is_ascii() && joined.contains(&wanted.concat()))
}

/// A title in the form for comparison: without numbering, case, decoration, final colon and repeated spaces.
pub(super) fn key(title: &str) -> String {
    let bare = title.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '(' | ')'));
    let mut words: Vec<&str> = bare.split_whitespace().collect();
    if words.len() > 1 && is_number(words[0]) {
        words.remove(0);
        if words.len() > 1 && matches!(words[0], "-" | "–" | "—" | ":" | "." | ")") {
            words.remove(0);
        }
    }
    let text = words.join(" ");
    text.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '(' | ')'))
        .to_lowercase()
}

/// `1.`, `2)`, `(3)`, `1.2.3`, `4`, `IV.`, `A)`; not a year.
fn is_number(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    let digits = |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if bare.split('.').all(digits) {
        return true;
    }
    let letters = bare.len() == 1 && bare.bytes().all(|b| b.is_ascii_uppercase());
    let roman = !bare.is_empty() && bare.bytes().all(|b| b"IVX".contains(&b));
    word.ends_with(['.', ')']) && (letters || roman)
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn titles_by_meaning() {
        for (title, wanted, expected) in [
            ("Goals", "goals", 3),
            ("2. Goals and scope", "Goals", 2),
            ("User groups", "Users", 2),
            ("Success metrics", "Goals", 1),
            ("🎯 *Vision*", "Vision", 3),
            ("Out of scope", "Scope", 0),
            ("Non-functional requirements", "Functional requirements", 0),
            ("Architecture decisions (ADR)", "Decisions", 2),
            ("Minimum viable product", "MVP", 1),
            ("Completeness (90/100)", "Completeness", 2),
            ("功能需求", "Functional requirements", 1),
            ("史诗列表", "Epics", 1),
            ("Nutzer", "Users", 1),
            ("Notes", "Users", 0),
        ] {
            assert_eq!(fit(title, wanted), expected, "{title} for {wanted}");
        }
    }
}

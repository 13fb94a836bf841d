//! Acceptance criteria, estimates and stories, by the words for them in several languages.

use super::item::{Item, cells};
use crate::claim::text::{Gap, gap, particulars_without, without_ids, words};
use crate::words::has_word;

/// Names of acceptance criteria.
const CRITERIA: [&str; 22] = [
    "acceptance criteria",
    "acceptance criterion",
    "acceptance",
    "accepted when",
    "done when",
    "verified by",
    "definition of done",
    "akzeptanzkriterien",
    "akzeptanzkriterium",
    "akzeptanz",
    "abnahmekriterien",
    "验收标准",
    "验收",
    "受け入れ基準",
    "受入基準",
    "criterios de aceptación",
    "critérios de aceitação",
    "critères d'acceptation",
    "criteri di accettazione",
    "критерии приёмки",
    "критерии приемки",
    "인수 기준",
];
const STEPS: [[&str; 3]; 6] = [
    ["given", "when", "then"],
    ["angenommen", "wenn", "dann"],
    ["dado", "cuando", "entonces"],
    ["étant donné", "quand", "alors"],
    ["给定", "当", "则"],
    ["前提", "もし", "ならば"],
];
/// Fields that may follow criteria on the same line.
const AFTER: [&str; 12] = [
    "estimate",
    "component",
    "priority",
    "size",
    "story points",
    "估算",
    "估计",
    "优先级",
    "aufwand",
    "schätzung",
    "estimación",
    "estimation",
];
const ESTIMATE: [&str; 17] = [
    "estimate",
    "points",
    "size",
    "effort",
    "估算",
    "估计",
    "工作量",
    "aufwand",
    "schätzung",
    "estimación",
    "estimation",
    "estimativa",
    "stima",
    "見積",
    "оценка",
    "추정",
    "t-shirt",
];
/// Words with which user stories express a wish.
const WANTING: [&str; 26] = [
    "want",
    "wants",
    "would like",
    "need to",
    "needs to",
    "as a ",
    "as an ",
    "as the ",
    "möchte",
    "will ich",
    "quiero",
    "quiere",
    "je veux",
    "veux",
    "souhaite",
    "quero",
    "voglio",
    "vorrei",
    "хочу",
    "我想",
    "我希望",
    "希望",
    "想要",
    "作为",
    "たい",
    "싶",
];

/// The text of an item's criteria; `None` if it has none.
pub(super) fn criteria(item: &Item<'_>) -> Option<String> {
    let column = item.columns.iter().position(|name| {
        CRITERIA.iter().any(|word| name.to_lowercase().contains(word))
            || name.to_lowercase().contains("accept")
    });
    if let Some(column) = column {
        let cell = cells(&item.text).nth(column).unwrap_or_default();
        return (!cell.is_empty()).then(|| cell.to_owned());
    }
    let lower = item.text.to_lowercase();
    // A letter that changes its length would shift positions.
    let text = if lower.len() == item.text.len() {
        &item.text
    } else {
        &lower
    };
    let named = CRITERIA
        .iter()
        .filter_map(|word| lower.find(word).map(|at| (at, word.len())))
        .min_by_key(|(at, len)| (*at, std::cmp::Reverse(*len)));
    if let Some((at, len)) = named {
        let rest = text[at + len..]
            .trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '`' | '<' | '{' | '\n'));
        let rest_lower = rest.to_lowercase();
        let end = if rest_lower.len() == rest.len() {
            AFTER
                .iter()
                .filter_map(|word| {
                    rest_lower
                        .find(&format!(" {word}"))
                        .or(rest_lower.find(&format!("。{word}")))
                })
                .min()
        } else {
            None
        };
        let rest = &rest[..end.unwrap_or(rest.len())];
        return Some(rest.trim().to_owned());
    }
    let has = |step: &&str| has_word(&lower, step) || (!step.is_ascii() && lower.contains(*step));
    STEPS
        .iter()
        .any(|steps| steps.iter().all(&has))
        .then(|| item.text.clone())
}

/// Words for testing itself: criteria that have no others fit every requirement.
const OF_TESTING: &str = " verify verifies verified confirm confirms confirmed assurance behave behaves behaviour behavior \
scenario scenarios release qa reviewer team accepted ";

/// The problems of existing criteria.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CriteriaFlaw {
    Placeholder,
    Vague,
}

pub(super) fn criteria_flaw(item: &Item<'_>, criteria: &str) -> Option<CriteriaFlaw> {
    let parts: Vec<&str> = criteria
        .lines()
        .map(|line| line.trim_start_matches([' ', '-', '*', '|']))
        .filter(|line| !line.is_empty())
        .collect();
    if parts.is_empty() || parts.iter().all(|part| gap(part) == Some(Gap::Placeholder)) {
        return Some(CriteriaFlaw::Placeholder);
    }
    let title = item.text.lines().next().unwrap_or_default();
    let title = title.to_lowercase();
    let title = CRITERIA
        .iter()
        .filter_map(|word| title.find(word))
        .min()
        .map_or(title.as_str(), |at| &title[..at]);
    let title = words(title);
    let own = words(criteria);
    let repeats = own.iter().all(|word| title.contains(word)) && !criteria.contains('`');
    (repeats || particulars_without(&without_ids(criteria), OF_TESTING) == 0).then_some(CriteriaFlaw::Vague)
}

pub(super) fn estimate<'a>(item: &'a Item<'_>) -> Option<&'a str> {
    let is_estimate = |name: &str| ESTIMATE.iter().any(|word| name.to_lowercase().contains(word));
    let column = item.columns.iter().position(|name| is_estimate(name));
    if let Some(column) = column {
        return cells(&item.text).nth(column).filter(|cell| !cell.is_empty());
    }
    let line = item.text.lines().find(|line| is_estimate(line))?;
    let lower = line.to_lowercase();
    let at = ESTIMATE
        .iter()
        .filter_map(|word| lower.find(word).map(|at| at + word.len()))
        .min()?;
    let after = line
        .get(at..)
        .unwrap_or_default()
        .trim_matches(|c: char| !c.is_alphanumeric() && c != '?');
    Some(if after.is_empty() { line } else { after })
}

/// Whether the text is a user story.
pub(super) fn is_story(text: &str) -> bool {
    let lower = text.to_lowercase();
    WANTING.iter().any(|word| lower.contains(word))
}

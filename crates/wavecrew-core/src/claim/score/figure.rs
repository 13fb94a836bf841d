//! Figures in a text: a number and its maximum.

/// The points that a title or a section gives: first, or marked as points.
pub(super) fn points_of(text: &str) -> Option<Figure> {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let label = ["score", "points", "rating", "punkte", "得分", "分数"];
    let bare = label.iter().fold(text, |text, label| {
        let rest = text
            .get(..label.len())
            .filter(|start| start.eq_ignore_ascii_case(label));
        rest.map_or(text, |_| {
            text[label.len()..].trim_start_matches([':', ' ', '*', '：'])
        })
    });
    let first = bare
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| figure_first(bare))
        .flatten();
    let after = bare.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_alone = after.is_empty() || after.starts_with([':', '/', '%', ',', ';', '|', ')', '\n', '：']);
    let is_marked = ["points", "of 100", "–", "-", "—"]
        .iter()
        .any(|mark| after.trim_start().starts_with(mark))
        || after.trim_start().starts_with('|');
    first.filter(|_| is_alone || is_marked).or_else(|| {
        let at = text
            .find("/100")
            .or_else(|| text.find(" of 100"))
            .or_else(|| text.find(" / 100"))?;
        let digits = text[..at]
            .rfind(|c: char| !c.is_ascii_digit() && c != '.')
            .map_or(0, |at| at + 1);
        figure_first(text.get(digits..)?)
    })
}

/// A number and its maximum, if that is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    value: f64,
    of: Option<f64>,
}

impl Figure {
    /// On a scale from 0 to `scale`.
    pub(crate) fn on(self, scale: f64) -> f64 {
        match self.of {
            Some(of) if of > 0.0 => self.value / of * scale,
            _ => self.value,
        }
    }
}

/// The number in a text that is only a number: `0.9`, `90%`, `45/100`, `45 of 100`.
pub(crate) fn figure(text: &str) -> Option<Figure> {
    let text = text.trim().trim_matches(['*', '`', '_']);
    let is_one = text
        .chars()
        .all(|c| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '.' | ',' | '%' | '/' | 'o' | 'f'));
    if is_one { figure_first(text) } else { None }
}

/// The first number in a text.
pub(super) fn figure_first(text: &str) -> Option<Figure> {
    let at = text.find(|c: char| c.is_ascii_digit())?;
    let is_id = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-');
    if is_id {
        return None;
    }
    let rest = &text[at..];
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut len = rest.len()
        - rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .len();
    let mut number = rest[..len].trim_end_matches('.').to_owned();
    // `0,9` is a decimal number too; `90, as before` and `1,000` are not.
    if let Some(after) = rest[len..].strip_prefix(',')
        && (1..=2).contains(&digits(after))
        && !number.contains('.')
    {
        number = format!("{number}.{}", &after[..digits(after)]);
        len += 1 + digits(after);
    }
    let value: f64 = number.parse().ok()?;
    let after = rest[len..].trim_start();
    let of = if after.starts_with('%') {
        Some(100.0)
    } else {
        let of = after
            .strip_prefix('/')
            .or(after.strip_prefix("of "))
            .or(after.strip_prefix("von "));
        of.and_then(|of| {
            let of = of.trim_start();
            let len = of.bytes().take_while(u8::is_ascii_digit).count();
            of[..len].parse().ok()
        })
    };
    Some(Figure { value, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        for (text, scale, expected) in [
            ("0.9", 1.0, Some(0.9)),
            ("90%", 1.0, Some(0.9)),
            ("45 of 100", 100.0, Some(45.0)),
            ("8/10", 100.0, Some(80.0)),
            ("0,85", 1.0, Some(0.85)),
            ("high", 1.0, None),
        ] {
            assert_eq!(
                points_of("Goal 1 leads to FR-001").map(|found| found.on(100.0)),
                None
            );
            assert_eq!(
                points_of("90: all is there").map(|found| found.on(100.0)),
                Some(90.0)
            );
            assert_eq!(
                points_of("Depth (80/100)").map(|found| found.on(100.0)),
                Some(80.0)
            );
            let found = figure(text).map(|figure| figure.on(scale));
            assert_eq!(
                found.map(|n| (n * 100.0).round()),
                expected.map(|n: f64| (n * 100.0).round()),
                "{text}"
            );
        }
    }
}

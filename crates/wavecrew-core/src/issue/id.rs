//! `ISS-YYYYMMDD-NNNNNN`: the day an issue was filed, and a number that begins with the time of that day.

use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct IssueId(String);

impl IssueId {
    /// `None` when the text is not such an id.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, number) = text.strip_prefix("ISS-")?.split_once('-')?;
        let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
        (digits(date, 8) && digits(number, 6)).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Unused ids for issues filed at this time: `date` is `YYYYMMDD`, `time` is `HHMMSS` as a number.
pub fn next_ids(date: &str, time: u32, taken: &BTreeSet<&str>, count: usize) -> Vec<String> {
    // A day has a million numbers; beyond that ids repeat, which the store refuses.
    let numbers = (0..1_000_000).map(|n| (time + n) % 1_000_000);
    let ids = numbers.map(|number| format!("ISS-{date}-{number:06}"));
    ids.filter(|id| !taken.contains(id.as_str()))
        .take(count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_form() {
        assert!(IssueId::parse("ISS-20260308-120000").is_some());
        for bad in [
            "ISS-2026038-120000",
            "ISS-20260308-12000",
            "iss-20260308-120000",
            "ISS-20260308",
            "ISS-2026030a-120000",
        ] {
            assert_eq!(IssueId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn new_ids_follow_the_clock_and_pass_over_what_is_taken() {
        let taken = BTreeSet::from(["ISS-20260308-120001"]);
        assert_eq!(
            next_ids("20260308", 120_000, &taken, 3),
            [
                "ISS-20260308-120000",
                "ISS-20260308-120002",
                "ISS-20260308-120003"
            ]
        );
        assert_eq!(
            next_ids("20260308", 999_999, &taken, 2),
            ["ISS-20260308-999999", "ISS-20260308-000000"]
        );
    }
}

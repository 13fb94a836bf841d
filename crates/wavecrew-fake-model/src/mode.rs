//! How the service behaves, as the first element of the URL's path says. Knows nothing about dialects.

use std::time::Duration;

/// One way to answer. A name may end in `.TAG` (`flaky2.first`), which changes nothing but whose counters it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `ok`: the script is played.
    Ok,
    /// `e400` ... `e599`: this HTTP status, with an error body of the dialect.
    Status(u16),
    /// `quota`: the account is used up; waiting a little does not help.
    Quota,
    /// `cut<n>`: the last `n` events are missing and the connection breaks.
    Cut(usize),
    /// `hang`: the request is read and never answered.
    Hang,
    /// `slow<ms>`: played after a pause.
    Slow(Duration),
    /// `flaky<n>`, `flaky<n>e<status>`: the first `n` requests fail (429 unless told otherwise), then it is `ok`.
    Flaky { failures: u64, status: u16 },
    /// `refuse`: the model declines to answer, in the way of the dialect.
    Refuse,
}

impl Mode {
    /// Reads a path element; `None` when it names no mode.
    pub fn parse(element: &str) -> Option<Self> {
        let name = element.split_once('.').map_or(element, |(name, _tag)| name);
        match name {
            "ok" => return Some(Self::Ok),
            "hang" => return Some(Self::Hang),
            "quota" => return Some(Self::Quota),
            "refuse" => return Some(Self::Refuse),
            _ => {}
        }
        if let Some(rest) = name.strip_prefix("cut") {
            return number_or(rest, 1).map(Self::Cut);
        }
        if let Some(rest) = name.strip_prefix("slow") {
            return rest.parse().ok().map(|ms| Self::Slow(Duration::from_millis(ms)));
        }
        if let Some(rest) = name.strip_prefix("flaky") {
            let (failures, status) = rest
                .split_once('e')
                .map_or((rest, Some(429)), |(n, s)| (n, status(s)));
            return Some(Self::Flaky {
                failures: number_or(failures, 1)?,
                status: status?,
            });
        }
        name.strip_prefix('e').and_then(status).map(Self::Status)
    }
}

fn status(digits: &str) -> Option<u16> {
    digits.parse().ok().filter(|code| (400..600).contains(code))
}

fn number_or<T: std::str::FromStr>(digits: &str, default: T) -> Option<T> {
    if digits.is_empty() {
        Some(default)
    } else {
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let cases = [
            ("ok", Some(Mode::Ok)),
            ("ok.second", Some(Mode::Ok)),
            ("e503", Some(Mode::Status(503))),
            ("e200", None),
            ("quota", Some(Mode::Quota)),
            ("cut", Some(Mode::Cut(1))),
            ("cut3", Some(Mode::Cut(3))),
            ("cutx", None),
            ("slow250", Some(Mode::Slow(Duration::from_millis(250)))),
            ("slow", None),
            (
                "flaky",
                Some(Mode::Flaky {
                    failures: 1,
                    status: 429,
                }),
            ),
            (
                "flaky2e500.a",
                Some(Mode::Flaky {
                    failures: 2,
                    status: 500,
                }),
            ),
            ("flaky2e99", None),
            ("refuse", Some(Mode::Refuse)),
            ("v1", None),
        ];
        for (name, mode) in cases {
            assert_eq!(Mode::parse(name), mode, "{name}");
        }
    }
}

//! How the service behaves, set by the first element of the URL's path. Knows nothing about dialects.

use std::time::Duration;

/// One way to answer. A name may end in `.TAG` (`flaky2.first`), which changes nothing but whose counters it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `ok`: the script is played.
    Ok,
    /// `e400` ... `e599`, `w400` ... `w599`: every request fails.
    Failing(Trouble),
    /// `quota`: the account is used up; waiting a little does not help.
    Quota,
    /// `cut<n>`: the last `n` events are missing and the connection breaks.
    Cut(usize),
    /// `hang`: the request is read and never answered.
    Hang,
    /// `slow<ms>`: played after a pause.
    Slow(Duration),
    /// `flaky<n>`, `flaky<n>e<status>`: the first `n` requests fail (`e429` by default), then it is `ok`.
    Flaky { failures: u64, trouble: Trouble },
    /// `refuse`: the model declines to answer, in the way of the dialect.
    Refuse,
}

/// An HTTP status with an error body of the dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble {
    pub status: u16,
    pub words: Words,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// `e`: no text, so that a client has to distinguish failures by the status.
    Bare,
    /// `w`: a text that explains the failure, as real services send it.
    Telling,
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
            let begins = rest.find(['e', 'w']).unwrap_or(rest.len());
            let (failures, trouble) = rest.split_at(begins);
            return Some(Self::Flaky {
                failures: number_or(failures, 1)?,
                trouble: match trouble {
                    "" => Trouble {
                        status: 429,
                        words: Words::Bare,
                    },
                    name => Trouble::parse(name)?,
                },
            });
        }
        Trouble::parse(name).map(Self::Failing)
    }
}

impl Trouble {
    fn parse(name: &str) -> Option<Self> {
        let (words, digits) = match name.strip_prefix('w') {
            Some(digits) => (Words::Telling, digits),
            None => (Words::Bare, name.strip_prefix('e')?),
        };
        let status = digits.parse().ok().filter(|code| (400..600).contains(code))?;
        Some(Self { status, words })
    }
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

    fn bare(status: u16) -> Trouble {
        let words = Words::Bare;
        Trouble { status, words }
    }

    fn telling(status: u16) -> Trouble {
        let words = Words::Telling;
        Trouble { status, words }
    }

    fn flaky(failures: u64, trouble: Trouble) -> Mode {
        Mode::Flaky { failures, trouble }
    }

    #[test]
    fn names_are_read() {
        let cases = [
            ("ok", Some(Mode::Ok)),
            ("ok.second", Some(Mode::Ok)),
            ("e503", Some(Mode::Failing(bare(503)))),
            ("w401", Some(Mode::Failing(telling(401)))),
            ("e200", None),
            ("quota", Some(Mode::Quota)),
            ("cut", Some(Mode::Cut(1))),
            ("cut3", Some(Mode::Cut(3))),
            ("cutx", None),
            ("slow250", Some(Mode::Slow(Duration::from_millis(250)))),
            ("slow", None),
            ("flaky", Some(flaky(1, bare(429)))),
            ("flaky2e500.a", Some(flaky(2, bare(500)))),
            ("flaky5w429", Some(flaky(5, telling(429)))),
            ("flaky2e99", None),
            ("refuse", Some(Mode::Refuse)),
            ("v1", None),
        ];
        for (name, mode) in cases {
            assert_eq!(Mode::parse(name), mode, "{name}");
        }
    }
}

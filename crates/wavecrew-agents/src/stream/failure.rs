//! Failures of model services and agents, recognised by the HTTP status or else by the message.

use std::time::Duration;

use wavecrew_core::time::Timestamp;

/// The kind of a failure, which decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailKind {
    /// Too many requests; waiting helps.
    RateLimited,
    /// The service is overloaded; waiting helps.
    Overloaded,
    /// The account's quota is used up for now.
    Quota,
    /// The agent has reached a limit of its own.
    OwnLimit,
    /// Not logged in, or the key is not valid.
    Auth,
    /// The service rejects the request.
    BadRequest,
    /// The service failed.
    Server,
    /// No connection.
    Unreachable,
    /// The answer broke off.
    Cut,
    /// The model declined.
    Declined,
    /// The answer does not follow the JSON Schema.
    Schema,
    /// The conversation to resume does not exist.
    NoConversation,
    /// The agent has reached a time limit of its own.
    OutOfTime,
    /// The agent does not know its arguments: it is older or newer than expected.
    OtherVersion,
    /// Something else.
    Other,
}

/// A failure with its message, which may quote the service: redact it before showing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailKind,
    pub message: String,
    /// How long to wait, by the service or the agent.
    pub retry_after: Option<Duration>,
    /// The same as a point in time.
    pub retry_at: Option<Timestamp>,
}

impl Failure {
    /// Recognised by status and message.
    pub(crate) fn new(status: Option<u16>, message: &str) -> Self {
        Self::of_kind(FailKind::of(status, message), message)
    }

    pub(crate) fn of_kind(kind: FailKind, message: &str) -> Self {
        Self {
            kind,
            message: message.to_owned(),
            retry_after: wait_in(message),
            retry_at: None,
        }
    }

    pub(crate) fn after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait.or(self.retry_after);
        self
    }

    pub(crate) fn until(mut self, at: Option<Timestamp>) -> Self {
        self.retry_at = at.or(self.retry_at);
        self
    }

    /// How long to wait from now on.
    pub fn wait(&self, now: Timestamp) -> Option<Duration> {
        let until = self.retry_at.map(|at| at.since(now));
        until.filter(|wait| !wait.is_zero()).or(self.retry_after)
    }
}

/// Phrases of services and agents, in lower case; the first that occurs decides.
const PHRASES: &[(&str, FailKind)] = &[
    ("per minute", FailKind::RateLimited),
    ("quota exceeded", FailKind::Quota),
    ("insufficient_quota", FailKind::Quota),
    ("exceeded your current quota", FailKind::Quota),
    ("credit balance", FailKind::Quota),
    ("usage limit", FailKind::Quota),
    ("hit your limit", FailKind::Quota),
    ("maximum budget", FailKind::OwnLimit),
    ("maximum number of turns", FailKind::OwnLimit),
    ("rate limit", FailKind::RateLimited),
    ("rate_limit", FailKind::RateLimited),
    ("too many requests", FailKind::RateLimited),
    ("resource has been exhausted", FailKind::RateLimited),
    ("resource_exhausted", FailKind::RateLimited),
    ("please wait and try again later", FailKind::RateLimited),
    ("high demand", FailKind::Overloaded),
    ("overloaded", FailKind::Overloaded),
    ("unauthorized", FailKind::Auth),
    ("unauthenticated", FailKind::Auth),
    ("authenticat", FailKind::Auth),
    ("invalid api key", FailKind::Auth),
    ("incorrect api key", FailKind::Auth),
    ("api key not valid", FailKind::Auth),
    ("invalid x-api-key", FailKind::Auth),
    ("not logged in", FailKind::Auth),
    ("please run /login", FailKind::Auth),
    ("no auth", FailKind::Auth),
    ("an auth method", FailKind::Auth),
    // Before the phrases for no connection at all, with which the same sentence may begin.
    ("closed unexpectedly", FailKind::Cut),
    ("connection refused", FailKind::Unreachable),
    ("econnrefused", FailKind::Unreachable),
    ("connection failed", FailKind::Unreachable),
    ("connection error", FailKind::Unreachable),
    ("unable to connect", FailKind::Unreachable),
    ("cannot connect", FailKind::Unreachable),
    ("fetch failed", FailKind::Unreachable),
    ("waiting for network", FailKind::Unreachable),
    ("content filter", FailKind::Declined),
    ("due to safety", FailKind::Declined),
    ("stream disconnected", FailKind::Cut),
    ("econnreset", FailKind::Cut),
    ("connection reset", FailKind::Cut),
    ("stream ended", FailKind::Cut),
    ("connection lost", FailKind::Cut),
    ("mid-response", FailKind::Cut),
    ("terminated", FailKind::Cut),
    ("premature close", FailKind::Cut),
    ("socket hang up", FailKind::Cut),
    ("required by --json-schema", FailKind::Schema),
    ("no conversation found", FailKind::NoConversation),
    ("error resuming session", FailKind::NoConversation),
    ("no saved session found", FailKind::NoConversation),
    ("session not found", FailKind::NoConversation),
    ("unexpected argument", FailKind::OtherVersion),
    ("unknown option", FailKind::OtherVersion),
    ("unknown argument", FailKind::OtherVersion),
    ("unrecognized option", FailKind::OtherVersion),
    // `invalid value 'x' for '--sandbox <MODE>'` is about the command line, not about the request.
    (" for '--", FailKind::OtherVersion),
    ("unsupported parameter", FailKind::BadRequest),
    ("unsupported value", FailKind::BadRequest),
    ("invalid value", FailKind::BadRequest),
    ("maximum context length", FailKind::BadRequest),
    ("prompt is too long", FailKind::BadRequest),
    ("invalid_request_error", FailKind::BadRequest),
    ("invalid_argument", FailKind::BadRequest),
];

impl FailKind {
    fn of(status: Option<u16>, message: &str) -> Self {
        let lower = message.to_lowercase();
        let by_phrase = PHRASES
            .iter()
            .find(|(phrase, _)| lower.contains(phrase))
            .map(|(_, kind)| *kind);
        // A quota that is used up has the same status as a rate limit, so these phrases come first.
        match (by_phrase, status.or_else(|| status_in(message))) {
            (Some(kind @ (Self::Quota | Self::OwnLimit)), _) => kind,
            (_, Some(status)) => Self::of_status(status).or(by_phrase).unwrap_or(Self::Other),
            (by_phrase, None) => by_phrase.unwrap_or(Self::Other),
        }
    }

    pub(crate) fn of_status(status: u16) -> Option<Self> {
        Some(match status {
            401 | 403 => Self::Auth,
            402 => Self::Quota,
            408 | 429 => Self::RateLimited,
            503 | 529 => Self::Overloaded,
            400..=499 => Self::BadRequest,
            500..=599 => Self::Server,
            _ => return None,
        })
    }
}

/// A status in a sentence: three digits on their own, such as in `API Error: 400` or `"code":500`.
fn status_in(message: &str) -> Option<u16> {
    let words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    words
        .filter(|word| word.len() == 3)
        .filter_map(|word| word.parse().ok())
        .find(|n| (400..600).contains(n))
}

/// The wait in phrases such as `try again in 1m30s` or `retry in 12.5s`.
fn wait_in(message: &str) -> Option<Duration> {
    let lower = message.to_lowercase();
    let after = [
        "again in ",
        "retry in ",
        "retrying in ",
        "retry after ",
        "\"retrydelay\":\"",
    ]
    .iter()
    .find_map(|cue| lower.find(cue).map(|at| &lower[at + cue.len()..]))?;
    let mut seconds = 0.0;
    let mut rest = after;
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit() && c != '.') {
        let Ok(number) = rest[..end].parse::<f64>() else {
            break;
        };
        let unit = rest[end..].trim_start();
        let letters = unit
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(unit.len());
        seconds += number
            * match &unit[..letters] {
                "ms" => 0.001,
                "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
                "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
                "h" | "hour" | "hours" => 3600.0,
                _ => break,
            };
        rest = unit[letters..].trim_start();
    }
    (seconds > 0.0)
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_and_statuses_are_recognised() {
        let cases = [
            (
                None,
                "exceeded retry limit, last status: 429 Too Many Requests",
                FailKind::RateLimited,
            ),
            (
                Some(429),
                "You exceeded your current quota, please check your plan",
                FailKind::Quota,
            ),
            (
                Some(400),
                "Your credit balance is too low to access the API.",
                FailKind::Quota,
            ),
            (
                None,
                "[API Error: x]\nPlease wait and try again later. Request a quota increase",
                FailKind::RateLimited,
            ),
            (
                None,
                "unexpected status 401 Unauthorized: no, url: http://127.0.0.1:40245/e401/v1",
                FailKind::Auth,
            ),
            (
                None,
                "We’re currently experiencing high demand, which may cause errors.",
                FailKind::Overloaded,
            ),
            (
                None,
                "API Error: Connection refused (ECONNREFUSED)",
                FailKind::Unreachable,
            ),
            (
                None,
                "Cannot connect to API: The socket connection was closed unexpectedly.",
                FailKind::Cut,
            ),
            (None, "[API Error: 500 no luck]", FailKind::Server),
            (Some(529), "busy", FailKind::Overloaded),
            (
                None,
                "{\"error\":{\"code\":\"invalid_request_error\"}}",
                FailKind::BadRequest,
            ),
            (
                None,
                "error: unexpected argument '--disable' found",
                FailKind::OtherVersion,
            ),
            (
                None,
                "error: invalid value 'x' for '--sandbox <SANDBOX_MODE>'",
                FailKind::OtherVersion,
            ),
            (
                None,
                "Invalid value: 'x'. Supported values are: 'low' and 'high'.",
                FailKind::BadRequest,
            ),
            (
                None,
                "This model's maximum context length is 8192 tokens.",
                FailKind::BadRequest,
            ),
            (
                None,
                "Resource has been exhausted (e.g. check quota).",
                FailKind::RateLimited,
            ),
            (None, "Incorrect API key provided: sk-1.", FailKind::Auth),
            (None, "API key not valid.", FailKind::Auth),
            (None, "it took 50000 steps, e400", FailKind::Other),
        ];
        for (status, message, kind) in cases {
            assert_eq!(FailKind::of(status, message), kind, "{message}");
        }
    }

    #[test]
    fn waits_are_read() {
        let cases = [
            ("Please try again in 20s.", Some(20_000)),
            ("try again in 1m30s", Some(90_000)),
            ("Retry in 12.5 seconds", Some(12_500)),
            ("try again in 2 hours 5 minutes", Some(7_500_000)),
            ("\"retryDelay\":\"37s\"", Some(37_000)),
            ("try again in a moment", None),
            ("nothing", None),
        ];
        for (message, millis) in cases {
            assert_eq!(wait_in(message), millis.map(Duration::from_millis), "{message}");
        }
    }
}

//! Colours of the lines that a run prints: states, failures, lines of a diff. Whether colours are shown is decided by
//! `--color`, `NO_COLOR` and `CLICOLOR_FORCE`, and by the stream.

use super::event_lines::Weight;
use anstream::{AutoStream, ColorChoice};

const RESET: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";

/// Whether standard error shows colours.
pub fn on_stderr() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// A line of an event, with its state in colour.
pub fn event(weight: Weight, line: &str) -> String {
    let states = [
        ("[DONE]", GREEN),
        ("[FAIL]", RED),
        ("[SKIP]", YELLOW),
        ("[RUN]", CYAN),
        ("[PEND]", DIM),
    ];
    for (state, colour) in states {
        if let Some(rest) = line.strip_prefix(state) {
            return format!("{colour}{state}{RESET}{rest}");
        }
    }
    match weight {
        Weight::Trouble => format!("{YELLOW}{line}{RESET}"),
        Weight::Milestone => format!("{BOLD}{line}{RESET}"),
        Weight::Progress | Weight::Detail => line.to_owned(),
    }
}

/// A line of a unified diff.
pub fn diff(line: &str) -> String {
    let colour = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => BOLD,
        [b'@', b'@', ..] => CYAN,
        [b'+', ..] => GREEN,
        [b'-', ..] => RED,
        _ => return line.to_owned(),
    };
    format!("{colour}{line}{RESET}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_diffs_have_colours() {
        assert_eq!(
            event(Weight::Progress, "[DONE] A: x"),
            "\x1b[32m[DONE]\x1b[0m A: x"
        );
        assert_eq!(event(Weight::Detail, "plain"), "plain");
        assert_eq!(diff("+new"), "\x1b[32m+new\x1b[0m");
        assert_eq!(diff("--- a"), "\x1b[1m--- a\x1b[0m");
        assert_eq!(diff(" same"), " same");
    }
}

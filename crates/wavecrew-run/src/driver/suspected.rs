//! Defects that workers suspect, as the report tells them. What was meant is for a person to say: nothing is judged here.

use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use wavecrew_core::engine::Ledger;
use wavecrew_core::event::Checked;
use wavecrew_store::{Discovery, DiscoveryBoard};

/// The type of discovery that tells a defect.
const DEFECT: &str = "defect_found";
/// Described in so many characters each.
const LONGEST: usize = 300;

/// A section of the report; empty where nothing is suspected.
pub fn section(session: &Path, ledger: &Ledger) -> String {
    let board = DiscoveryBoard::at(session.join("discoveries.ndjson"));
    let found = board.read().map(|board| board.entries).unwrap_or_default();
    let believed = |entry: &&Discovery| ledger.checked(&entry.worker) != Some(Checked::Contradicted);
    let mut lines: Vec<String> = Vec::new();
    for entry in found.iter().filter(|entry| entry.kind == DEFECT).filter(believed) {
        let line = told(&entry.data);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("\n## Suspected defects\n\n{}", lines.concat())
}

fn told(data: &Value) -> String {
    let word = |name: &str| {
        let text = match &data[name] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").chars().take(LONGEST).collect::<String>()
    };
    let mut line = format!("- `{}`", word("file"));
    if data["line"].as_u64().is_some_and(|line| line > 0) {
        let _ = write!(line, " line {}", data["line"]);
    }
    for name in ["pattern", "description"] {
        let said = word(name);
        if !said.is_empty() {
            let _ = write!(line, "{} {said}", if name == "pattern" { "," } else { ":" });
        }
    }
    let quarantine = word("quarantine");
    if !quarantine.is_empty() {
        let _ = write!(line, " (test in `{quarantine}`)");
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_defect_is_one_line_whatever_its_entry_holds() {
        for (data, line) in [
            (
                json!({"file": "a.ts", "line": 3, "pattern": "round trip", "description": "f(1):\n2", "quarantine": "q.ts"}),
                "- `a.ts` line 3, round trip: f(1): 2 (test in `q.ts`)\n",
            ),
            (json!({"file": "a.ts", "line": 0}), "- `a.ts`\n"),
            (json!({"file": 7, "description": "odd"}), "- `7`: odd\n"),
        ] {
            assert_eq!(told(&data), line);
        }
    }
}

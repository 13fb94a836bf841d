//! Finds the words to perform: which script, and which of its words in this turn and attempt.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

use crate::fake_agent::variable;

/// `name=value`, or a name alone.
#[derive(Debug, Clone)]
pub struct Word {
    pub name: String,
    pub value: String,
}

impl Word {
    fn parse(text: &str) -> Self {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
        }
    }

    pub fn spelled(&self) -> String {
        if self.value.is_empty() {
            self.name.clone()
        } else {
            format!("{}={}", self.name, self.value)
        }
    }
}

/// The words of the arguments, else of the prompt, that apply now.
pub fn load(args: Vec<String>) -> io::Result<Vec<Word>> {
    let texts = if args.is_empty() { from_prompt()? } else { args };
    let number = |name| variable(name).parse().unwrap_or(1);
    Ok(select(
        texts.iter().map(|t| Word::parse(t)),
        number("WAVECREW_TURN"),
        number("WAVECREW_ATTEMPT"),
    ))
}

fn from_prompt() -> io::Result<Vec<String>> {
    let mut prompt: Box<dyn Read> = match std::env::var_os("WAVECREW_PROMPT_FILE") {
        Some(file) => Box::new(File::open(file)?),
        None => Box::new(io::stdin()),
    };
    let mut bytes = Vec::new();
    prompt.read_to_end(&mut bytes)?;
    let prompt = String::from_utf8_lossy(&bytes);
    let lines = prompt
        .lines()
        .filter_map(|line| line.trim().strip_prefix("@fake "));
    let words: Vec<String> = lines.flat_map(str::split_whitespace).map(str::to_owned).collect();
    // A later message of the conversation does not repeat the task: the first turn leaves its script for the others.
    let kept = PathBuf::from(variable("WAVECREW_RESULT_FILE") + ".fake");
    if words.is_empty() {
        let kept = fs::read_to_string(kept).unwrap_or_default();
        return Ok(kept.split_whitespace().map(str::to_owned).collect());
    }
    if words.iter().any(|w| w.starts_with("turn=")) {
        fs::write(kept, words.join(" "))?;
    }
    Ok(words)
}

/// Some words and when they apply.
#[derive(Default)]
struct Section {
    from: Option<(Count, usize)>,
    words: Vec<Word>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    Turn,
    Attempt,
}

/// Words before the first `turn=` or `attempt=` apply always; a section from its N on, until a later section of the same
/// kind takes over.
fn select(words: impl Iterator<Item = Word>, turn: usize, attempt: usize) -> Vec<Word> {
    let mut sections = Vec::new();
    let mut current = Section::default();
    for word in words {
        let count = match word.name.as_str() {
            "turn" => Count::Turn,
            "attempt" => Count::Attempt,
            _ => {
                current.words.push(word);
                continue;
            }
        };
        let from = Some((count, word.value.parse().unwrap_or(1)));
        sections.push(std::mem::replace(
            &mut current,
            Section {
                from,
                words: Vec::new(),
            },
        ));
    }
    sections.push(current);
    let now = |count| if count == Count::Turn { turn } else { attempt };
    let starts: Vec<_> = sections.iter().filter_map(|s| s.from).collect();
    let latest = |count| {
        starts
            .iter()
            .filter(|(c, n)| *c == count && *n <= now(count))
            .map(|(_, n)| *n)
            .max()
    };
    let applies = |s: &Section| s.from.is_none_or(|(count, n)| latest(count) == Some(n));
    sections
        .into_iter()
        .filter(applies)
        .flat_map(|s| s.words)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(script: &str, turn: usize, attempt: usize) -> String {
        let words = select(script.split_whitespace().map(Word::parse), turn, attempt);
        words
            .iter()
            .map(|w| w.name.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn sections_follow_the_turn_and_the_attempt() {
        let script = "append turn=1 invalid turn=3 report";
        assert_eq!(selected(script, 1, 1), "append invalid");
        assert_eq!(selected(script, 2, 1), "append invalid");
        assert_eq!(selected(script, 4, 1), "append report");
        assert_eq!(selected("attempt=1 exit attempt=2 report", 1, 2), "report");
    }
}

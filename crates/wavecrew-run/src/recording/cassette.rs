//! Reads a cassette: validates all of it before a replay, and indexes its turns.

use super::{End, FORMAT, Header, Turn};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use wavecrew_core::plan::did_you_mean;

#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    #[error("the cassette `{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` is not a cassette: it does not start with a cassette header", path.display())]
    NotACassette { path: PathBuf },
    #[error("the cassette `{}` has format {found}; this version reads up to {FORMAT}", path.display())]
    Newer { path: PathBuf, found: u32 },
    #[error("line {line} of the cassette `{}` is damaged: {reason}", path.display())]
    BadLine {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error("line {line} of the cassette `{}` writes `{name}`, which is outside the project folder", path.display())]
    Outside {
        path: PathBuf,
        line: usize,
        name: String,
    },
}

/// A validated cassette.
#[derive(Debug)]
pub struct Cassette {
    pub path: PathBuf,
    pub header: Header,
    tasks: BTreeMap<String, Vec<Entry>>,
}

/// The position of a turn, and what the driver needs to know about it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub attempt: u32,
    pub turn: u32,
    pub offset: u64,
    pub agent: String,
    pub print: String,
    pub end: End,
}

impl Cassette {
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        let unreadable = |source| CassetteError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
        let mut line = Vec::new();
        let mut offset = reader.read_until(b'\n', &mut line).map_err(unreadable)? as u64;
        let header = read_header(path, &line)?;
        let mut tasks: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for number in 2.. {
            line.clear();
            let length = reader.read_until(b'\n', &mut line).map_err(unreadable)?;
            if length == 0 {
                break;
            }
            // A killed run may leave an incomplete last line.
            if !line.trim_ascii().is_empty()
                && (line.ends_with(b"\n") || serde_json::from_slice::<Turn>(&line).is_ok())
            {
                let turn: Turn = serde_json::from_slice(&line).map_err(|error| CassetteError::BadLine {
                    path: path.to_owned(),
                    line: number,
                    reason: error.to_string(),
                })?;
                if let Some(bad) = turn.files.iter().find(|change| !is_below(&change.path)) {
                    return Err(CassetteError::Outside {
                        path: path.to_owned(),
                        line: number,
                        name: bad.path.clone(),
                    });
                }
                let entry = Entry {
                    attempt: turn.attempt,
                    turn: turn.turn,
                    offset,
                    agent: turn.agent,
                    print: turn.print,
                    end: turn.end,
                };
                tasks.entry(turn.task).or_default().push(entry);
            }
            offset += length as u64;
        }
        Ok(Self {
            path: path.to_owned(),
            header,
            tasks,
        })
    }

    /// The recorded agents, each once.
    pub fn agents(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .tasks
            .values()
            .flatten()
            .map(|entry| entry.agent.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The agent of a task.
    pub fn agent_of(&self, task: &str) -> Option<&str> {
        self.tasks.get(task)?.first().map(|entry| entry.agent.as_str())
    }

    /// The turns of an attempt, or of the nearest one if it is not recorded: interrupted attempts are counted, but not
    /// recorded.
    pub(super) fn attempt(&self, task: &str, attempt: u32) -> Result<&[Entry], String> {
        let Some(entries) = self.tasks.get(task) else {
            let known = || self.tasks.keys().map(String::as_str);
            let help = did_you_mean(task, known()).unwrap_or_else(|| {
                let all: Vec<&str> = known().take(10).collect();
                format!(
                    "it has {}",
                    if all.is_empty() {
                        "none".to_owned()
                    } else {
                        all.join(", ")
                    }
                )
            });
            return Err(format!(
                "the task `{task}` is not in the cassette `{}`; {help}",
                self.path.display()
            ));
        };
        let numbers = || entries.iter().map(|entry| entry.attempt);
        let nearest = numbers()
            .filter(|number| *number <= attempt)
            .max()
            .or(numbers().min());
        let of_attempt = |entry: &&Entry| Some(entry.attempt) == nearest;
        let from = entries.iter().position(|entry| of_attempt(&entry)).unwrap_or(0);
        let count = entries[from..].iter().take_while(of_attempt).count();
        Ok(&entries[from..from + count])
    }
}

/// The turn at `offset`, or after it in the same attempt.
pub(super) fn read_turn(path: &Path, offset: u64, attempt: u32, wanted: (&str, u32)) -> Result<Turn, String> {
    let (task, number) = wanted;
    let failed = |error: io::Error| format!("the cassette `{}` cannot be read: {error}", path.display());
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut reader = BufReader::new(file.take(u64::MAX));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Err(format!(
                "turn {number} of attempt {attempt} of the task `{task}` is not in the cassette `{}`",
                path.display()
            ));
        }
        let Ok(turn) = serde_json::from_slice::<Turn>(&line) else {
            continue;
        };
        if turn.task == task && turn.attempt == attempt && turn.turn == number {
            return Ok(turn);
        }
    }
}

fn read_header(path: &Path, line: &[u8]) -> Result<Header, CassetteError> {
    #[derive(serde::Deserialize)]
    struct Format {
        cassette: u32,
    }
    let not_one = |_| CassetteError::NotACassette {
        path: path.to_owned(),
    };
    // The format first: a newer one may use the other fields differently.
    let Format { cassette } = serde_json::from_slice(line).map_err(not_one)?;
    if cassette > FORMAT {
        return Err(CassetteError::Newer {
            path: path.to_owned(),
            found: cassette,
        });
    }
    serde_json::from_slice(line).map_err(not_one)
}

/// Whether a path stays in its folder, and out of `.git` and `.workflow`, whose files can start programs.
pub(super) fn is_below(path: &str) -> bool {
    let plain = |part: Component<'_>| match part {
        Component::Normal(name) => name != ".git" && name != wavecrew_session::WORKFLOW_FOLDER,
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => false,
    };
    !path.is_empty() && !path.contains('\0') && Path::new(path).components().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"cassette":1,"wavecrew":"0.1.0","session":"s","team":"generic","recorded_at":"2026-03-08T10:00:00Z"}"#;

    fn turn(task: &str, attempt: u32, turn: u32, rest: &str) -> String {
        format!(
            r#"{{"task":"{task}","attempt":{attempt},"turn":{turn},"agent":"codex","end":{{"exit":0}}{rest}}}"#
        )
    }

    fn open(lines: &[String]) -> Result<Cassette, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.jsonl");
        std::fs::write(&path, lines.join("\n")).unwrap();
        Cassette::open(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn an_attempt_that_is_not_recorded_is_the_nearest_one() {
        let lines = [
            HEADER.to_owned(),
            turn("A", 2, 1, ""),
            turn("A", 2, 2, ""),
            turn("B", 1, 1, ""),
            turn("A", 4, 1, ""),
            r#"{"task":"C","att"#.to_owned(),
        ];
        let cassette = open(&lines).unwrap();
        let found = |attempt| {
            cassette
                .attempt("A", attempt)
                .unwrap()
                .iter()
                .map(|e| (e.attempt, e.turn))
                .collect()
        };
        let found: Vec<Vec<(u32, u32)>> = [1, 2, 3, 4, 5].map(found).into();
        let second = vec![(2, 1), (2, 2)];
        assert_eq!(
            found,
            [second.clone(), second.clone(), second, vec![(4, 1)], vec![(4, 1)]]
        );
        assert_eq!(cassette.agents(), ["codex"]);
        let missing = cassette.attempt("C", 1).unwrap_err();
        assert!(
            missing.contains("the task `C` is not in the cassette"),
            "{missing}"
        );
    }

    #[test]
    fn an_invalid_cassette_is_refused() {
        let change = |path: &str| turn("A", 1, 1, &format!(r#","files":[{{"path":"{path}","text":""}}]"#));
        let header = || HEADER.to_owned();
        let cases = [
            (vec!["id,description".to_owned()], "is not a cassette"),
            (vec![HEADER.replace(":1,", ":9,")], "has format 9"),
            (
                vec![header(), "{}".to_owned(), String::new()],
                "line 2 of the cassette",
            ),
            (vec![header(), change("../x")], "writes `../x`"),
            (vec![header(), change("/etc/passwd")], "writes `/etc/passwd`"),
            (vec![header(), change("a/../../x")], "outside the project folder"),
            (vec![header(), change("sub/.git/hooks/pre-commit")], "outside"),
        ];
        for (lines, why) in cases {
            let error = open(&lines).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(open(&[header(), change("a/b.txt")]).is_ok());
    }
}

//! Questions of a run without a terminal: a file in the session folder until an answer is written there. One
//! at a time.

use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wavecrew_core::engine::{Answer, GivenAnswer, Question, QuestionKind};
use wavecrew_core::event::AnsweredBy;
use wavecrew_session::{SessionDir, SessionError, atomic};

const POLL: Duration = Duration::from_millis(100);

/// A question in its file.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct OpenQuestion {
    pub id: u32,
    pub question: String,
    pub options: Vec<String>,
    /// Any text is an answer; an empty one leaves the decision to the worker.
    #[serde(default)]
    pub open: bool,
    /// What the answer is about, as paths in the session folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<String>,
}

impl OpenQuestion {
    pub fn accepts(&self, answer: &str) -> bool {
        self.open || self.options.iter().any(|option| option == answer)
    }

    /// The answer of a person who declines to answer.
    pub fn default_answer(&self) -> &str {
        self.options
            .last()
            .filter(|_| !self.open)
            .map_or("", String::as_str)
    }
}

#[derive(Serialize, Deserialize)]
struct Answered {
    id: u32,
    #[serde(flatten)]
    written: WrittenAnswer,
}

/// An answer in its file.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct WrittenAnswer {
    /// One of the options, or any text if the question is open.
    pub answer: String,
    #[serde(default = "client")]
    pub by: AnsweredBy,
    /// What the person adds for the worker whose work is revised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

fn client() -> AnsweredBy {
    AnsweredBy::Client
}

impl WrittenAnswer {
    /// The answer of a program.
    pub fn of_client(answer: &str) -> Self {
        Self {
            answer: answer.to_owned(),
            by: client(),
            remark: None,
        }
    }
}

fn open_question(question: &Question) -> OpenQuestion {
    let choices = question.kind.choices();
    let words = || choices.iter().map(|choice| choice.word.to_owned()).collect();
    let (options, open) = match &question.kind {
        QuestionKind::Advice { options } => (options.clone(), true),
        QuestionKind::FailedWave
        | QuestionKind::Permission
        | QuestionKind::PolicyDecision { .. }
        | QuestionKind::Approval { .. } => (words(), false),
    };
    let (facts, asked) = question.facts_and_question(|path| format!("{path} in the session folder."));
    OpenQuestion {
        id: question.id,
        question: if facts.is_empty() {
            asked.to_owned()
        } else {
            format!("{facts}\n{asked}")
        },
        options,
        open,
        documents: question.documents.clone(),
    }
}

fn answer_for(kind: &QuestionKind, word: &str) -> Answer {
    let is_text = matches!(kind, QuestionKind::Advice { .. }) && !word.trim().is_empty();
    let chosen = kind.choices().into_iter().find(|choice| choice.word == word);
    match chosen {
        Some(choice) => choice.answer,
        None if is_text => Answer::Text(word.to_owned()),
        None => kind.unanswered(),
    }
}

/// Writes the question and waits for its answer, until its time limit.
pub fn ask(dir: &SessionDir, question: &Question) -> GivenAnswer {
    static ASKING: Mutex<()> = Mutex::new(());
    let since = Instant::now();
    let _asking = ASKING.lock();
    let asked = open_question(question);
    let text = serde_json::to_vec(&asked).expect("plain data");
    let mut written = false;
    while since.elapsed() < question.timeout {
        if !written && atomic::write_volatile(&dir.question_file(), &text).is_err() {
            // No person can see the question.
            break;
        }
        written = true;
        if let Some(found) = answer_to(dir, question.id).filter(|found| asked.accepts(&found.answer)) {
            forget(dir);
            return GivenAnswer {
                answer: answer_for(&question.kind, &found.answer),
                by: found.by,
                remark: found.remark,
            };
        }
        std::thread::sleep(POLL);
    }
    forget(dir);
    GivenAnswer::by(AnsweredBy::Nobody, question.kind.unanswered())
}

/// The question that is open, if there is one.
pub fn open(dir: &SessionDir) -> Option<OpenQuestion> {
    let asked: OpenQuestion = serde_json::from_slice(&fs::read(dir.question_file()).ok()?).ok()?;
    let answered = answer_to(dir, asked.id).is_some_and(|found| asked.accepts(&found.answer));
    (!answered).then_some(asked)
}

/// Removes question and answer, also those of an earlier run.
pub fn forget(dir: &SessionDir) {
    for file in [dir.question_file(), dir.answer_file()] {
        let _ = fs::remove_file(file);
    }
}

/// Writes the answer to a question.
pub fn answer(dir: &SessionDir, asked: &OpenQuestion, written: WrittenAnswer) -> Result<(), SessionError> {
    let answered = Answered {
        id: asked.id,
        written,
    };
    let text = serde_json::to_vec(&answered).expect("plain data");
    atomic::write_volatile(&dir.answer_file(), &text)
}

fn answer_to(dir: &SessionDir, id: u32) -> Option<WrittenAnswer> {
    let found: Answered = serde_json::from_slice(&fs::read(dir.answer_file()).ok()?).ok()?;
    (found.id == id).then_some(found.written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_waits_for_its_own_answer() {
        let root = tempfile::tempdir().unwrap();
        let dir = SessionDir::create(root.path(), "run-x-20260308", &[]).unwrap();
        let question = Question {
            id: 7,
            kind: wavecrew_core::engine::QuestionKind::FailedWave,
            text: "All failed. Again?".into(),
            documents: Vec::new(),
            timeout: Duration::from_mins(1),
        };
        assert_eq!(open(&dir), None);
        let answered = std::thread::scope(|scope| {
            let asking = scope.spawn(|| ask(&dir, &question));
            let asked = loop {
                if let Some(asked) = open(&dir) {
                    break asked;
                }
                std::thread::yield_now();
            };
            assert_eq!(asked.question, question.text);
            let foreign = OpenQuestion {
                id: 6,
                ..asked.clone()
            };
            answer(&dir, &foreign, WrittenAnswer::of_client("abort")).unwrap();
            assert_eq!(
                open(&dir),
                Some(asked.clone()),
                "the answer to another question is none"
            );
            answer(&dir, &asked, WrittenAnswer::of_client("retry")).unwrap();
            asking.join().unwrap()
        });
        assert_eq!(answered, GivenAnswer::by(AnsweredBy::Client, Answer::Retry));
        assert_eq!(open(&dir), None);
    }

    #[test]
    fn a_question_past_its_time_limit_is_not_asked() {
        let root = tempfile::tempdir().unwrap();
        let dir = SessionDir::create(root.path(), "run-x-20260308", &[]).unwrap();
        let kind = QuestionKind::Advice { options: Vec::new() };
        let question = Question {
            id: 7,
            kind,
            text: "Which?".into(),
            documents: Vec::new(),
            timeout: Duration::ZERO,
        };
        assert_eq!(ask(&dir, &question).answer, Answer::Deny);
        assert_eq!(open(&dir), None);
    }

    #[test]
    fn the_meaning_of_a_word_depends_on_the_question() {
        let advice = QuestionKind::Advice {
            options: vec!["this".into()],
        };
        for (kind, word, answer) in [
            (&QuestionKind::FailedWave, "retry", Answer::Retry),
            (&QuestionKind::FailedWave, "abort", Answer::Abort),
            (&QuestionKind::Permission, "allow", Answer::Allow),
            (&QuestionKind::Permission, "retry", Answer::Deny),
            (&advice, "allow", Answer::Text("allow".into())),
            (&advice, " ", Answer::Deny),
        ] {
            assert_eq!(answer_for(kind, word), answer, "{kind:?} {word}");
        }
    }
}

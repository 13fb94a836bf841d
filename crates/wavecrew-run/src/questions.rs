//! Questions of a run that nobody at a terminal answers: they lie in the session's folder until somebody leaves an answer
//! there. One at a time; others wait for their turn.

use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wavecrew_core::engine::{Answer, Question, QuestionKind};
use wavecrew_session::{SessionDir, SessionError, atomic};

const POLL: Duration = Duration::from_millis(100);

/// A question as it lies there.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    pub id: u32,
    pub question: String,
    pub options: Vec<String>,
    /// Other words are an answer as well; none at all leave it to whoever asked.
    #[serde(default)]
    pub open: bool,
}

impl Asked {
    pub fn takes(&self, answer: &str) -> bool {
        self.open || self.options.iter().any(|option| option == answer)
    }

    /// The answer of somebody who does not want to answer.
    pub fn cautious(&self) -> &str {
        self.options
            .last()
            .filter(|_| !self.open)
            .map_or("", String::as_str)
    }
}

#[derive(Serialize, Deserialize)]
struct Answered {
    id: u32,
    answer: String,
}

fn asked(question: &Question) -> Asked {
    let choices = question.kind.choices();
    let words = || choices.iter().map(|choice| choice.word.to_owned()).collect();
    let (options, open) = match &question.kind {
        QuestionKind::Advice { options } => (options.clone(), true),
        QuestionKind::FailedWave
        | QuestionKind::Permission
        | QuestionKind::PolicyDecision { .. }
        | QuestionKind::Approval => (words(), false),
    };
    Asked {
        id: question.id,
        question: question.text.clone(),
        options,
        open,
    }
}

fn meant(about: &QuestionKind, word: &str) -> Answer {
    let in_words = matches!(about, QuestionKind::Advice { .. }) && !word.trim().is_empty();
    let chosen = about.choices().into_iter().find(|choice| choice.word == word);
    match chosen {
        Some(choice) => choice.answer,
        None if in_words => Answer::Text(word.to_owned()),
        None => about.unanswered(),
    }
}

/// Puts the question and waits for its answer, for as long as one counts.
pub fn ask(dir: &SessionDir, question: &Question) -> Answer {
    static ASKING: Mutex<()> = Mutex::new(());
    let since = Instant::now();
    let _asking = ASKING.lock();
    let asked = asked(question);
    let text = serde_json::to_vec(&asked).expect("plain data");
    let mut put = false;
    while since.elapsed() < question.timeout {
        if !put && atomic::write_volatile(&dir.question_file(), &text).is_err() {
            // A question that nobody can see is not answered.
            break;
        }
        put = true;
        if let Some(word) = answer_to(dir, question.id).filter(|word| asked.takes(word)) {
            forget(dir);
            return meant(&question.kind, &word);
        }
        std::thread::sleep(POLL);
    }
    forget(dir);
    question.kind.unanswered()
}

/// The question that is open, if there is one.
pub fn open(dir: &SessionDir) -> Option<Asked> {
    let asked: Asked = serde_json::from_slice(&fs::read(dir.question_file()).ok()?).ok()?;
    let answered = answer_to(dir, asked.id).is_some_and(|word| asked.takes(&word));
    (!answered).then_some(asked)
}

/// Forgets what was asked by a run that is gone.
pub fn forget(dir: &SessionDir) {
    for file in [dir.question_file(), dir.answer_file()] {
        let _ = fs::remove_file(file);
    }
}

/// Leaves the answer to a question.
pub fn answer(dir: &SessionDir, asked: &Asked, answer: &str) -> Result<(), SessionError> {
    let answered = Answered {
        id: asked.id,
        answer: answer.to_owned(),
    };
    let text = serde_json::to_vec(&answered).expect("plain data");
    atomic::write_volatile(&dir.answer_file(), &text)
}

fn answer_to(dir: &SessionDir, id: u32) -> Option<String> {
    let found: Answered = serde_json::from_slice(&fs::read(dir.answer_file()).ok()?).ok()?;
    (found.id == id).then_some(found.answer)
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
            let foreign = Asked {
                id: 6,
                ..asked.clone()
            };
            answer(&dir, &foreign, "abort").unwrap();
            assert_eq!(
                open(&dir),
                Some(asked.clone()),
                "the answer to another question is none"
            );
            answer(&dir, &asked, "retry").unwrap();
            asking.join().unwrap()
        });
        assert_eq!(answered, Answer::Retry);
        assert_eq!(open(&dir), None);
    }

    #[test]
    fn a_question_that_is_too_old_is_not_put() {
        let root = tempfile::tempdir().unwrap();
        let dir = SessionDir::create(root.path(), "run-x-20260308", &[]).unwrap();
        let kind = QuestionKind::Advice { options: Vec::new() };
        let question = Question {
            id: 7,
            kind,
            text: "Which?".into(),
            timeout: Duration::ZERO,
        };
        assert_eq!(ask(&dir, &question), Answer::Deny);
        assert_eq!(open(&dir), None);
    }

    #[test]
    fn words_mean_what_the_question_is_about() {
        let advice = QuestionKind::Advice {
            options: vec!["this".into()],
        };
        for (about, word, answer) in [
            (&QuestionKind::FailedWave, "retry", Answer::Retry),
            (&QuestionKind::FailedWave, "abort", Answer::Abort),
            (&QuestionKind::Permission, "allow", Answer::Allow),
            (&QuestionKind::Permission, "retry", Answer::Deny),
            (&advice, "allow", Answer::Text("allow".into())),
            (&advice, " ", Answer::Deny),
        ] {
            assert_eq!(meant(about, word), answer, "{about:?} {word}");
        }
    }
}

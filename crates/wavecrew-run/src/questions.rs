//! Questions of a run that nobody at a terminal answers: they lie in the session's folder until somebody leaves an answer
//! there. One at a time, for a run asks one at a time.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use wavecrew_core::engine::{Answer, Question};
use wavecrew_store::{SessionDir, StoreError, atomic};

const POLL: Duration = Duration::from_millis(100);

/// A question as it lies there.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    pub id: u32,
    pub question: String,
    pub options: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Answered {
    id: u32,
    answer: String,
}

/// Puts the question and waits for its answer, for as long as it takes.
pub fn ask(dir: &SessionDir, question: &Question) -> Answer {
    let choices = question.about.choices();
    let asked = Asked {
        id: question.id,
        question: question.text.clone(),
        options: choices.iter().map(|choice| choice.word.to_owned()).collect(),
    };
    let text = serde_json::to_vec(&asked).expect("plain data");
    if atomic::write_volatile(&question_file(dir), &text).is_err() {
        // A question that nobody can see is not answered.
        return choices[choices.len() - 1].answer;
    }
    loop {
        if let Some(word) = answer_to(dir, question.id)
            && let Some(choice) = choices.iter().find(|choice| choice.word == word)
        {
            for file in [question_file(dir), answer_file(dir)] {
                let _ = fs::remove_file(file);
            }
            return choice.answer;
        }
        std::thread::sleep(POLL);
    }
}

/// The question that is open, if there is one.
pub fn open(dir: &SessionDir) -> Option<Asked> {
    let asked: Asked = serde_json::from_slice(&fs::read(question_file(dir)).ok()?).ok()?;
    let answered = answer_to(dir, asked.id).is_some_and(|word| asked.options.contains(&word));
    (!answered).then_some(asked)
}

/// Forgets what was asked by a run that is gone.
pub fn forget(dir: &SessionDir) {
    for file in [question_file(dir), answer_file(dir)] {
        let _ = fs::remove_file(file);
    }
}

/// Leaves the answer to a question.
pub fn answer(dir: &SessionDir, asked: &Asked, answer: &str) -> Result<(), StoreError> {
    let answered = Answered {
        id: asked.id,
        answer: answer.to_owned(),
    };
    let text = serde_json::to_vec(&answered).expect("plain data");
    atomic::write_volatile(&answer_file(dir), &text)
}

fn answer_to(dir: &SessionDir, id: u32) -> Option<String> {
    let found: Answered = serde_json::from_slice(&fs::read(answer_file(dir)).ok()?).ok()?;
    (found.id == id).then_some(found.answer)
}

fn question_file(dir: &SessionDir) -> PathBuf {
    dir.run_folder().join("question.json")
}

fn answer_file(dir: &SessionDir) -> PathBuf {
    dir.run_folder().join("answer.json")
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
            about: wavecrew_core::engine::About::FailedWave,
            text: "All failed. Again?".into(),
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
}

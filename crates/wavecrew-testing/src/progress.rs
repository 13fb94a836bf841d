//! Shows the progress of a long step: `baseline 120/480 tests · 1m 20s, about 4m 00s left`. Writes to
//! standard error, because standard output of a check carries its report.

use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use wavecrew_core::time::human;
use wavecrew_measure::run::progress::{OnProgress, Progress, Unit};

/// Where progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressOutput {
    /// A line for each change, for a program that reads the output.
    Lines,
    /// A line now and then, for a log.
    Log,
    /// One line of a terminal, redrawn.
    Terminal,
    None,
}

/// Lines of a log are at least this far apart.
const LOG_INTERVAL: Duration = Duration::from_secs(15);

/// The step that runs now, and how it is shown.
#[derive(Debug, Clone)]
pub struct StepProgress {
    output: ProgressOutput,
    step: Arc<Mutex<Step>>,
}

#[derive(Debug)]
struct Step {
    name: String,
    started: Instant,
    shown: Option<Instant>,
    /// The step ends after this time, finished or not.
    limit: Option<Duration>,
}

impl StepProgress {
    pub fn new(output: ProgressOutput) -> Self {
        Self {
            output,
            step: Arc::new(Mutex::new(Step {
                name: "tests".to_owned(),
                started: Instant::now(),
                shown: None,
                limit: None,
            })),
        }
    }

    /// A new step begins.
    pub fn begin(&self, name: &str) {
        if let Ok(mut step) = self.step.lock() {
            *step = Step {
                name: name.to_owned(),
                started: Instant::now(),
                shown: None,
                limit: None,
            };
        }
        match self.output {
            ProgressOutput::Lines => eprintln!("{name}"),
            ProgressOutput::Terminal => draw(name),
            ProgressOutput::Log | ProgressOutput::None => {}
        }
    }

    /// The step that runs now ends after this time.
    pub fn limit(&self, limit: Duration) {
        if let Ok(mut step) = self.step.lock() {
            step.limit = Some(step.started.elapsed() + limit);
        }
    }

    /// The listener for a runner.
    pub fn listener(&self) -> Option<OnProgress> {
        let own = self.clone();
        (self.output != ProgressOutput::None).then(|| OnProgress::new(move |progress| own.show(progress)))
    }

    fn show(&self, progress: Progress) {
        let Ok(mut step) = self.step.lock() else {
            return;
        };
        let text = line(&step.name, progress, step.started.elapsed(), step.limit);
        match self.output {
            ProgressOutput::Lines => eprintln!("{text}"),
            ProgressOutput::Terminal => draw(&text),
            ProgressOutput::Log => {
                let last = step.shown.unwrap_or(step.started);
                if last.elapsed() >= LOG_INTERVAL {
                    step.shown = Some(Instant::now());
                    eprintln!("{text}");
                }
            }
            ProgressOutput::None => {}
        }
    }

    /// Clears the line on a terminal.
    pub fn end(&self) {
        if self.output == ProgressOutput::Terminal {
            draw("");
        }
    }
}

fn draw(text: &str) {
    // A closed terminal needs no progress.
    let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
}

/// `run of L1 12/80 tests · 20s, about 1m 53s left`
pub fn line(step: &str, progress: Progress, elapsed: Duration, limit: Option<Duration>) -> String {
    let Progress { unit, done, total } = progress;
    let mut text = match unit {
        Unit::Test => format!("{step} {done}/{total} tests"),
        Unit::TestFile => format!("{step} {done}/{total} test files"),
        Unit::Mutant => format!("mutant {done}/{total}"),
    };
    if elapsed >= Duration::from_secs(1) {
        text.push_str(&format!(" · {}", human(elapsed)));
    }
    let left = (u32::try_from(total.saturating_sub(done)), u32::try_from(done));
    if let (Ok(left @ 1..), Ok(done @ 1..)) = left
        && elapsed >= Duration::from_secs(5)
    {
        let estimate = elapsed * left / done;
        match limit.map(|limit| limit.saturating_sub(elapsed)) {
            Some(most) if most < estimate => text.push_str(&format!(", at most {} left", human(most))),
            Some(_) | None => text.push_str(&format!(", about {} left", human(estimate))),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_and_how_long() {
        let tests = |done| Progress {
            unit: Unit::Test,
            done,
            total: 480,
        };
        let seconds = Duration::from_secs;
        assert_eq!(
            line("baseline", tests(0), seconds(0), None),
            "baseline 0/480 tests"
        );
        assert_eq!(
            line("baseline", tests(120), seconds(80), None),
            "baseline 120/480 tests · 1m 20s, about 4m 00s left"
        );
        assert_eq!(
            line("baseline", tests(480), seconds(300), None),
            "baseline 480/480 tests · 5m 00s"
        );
        let mutants = Progress {
            unit: Unit::Mutant,
            done: 7,
            total: 12,
        };
        assert_eq!(line("run of L1", mutants, seconds(2), None), "mutant 7/12 · 2.0s");
        let limited = |limit| line("mutants", mutants, seconds(70), Some(seconds(limit)));
        assert_eq!(limited(90), "mutant 7/12 · 1m 10s, at most 20s left");
        assert_eq!(limited(900), "mutant 7/12 · 1m 10s, about 50s left");
    }
}

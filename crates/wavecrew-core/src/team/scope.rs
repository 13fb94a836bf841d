//! How a request gets its pipeline: by a fixed choice, by the size of the change, or by its words.

use crate::view::count;
use crate::words::has_word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a pipeline is chosen for a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scope {
    /// Always the same one.
    Fixed { pipeline: String },
    /// By how much changed: the first step whose limits hold, else `otherwise`.
    Changes {
        steps: Vec<ChangeStep>,
        otherwise: String,
    },
    /// By words in the request: the first entry with a word in it, else `otherwise`.
    Words {
        choices: Vec<WordChoice>,
        otherwise: String,
        /// Tells how demanding the request is; shown with the choice.
        #[serde(default)]
        complexity: Option<Complexity>,
    },
}

impl Scope {
    /// The pipeline for a request, and why. The size of the change is `None` where it is not known.
    pub fn choose(&self, request: &str, changes: Option<ChangeSize>) -> PipelineChoice {
        match self {
            Self::Fixed { pipeline } => PipelineChoice::new(pipeline, "the only one of this team"),
            Self::Changes { steps, otherwise } => {
                let Some(size) = changes else {
                    return PipelineChoice::new(otherwise, "the size of the change is not known");
                };
                let fits = |s: &&ChangeStep| size.files <= s.max_files && size.modules <= s.max_modules;
                match steps.iter().find(fits) {
                    Some(step) => {
                        let limit = ChangeSize {
                            files: step.max_files,
                            modules: step.max_modules,
                        };
                        PipelineChoice::new(&step.pipeline, format!("{size} (limit: {limit})"))
                    }
                    None => PipelineChoice::new(
                        otherwise,
                        format!("{size}, more than any smaller pipeline takes"),
                    ),
                }
            }
            Self::Words {
                choices,
                otherwise,
                complexity,
            } => {
                let hit = choices
                    .iter()
                    .find_map(|choice| Some((choice, first_word(request, &choice.words)?)));
                let (pipeline, mut reason) = match hit {
                    Some((choice, word)) => (&choice.pipeline, format!("the request says `{word}`")),
                    None => (
                        otherwise,
                        "the default: no word in the request selects another pipeline".to_owned(),
                    ),
                };
                if let Some(complexity) = complexity {
                    let (points, level) = complexity.rate(request);
                    reason = format!("{reason}; complexity {} ({points} points)", level.as_str());
                }
                PipelineChoice::new(pipeline, reason)
            }
        }
    }
}

/// A chosen pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PipelineChoice {
    pub pipeline: String,
    /// For people.
    pub reason: String,
}

impl PipelineChoice {
    fn new(pipeline: &str, reason: impl Into<String>) -> Self {
        Self {
            pipeline: pipeline.to_owned(),
            reason: reason.into(),
        }
    }
}

/// The size of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeSize {
    /// Existing source files, without tests and documents.
    pub files: u32,
    /// First folders below the source root.
    pub modules: u32,
}

impl std::fmt::Display for ChangeSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (files, modules) = (self.files as usize, self.modules as usize);
        write!(f, "{} in {}", count(files, "file"), count(modules, "module"))
    }
}

/// The first of the words that stands in the text as a whole word.
fn first_word<'w>(text: &str, words: &'w [String]) -> Option<&'w str> {
    let text = text.to_lowercase();
    let mut words = words.iter().map(String::as_str);
    words.find(|word| has_word(&text, word))
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeStep {
    pub pipeline: String,
    /// At most this many changed source files.
    pub max_files: u32,
    /// In at most this many modules (first folders below the source root).
    pub max_modules: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WordChoice {
    pub pipeline: String,
    /// Lower-case words; whole words of the request are compared.
    pub words: Vec<String>,
}

/// Points for words in the request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Complexity {
    pub signals: Vec<Signal>,
    /// Up to these points the request is Low.
    pub low_max: u32,
    /// Up to these points it is Medium; above, High.
    pub medium_max: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    pub name: String,
    pub words: Vec<String>,
    pub points: u32,
}

impl Complexity {
    /// Each signal counts once, however many of its words are there.
    pub fn rate(&self, request: &str) -> (u32, Level) {
        let heard = self
            .signals
            .iter()
            .filter(|signal| first_word(request, &signal.words).is_some());
        let points = heard.map(|signal| signal.points).sum();
        let level = if points <= self.low_max {
            Level::Low
        } else if points <= self.medium_max {
            Level::Medium
        } else {
            Level::High
        };
        (points, level)
    }
}

/// How demanding something is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    Low,
    Medium,
    High,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "Low",
            Self::Medium => "Medium",
            Self::High => "High",
        }
    }
}

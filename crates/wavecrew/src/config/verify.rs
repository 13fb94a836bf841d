//! `[verify]`: the commands that build and test the project, in place of those detected from its files.

use super::Reader;
use std::time::Duration;
use toml::de::DeTable;
use wavecrew_measure::verify::CommandSettings;

/// How long one command may take by default.
const LIMIT: Duration = Duration::from_mins(30);
/// How long a comparison of behaviour may take by default. Small changes take a tenth.
const BEHAVIOUR: Duration = Duration::from_secs(20);

/// The file's settings for verifying code; missing commands are detected.
#[derive(Clone, PartialEq, Eq, Debug, Default, clap::Args)]
pub struct Verify {
    /// Run before the build, in every fresh copy of the project
    #[arg(long)]
    setup: Option<String>,
    #[arg(long)]
    build: Option<String>,
    #[arg(long)]
    test: Option<String>,
    /// For each of the commands
    #[arg(long)]
    limit_seconds: Option<u64>,
    /// For comparing the behaviour of changed code with that before the task
    #[arg(long)]
    behaviour_seconds: Option<u64>,
}

impl Verify {
    pub fn settings(&self) -> CommandSettings {
        CommandSettings {
            setup: self.setup.clone(),
            build: self.build.clone(),
            test: self.test.clone(),
        }
    }

    pub fn limit(&self) -> Duration {
        self.limit_seconds.map_or(LIMIT, Duration::from_secs)
    }

    /// `None` if behaviour is not compared.
    pub fn behaviour(&self) -> Option<Duration> {
        let time = self.behaviour_seconds.map_or(BEHAVIOUR, Duration::from_secs);
        (!time.is_zero()).then_some(time)
    }

    /// The arguments that pass the settings on to another process of this program.
    pub fn words(&self) -> Vec<String> {
        let seconds = self.limit_seconds.map(|seconds| seconds.to_string());
        let behaviour = self.behaviour_seconds.map(|seconds| seconds.to_string());
        let given = [
            ("setup", &self.setup),
            ("build", &self.build),
            ("test", &self.test),
            ("limit-seconds", &seconds),
            ("behaviour-seconds", &behaviour),
        ];
        // As one argument, because a command may begin with a dash.
        let word = |(name, value): (&str, &Option<String>)| Some(format!("--{name}={}", value.as_ref()?));
        given.into_iter().filter_map(word).collect()
    }

    pub(super) fn fill(&mut self, table: &DeTable<'_>, reader: &mut Reader<'_>) {
        for (key, value) in table {
            match &**key.get_ref() {
                "setup" => self.setup = reader.text("setup", value),
                "build" => self.build = reader.text("build", value),
                "test" => self.test = reader.text("test", value),
                "limit_seconds" => {
                    self.limit_seconds = reader.number("limit_seconds", value).map(u64::from);
                }
                "behaviour_seconds" => {
                    self.behaviour_seconds = reader.number_from("behaviour_seconds", value, 0).map(u64::from);
                }
                unknown => reader.unknown(
                    key,
                    unknown,
                    " in [verify]",
                    &["setup", "build", "test", "limit_seconds", "behaviour_seconds"],
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, FILE};
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Told {
        #[command(flatten)]
        verify: Verify,
    }

    #[test]
    fn what_is_handed_on_arrives() {
        for text in [
            "",
            "[verify]\ntest = \"-x 'a b'\"",
            "[verify]\nsetup = \"npm ci\"\nbuild = \"true\"\ntest = \"make t\"\nlimit_seconds = 7",
            "[verify]\nbehaviour_seconds = 0",
        ] {
            let verify = Config::parse(FILE, text).expect("valid").verify;
            let words = [vec!["x".to_owned()], verify.words()].concat();
            assert_eq!(Told::parse_from(words).verify, verify, "{text}");
        }
    }

    #[test]
    fn a_comparison_of_behaviour_can_be_limited_and_turned_off() {
        for (text, seconds) in [
            ("", Some(20)),
            ("behaviour_seconds = 7", Some(7)),
            ("behaviour_seconds = 0", None),
        ] {
            let verify = Config::parse(FILE, &format!("[verify]\n{text}"))
                .expect("valid")
                .verify;
            assert_eq!(verify.behaviour(), seconds.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn mistakes_have_their_line() {
        let text =
            "[verify]\ntests = \"x\"\nbuild = 3\nsetup = \" \"\nlimit_seconds = 0\nbehaviour_seconds = -1\n";
        let problems: Vec<String> = Config::parse(FILE, text)
            .expect_err("all of it is wrong")
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            problems,
            [
                "wavecrew.toml:2: unknown setting `tests` in [verify]",
                "wavecrew.toml:3: `build` must be text",
                "wavecrew.toml:4: `setup` is empty",
                "wavecrew.toml:5: `limit_seconds` must be a whole number from 1 to 4294967295",
                "wavecrew.toml:6: `behaviour_seconds` must be a whole number from 0 to 4294967295",
            ]
        );
        let problems = Config::parse(FILE, "verify = \"make\"").expect_err("no table");
        assert_eq!(problems[0].message, "`verify` must be a table");
    }
}

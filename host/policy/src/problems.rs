//! Mistakes in a configuration, collected so that all are reported together.

use drivebay_observe::text::tame;

/// Bytes of a line.
const LONGEST: usize = 2048;

/// What is wrong, each with the place and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.listed())]
pub struct ConfigError {
    /// Where it was read from.
    pub source_name: String,
    /// At least one.
    pub problems: Vec<String>,
}

impl ConfigError {
    fn listed(&self) -> String {
        let mut text = format!("{}: {} problem(s)", self.source_name, self.problems.len());
        for problem in &self.problems {
            text.push_str("\n  - ");
            text.push_str(problem);
        }
        text
    }
}

/// Collects problems.
#[derive(Debug, Default)]
pub struct Problems(Vec<String>);

impl Problems {
    /// Notes one. What it quotes of a file may be meant for a terminal, so it is tamed.
    pub fn add(&mut self, problem: impl AsRef<str>) {
        self.0.push(tame(problem.as_ref(), LONGEST));
    }

    /// Notes one of several lines.
    pub fn add_lines(&mut self, problem: &str) {
        let lines: Vec<_> = problem.lines().map(|line| tame(line, LONGEST)).collect();
        self.0.push(lines.join("\n    "));
    }

    /// Notes the error of a result and gives its value otherwise.
    pub fn take<T, E: std::fmt::Display>(&mut self, place: &str, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.add(format!("{place}: {error}"))).ok()
    }

    /// The value, unless something was noted.
    ///
    /// # Errors
    /// All that was noted.
    pub fn into_result<T>(self, source_name: &str, value: T) -> Result<T, ConfigError> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(ConfigError { source_name: source_name.to_owned(), problems: self.0 })
        }
    }
}

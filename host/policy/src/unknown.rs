//! Keys that no section has: where each stands, and which one was probably meant. Reads the text once more for the
//! lines, because the typed file does not have them; decides nothing about values.

use serde_ignored::Path;
use toml::de::{DeTable, DeValue};

use super::rows::Section;
use super::sections;

/// One step of the way to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The way to a key that no section has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown(Vec<Step>);

impl Unknown {
    /// As serde met it.
    pub(super) fn met(path: &Path<'_>) -> Self {
        let mut steps = Vec::new();
        let mut next = Some(path);
        while let Some(path) = next {
            next = match path {
                Path::Root => None,
                Path::Seq { parent, index } => {
                    steps.push(Step::Index(*index));
                    Some(parent)
                }
                Path::Map { parent, key } => {
                    steps.push(Step::Key(key.clone()));
                    Some(parent)
                }
                Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
                    Some(parent)
                }
            };
        }
        steps.reverse();
        Self(steps)
    }

    /// A limit of the backend at this place in the file.
    pub(super) fn limit(backend: usize, key: &str) -> Self {
        let step = |text: &str| Step::Key(text.to_owned());
        Self(vec![step("backend"), Step::Index(backend), step("limits"), step(key)])
    }

    /// What to tell the operator, who wrote it in `text`.
    pub(super) fn words(&self, text: &str) -> String {
        let steps = self.0.iter().map(|step| match step {
            Step::Key(key) => key.clone(),
            Step::Index(index) => index.to_string(),
        });
        let path = steps.collect::<Vec<_>>().join(".");
        let line = line(text, &self.0).map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}unknown key `{path}`: {}", self.advice())
    }

    fn advice(&self) -> String {
        let mut names: Vec<&str> = self
            .0
            .iter()
            .filter_map(|step| match step {
                Step::Key(key) => Some(key.as_str()),
                Step::Index(_) => None,
            })
            .collect();
        let key = names.pop().unwrap_or_default();
        let own = sections::all().find(|section| section.path == names);
        let others = sections::all().filter(|section| section.path != names);
        if let Some(meant) = own.and_then(|own| nearest(key, own)) {
            return format!("did you mean `{meant}`?");
        }
        let elsewhere = others.filter_map(|other| Some((nearest(key, other)?, other)));
        if let Some((meant, other)) = elsewhere.min_by_key(|(meant, _)| distance(key, meant)) {
            return format!("did you mean `{meant}` in {}?", other.heading);
        }
        match own {
            Some(own) => format!("known here: {}", own.keys().join(", ")),
            None => "check its spelling and the section it stands in".to_owned(),
        }
    }
}

/// The key of a section that this one was probably meant to be.
fn nearest(key: &str, section: &Section) -> Option<&'static str> {
    let near = section.keys().into_iter().map(|known| (distance(key, known), known));
    near.filter(|(far, known)| *far <= (known.len() / 3).clamp(1, 3)).min().map(|(_, known)| known)
}

/// How many letters must be put in, left away or changed.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (n, letter) in one.chars().enumerate() {
        let mut left = n + 1;
        let mut next = vec![left];
        for ((above, before), other) in row.iter().skip(1).zip(&row).zip(other.chars()) {
            left = (above + 1).min(left + 1).min(before + usize::from(letter != other));
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// The line of a key, counted from 1; none: it does not stand in the text as such.
fn line(text: &str, steps: &[Step]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?.into_inner();
    let begin = position(&table, steps)?;
    Some(text.get(..begin)?.matches('\n').count() + 1)
}

fn position(table: &DeTable<'_>, steps: &[Step]) -> Option<usize> {
    let (Step::Key(key), rest) = steps.split_first()? else { return None };
    let (found, mut value) = table.iter().find(|(found, _)| found.get_ref() == key)?;
    let mut rest = rest;
    while let Some((Step::Index(index), after)) = rest.split_first() {
        let DeValue::Array(array) = value.get_ref() else { return None };
        value = array.get(*index)?;
        rest = after;
    }
    match value.get_ref() {
        _ if rest.is_empty() => Some(found.span().start),
        DeValue::Table(table) => position(table, rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        for (one, other, far) in
            [("", "", 0), ("a", "", 1), ("memry", "memory", 1), ("adresses", "addresses", 1), ("ab", "ba", 2)]
        {
            assert_eq!((distance(one, other), distance(other, one)), (far, far), "{one} {other}");
        }
    }
}

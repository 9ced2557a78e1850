//! What a backend names as background work: so many, each once, with ids like those of volumes.

use super::rules::{Breach, each, page, text};
use crate::BadAnswer;
use crate::bindings::exports::drivebay::backend::background::Work;

/// Most works of one answer: far more than any backend runs within the 10 s after which it is asked again.
const WORKS: usize = 1_000;
/// Most objects of all works of one answer together.
const OBJECTS: usize = 10_000;

/// Judges what `list-due` answered.
///
/// # Errors
/// The first rule broken, with the path of what breaks it.
pub fn works(works: &[Work]) -> Result<(), BadAnswer> {
    let at_most = |what: &str, count: usize, most: usize| {
        let problem = || Breach::new("works", format!("names {count} {what}; at most {most} are allowed"));
        if count > most { Err(problem()) } else { Ok(()) }
    };
    at_most("works", works.len(), WORKS)?;
    at_most("objects", works.iter().map(|work| work.objects.len()).sum(), OBJECTS)?;
    each("works", works, |work| {
        text::id("id", &work.id)?;
        each("objects", &work.objects, |object| text::id("id", &object.id))
    })?;
    page::unique_texts("works", works.iter().map(|work| work.id.as_str()))?;
    Ok(())
}

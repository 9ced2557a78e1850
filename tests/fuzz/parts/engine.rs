//! An engine without code: every component exports everything, and its guest says what the fuzzer makes up. It has the
//! names of the real engine that the bridge uses, no more, and decides nothing that the real one decides.

use std::fmt::{self, Debug};
use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::Interface;
use crate::made::Maker;

/// What the engine itself can fail with; here, that there is nothing to make an answer of.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// What a guest of one call knows, and what it was asked.
#[derive(Debug)]
pub struct Store<T> {
    /// What its answer is made of.
    pub says: Vec<u8>,
    /// Words that it may take up: those of the request.
    pub words: Vec<String>,
    /// What it was asked, as text; none: it was not called.
    pub asked: Option<String>,
    data: PhantomData<T>,
}

impl<T> Store<T> {
    /// A guest that was not called yet.
    pub fn new(says: Vec<u8>, words: Vec<String>) -> Self {
        Self { says, words, asked: None, data: PhantomData }
    }
}

/// The one instance.
#[derive(Debug)]
pub struct Instance;

/// The one component: it exports whatever it is asked for.
#[derive(Debug)]
pub struct InstancePre<T>(PhantomData<T>);

/// Where something is in it.
#[derive(Clone, Debug)]
pub struct FunctionIndex;

/// Where the functions of an interface are in it.
#[derive(Clone, Debug)]
pub struct GuestIndices;

/// Nobody watches.
pub trait Watch {}

impl<T> Watch for T {}

impl<T> InstancePre<T> {
    /// The component.
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// Itself.
    pub const fn component(&self) -> &Self {
        self
    }

    /// Everything is there.
    pub const fn get_export_index(&self, _within: Option<&FunctionIndex>, _name: &str) -> Option<FunctionIndex> {
        Some(FunctionIndex)
    }
}

impl GuestIndices {
    /// Everything is there.
    pub const fn new<T>(_component: &InstancePre<T>) -> Result<Self, Error> {
        Ok(Self)
    }

    /// Everything has the right type.
    pub const fn load<T>(&self, _store: &mut Store<T>, _instance: &Instance) -> Result<(), Error> {
        Ok(())
    }
}

/// Remembers what is asked and makes up an answer.
pub(crate) async fn enter<T, P: Debug, R: DeserializeOwned>(
    (store, _): (&mut Store<T>, &Instance),
    _function: (&FunctionIndex, (Interface, &'static str)),
    asked: P,
) -> Result<R, Error> {
    store.asked = Some(format!("{asked:?}"));
    let mut maker = Maker::new(&store.says, &store.words);
    R::deserialize(&mut maker).map_err(|nothing| Error(nothing.to_string()))
}

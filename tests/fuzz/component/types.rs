//! The component model's types, as far as backends and what they import have them: one form for what the contract says, for
//! what a file says and for what is made. Owns their layout in a guest's memory (by the canonical ABI); knows no contract.

use std::collections::BTreeMap;

/// Core types that a value is passed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    I32,
    I64,
    F32,
    F64,
}

/// The plain types, in one order for all who read or write them.
pub const PLAIN: [&str; 13] =
    ["bool", "u8", "s8", "u16", "s16", "u32", "s32", "char", "f32", "u64", "s64", "f64", "string"];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ty {
    Plain(&'static str),
    List(Box<Self>),
    Option(Box<Self>),
    Result(Option<Box<Self>>, Option<Box<Self>>),
    Tuple(Vec<Self>),
    Record(Vec<(String, Self)>),
    Variant(Vec<(String, Option<Self>)>),
    Enum(Vec<String>),
    /// Handles, flags and what else the contract has not.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Names of parameters are nobody's business.
    pub params: Vec<Ty>,
    pub result: Option<Ty>,
}

/// Functions by name.
pub type Interface = BTreeMap<String, Function>;
/// Interfaces by name.
pub type Interfaces = BTreeMap<String, Interface>;

impl Ty {
    /// The cases of whatever has cases.
    fn cases(&self) -> Option<Vec<Option<&Self>>> {
        Some(match self {
            Self::Option(inner) => vec![None, Some(inner)],
            Self::Result(ok, error) => vec![ok.as_deref(), error.as_deref()],
            Self::Variant(cases) => cases.iter().map(|(_, ty)| ty.as_ref()).collect(),
            Self::Enum(names) => vec![None; names.len()],
            _ => return None,
        })
    }

    fn has_other(&self) -> bool {
        let cases = || self.cases().unwrap_or_default().into_iter().flatten().any(Self::has_other);
        match self {
            Self::Other => true,
            Self::List(inner) => inner.has_other(),
            _ => cases() || self.fields().into_iter().any(Self::has_other),
        }
    }

    /// Size and alignment in memory.
    pub fn layout(&self) -> (usize, usize) {
        if let Some(cases) = self.cases() {
            let (size, align) = cases.iter().flatten().map(|ty| ty.layout()).fold((0, 1), larger);
            return (up(up(1, align) + size, align), align);
        }
        match self {
            Self::Plain("bool" | "u8" | "s8") => (1, 1),
            Self::Plain("u16" | "s16") => (2, 2),
            Self::Plain("u64" | "s64" | "f64") => (8, 8),
            Self::Plain("string") | Self::List(_) => (8, 4),
            Self::Record(_) | Self::Tuple(_) => {
                let fields = self.fields();
                let align = fields.iter().map(|ty| ty.layout().1).max().unwrap_or(1);
                (up(fields.iter().fold(0, |at, ty| up(at, ty.layout().1) + ty.layout().0), align), align)
            }
            _ => (4, 4),
        }
    }

    /// The members of a record or a tuple.
    pub fn fields(&self) -> Vec<&Self> {
        match self {
            Self::Record(fields) => fields.iter().map(|(_, ty)| ty).collect(),
            Self::Tuple(types) => types.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Where the payload of a case lies.
    pub fn payload(&self) -> usize {
        self.cases().map_or(0, |cases| up(1, cases.iter().flatten().map(|ty| ty.layout().1).max().unwrap_or(1)))
    }

    /// The case of this number, or its payload's absence.
    pub fn case(&self, index: usize) -> Option<&Self> {
        self.cases()?.get(index).copied().flatten()
    }

    /// How many cases there are; 0: it is nothing with cases.
    pub fn count(&self) -> usize {
        self.cases().map_or(0, |cases| cases.len())
    }

    /// What it is passed as.
    pub fn flat(&self) -> Vec<Core> {
        if let Some(cases) = self.cases() {
            let mut joined = Vec::new();
            for case in cases.into_iter().flatten() {
                for (at, core) in case.flat().into_iter().enumerate() {
                    match joined.get_mut(at) {
                        None => joined.push(core),
                        Some(known) if *known == core => {}
                        Some(known) => *known = join(*known, core),
                    }
                }
            }
            return [vec![Core::I32], joined].concat();
        }
        match self {
            Self::Plain("u64" | "s64") => vec![Core::I64],
            Self::Plain("f32") => vec![Core::F32],
            Self::Plain("f64") => vec![Core::F64],
            Self::Plain("string") | Self::List(_) => vec![Core::I32; 2],
            Self::Record(_) | Self::Tuple(_) => self.fields().into_iter().flat_map(Self::flat).collect(),
            _ => vec![Core::I32],
        }
    }
}

fn join(one: Core, other: Core) -> Core {
    if [one, other].iter().all(|core| matches!(core, Core::I32 | Core::F32)) { Core::I32 } else { Core::I64 }
}

fn larger(one: (usize, usize), other: (usize, usize)) -> (usize, usize) {
    (one.0.max(other.0), one.1.max(other.1))
}

/// The next multiple.
pub const fn up(at: usize, align: usize) -> usize {
    at.next_multiple_of(align)
}

impl Function {
    /// Whether the contract's form has no words for a part of it.
    pub fn has_other(&self) -> bool {
        self.params.iter().chain(&self.result).any(Ty::has_other)
    }

    /// The core function behind it: parameters and result.
    pub fn core(&self) -> (Vec<Core>, Option<Core>) {
        let params: Vec<Core> = self.params.iter().flat_map(Ty::flat).collect();
        let params = if params.len() > 16 { vec![Core::I32] } else { params };
        let result = self.result.as_ref().map(Ty::flat).unwrap_or_default();
        (params, if result.len() > 1 { Some(Core::I32) } else { result.first().copied() })
    }
}

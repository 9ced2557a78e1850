//! Makes an enum of words that the contract registers.
//!
//! It owns the pairing of name and word, so that neither can be listed without the other.

macro_rules! words {
    (
        $(#[$outer:meta])*
        pub enum $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$inner])* $variant,)+ }

        impl $name {
            /// All of them, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word as it stands in the contract.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

#[cfg(test)]
mod tests;

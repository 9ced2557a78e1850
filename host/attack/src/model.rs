//! What an attack is: who does what, and what must be seen then. Plain data; carries nothing out.

use tonic::Code;

/// One attack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attack {
    pub(super) id: &'static str,
    /// What is tried, in words.
    pub(super) tried: &'static str,
    /// The limit or the part of the host that contains it.
    pub(super) by: &'static str,
    pub(super) guest: Guest,
    pub(super) act: Act,
    pub(super) sign: Sign,
}

/// What attacks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Guest {
    /// The hostile guest, with its settings `at` and `deed`. `{place}` in a deed is the directory around its grant.
    Does(&'static str, &'static str),
    /// The same with a module in it whose start function does this when an instance is made.
    Starts(Module),
}

/// Core modules that no toolchain makes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Module {
    /// Its start function never ends.
    Loop,
    /// So many modules, each with a memory of so many pages.
    Memories(usize, u32),
    /// Components in components, so deep, each with such a memory.
    Nested(usize, u32),
    /// Its start function makes its table so many elements larger.
    Table(u32),
    /// One function of so many additions.
    Additions(usize),
    /// So many functions that take long to compile, one after the other.
    Functions(usize),
}

/// What the client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Create,
    Delete,
    List,
    /// Asks about one volume.
    Get,
    Snapshot,
    /// Reads the blocks of a snapshot to the end of the stream.
    Blocks,
    /// The same bad call over and over, then a good one.
    Series,
    /// A create after a while in which the host is left to itself.
    Later,
    /// More bad calls at once than are allowed, then a read.
    Flock,
    /// A few calls at once that hold what they take until they are ended; the answer to the first that is refused.
    Crowd,
    /// Two calls that race.
    Race,
    /// A create in a network of its own.
    Fetch,
    /// Publishes a volume on this node, while one of the neighbour's is published, and unpublishes both.
    Publish,
    /// Publishes many volumes at once, and the neighbour's over and over meanwhile.
    Renew,
    /// Publishes one, and waits until what is mounted there takes writes.
    Freeze,
    /// Nothing: the host meets the deed by itself.
    Nothing,
}

/// What must be seen of an attack that is contained, beside a host that lives and a neighbour that is served.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sign {
    /// The client's call fails with this code and these words.
    Fails(Code, &'static str),
    /// The client's call goes well, and the log stays shorter than so many bytes.
    Short(u64),
    /// Nothing outside of its grant was touched, told, mounted or attached.
    KeptIn,
    /// The state holds at most so many of these bytes, of which the deed writes many.
    Stores(u8, usize),
    /// At most so many copies of a file are under way.
    Copies(usize),
    /// Nothing arrived in the network but plain requests to what is granted, and no other name was asked for.
    Unheard,
    /// The same, and at most so many requests.
    Arrive(usize),
    /// Neither the answer nor the log has this text.
    Silent(&'static str),
    /// The log says these words.
    Logged(&'static str),
    /// The call goes well, and writes to what it mounted are taken after a while.
    Thaws,
}

impl Attack {
    /// The limits that the attacker is to run into; whatever else takes time has plenty.
    pub(super) fn meant(&self) -> Vec<&'static str> {
        match self.by {
            // Calls that hang for the whole of a time take part in it.
            "calls" | "memory-total" | "state-waiting" => vec!["change-time"],
            // The host that meets attack after attack. How it loads and compiles is not timed there.
            "" => vec!["cpu", "read-time", "change-time", "probe-time", "step-time", "recovery-time"],
            by => vec![by],
        }
    }
}

impl Act {
    /// Whether it takes namespaces or mounts, and so root.
    pub(super) const fn needs_root(self) -> bool {
        self.is_in_a_network() || self.is_on_a_node()
    }

    pub(super) const fn is_in_a_network(self) -> bool {
        matches!(self, Self::Fetch)
    }

    pub(super) const fn is_on_a_node(self) -> bool {
        matches!(self, Self::Publish | Self::Renew | Self::Freeze)
    }

    /// Whether it waits so long that it is begun before all others.
    pub(super) const fn is_slow(self) -> bool {
        matches!(self, Self::Freeze | Self::Later)
    }
}

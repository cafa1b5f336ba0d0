//! Kinds and flags of rows and messages. The numbers are part of the Python interface: add at the end, never renumber.

/// The kind of a content block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Text of anybody.
    #[default]
    Text = 0,
    /// A call of a client's tool.
    Call = 1,
    /// The result of one.
    Result = 2,
    /// Thinking or reasoning, with its text or without.
    Thinking = 3,
    /// A picture.
    Image = 4,
    /// A document or a file.
    Document = 5,
    /// A call that the provider runs itself, or an MCP server does.
    ServerCall = 6,
    /// The result of one.
    ServerResult = 7,
    /// A provider's own compaction of what was before; opaque and first.
    Compaction = 8,
    /// Anything that we do not know: counted, moved whole, never edited.
    Opaque = 9,
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = Self::Opaque as usize + 1;

    /// All, by their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Text,
        Self::Call,
        Self::Result,
        Self::Thinking,
        Self::Image,
        Self::Document,
        Self::ServerCall,
        Self::ServerResult,
        Self::Compaction,
        Self::Opaque,
    ];

    /// Whether the row asks for a result.
    #[must_use]
    pub fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::ServerCall)
    }

    /// Whether the row belongs to a tool.
    #[must_use]
    pub fn is_of_tool(self) -> bool {
        self.is_call() || self.is_result()
    }

    /// Whether the row is the result of a call.
    #[must_use]
    pub fn is_result(self) -> bool {
        matches!(self, Self::Result | Self::ServerResult)
    }
}

/// The role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// The user, and in the Messages shape the results of tools.
    User = 0,
    /// The model.
    Assistant = 1,
    /// System or developer text.
    System = 2,
    /// The result of a tool, where that is a message of its own.
    Tool = 3,
    /// A role that we do not know.
    Other = 4,
}

impl Role {
    /// How many there are.
    pub const COUNT: usize = Self::Other as usize + 1;

    /// All, by their numbers.
    pub const ALL: [Self; Self::COUNT] = [Self::User, Self::Assistant, Self::System, Self::Tool, Self::Other];
}

/// Flags of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum RowFlag {
    /// Its text is empty.
    Empty = 1,
    /// Its text is white space.
    Blank = 2,
    /// It carries a cache marker.
    Cached = 4,
    /// It is signed or encrypted.
    Signed = 8,
    /// It reports an error.
    Error = 16,
    /// Its text ends in white space.
    Trailing = 32,
    /// It is one envelope of a summary, and all that its message says. Whose summary, the archive knows.
    Summary = 64,
    /// It is a result whose content has been pruned.
    Pruned = 128,
    /// A field that the provider requires is missing.
    Incomplete = 256,
    /// It is a result whose content has a shape of its own: moved whole, never edited.
    Whole = 512,
    /// It is an item that the provider stores under an id of its own.
    Stored = 1024,
    /// It is a client's call that a code execution of the provider made.
    FromCode = 2048,
    /// It has a text that is empty and carries a cache marker.
    EmptyCached = 4096,
    /// It is a compaction whose provider neither reads nor bills what stands in front of it.
    Hides = 8192,
    /// It is a text with a closing tag.
    Tagged = 16384,
    /// It is a call whose arguments are free text, as a `custom_tool_call` of the Responses API has them.
    FreeText = 32768,
}

/// Flags of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum MessageFlag {
    /// Its content is null or missing.
    Null = 1,
    /// Its content is an empty list or string.
    Empty = 2,
    /// It belongs with the message behind it.
    Glued = 4,
    /// It has a list of calls without an entry.
    NoCalls = 8,
    /// Its content is a bare string.
    Plain = 16,
    /// It thinks, and a turn that thinks has to begin with that.
    Thinks = 32,
    /// It is a system message with settings of the request, which may stand anywhere if it has no text.
    Settings = 64,
    /// It is a system message that the model sees for one turn.
    Transient = 128,
    /// It has the settings that came with a provider's compaction, if it follows one.
    Configures = 256,
    /// A text or a key in it has a lone surrogate, which no UTF-8 holds.
    LoneSurrogate = 512,
}

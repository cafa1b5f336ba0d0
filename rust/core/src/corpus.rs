//! Many sessions as columns.

use std::collections::HashMap;

use crate::error::Error;
use crate::ledger::{Kind, Ledger, Role, Totals};

/// The number behind those of [`Kind`]: what a message costs beside its blocks.
pub const OVERHEAD: u8 = Kind::Opaque as u8 + 1;

/// The blocks of sessions, a row each; behind those of a message stands its overhead. And the sums of each session.
///
/// # Examples
///
/// ```
/// use trimtab_core::corpus::{Blocks, OVERHEAD};
/// use trimtab_core::counter::Counter;
/// use trimtab_core::jsonl::Reader;
/// use trimtab_tokens::Encoding;
///
/// let mut reader = Reader::new(Counter::from(Encoding::O200k), None);
/// reader.push(br#"[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hello you"}]"#)?;
/// let mut blocks = Blocks::default();
/// blocks.add(&reader.finish()?.found)?;
/// assert_eq!((blocks.sessions, blocks.message), (vec![4], vec![0, 0, 1, 1]));
/// assert_eq!((blocks.kind, blocks.tokens), (vec![0, OVERHEAD, 0, OVERHEAD], vec![1, 0, 2, 0]));
/// assert_eq!(blocks.sums.overhead, [0]);
/// # Ok::<(), trimtab_core::error::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Blocks {
    /// The number of rows of each session.
    pub sessions: Vec<u32>,
    /// The sums of each session.
    pub sums: Sums,
    /// The message of each row, in its session.
    pub message: Vec<u32>,
    /// The role of its message, a [`crate::ledger::Role`].
    pub role: Vec<u8>,
    /// Its kind, a [`Kind`] or [`OVERHEAD`].
    pub kind: Vec<u8>,
    /// Its tool, a position in `tools`; -1 of what is no tool's.
    pub tool: Vec<i32>,
    /// Its tokens.
    pub tokens: Vec<u32>,
    /// Names of tools, each once.
    pub tools: Vec<String>,
    numbers: HashMap<String, i32>,
}

/// Sums of the tokens of sessions.
#[derive(Debug, Default)]
pub struct Sums {
    /// Tokens of rows by role and kind.
    pub tokens: Vec<[[u64; Kind::COUNT]; Role::COUNT]>,
    /// Tokens of messages beyond those of their rows.
    pub overhead: Vec<u64>,
    /// The number of tools.
    pub tools: Vec<u32>,
    /// The tools of a session after those of the one before, by name; positions in [`Blocks::tools`].
    pub tool: Vec<i32>,
    /// Tokens of their calls and results.
    pub of_tool: Vec<u64>,
}

impl Blocks {
    /// Adds a session's blocks.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] past the rows or names that a column can number.
    pub fn add(&mut self, ledger: &Ledger) -> Result<(), Error> {
        let before = self.tokens.len();
        for message in 0..ledger.messages() {
            for row in ledger.rows_of(message) {
                let tool = if ledger.kind[row].is_of_tool() { self.number(ledger.names.get(row))? } else { -1 };
                self.push(ledger, message, ledger.kind[row] as u8, tool, ledger.tokens[row])?;
            }
            self.push(ledger, message, OVERHEAD, -1, ledger.overhead[message])?;
        }
        self.sessions.push(u32::try_from(self.tokens.len() - before).map_err(|_| Error::Overflow("rows"))?);
        self.sum(ledger)
    }

    fn sum(&mut self, ledger: &Ledger) -> Result<(), Error> {
        let Totals { overhead, tokens, .. } = Totals::of(ledger);
        self.sums.tokens.push(tokens);
        self.sums.overhead.push(overhead);
        let before = self.sums.tool.len();
        for (name, tokens) in ledger.by_tool() {
            let number = self.number(name)?;
            self.sums.tool.push(number);
            self.sums.of_tool.push(tokens);
        }
        self.sums.tools.push(u32::try_from(self.sums.tool.len() - before).map_err(|_| Error::Overflow("names"))?);
        Ok(())
    }

    fn push(&mut self, ledger: &Ledger, message: usize, kind: u8, tool: i32, tokens: u32) -> Result<(), Error> {
        self.message.push(u32::try_from(message).map_err(|_| Error::Overflow("messages"))?);
        self.role.push(ledger.role[message] as u8);
        self.kind.push(kind);
        self.tool.push(tool);
        self.tokens.push(tokens);
        Ok(())
    }

    fn number(&mut self, name: &str) -> Result<i32, Error> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let number = i32::try_from(self.tools.len()).map_err(|_| Error::Overflow("names"))?;
        self.numbers.insert(name.to_owned(), number);
        self.tools.push(name.to_owned());
        Ok(number)
    }
}

//! Reads messages from JSON text into a ledger: a list, or a message a line. No Python object is created.
//!
//! Bytes are pushed in chunks and dropped once they are counted, so that a file may be larger than memory.
//! Whole lines are read in parallel; a chunk in which a value spans lines, or a line holds several, is read in order.

mod collect;
mod damage;
mod recover;
mod walk;
mod wanted;

use std::borrow::Cow;

use crate::counter::Counter;
use crate::error::Error;
use crate::json::{Json, LazyText, Tape};
use crate::ledger::{Builder, Countable, Ledger, Sink, Whole};
use crate::shape::{Detector, Provider};
pub use collect::Collect;
use damage::is_blank;
pub use damage::{Open, escaped, glued};
pub use recover::{Defect, Recovered, recover};
use trimtab_simd::{Kernel, Work};
use trimtab_tokens::cancel;
use trimtab_tokens::pool;
use walk::{Place, Walk, lines};
pub use wanted::{Found, Wanted};

/// Bytes that are read at once: many tasks for each thread, and little memory for a process.
const CHUNK: usize = if cfg!(fuzzing) { 16 } else { 8 << 20 };

/// Bytes of a task: its values and texts fit into a core's cache.
const PIECE: usize = 256 << 10;

/// Bytes that are searched first for the provider: to search a whole chunk is one more pass through memory.
const FIRST: usize = if cfg!(fuzzing) { 4 } else { 16 << 10 };

/// Bytes of text for each row that is reserved: most rows are longer, few much shorter.
const COMMON: usize = 256;

/// Largest value in bytes; a larger one is skipped, because no provider accepts such a message.
const LONGEST: usize = 64 << 20;

/// Most bytes that are buffered while the provider is unknown.
const UNSURE: usize = 32 << 20;

/// Most skipped parts that are listed; the others are only counted.
const NAMED: usize = 10_000;

/// A part of a text that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Line, from 1.
    pub line: u64,
    /// Bytes before that line.
    pub offset: u64,
    /// The fault; never any text of the line.
    pub reason: &'static str,
    /// Whether what is there was read nevertheless.
    pub is_read: bool,
}

/// The contents of a text.
#[derive(Clone, Debug)]
pub struct Reading<F> {
    /// The ledger or the sums of its messages.
    pub found: F,
    /// The counter of its texts.
    pub counter: Counter,
    /// The provider whose shape they have.
    pub provider: Provider,
    /// Parts with a fault, the first ten thousand.
    pub skipped: Vec<Skip>,
    /// Number of all parts that could not be read.
    pub lost: u64,
}

impl<F> Reading<F> {
    fn map<G>(self, make: impl FnOnce(F) -> G) -> Reading<G> {
        let Self { found, counter, provider, skipped, lost } = self;
        Reading { found: make(found), counter, provider, skipped, lost }
    }
}

/// Reads messages from bytes that are pushed, and passes them to the collector `C`.
///
/// # Examples
///
/// ```
/// use trimtab_core::jsonl::Reader;
/// use trimtab_tokens::Encoding;
/// use trimtab_core::counter::Counter;
///
/// let mut reader = Reader::new(Counter::from(Encoding::O200k), None);
/// for part in [r#"{"role": "user", "content": "hello"#, " world\"}\nnonsense\n"] {
///     reader.push(part.as_bytes())?;
/// }
/// let found = reader.finish()?;
/// assert_eq!((found.found.messages(), found.found.tokens), (1, vec![2]));
/// assert_eq!((found.skipped[0].line, found.skipped[0].offset), (2, 43));
/// # Ok::<(), trimtab_core::error::Error>(())
/// ```
///
/// The result does not depend on how the bytes are split into chunks, for lines of up to 64 MiB.
pub struct Reader<C> {
    counter: Counter,
    provider: Option<Provider>,
    /// [`CHUNK`]; smaller in tests.
    chunk: usize,
    collected: C,
    skipped: Vec<Skip>,
    lost: u64,
    held: Vec<u8>,
    /// Bytes to buffer before the next attempt to read; 0 where the end of a line suffices.
    wanted: usize,
    begun: bool,
    /// Whether the next bytes belong to a line that is too long.
    dropping: bool,
    walk: Walk,
}

impl Reader<Ledger> {
    /// A reader that builds a ledger; a `provider` of `None` is detected from the first messages.
    #[must_use]
    pub fn new(counter: Counter, provider: Option<Provider>) -> Self {
        Self::of(counter, provider)
    }
}

impl<C: Collect> Reader<C> {
    /// A reader; a `provider` of `None` is detected from the first messages.
    #[must_use]
    pub fn of(counter: Counter, provider: Option<Provider>) -> Self {
        Self {
            counter,
            provider,
            chunk: CHUNK,
            collected: C::default(),
            skipped: Vec::new(),
            lost: 0,
            held: Vec::new(),
            wanted: 0,
            begun: false,
            dropping: false,
            walk: Walk::default(),
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] for a value that is no message of the provider's; [`Error::Overflow`] past what a column holds.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        while !rest.is_empty() {
            cancel::poll_now();
            // Buffers until there is a task for each thread.
            let is_enough = rest.len() >= self.wanted.max(self.chunk / 16);
            let taken = if self.held.is_empty() && is_enough { self.take(rest)? } else { self.hold(rest)? };
            rest = &rest[taken..];
        }
        Ok(())
    }

    /// Reads bytes in place and buffers an incomplete value at their end; returns how many were read.
    fn take(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let part = &bytes[..bytes.len().min(self.wanted.max(self.chunk))];
        let read = self.read(part, false)?;
        let left = &part[read..];
        self.want(left);
        if part.len() < bytes.len() {
            return Ok(read);
        }
        self.held.extend_from_slice(left);
        Ok(bytes.len())
    }

    /// Buffers bytes, and reads once there are enough; returns how many it took.
    fn hold(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        if self.held.is_empty() {
            self.wanted = self.wanted.max(self.chunk);
        }
        let missing = self.wanted.saturating_sub(self.held.len());
        let line = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
        let taken = if missing > 0 { missing } else { line }.min(bytes.len());
        self.held.extend_from_slice(&bytes[..taken]);
        let is_line = self.held.ends_with(b"\n") || self.held.len() > LONGEST;
        if taken >= missing && (missing > 0 || is_line) {
            self.work(false)?;
        }
        Ok(taken)
    }

    /// Sets how much must follow an incomplete value: the rest of its line, or of a value of several lines.
    fn want(&mut self, left: &[u8]) {
        let is_line = left.len() < self.chunk && memchr::memchr(b'\n', left).is_none();
        self.wanted = if is_line { 0 } else { (2 * left.len()).clamp(self.chunk, LONGEST + self.chunk) };
    }

    /// The contents of all bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::push`].
    pub fn finish(mut self) -> Result<Reading<C::Found>, Error> {
        self.work(true)?;
        if let Some(place) = self.walk.list {
            self.skip(place, "the list is not closed", false);
        }
        let empty = Builder::<Whole<String>>::new(self.counter.prompt, 0).finish(&self.counter)?;
        let found = self.collected.end(empty)?;
        self.skipped.sort_by_key(|skip| skip.offset);
        let provider = self.provider.unwrap_or(Provider::OpenAiChat);
        Ok(Reading { found, counter: self.counter, provider, skipped: self.skipped, lost: self.lost })
    }

    /// Reads the buffer, and keeps an incomplete value.
    fn work(&mut self, is_end: bool) -> Result<(), Error> {
        let held = std::mem::take(&mut self.held);
        let read = self.read(&held, is_end)?;
        self.want(&held[read..]);
        self.held = held;
        self.held.drain(..read);
        if self.held.is_empty() && self.held.capacity() > 2 * CHUNK {
            self.held = Vec::new();
        }
        Ok(())
    }

    fn read(&mut self, held: &[u8], is_end: bool) -> Result<usize, Error> {
        let mut from = 0;
        if self.dropping {
            let Some(end) = memchr::memchr(b'\n', held) else {
                self.walk.place.pass(held);
                return Ok(held.len());
            };
            from = end + 1;
            self.walk.place.pass(&held[..from]);
            self.dropping = false;
        }
        if !self.begun {
            if held.len() < 3 && !is_end {
                return Ok(0);
            }
            self.begun = true;
            from = if held.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            self.walk.place.pass(&held[..from]);
        }
        let lines = if is_end { held.len() } else { memchr::memrchr(b'\n', held).map_or(0, |n| n + 1) };
        if lines <= from && held.len() <= LONGEST && !is_end {
            return Ok(from); // what is wrong with a line is told when all of it is there
        }
        let bytes = if lines > from { &held[from..lines] } else { whole(&held[from..], is_end) };
        if self.provider.is_none() {
            self.provider = self.detect(&decode(first(bytes)), false);
        }
        if self.provider.is_none() {
            self.provider = self.detect(&decode(bytes), is_end);
            if self.provider.is_none() && !is_end && held.len() < UNSURE {
                return Ok(from);
            }
        }
        let provider = self.provider.unwrap_or(Provider::OpenAiChat);
        if self.walk.list.is_none() && lines > from && self.parallel(bytes, provider)? {
            self.walk.is_behind = false;
            return Ok(lines);
        }
        Ok(from + self.in_order(&decode(bytes), bytes, provider, is_end)?)
    }

    /// Reads lines of one message each, in parallel; false where one is not, and then nothing was read.
    fn parallel(&mut self, bytes: &[u8], provider: Provider) -> Result<bool, Error> {
        let (pieces, counter) = (pieces(bytes), self.counter);
        let is_alone = pieces.len() > 1;
        let read = |piece: &&[u8]| {
            let (text, mut builder) = (simdutf8::basic::from_utf8(piece).ok()?, C::Sink::begin(counter.prompt, 0));
            // Counts lines while they are in the core's cache: later it is one more pass through memory.
            read_lines(text, provider, &mut builder)
                .map(|lines| (lines, C::Sink::part(&mut builder, &counter, is_alone)))
        };
        let Some(found) = pool::map_all(&pieces, read) else { return Ok(false) };
        self.walk.place.pass_lines(bytes, found.iter().map(|(lines, _)| lines).sum());
        let sizes =
            found.iter().filter_map(|(_, ledger)| ledger.as_ref().ok()).map(|part| (part.messages(), part.rows()));
        let (messages, rows) = sizes.fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1));
        self.collected.make_room(messages, rows);
        found.into_iter().try_for_each(|(_, part)| self.collected.take(part?))?;
        Ok(true)
    }

    /// Reads value after value; returns the number of bytes read.
    fn in_order(&mut self, text: &str, raw: &[u8], provider: Provider, is_end: bool) -> Result<usize, Error> {
        let (before, mut faults) = (self.collected.messages(), Vec::new());
        let mut builder = C::Sink::begin(self.counter.prompt, before);
        let mut walk = std::mem::take(&mut self.walk);
        let through = walk.over(
            text,
            is_end,
            &mut |value| provider.read(&value, &mut builder),
            &mut |place, at, reason, is_read| {
                // `decode` replaced a line that is not UTF-8.
                let is_text = text.as_bytes().get(at) == raw.get(at);
                faults.push((place, if is_text { reason } else { "not UTF-8" }, is_read));
            },
        );
        self.walk = walk;
        for (place, reason, is_read) in faults {
            self.skip(place, reason, is_read);
        }
        let through = through?;
        self.dropping = through.is_dropping;
        self.collected.take(C::Sink::part(&mut builder, &self.counter, false)?)?;
        Ok(through.bytes)
    }

    /// The provider of the first message that identifies one; Chat if none does and the complete text has system text.
    fn detect(&self, text: &str, is_end: bool) -> Option<Provider> {
        let mut detector = Detector::default();
        let mut see = |value: Json<'_, '_>| {
            if detector.see(&value)? { Err(Error::Argument("the provider is known".to_owned())) } else { Ok(()) }
        };
        // The error stops the search; any other error occurs again when the text is read.
        let _ = self.walk.clone().over(text, is_end, &mut see, &mut |_, _, _, _| ());
        if is_end { detector.found_in_all() } else { detector.found() }
    }

    fn skip(&mut self, place: Place, reason: &'static str, is_read: bool) {
        self.lost += u64::from(!is_read);
        if self.skipped.len() < NAMED {
            self.skipped.push(Skip { line: place.line, offset: place.offset, reason, is_read });
        }
    }
}

/// Reads each line as one message; returns the number of line ends. `None` if a line is no message: a value may continue in
/// the next line.
fn read_lines<'a, S>(text: &'a str, provider: Provider, builder: &mut Builder<S>) -> Option<u64>
where
    S: Countable<Text = LazyText<'a>>,
{
    S::reserve(builder, text.len() / COMMON);
    trimtab_simd::run(Lines { text, provider, builder })
}

/// The work of [`read_lines`], for any kernel.
struct Lines<'b, 'a, S> {
    text: &'a str,
    provider: Provider,
    builder: &'b mut Builder<S>,
}

impl<'a, S: Sink<Text = LazyText<'a>>> Work for Lines<'_, 'a, S> {
    type Output = Option<u64>;

    #[inline(always)]
    #[allow(clippy::inline_always)] // to be compiled for the processor that it was asked for
    fn run(self, kernel: impl Kernel) -> Option<u64> {
        let (mut tape, bytes, mut at, mut ended) = (Tape::default(), self.text.as_bytes(), 0, 0);
        loop {
            while let Some(&byte) = bytes.get(at).filter(|&&byte| is_blank(byte) || byte == b'\n') {
                ended += u64::from(byte == b'\n');
                at += 1;
            }
            if at == bytes.len() {
                return Some(ended);
            }
            let end = tape.parse_with(kernel, self.text, at).ok()?;
            if tape.is_spaced {
                ended += lines(&bytes[at..end]);
            }
            let rest = bytes[end..].iter().take_while(|&&b| is_blank(b)).count();
            let is_one = tape.is_map() && matches!(bytes.get(end + rest), None | Some(b'\n'));
            if !is_one || self.provider.read(&Json::new(&tape.of(self.text)), self.builder).is_err() {
                return None;
            }
            at = end + rest;
        }
    }
}

/// Splits the bytes at line ends into parts of about the size of a task.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut pieces, mut rest) = (Vec::with_capacity(bytes.len() / PIECE + 1), bytes);
    while rest.len() > PIECE {
        let end = memchr::memchr(b'\n', &rest[PIECE..]).map_or(rest.len(), |n| PIECE + n + 1);
        let (piece, others) = rest.split_at(end);
        pieces.push(piece);
        rest = others;
    }
    pieces.push(rest);
    pieces
}

/// The first lines, which mostly identify the provider.
fn first(bytes: &[u8]) -> &[u8] {
    let some = &bytes[..bytes.len().min(FIRST)];
    &some[..memchr::memrchr(b'\n', some).map_or(0, |end| end + 1)]
}

/// The bytes without an incomplete character at their end.
fn whole(bytes: &[u8], is_end: bool) -> &[u8] {
    let last = bytes.len().saturating_sub(3);
    let begun = bytes[last..].iter().rposition(|&b| b >= 0xC0).map(|n| last + n);
    match begun.and_then(|n| std::str::from_utf8(&bytes[n..]).err().map(|error| (n, error.error_len()))) {
        Some((n, None)) if !is_end => &bytes[..n],
        _ => bytes,
    }
}

/// Decodes the bytes as text of the same length: an encoded surrogate becomes U+FFFD, and a line that is not UTF-8 becomes
/// NULs, which are not valid JSON.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut fault = match std::str::from_utf8(bytes) {
        Ok(text) => return Cow::Borrowed(text),
        Err(error) => error.valid_up_to(),
    };
    let mut made = bytes.to_vec();
    loop {
        if let [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] = made[fault..] {
            made[fault..fault + 3].copy_from_slice("\u{fffd}".as_bytes());
        } else {
            let start = memchr::memrchr(b'\n', &made[..fault]).map_or(0, |n| n + 1);
            let end = memchr::memchr(b'\n', &made[fault..]).map_or(made.len(), |n| fault + n);
            made[start..end].fill(0);
        }
        // Everything before the fault is valid, and a line starts with a whole character.
        fault += match std::str::from_utf8(&made[fault..]) {
            Ok(_) => return String::from_utf8(made).map_or_else(|_| Cow::Borrowed(""), Cow::Owned),
            Err(error) => error.valid_up_to(),
        };
    }
}

#[cfg(test)]
impl<C: Collect> Reader<C> {
    /// Reads a line at once, for tests of what is done with lines.
    pub(crate) fn take_line(&mut self, line: &str) {
        self.held.extend_from_slice(line.as_bytes());
        self.work(false).expect("a line of a message");
    }

    /// Returns the rows collected so far.
    pub(crate) fn collected(&self) -> &C {
        &self.collected
    }
}

#[cfg(test)]
mod tests;

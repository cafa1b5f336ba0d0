//! JSON text to a tape: one pass, one entry a value, so that a view can step over what nobody asks for.

use super::names;
use crate::text::simd::{self, Passed};

/// Nesting beyond this is refused, as Python's parser refuses it a little later.
pub const DEEPEST: usize = 900;

/// Digits of an integer beyond which Python refuses to read it.
pub const MOST_DIGITS: usize = 4_300;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Integer,
    Float,
    /// `NaN`, `Infinity`, `-Infinity`.
    Word,
    /// A string that stands for itself.
    Plain,
    /// A string with escapes.
    Escaped,
    List,
    Map,
}

/// A value: its place in the text, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub kind: Kind,
    /// What a name in a map is called, as [`names`] has it.
    pub name: u8,
    pub start: u32,
    pub end: u32,
    /// The entry behind it and all that is inside it; of one that is still open, the one around it.
    pub next: u32,
    /// Of a map, the names that may be in it: a bit each, some share one.
    pub names: u64,
}

/// Why a text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text ends inside the value.
    Cut,
    /// What is wrong.
    Wrong(&'static str),
}

/// The values of one text, in order. Used again and again, it allocates once.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub(super) entries: Vec<Entry>,
    /// How deep its lists and maps are nested.
    pub(super) depth: usize,
}

impl Tape {
    /// Parses the value that begins at `at`, behind white space; gives the position behind it.
    ///
    /// Linear in the value. The entries are those of this value alone.
    ///
    /// # Errors
    ///
    /// What is wrong with it; the entries mean nothing then.
    pub fn parse(&mut self, text: &str, at: usize) -> Result<usize, Fault> {
        self.entries.clear();
        if u32::try_from(text.len()).is_err() {
            return Err(Fault::Wrong("not JSON of less than 4 GiB"));
        }
        let mut parser = Parser { bytes: text.as_bytes(), at, entries: &mut self.entries, depth: 0, deepest: 0 };
        parser.space();
        parser.value().map_err(|why| *why)?;
        let (end, deepest) = (parser.at, parser.deepest);
        self.depth = deepest;
        Ok(end)
    }

    /// Whether the value is a map.
    #[must_use]
    pub fn is_map(&self) -> bool {
        self.entries.first().is_some_and(|entry| entry.kind == Kind::Map)
    }

    /// Whether the value is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.entries.first().is_some_and(|entry| entry.kind == Kind::List)
    }
}

/// A fault by reference: it fits a register.
type Why = &'static Fault;

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    entries: &'a mut Vec<Entry>,
    /// Lists and maps that are open, and the most that were.
    depth: usize,
    deepest: usize,
}

/// No list or map is around a value.
const OUTSIDE: u32 = u32::MAX;

#[allow(clippy::cast_possible_truncation)] // `parse` has seen that every position fits
impl Parser<'_> {
    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    #[inline]
    fn byte(&self) -> Result<u8, Why> {
        self.bytes.get(self.at).copied().ok_or(&Fault::Cut)
    }

    #[inline]
    fn push(&mut self, kind: Kind, name: u8, start: usize, end: usize) {
        let next = self.entries.len() as u32 + 1;
        let (start, end) = (start as u32, end as u32);
        self.entries.push(Entry { kind, name, start, end, next, names: 0 });
    }

    /// One value and all that is inside it.
    fn value(&mut self) -> Result<(), Why> {
        let mut around = OUTSIDE;
        loop {
            match self.byte()? {
                b'"' => self.string()?,
                open @ (b'{' | b'[') => {
                    let kind = if open == b'{' { Kind::Map } else { Kind::List };
                    around = self.open(kind, around)?;
                    if self.byte()? != close(kind) {
                        if kind == Kind::Map {
                            self.name(around)?;
                        }
                        continue;
                    }
                    around = self.close(around);
                }
                _ => self.bare()?,
            }
            loop {
                let Some(entry) = self.entries.get(around as usize) else { return Ok(()) };
                let kind = entry.kind;
                self.space();
                let byte = self.byte()?;
                if byte == b',' {
                    self.at += 1;
                    self.space();
                    if kind == Kind::Map {
                        self.name(around)?;
                    }
                    break;
                }
                if byte != close(kind) {
                    return Err(&Fault::Wrong("not JSON (expected a comma or an end)"));
                }
                around = self.close(around);
            }
        }
    }

    /// A list or a map begins; gives its entry.
    fn open(&mut self, kind: Kind, around: u32) -> Result<u32, Why> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        if self.depth > DEEPEST {
            return Err(&Fault::Wrong("nested too deeply"));
        }
        let place = self.entries.len() as u32;
        self.entries.push(Entry { kind, name: names::NONE, start: self.at as u32, end: 0, next: around, names: 0 });
        self.at += 1;
        self.space();
        Ok(place)
    }

    /// Ends the list or the map of entry `place`; gives the one around it.
    fn close(&mut self, place: u32) -> u32 {
        self.at += 1;
        self.depth -= 1;
        let behind = self.entries.len() as u32;
        let entry = &mut self.entries[place as usize];
        entry.end = self.at as u32;
        std::mem::replace(&mut entry.next, behind)
    }

    /// A name in the map of entry `map`, with what stands before its value.
    fn name(&mut self, map: u32) -> Result<(), Why> {
        if self.byte()? != b'"' {
            return Err(&Fault::Wrong("not JSON (expected a key in quotes)"));
        }
        let (bit, start) = (self.known(), self.at + 1);
        self.entries[map as usize].names |= match bit {
            Some(bit) => bit,
            None => self.other(start)?,
        };
        if self.bytes.get(self.at) != Some(&b':') {
            self.space();
            if self.byte()? != b':' {
                return Err(&Fault::Wrong("not JSON (expected a colon)"));
            }
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// A name that is over within eight bytes; gives its bit in the set of the map's names.
    #[inline]
    fn known(&mut self) -> Option<u64> {
        let start = self.at + 1;
        let word = u64::from_le_bytes(*self.bytes.get(start..start + 8)?.first_chunk()?);
        let length = specials(word).trailing_zeros() / 8;
        if length >= 8 || (word >> (8 * length)) & 0xFF != u64::from(b'"') {
            return None;
        }
        let name = names::short(word & ((1 << (8 * length)) - 1), length as usize);
        self.push(Kind::Plain, name, start, start + length as usize);
        self.at = start + length as usize + 1;
        Some(names::bit(name))
    }

    /// A longer one, or one with escapes.
    fn other(&mut self, start: usize) -> Result<u64, Why> {
        self.string()?;
        let Some(entry) = self.entries.last_mut() else { return Ok(0) };
        if entry.kind == Kind::Plain {
            entry.name = names::of(&self.bytes[start..entry.end as usize]);
            Ok(names::bit(entry.name))
        } else {
            Ok(u64::MAX) // it may be any name
        }
    }

    /// A value without quotes or brackets.
    fn bare(&mut self) -> Result<(), Why> {
        match self.byte()? {
            b'n' => self.word("null", Kind::Null),
            b't' => self.word("true", Kind::True),
            b'f' => self.word("false", Kind::False),
            b'N' => self.word("NaN", Kind::Word),
            b'I' => self.word("Infinity", Kind::Word),
            b'-' if self.bytes.get(self.at + 1) == Some(&b'I') => self.word("-Infinity", Kind::Word),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(&Fault::Wrong("not JSON (expected a value)")),
        }
    }

    fn word(&mut self, word: &'static str, kind: Kind) -> Result<(), Why> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.push(kind, names::NONE, self.at, self.at + word.len());
            self.at += word.len();
            return Ok(());
        }
        let is_cut = word.as_bytes().starts_with(rest);
        Err(if is_cut { &Fault::Cut } else { &Fault::Wrong("not JSON (expected a value)") })
    }

    fn digits(&mut self) -> Result<usize, Why> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        match self.at - start {
            0 => Err(self.byte().map_or(&Fault::Cut, |_| &Fault::Wrong("not JSON (expected a digit)"))),
            n => Ok(n),
        }
    }

    fn number(&mut self) -> Result<(), Why> {
        let (start, mut kind) = (self.at, Kind::Integer);
        self.at += usize::from(self.bytes[start] == b'-');
        let leads_with_zero = self.bytes.get(self.at) == Some(&b'0');
        let digits = self.digits()?;
        if leads_with_zero && digits > 1 {
            return Err(&Fault::Wrong("not JSON (a number that begins with 0)"));
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
            kind = Kind::Float;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
            kind = Kind::Float;
        }
        if kind == Kind::Integer && digits > MOST_DIGITS {
            return Err(&Fault::Wrong("not JSON (a number of more than 4,300 digits)"));
        }
        self.push(kind, names::NONE, start, self.at);
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<(), Why> {
        let start = self.at + 1;
        if let Some(eight) = self.bytes.get(start..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*eight);
            let length = specials(word).trailing_zeros() / 8;
            if length < 8 && (word >> (8 * length)) & 0xFF == u64::from(b'"') {
                let end = start + length as usize;
                self.push(Kind::Plain, names::NONE, start, end);
                self.at = end + 1;
                return Ok(());
            }
        }
        self.long(start)
    }

    /// A string of more than a few bytes, or with escapes.
    fn long(&mut self, start: usize) -> Result<(), Why> {
        let (mut at, mut kind) = (start, Kind::Plain);
        loop {
            let passed = simple(self.bytes, at);
            if passed.escapes {
                kind = Kind::Escaped;
            }
            at = passed.at;
            match self.bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    kind = Kind::Escaped;
                    while self.bytes.get(at) == Some(&b'\\') {
                        at += escape(&self.bytes[at..])?;
                    }
                }
                Some(_) => return Err(&Fault::Wrong("not JSON (a control character in a string)")),
                None => return Err(&Fault::Cut),
            }
        }
        self.push(kind, names::NONE, start, at);
        self.at = at + 1;
        Ok(())
    }
}

/// Goes over what needs no second look in a string: to its quote, an escape or a control character, or the end.
#[inline]
fn simple(bytes: &[u8], at: usize) -> Passed {
    match simd::pass(bytes, at) {
        Some(passed) if passed.at + simd::ROOM <= bytes.len() => passed,
        Some(passed) => Passed { at: special(bytes, passed.at), ..passed },
        None => Passed { at: special(bytes, at), escapes: false },
    }
}

/// What ends a list or a map.
fn close(kind: Kind) -> u8 {
    if kind == Kind::Map { b'}' } else { b']' }
}

/// The length of the escape at the start.
fn escape(bytes: &[u8]) -> Result<usize, Why> {
    match bytes.get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        Some(b'u') => {
            let hex = &bytes[2..bytes.len().min(6)];
            match hex.iter().all(u8::is_ascii_hexdigit) {
                true if hex.len() == 4 => Ok(6),
                true => Err(&Fault::Cut),
                false => Err(&Fault::Wrong("not JSON (an escape without four digits)")),
            }
        }
        Some(_) => Err(&Fault::Wrong("not JSON (an unknown escape)")),
        None => Err(&Fault::Cut),
    }
}

/// The first quote, backslash or control character from `at` on; the length of `bytes` where there is none.
fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let found = specials(u64::from_le_bytes(*eight));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_special = |b: &u8| matches!(b, b'"' | b'\\' | 0..0x20);
    bytes[at..].iter().position(is_special).map_or(bytes.len(), |n| at + n)
}

/// The top bit of each of eight bytes that is special; only the lowest one is exact.
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    let (quote, slash) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    (zero(quote) | zero(slash) | (word.wrapping_sub(ONES * 0x20) & !word)) & TOPS
}

#[cfg(test)]
mod tests;

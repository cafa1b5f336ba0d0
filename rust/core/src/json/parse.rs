//! Parses JSON text into a tape: one pass, one entry a value.

use super::names;
use super::tape::{Entry, Fault, Kind, Tape};
use trimtab_simd::{Kernel, NEAR, Work};

/// Deepest nesting that is accepted; Python's parser accepts slightly more.
pub const DEEPEST: usize = 900;

/// Most digits of an integer that Python accepts.
pub const MOST_DIGITS: usize = 4_300;

/// The fault of a control character in a string, which JSON escapes; of a line's end there, which may be a torn line's.
pub const CONTROL: Fault = Fault::Wrong("not JSON (a control character in a string)");
/// As [`CONTROL`].
pub const LINE_BREAK: Fault = Fault::Wrong("not JSON (a line break in a string)");

/// A fault as a reference, which fits into a register.
type Why = &'static Fault;

/// The parent of the outermost value.
const OUTSIDE: u32 = u32::MAX;

impl Tape {
    /// Parses the value that begins at `at`, after white space; returns the position after it.
    ///
    /// Linear in the value. The tape holds the entries of this value only.
    ///
    /// # Errors
    ///
    /// The fault of the text; then the entries are meaningless.
    #[inline]
    pub fn parse(&mut self, text: &str, at: usize) -> Result<usize, Fault> {
        trimtab_simd::run(Parse { tape: self, text, at, takes_controls: false })
    }

    /// Parses as [`Self::parse`], and takes control characters in strings as they are.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    pub fn parse_controls(&mut self, text: &str, at: usize) -> Result<usize, Fault> {
        trimtab_simd::run(Parse { tape: self, text, at, takes_controls: true })
    }

    /// Parses as [`Self::parse`], with a given kernel.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    #[inline(always)]
    #[allow(clippy::inline_always)] // to be compiled for the kernel's processor
    pub fn parse_with(&mut self, kernel: impl Kernel, text: &str, at: usize) -> Result<usize, Fault> {
        self.parse_as(kernel, text, at, false)
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // to be compiled for the kernel's processor
    fn parse_as(&mut self, kernel: impl Kernel, text: &str, at: usize, takes_controls: bool) -> Result<usize, Fault> {
        if u32::try_from(text.len()).is_err() {
            return Err(Fault::Wrong("not JSON of less than 4 GiB"));
        }
        let room = std::mem::take(&mut self.entries);
        let mut parser = Parser::new(kernel, text.as_bytes(), at, room);
        parser.takes_controls = takes_controls;
        let (done, stopped, entries) = parser.parse();
        (self.entries, self.stopped) = (entries, stopped);
        let parsed = done.map_err(|why| *why)?;
        (self.depth, self.is_spaced) = (parsed.depth, parsed.is_spaced);
        Ok(parsed.end)
    }
}

/// One text to be parsed by any kernel.
struct Parse<'t, 'a> {
    tape: &'t mut Tape,
    text: &'a str,
    at: usize,
    takes_controls: bool,
}

impl Work for Parse<'_, '_> {
    type Output = Result<usize, Fault>;

    #[inline(always)]
    #[allow(clippy::inline_always)] // to be compiled for the kernel's processor
    fn run(self, kernel: impl Kernel) -> Self::Output {
        self.tape.parse_as(kernel, self.text, self.at, self.takes_controls)
    }
}

/// Parses one value. The code for nearly every message is inlined into one function of each page, so that its state stays in
/// registers; a function that is not inlined takes the position and returns a new one.
struct Parser<'a, K> {
    kernel: K,
    bytes: &'a [u8],
    at: usize,
    entries: Vec<Entry>,
    /// The name of the next value.
    name: (u8, u32, u32),
    /// Current and largest nesting depth.
    depth: usize,
    deepest: usize,
    /// Whether there was more white space than single blanks.
    is_spaced: bool,
    /// Whether strings may have control characters.
    takes_controls: bool,
}

/// Facts about a parsed value.
struct Parsed {
    /// The offset of its end.
    pub end: usize,
    /// How deep its lists and maps are nested.
    pub depth: usize,
    /// Whether it has more white space than single blanks.
    pub is_spaced: bool,
}

#[allow(clippy::cast_possible_truncation)] // who calls has seen that every position fits
#[allow(clippy::inline_always)] // a function that is not inlined is not compiled for the processor
impl<'a, K: Kernel> Parser<'a, K> {
    /// Of the value that begins at `at`, behind white space.
    #[inline(always)]
    pub fn new(kernel: K, bytes: &'a [u8], at: usize, mut entries: Vec<Entry>) -> Self {
        entries.clear();
        let name = (names::NONE, 0, 0);
        Self { kernel, bytes, at, entries, name, depth: 0, deepest: 0, is_spaced: false, takes_controls: false }
    }

    /// Facts about the value; where the parser stopped; its entries, or the buffer for some.
    #[inline(always)]
    pub fn parse(mut self) -> (Result<Parsed, Why>, usize, Vec<Entry>) {
        let done = self.value();
        let parsed = Parsed { end: self.at, depth: self.deepest, is_spaced: self.is_spaced };
        (done.map(|()| parsed), self.at, self.entries)
    }

    /// Skips white space, which is rarely more than one space. A predicted branch is faster than arithmetic, on whose result
    /// the next load would depend.
    #[inline(always)]
    fn next(&mut self) -> Result<u8, Why> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte > b' ' => return Ok(*byte),
            Some(b' ') => {
                if let Some(byte) = self.bytes.get(self.at + 1).filter(|byte| **byte > b' ') {
                    self.at += 1;
                    return Ok(*byte);
                }
            }
            _ => {}
        }
        self.at = spaced(self.bytes, self.at);
        self.is_spaced = true;
        self.bytes.get(self.at).copied().ok_or(&Fault::Cut)
    }

    #[inline(always)]
    fn push(&mut self, kind: Kind, start: usize, end: usize, next: u32) {
        let (name, name_start, name_end) = self.name;
        let (start, end) = (start as u32, end as u32);
        self.entries.push(Entry { kind, name, name_start, name_end, start, end, next, names: 0 });
    }

    /// Parses one value and the values inside it.
    #[inline(always)]
    fn value(&mut self) -> Result<(), Why> {
        let (mut around, mut in_map, mut byte) = (OUTSIDE, false, self.next()?);
        loop {
            let next = self.entries.len() as u32 + 1;
            match byte {
                b'"' => {
                    let start = self.at + 1;
                    let (end, has_escapes) = self.string(start)?;
                    self.push(if has_escapes { Kind::Escaped } else { Kind::Plain }, start, end, next);
                    self.at = end + 1;
                }
                open @ (b'{' | b'[') => {
                    in_map = open == b'{';
                    self.depth += 1;
                    self.deepest = self.deepest.max(self.depth);
                    if self.depth > DEEPEST {
                        return Err(&Fault::Wrong("nested too deeply"));
                    }
                    self.push(if in_map { Kind::Map } else { Kind::List }, self.at, 0, around);
                    around = next - 1;
                    self.at += 1;
                    byte = self.next()?;
                    if byte != close(in_map) {
                        if in_map {
                            byte = self.name(around, byte)?;
                        }
                        continue;
                    }
                    (around, in_map) = self.close(around);
                }
                _ => {
                    let (kind, end) = bare(self.bytes, self.at)?;
                    self.push(kind, self.at, end, next);
                    self.at = end;
                }
            }
            loop {
                if around == OUTSIDE {
                    return Ok(());
                }
                byte = self.next()?;
                if byte == b',' {
                    self.at += 1;
                    byte = self.next()?;
                    if in_map {
                        byte = self.name(around, byte)?;
                    }
                    break;
                }
                if byte != close(in_map) {
                    return Err(&Fault::Wrong("not JSON (expected a comma or an end)"));
                }
                (around, in_map) = self.close(around);
            }
        }
    }

    /// Ends the list or the map of entry `place`; returns its parent, and whether that is a map.
    #[inline(always)]
    fn close(&mut self, place: u32) -> (u32, bool) {
        self.at += 1;
        self.depth -= 1;
        let behind = self.entries.len() as u32;
        let entry = &mut self.entries[place as usize];
        entry.end = self.at as u32;
        let around = std::mem::replace(&mut entry.next, behind);
        (around, self.entries.get(around as usize).is_some_and(|entry| entry.kind == Kind::Map))
    }

    /// Parses a name, which begins with `byte`, in the map of entry `map`, and the colon; returns the first byte of the value.
    #[inline(always)]
    fn name(&mut self, map: u32, byte: u8) -> Result<u8, Why> {
        if byte != b'"' {
            return Err(&Fault::Wrong("not JSON (expected a key in quotes)"));
        }
        let start = self.at + 1;
        let of = &mut self.entries[map as usize].names;
        let (name, end) = if let Some((name, end)) = names::short(self.bytes, start) {
            *of = names::with(*of, name);
            (name, end)
        } else {
            let (end, has_escapes) = self.string(start)?;
            let name = if has_escapes { names::ESCAPED } else { names::of(&self.bytes[start..end]) };
            let of = &mut self.entries[map as usize].names;
            *of = names::with_any(*of, name);
            (name, end)
        };
        self.name = (name, start as u32, end as u32);
        self.at = end + 1;
        if self.next()? != b':' {
            return Err(&Fault::Wrong("not JSON (expected a colon)"));
        }
        self.at += 1;
        self.next()
    }

    /// The end of the string that begins at `start`, after its quote, and whether it has escapes.
    #[inline(always)]
    fn string(&self, start: usize) -> Result<(usize, bool), Why> {
        let Some(window) = self.bytes.get(start..).and_then(|rest| rest.first_chunk::<NEAR>()) else {
            return long(self.kernel, self.bytes, start, self.takes_controls);
        };
        let length = self.kernel.first_special(window);
        if window.get(length) == Some(&b'"') {
            return Ok((start + length, false));
        }
        long(self.kernel, self.bytes, start + length, self.takes_controls)
    }
}

/// The end of a string that is long or has escapes; the bytes before `at` have none. A control character counts as one.
#[inline(never)]
fn long<K: Kernel>(kernel: K, bytes: &[u8], mut at: usize, takes_controls: bool) -> Result<(usize, bool), Why> {
    let mut has_escapes = false;
    loop {
        let passed = kernel.skip_string(bytes, at);
        has_escapes |= passed.escapes;
        at = passed.at;
        match bytes.get(at) {
            Some(b'"') => return Ok((at, has_escapes)),
            Some(b'\\') => {
                has_escapes = true;
                while bytes.get(at) == Some(&b'\\') {
                    at += escape(&bytes[at..])?;
                }
            }
            Some(_) if takes_controls => (at, has_escapes) = (at + 1, true),
            Some(b'\n') => return Err(&LINE_BREAK),
            Some(_) => return Err(&CONTROL),
            None => return Err(&Fault::Cut),
        }
    }
}

/// The end of white space.
#[cold]
#[inline(never)]
fn spaced(bytes: &[u8], at: usize) -> usize {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
    at + bytes[at..].iter().take_while(|byte| is_space(byte)).count()
}

/// The kind and the end of a value without quotes or brackets.
#[inline(never)]
fn bare(bytes: &[u8], at: usize) -> Result<(Kind, usize), Why> {
    match bytes[at] {
        b'n' => word(bytes, at, "null", Kind::Null),
        b't' => word(bytes, at, "true", Kind::True),
        b'f' => word(bytes, at, "false", Kind::False),
        b'N' => word(bytes, at, "NaN", Kind::Word),
        b'I' => word(bytes, at, "Infinity", Kind::Word),
        b'-' if bytes.get(at + 1) == Some(&b'I') => word(bytes, at, "-Infinity", Kind::Word),
        b'-' | b'0'..=b'9' => number(bytes, at),
        _ => Err(&Fault::Wrong("not JSON (expected a value)")),
    }
}

fn word(bytes: &[u8], at: usize, word: &'static str, kind: Kind) -> Result<(Kind, usize), Why> {
    let rest = &bytes[at..];
    if rest.starts_with(word.as_bytes()) {
        return Ok((kind, at + word.len()));
    }
    let is_cut = word.as_bytes().starts_with(rest);
    Err(if is_cut { &Fault::Cut } else { &Fault::Wrong("not JSON (expected a value)") })
}

/// The number of digits; at least one.
fn digits(bytes: &[u8], at: usize) -> Result<usize, Why> {
    match bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => Err(bytes.get(at).map_or(&Fault::Cut, |_| &Fault::Wrong("not JSON (expected a digit)"))),
        n => Ok(n),
    }
}

fn number(bytes: &[u8], start: usize) -> Result<(Kind, usize), Why> {
    let (mut at, mut kind) = (start + usize::from(bytes[start] == b'-'), Kind::Integer);
    let leads_with_zero = bytes.get(at) == Some(&b'0');
    let whole = digits(bytes, at)?;
    at += whole;
    if leads_with_zero && whole > 1 {
        return Err(&Fault::Wrong("not JSON (a number that begins with 0)"));
    }
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        at += digits(bytes, at)?;
        kind = Kind::Float;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at += digits(bytes, at)?;
        kind = Kind::Float;
    }
    if kind == Kind::Integer && whole > MOST_DIGITS {
        return Err(&Fault::Wrong("not JSON (a number of more than 4,300 digits)"));
    }
    Ok((kind, at))
}

/// The byte that ends a list or a map.
fn close(in_map: bool) -> u8 {
    if in_map { b'}' } else { b']' }
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

#[cfg(test)]
mod tests;

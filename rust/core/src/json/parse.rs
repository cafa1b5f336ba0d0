//! JSON text to a tape: one pass, one entry a value, so that a view can step over what nobody asks for.

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

/// A value: its place in the text, without its quotes. For a list or a map, `end` is the entry behind its last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
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
        let mut parser = Parser { bytes: text.as_bytes(), at, entries: &mut self.entries };
        parser.space();
        parser.value(0)?;
        Ok(parser.at)
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

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    entries: &'a mut Vec<Entry>,
}

#[allow(clippy::cast_possible_truncation)] // `parse` has seen that every position fits
impl Parser<'_> {
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn byte(&self) -> Result<u8, Fault> {
        self.bytes.get(self.at).copied().ok_or(Fault::Cut)
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        self.entries.push(Entry { kind, start: start as u32, end: end as u32 });
    }

    fn value(&mut self, depth: usize) -> Result<(), Fault> {
        match self.byte()? {
            b'"' => self.string(),
            b'{' => self.container(Kind::Map, b'}', depth + 1),
            b'[' => self.container(Kind::List, b']', depth + 1),
            b'n' => self.word("null", Kind::Null),
            b't' => self.word("true", Kind::True),
            b'f' => self.word("false", Kind::False),
            b'N' => self.word("NaN", Kind::Word),
            b'I' => self.word("Infinity", Kind::Word),
            b'-' if self.bytes.get(self.at + 1) == Some(&b'I') => self.word("-Infinity", Kind::Word),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(Fault::Wrong("not JSON (expected a value)")),
        }
    }

    fn container(&mut self, kind: Kind, close: u8, depth: usize) -> Result<(), Fault> {
        if depth > DEEPEST {
            return Err(Fault::Wrong("nested too deeply"));
        }
        let place = self.entries.len();
        self.push(kind, self.at, 0);
        self.at += 1;
        self.space();
        if self.byte()? == close {
            self.at += 1;
            self.entries[place].end = self.entries.len() as u32;
            return Ok(());
        }
        loop {
            if kind == Kind::Map {
                if self.byte()? != b'"' {
                    return Err(Fault::Wrong("not JSON (expected a key in quotes)"));
                }
                self.string()?;
                self.space();
                if self.byte()? != b':' {
                    return Err(Fault::Wrong("not JSON (expected a colon)"));
                }
                self.at += 1;
                self.space();
            }
            self.value(depth)?;
            self.space();
            match self.byte()? {
                b',' => self.at += 1,
                end if end == close => break,
                _ => return Err(Fault::Wrong("not JSON (expected a comma or an end)")),
            }
            self.space();
        }
        self.at += 1;
        self.entries[place].end = self.entries.len() as u32;
        Ok(())
    }

    fn word(&mut self, word: &'static str, kind: Kind) -> Result<(), Fault> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.push(kind, self.at, self.at + word.len());
            self.at += word.len();
            return Ok(());
        }
        let is_cut = word.as_bytes().starts_with(rest);
        Err(if is_cut { Fault::Cut } else { Fault::Wrong("not JSON (expected a value)") })
    }

    fn digits(&mut self) -> Result<usize, Fault> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        match self.at - start {
            0 => Err(self.byte().map_or(Fault::Cut, |_| Fault::Wrong("not JSON (expected a digit)"))),
            n => Ok(n),
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        let (start, mut kind) = (self.at, Kind::Integer);
        self.at += usize::from(self.bytes[start] == b'-');
        let leads_with_zero = self.bytes.get(self.at) == Some(&b'0');
        let digits = self.digits()?;
        if leads_with_zero && digits > 1 {
            return Err(Fault::Wrong("not JSON (a number that begins with 0)"));
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
            return Err(Fault::Wrong("not JSON (a number of more than 4,300 digits)"));
        }
        self.push(kind, start, self.at);
        Ok(())
    }

    fn string(&mut self) -> Result<(), Fault> {
        let start = self.at + 1;
        let (mut at, mut kind) = (start, Kind::Plain);
        loop {
            at = special(self.bytes, at);
            match self.bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    kind = Kind::Escaped;
                    at += escape(&self.bytes[at..])?;
                }
                Some(_) => return Err(Fault::Wrong("not JSON (a control character in a string)")),
                None => return Err(Fault::Cut),
            }
        }
        self.push(kind, start, at);
        self.at = at + 1;
        Ok(())
    }
}

/// The length of the escape at the start.
fn escape(bytes: &[u8]) -> Result<usize, Fault> {
    match bytes.get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        Some(b'u') => {
            let hex = &bytes[2..bytes.len().min(6)];
            match hex.iter().all(u8::is_ascii_hexdigit) {
                true if hex.len() == 4 => Ok(6),
                true => Err(Fault::Cut),
                false => Err(Fault::Wrong("not JSON (an escape without four digits)")),
            }
        }
        Some(_) => Err(Fault::Wrong("not JSON (an unknown escape)")),
        None => Err(Fault::Cut),
    }
}

/// The first quote, backslash or control character from `at` on; the length of `bytes` where there is none.
fn special(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    // Eight bytes at a time; the lowest mark is exact, and only that one is asked for.
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let (quote, slash) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
        let zero = |x: u64| x.wrapping_sub(ONES) & !x;
        let found = (zero(quote) | zero(slash) | (word.wrapping_sub(ONES * 0x20) & !word)) & TOPS;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_special = |b: &u8| matches!(b, b'"' | b'\\' | 0..0x20);
    bytes[at..].iter().position(is_special).map_or(bytes.len(), |n| at + n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_of_a_value_is_cut_and_not_wrong() {
        let text = r#"{"a": [1.5e+3, -2, true, null, NaN, -Infinity, "x\u00e9\n", {}], "b": ""}"#;
        let mut tape = Tape::default();
        assert_eq!(tape.parse(text, 0), Ok(text.len()));
        for end in 0..text.len() {
            assert_eq!(tape.parse(&text[..end], 0), Err(Fault::Cut), "{}", &text[..end]);
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "[01]",
            "[1.]",
            "[+1]",
            "[.5]",
            "{a:1}",
            "{\"a\" 1}",
            "[1 2]",
            "[\"\t\"]",
            "[\"\\x\"]",
            "[\"\\u12g4\"]",
            "nul]",
            "'a'",
        ] {
            assert!(matches!(Tape::default().parse(text, 0), Err(Fault::Wrong(_))), "{text}");
        }
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(Tape::default().parse(&deep(DEEPEST), 0).is_ok());
        assert_eq!(Tape::default().parse(&deep(1_000_000), 0), Err(Fault::Wrong("nested too deeply")));
    }

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for special_byte in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for at in 0..40 {
                let mut bytes = vec![0xC3; 40];
                bytes[at] = special_byte;
                assert_eq!(special(&bytes, 0), at);
            }
        }
        let text = b"plain \x20 text \x7f \xff, long";
        assert_eq!(special(text, 3), text.len());
    }
}

//! What a reader of files needs of a value: its source, its exact text, and whether Python finds it true or equal.

use std::borrow::Cow;

use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

use super::tape::Kind;
use super::unescape::{self, Part};
use super::{Json, names};

/// Seeds of the digests of a number, a text, a list and a map: values of different types differ.
const NUMBER: u64 = 1;
const TEXT: u64 = 2;
const LIST: u64 = 3;
const MAP: u64 = 4;

impl<'a> Json<'_, 'a> {
    /// Its JSON as it stands in the text, with the quotes of a string.
    pub(crate) fn source(&self) -> &'a str {
        let entry = self.entry();
        let quote = u32::from(matches!(entry.kind, Kind::Plain | Kind::Escaped));
        &self.all.text[(entry.start - quote) as usize..(entry.end + quote) as usize]
    }

    /// Where [`Self::source`] begins in the text.
    pub(crate) fn position(&self) -> usize {
        let entry = self.entry();
        entry.start as usize - usize::from(matches!(entry.kind, Kind::Plain | Kind::Escaped))
    }

    /// The bytes of a string; `None` of any other value. A lone surrogate stands as its three bytes, so that all strings of
    /// Python differ.
    #[inline]
    pub(crate) fn exact(&self) -> Option<Cow<'a, [u8]>> {
        match self.entry().kind {
            Kind::Plain => Some(Cow::Borrowed(self.raw().as_bytes())),
            Kind::Escaped => Some(Cow::Owned(exact(self.raw()))),
            _ => None,
        }
    }

    /// Its name in its map, as [`Self::exact`].
    #[inline]
    pub(crate) fn exact_name(&self) -> Cow<'a, [u8]> {
        if self.entry().name == names::ESCAPED {
            Cow::Owned(exact(self.name()))
        } else {
            Cow::Borrowed(self.name().as_bytes())
        }
    }

    /// Its values, of a list or a map; of equal names in a map all.
    #[inline]
    pub(crate) fn values(&self) -> impl Iterator<Item = Self> {
        let is_outer = matches!(self.entry().kind, Kind::List | Kind::Map);
        self.inner().filter(move |_| is_outer)
    }

    /// The entries of a map without repetitions of a name, as Python reads them; none of any other value.
    pub(crate) fn members(&self) -> Vec<Self> {
        match self.is_map() {
            true if self.is_unique() => self.inner().collect(),
            true => self.unique(),
            false => Vec::new(),
        }
    }

    /// Whether the value is a map.
    pub(crate) fn is_object(&self) -> bool {
        self.is_map()
    }

    /// Whether the value is a list.
    pub(crate) fn is_list(&self) -> bool {
        self.entry().kind == Kind::List
    }

    /// Whether the value is a string.
    pub(crate) fn is_string(&self) -> bool {
        matches!(self.entry().kind, Kind::Plain | Kind::Escaped)
    }

    /// Whether the value is null.
    pub(crate) fn is_null(&self) -> bool {
        self.entry().kind == Kind::Null
    }

    /// Whether Python finds the value true.
    pub(crate) fn is_truthy(&self) -> bool {
        match self.entry().kind {
            Kind::Null | Kind::False => false,
            Kind::True | Kind::Word => true,
            Kind::Integer | Kind::Float => self.raw().parse() != Ok(0.0),
            Kind::Plain | Kind::Escaped => !self.raw().is_empty(),
            Kind::List | Kind::Map => self.inner().next().is_some(),
        }
    }

    /// An integer that is no bool and no float, if it fits.
    pub(crate) fn integer(&self) -> Option<u64> {
        (self.entry().kind == Kind::Integer).then(|| self.raw().parse().ok()).flatten()
    }

    /// A digest that two values share if Python finds them equal: names of a map have no order, 1 is 1.0 and true.
    pub(crate) fn digest(&self) -> u128 {
        match self.entry().kind {
            Kind::Null => 0,
            Kind::True => xxh3_128_with_seed(b"1", NUMBER),
            Kind::False => xxh3_128_with_seed(b"0", NUMBER),
            Kind::Integer | Kind::Float | Kind::Word => xxh3_128_with_seed(number(self.raw()).as_bytes(), NUMBER),
            Kind::Plain | Kind::Escaped => xxh3_128_with_seed(&shortest(self.raw()), TEXT),
            Kind::List => {
                let mut all = Vec::new();
                for item in self.inner() {
                    all.extend(item.digest().to_le_bytes());
                }
                xxh3_128_with_seed(&all, LIST)
            }
            Kind::Map => {
                let mut sum = 0_u128;
                for member in self.members() {
                    let name = xxh3_128(&member.exact_name()).to_le_bytes();
                    let both = [name, member.digest().to_le_bytes()];
                    sum = sum.wrapping_add(xxh3_128(both.as_flattened()));
                }
                xxh3_128_with_seed(&sum.to_le_bytes(), MAP)
            }
        }
    }
}

/// The bytes of a string between its quotes; a lone surrogate as its three bytes.
fn exact(raw: &str) -> Vec<u8> {
    let text = unescape::text(raw);
    if !text.contains('\u{fffd}') {
        return text.into_bytes();
    }
    let mut made = Vec::with_capacity(raw.len());
    for unit in char::decode_utf16(unescape::units(raw)) {
        match unit {
            Ok(c) => made.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(alone) => made.extend(lone(alone.unpaired_surrogate())),
        }
    }
    made
}

/// The three bytes of a lone surrogate.
fn lone(unit: u16) -> [u8; 3] {
    let [high, low] = unit.to_be_bytes();
    [0xED, 0x80 | (high & 0xF) << 2 | low >> 6, 0x80 | low & 0x3F]
}

/// The bytes of a string between its quotes, in one form for all that are equal: with an escape only where one has to be, in
/// its shortest form. Most are written so, and need no decoding.
fn shortest(raw: &str) -> Cow<'_, [u8]> {
    if unescape::is_as_written(raw) {
        return Cow::Borrowed(raw.as_bytes());
    }
    let mut made = Vec::with_capacity(raw.len());
    unescape::parts(raw, |part| match part {
        Part::Raw(text) if text.bytes().all(|byte| byte >= b' ') => made.extend_from_slice(text.as_bytes()),
        Part::Raw(text) => text.bytes().for_each(|byte| push_control(byte, &mut made)),
        Part::Char(c @ ('"' | '\\')) => made.extend([b'\\', c as u8]),
        Part::Char(c) if c < ' ' => push_control(c as u8, &mut made),
        Part::Char(c) => made.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        Part::Lone(unit) => made.extend(lone(unit)),
    });
    Cow::Owned(made)
}

/// Writes a byte of a string, which is a quote or a backslash only where it belongs to an escape.
fn push_control(byte: u8, made: &mut Vec<u8>) {
    match byte {
        b'\n' => made.extend(b"\\n"),
        b'\r' => made.extend(b"\\r"),
        b'\t' => made.extend(b"\\t"),
        0x08 => made.extend(b"\\b"),
        0x0C => made.extend(b"\\f"),
        _ => made.push(byte), // any other control character has no other form here
    }
}

/// A number in one form for all that are equal.
fn number(raw: &str) -> Cow<'_, str> {
    let is_whole = raw.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match raw {
        "-0" => Cow::Borrowed("0"),
        raw if is_whole => Cow::Borrowed(raw),
        raw => match raw.parse::<f64>() {
            Ok(0.0) => Cow::Borrowed("0"),
            Ok(value) if value.is_infinite() => Cow::Borrowed(if value > 0.0 { "Infinity" } else { "-Infinity" }),
            Ok(value) if value.fract() == 0.0 => Cow::Owned(format!("{value:.0}")),
            Ok(value) => Cow::Owned(format!("{value:e}")),
            Err(_) => Cow::Borrowed(raw),
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{Json, Tape};

    fn digest(text: &str) -> u128 {
        let mut tape = Tape::default();
        tape.parse(text, 0).unwrap();
        Json::new(&tape.of(text)).digest()
    }

    #[test]
    fn values_that_python_finds_equal_share_a_digest_and_others_do_not() {
        for equal in [
            [r#"{"a": 1, "b": [2]}"#, r#"{"b": [2.0], "a": true}"#],
            [r#"["caf\u00e9"]"#, r#"["café"]"#],
            [r#"["\/\u000a\u0022\u005c\u0009\u0008\u000c\u000d"]"#, r#"["/\n\"\\\t\b\f\r"]"#],
            [r#"["\u001b\u001B"]"#, r#"["\u001b\u001b"]"#],
            ["[1e22, -0.0, 1e400]", "[10000000000000000000000, 0, Infinity]"],
            [r#"{"a": 0, "a": 1}"#, r#"{"a": 1}"#],
            ["[NaN, false]", "[NaN, 0]"],
        ] {
            assert_eq!(digest(equal[0]), digest(equal[1]), "{equal:?}");
        }
        let apart = ["[]", "{}", "null", "0", "\"\"", "\"0\"", "[[]]", "0.5", r#""\ud800""#, r#""\ud801""#, "[0, 1]"];
        for (n, one) in apart.iter().enumerate() {
            assert!(apart[n + 1..].iter().all(|other| digest(one) != digest(other)), "{one}");
        }
    }

    #[test]
    fn a_value_is_true_where_python_finds_it_true() {
        for (text, is_true) in [("0", false), ("-0.0", false), ("0e5", false), ("NaN", true), ("\"\"", false)] {
            let mut tape = Tape::default();
            tape.parse(text, 0).unwrap();
            assert_eq!(Json::new(&tape.of(text)).is_truthy(), is_true, "{text}");
        }
    }
}

//! The text that a JSON string stands for.

/// What a validated string says, between its quotes: pairs of surrogates are one character, lone ones U+FFFD.
pub fn text(raw: &str) -> String {
    let mut out = String::new();
    text_into(raw, &mut out);
    out
}

/// The same behind what is there.
pub fn text_into(raw: &str, out: &mut String) {
    out.reserve(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let (unit, behind) = escape(&rest[at..]);
        rest = &rest[at + behind..];
        out.push(match char::from_u32(u32::from(unit)) {
            Some(c) => c,
            None => match low(unit, rest) {
                Some(c) => {
                    rest = &rest[6..];
                    c
                }
                None => char::REPLACEMENT_CHARACTER,
            },
        });
    }
    out.push_str(rest);
}

/// The same as UTF-16, in which lone surrogates differ.
pub fn units(raw: &str) -> Vec<u16> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.extend(rest[..at].encode_utf16());
        let (unit, behind) = escape(&rest[at..]);
        out.push(unit);
        rest = &rest[at + behind..];
    }
    out.extend(rest.encode_utf16());
    out
}

/// The character that a high surrogate and the low one behind it make.
fn low(high: u16, rest: &str) -> Option<char> {
    let next = rest.starts_with("\\u").then(|| escape(rest).0)?;
    char::decode_utf16([high, next]).next()?.ok()
}

/// The unit that an escape stands for, and its length; the parser has seen that it is one.
fn escape(text: &str) -> (u16, usize) {
    let bytes = text.as_bytes();
    let unit = match bytes.get(1) {
        Some(b'u') => return (text.get(2..6).and_then(|hex| u16::from_str_radix(hex, 16).ok()).unwrap_or(0xFFFD), 6),
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => 10,
        Some(b'r') => 13,
        Some(b't') => 9,
        Some(&other) => u16::from(other),
        None => 0xFFFD,
    };
    (unit, 2)
}

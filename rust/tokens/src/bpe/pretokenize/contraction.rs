//! The contractions of English, which all patterns share.

/// Bytes of the contraction at `at`, 0 for none: an apostrophe with s, d, m, t, ll, ve or re.
///
/// With `caseless`, capitals match, and so does the long s (U+017F).
#[inline]
pub fn contraction(text: &[u8], at: usize, caseless: bool) -> usize {
    if text.get(at) != Some(&b'\'') {
        return 0;
    }
    let letter = |n: usize| {
        let byte = text.get(at + n).copied().unwrap_or_default();
        if caseless { byte.to_ascii_lowercase() } else { byte }
    };
    match (letter(1), letter(2)) {
        (b's' | b'd' | b'm' | b't', _) => 2,
        (b'l', b'l') | (b'v' | b'r', b'e') => 3,
        (0xC5, 0xBF) if caseless => 3,
        _ => 0,
    }
}

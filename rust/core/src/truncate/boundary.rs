//! Places where a text may be cut without damage to what a reader sees.
//!
//! A cut splits no grapheme cluster (a letter and its accents, an emoji sequence, a flag, CR LF) and no terminal escape
//! sequence: half of a sequence would swallow the text behind it.

use unicode_segmentation::GraphemeCursor;

/// Longest cluster in bytes that stays whole. The longest emoji sequences have 35; a letter under a hundred accents is
/// an attack or noise, and must not keep a cut from happening near its limit.
const LONGEST_CLUSTER: usize = 64;

/// Longest escape sequence in bytes that stays whole: a link of a terminal holds an address.
const LONGEST_ESCAPE: usize = 512;

const ESC: u8 = 0x1B;
const BEL: u8 = 0x07;

/// The last boundary at or before `at`.
pub fn floor(text: &str, at: usize) -> usize {
    let mut end = char_floor(text, at);
    loop {
        let before = escape(text, end).map_or(end, |(start, _)| start);
        let cluster = if is_cluster_boundary(text, before) { before } else { previous(text, before) };
        if cluster == end {
            return end;
        }
        end = cluster;
    }
}

/// The first boundary at or after `at`.
pub fn ceil(text: &str, at: usize) -> usize {
    let mut start = char_ceil(text, at);
    loop {
        let behind = escape(text, start).map_or(start, |(_, stop)| stop);
        let cluster = if is_cluster_boundary(text, behind) { behind } else { next(text, behind) };
        if cluster == start {
            return start;
        }
        start = cluster;
    }
}

/// The last place at or before `at` that is between two characters.
pub fn char_floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&n| text.is_char_boundary(n)).unwrap_or(0)
}

/// The first place at or after `at` that is between two characters.
pub fn char_ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&n| text.is_char_boundary(n)).unwrap_or(text.len())
}

fn is_cluster_boundary(text: &str, at: usize) -> bool {
    // Between two ASCII characters that are not CR LF is always a boundary: most texts need no table.
    let bytes = text.as_bytes();
    if let (Some(&before), Some(&behind)) = (at.checked_sub(1).and_then(|n| bytes.get(n)), bytes.get(at))
        && before.is_ascii()
        && behind.is_ascii()
    {
        return (before, behind) != (b'\r', b'\n');
    }
    GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(true)
}

/// The start of the cluster around `at`; `at` itself if the cluster is too long to stay whole.
fn previous(text: &str, at: usize) -> usize {
    let found = GraphemeCursor::new(at, text.len(), true).prev_boundary(text, 0).ok().flatten();
    found.filter(|start| at - start <= LONGEST_CLUSTER).unwrap_or(at)
}

/// The end of the cluster around `at`; `at` itself if the cluster is too long to stay whole.
fn next(text: &str, at: usize) -> usize {
    let found = GraphemeCursor::new(at, text.len(), true).next_boundary(text, 0).ok().flatten();
    found.filter(|stop| stop - at <= LONGEST_CLUSTER).unwrap_or(at)
}

/// Start and end of the escape sequence that `at` is inside of.
fn escape(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let from = at.saturating_sub(LONGEST_ESCAPE);
    let start = from + memchr::memrchr(ESC, &bytes[from..at])?;
    let stop = start + escape_len(&bytes[start..bytes.len().min(start + LONGEST_ESCAPE)])?;
    (at < stop).then_some((start, stop))
}

/// Length of the escape sequence that `bytes` begin with (ECMA-48, 5.4 and 5.6); `None` if it does not end.
fn escape_len(bytes: &[u8]) -> Option<usize> {
    match *bytes.get(1)? {
        b'[' => {
            let parameters = bytes[2..].iter().take_while(|byte| matches!(byte, 0x20..=0x3F)).count();
            bytes.get(2 + parameters).filter(|byte| matches!(byte, 0x40..=0x7E)).map(|_| 3 + parameters)
        }
        b']' | b'P' | b'X' | b'^' | b'_' => {
            let end = 2 + memchr::memchr2(BEL, ESC, &bytes[2..])?;
            // A control string ends with BEL, or with ESC and a backslash.
            Some(end + if bytes[end..].starts_with(b"\x1B\\") { 2 } else { usize::from(bytes[end] == BEL) })
        }
        // Half of one at the end of a text, or before another character, is no sequence.
        0x20..=0x2F => {
            let between = bytes[1..].iter().take_while(|byte| matches!(byte, 0x20..=0x2F)).count();
            bytes.get(1 + between).filter(|byte| matches!(byte, 0x30..=0x7E)).map(|_| 2 + between)
        }
        0x30..=0x7E => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cluster_and_no_escape_sequence_is_split() {
        for unit in [
            "\r\n",
            "e\u{301}",
            "👩\u{200D}👩\u{200D}👧",
            "🇩🇪",
            "👍🏽",
            "\u{1B}[38;5;196m",
            "\u{1B}]8;;https://example.com/a\u{7}",
            "\u{1B}]0;title\u{1B}\\",
            "\u{1B}(B",
        ] {
            let text = format!("a{unit}{unit}b");
            let places = [0, 1, 1 + unit.len(), 1 + 2 * unit.len(), text.len()];
            for at in 0..=text.len() {
                let (low, high) = (floor(&text, at), ceil(&text, at));
                assert_eq!(Some(&low), places.iter().rev().find(|&&place| place <= at), "{unit:?} {at}");
                assert_eq!(Some(&high), places.iter().find(|&&place| place >= at), "{unit:?} {at}");
            }
        }
    }

    #[test]
    fn half_of_an_escape_sequence_is_none() {
        for half in
            ["\u{1B}", "\u{1B},", "\u{1B}(é", "\u{1B}( ", "\u{1B}[", "\u{1B}[1", "\u{1B}[é", "\u{1B}]0;", "\u{1B}é"]
        {
            for at in (0..=half.len()).filter(|&at| half.is_char_boundary(at)) {
                assert_eq!((floor(half, at), ceil(half, at)), (at, at), "{half:?}");
            }
        }
    }

    #[test]
    fn a_cluster_or_a_sequence_without_end_is_cut_between_characters() {
        let accents = format!("a{}", "\u{301}".repeat(500));
        assert_eq!((floor(&accents, 400), ceil(&accents, 400)), (399, 401));
        let unended = format!("\u{1B}]0;{}", "x".repeat(2_000));
        assert_eq!((floor(&unended, 100), ceil(&unended, 1_500)), (100, 1_500));
    }
}

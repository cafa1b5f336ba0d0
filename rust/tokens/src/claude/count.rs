//! Counts a text by the vocabularies: section by section where it is one among others, at once where it is a message.

use std::cell::RefCell;

use super::classes::Bits;
use super::normalize;
use super::segment_cache::SegmentCache;
use super::segments::Reader;
use super::vocabulary::{Vocabulary, vocabulary};
use super::{Claude, Frame};

/// Bytes of a section at least.
const SECTION: usize = 1 << 12;

thread_local! {
    /// What this thread remembers of each family's segments.
    static CACHES: [RefCell<Option<SegmentCache>>; 2] = const { [RefCell::new(None), RefCell::new(None)] };
}

/// Tokens of `text`.
pub fn count(claude: Claude, text: &str) -> usize {
    count_up_to(claude, text, usize::MAX)
}

/// Tokens of `text`; inside a frame, of its start alone where that has more than `limit`.
pub fn count_up_to(claude: Claude, text: &str, limit: usize) -> usize {
    let vocabulary = vocabulary(claude.family);
    CACHES.with(|caches| match caches[claude.family as usize].try_borrow_mut() {
        Ok(mut cache) => {
            count_with(claude, cache.get_or_insert_with(|| SegmentCache::new(vocabulary)), vocabulary, text, limit)
        }
        Err(_) => count_with(claude, &mut SegmentCache::new(vocabulary), vocabulary, text, limit),
    })
}

/// Bytes at the start of a text inside a frame whose tokens more text does not change.
pub fn settled(text: &str) -> usize {
    let mut at = 0;
    loop {
        match section(&text[at..]) {
            bytes if at + bytes == text.len() => return at,
            bytes => at += bytes,
        }
    }
}

fn count_with(
    claude: Claude,
    cache: &mut SegmentCache,
    vocabulary: &'static Vocabulary,
    text: &str,
    limit: usize,
) -> usize {
    if claude.frame != Frame::Inside {
        return framed(claude.frame == Frame::Opened, cache, vocabulary, text);
    }
    let (mut total, mut rest) = (0, text);
    while !rest.is_empty() && total <= limit {
        let (section, behind) = rest.split_at(section(rest));
        let section = vocabulary.straightened(section);
        let raw = Reader::new(&section, vocabulary, cache).read_raw();
        total += raw.unwrap_or_else(|| Reader::new(&normalize::normalize(&section), vocabulary, cache).tokens());
        rest = behind;
    }
    total
}

/// Bytes of a text that are counted by themselves: up to what begins a line and is no blank, where nothing reaches across.
///
/// What has to be normalized is read twice; few sections do.
fn section(text: &str) -> usize {
    let mut at = SECTION;
    while let Some(end) = text.as_bytes().get(at..).and_then(|rest| memchr::memchr(b'\n', rest)) {
        at += end + 1;
        if text[at..].chars().next().is_some_and(|c| c.is_ascii_graphic() || Bits::of(c).begins_apart()) {
            return at;
        }
    }
    text.len()
}

/// Tokens of a message that is one text.
fn framed(opened: bool, cache: &mut SegmentCache, vocabulary: &'static Vocabulary, raw: &str) -> usize {
    let straight = vocabulary.straightened(raw);
    let normal = normalize::normalize(&straight);
    let mut body = normal.trim_end_matches('\n');
    let mut around = 0;
    let ends = normal.len() - body.len();
    if ends > 0 {
        // The message's own two line ends follow, and their token is the message's.
        around += vocabulary.blanks(b'\n', ends + 2) as usize - 1;
    }
    if opened && raw.starts_with(' ') && !body.starts_with("  ") {
        body = body.strip_prefix(' ').unwrap_or(body);
    }
    let mut reader = Reader { opened, ..Reader::new(body, vocabulary, cache) };
    if opened && !reader.begins() {
        around += 1;
    }
    around + reader.tokens()
}

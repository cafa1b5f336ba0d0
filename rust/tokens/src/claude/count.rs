//! Counts a text by a vocabulary: in sections, or as a whole where it is a message.

use std::cell::RefCell;

use super::classes::Bits;
use super::normalize;
use super::segment_cache::SegmentCache;
use super::segments::Reader;
use super::vocabulary::{Vocabulary, vocabulary};
use super::{Claude, Family, Frame};
use crate::inherited::Inherited;

/// Fewest bytes of a section.
const SECTION: usize = 1 << 12;

/// A thread's cache of each family's segments, which it leaves to others when it ends.
struct OfThread([RefCell<Option<SegmentCache>>; 2]);

thread_local! {
    static CACHES: OfThread = const { OfThread([RefCell::new(None), RefCell::new(None)]) };
}

static INHERITED: [Inherited<SegmentCache>; 2] = [Inherited::new(), Inherited::new()];

impl Drop for OfThread {
    fn drop(&mut self) {
        for (cache, inherited) in self.0.iter_mut().zip(&INHERITED) {
            inherited.leave(cache.take().into_iter());
        }
    }
}

/// Tokens of `text`.
pub fn count(claude: Claude, text: &str) -> usize {
    count_up_to(claude, text, usize::MAX)
}

/// Tokens of `text`. [`Frame::Inside`] stops after the section that exceeds `limit`.
pub fn count_up_to(claude: Claude, text: &str, limit: usize) -> usize {
    let vocabulary = vocabulary(claude.family);
    CACHES.with(|OfThread(caches)| match caches[claude.family as usize].try_borrow_mut() {
        Ok(mut cache) => {
            let cache = cache.get_or_insert_with(|| cache_for(claude.family, vocabulary));
            count_with(claude, cache, vocabulary, text, limit)
        }
        Err(_) => count_with(claude, &mut SegmentCache::new(vocabulary), vocabulary, text, limit),
    })
}

/// The cache of a thread that ended, or an empty one.
fn cache_for(family: Family, vocabulary: &'static Vocabulary) -> SegmentCache {
    INHERITED[family as usize].take(|_| true).unwrap_or_else(|| SegmentCache::new(vocabulary))
}

/// The length of the prefix of `text` that more text does not change: all sections but the last.
pub fn stable_prefix(text: &str) -> usize {
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
        let (section, tail) = rest.split_at(section(rest));
        let section = vocabulary.fold_quotes(section);
        let raw = Reader::new(&section, vocabulary, cache).read_raw();
        total += raw.unwrap_or_else(|| Reader::new(&normalize::normalize(&section), vocabulary, cache).tokens());
        rest = tail;
    }
    total
}

/// The length of the first section of a text, which is counted separately. A section ends before a line that begins with a
/// visible character, because no segment or normalization spans such a boundary.
///
/// Text that turns out to need normalization is read twice; with sections this is rarely the whole text.
fn section(text: &str) -> usize {
    let mut at = SECTION;
    while let Some(end) = text.as_bytes().get(at..).and_then(|rest| memchr::memchr(b'\n', rest)) {
        at += end + 1;
        if text[at..].chars().next().is_some_and(|c| c.is_ascii_graphic() || Bits::of(c).begins_section()) {
            return at;
        }
    }
    text.len()
}

/// Tokens of a message whose content is one text.
fn framed(opened: bool, cache: &mut SegmentCache, vocabulary: &'static Vocabulary, raw: &str) -> usize {
    let straight = vocabulary.fold_quotes(raw);
    let normal = normalize::normalize(&straight);
    let mut body = normal.trim_end_matches('\n');
    let mut extra = 0;
    let ends = normal.len() - body.len();
    if ends > 0 {
        // They merge with the two line ends of the prompt format, whose token is part of the message's overhead.
        extra += vocabulary.white_space(b'\n', ends + 2) as usize - 1;
    }
    if opened && raw.starts_with(' ') && !body.starts_with("  ") {
        body = body.strip_prefix(' ').unwrap_or(body);
    }
    let mut reader = Reader { opened, ..Reader::new(body, vocabulary, cache) };
    if opened && !reader.begins() {
        extra += 1;
    }
    extra + reader.tokens()
}

//! Claude's tokens by its vocabularies.

mod case;
mod classes;
mod cover;
#[cfg(fuzzing)]
pub mod fuzzing;
mod normalize;
mod segment_cache;
mod segments;
mod table;
mod window;
mod windows;

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::LazyLock;

use super::{Claude, Family, Frame};
use classes::Bits;
use cover::{BOW, EOW, Pieces};
use segment_cache::SegmentCache;
use segments::{CONTRACTIONS, Reader};

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

/// Every piece as bytes, in order.
pub fn pieces(family: Family) -> Vec<Vec<u8>> {
    vocabulary(family).pieces.all()
}

fn vocabulary(family: Family) -> &'static Vocabulary {
    match family {
        Family::Old => &OLD,
        Family::New => &NEW,
    }
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

/// A family's pieces and rules.
struct Vocabulary {
    pieces: Pieces,
    /// Whether curly quotation marks are read as straight ones.
    folds_quotes: bool,
    /// Whether words all in capitals are written with a marker.
    caps: bool,
    /// Tokens of each contraction.
    contractions: [u32; CONTRACTIONS.len()],
    /// Tokens of each ASCII character between two others, and with a beginning, an end, or both.
    single: [[u8; 4]; 128],
    /// Tokens of runs of spaces, tabs and line ends, by length.
    blanks: [[u8; RUN]; 3],
}

/// Bytes of a section at least.
const SECTION: usize = 1 << 12;

/// Lengths of runs of white space that are looked up; longer ones are covered anew.
const RUN: usize = 257;

static OLD: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(cover::OLD, true, true));
static NEW: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(cover::NEW, false, false));

impl Vocabulary {
    fn new(pieces: Pieces, folds_quotes: bool, caps: bool) -> Self {
        let contractions = CONTRACTIONS.map(|suffix| {
            let marked = [b"'", suffix.as_bytes(), &[EOW]].concat();
            pieces.min_cover(&marked)
        });
        let single = std::array::from_fn(|byte| {
            let byte = u8::try_from(byte).unwrap_or(0);
            let segments: [&[u8]; 4] = [&[byte], &[BOW, byte], &[byte, EOW], &[BOW, byte, EOW]];
            segments.map(|segment| u8::try_from(pieces.min_cover(segment)).unwrap_or(u8::MAX))
        });
        let blanks = [b' ', b'\t', b'\n'].map(|byte| runs(&pieces, byte));
        Self { pieces, folds_quotes, caps, contractions, single, blanks }
    }

    /// `text` as the vocabulary has its quotation marks.
    fn straightened<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.folds_quotes { normalize::straightened(text) } else { Cow::Borrowed(text) }
    }

    /// Tokens of `length` spaces, tabs or line ends in a row.
    #[inline]
    fn blanks(&self, byte: u8, length: usize) -> u32 {
        let kind = match byte {
            b' ' => 0,
            b'\t' => 1,
            _ => 2,
        };
        match self.blanks[kind].get(length) {
            Some(tokens) => u32::from(*tokens),
            None => self.pieces.min_cover(&vec![byte; length]),
        }
    }
}

/// Tokens of runs of one byte, by length: the fewest pieces that add up.
fn runs(pieces: &Pieces, byte: u8) -> [u8; RUN] {
    let lengths: Vec<usize> = (1..RUN).filter(|length| pieces.has(&vec![byte; *length])).collect();
    let mut tokens = [0; RUN];
    for length in 1..RUN {
        let fewest = lengths.iter().take_while(|piece| **piece <= length).map(|piece| tokens[length - piece]).min();
        tokens[length] = fewest.unwrap_or(u8::MAX - 1) + 1;
    }
    tokens
}

thread_local! {
    /// What this thread remembers of each family's segments.
    static CACHES: [RefCell<Option<SegmentCache>>; 2] = const { [RefCell::new(None), RefCell::new(None)] };
}

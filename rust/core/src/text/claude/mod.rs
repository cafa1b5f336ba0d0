//! Claude's tokens, reconstructed: two vocabularies and the stream that they were measured on.
//!
//! Anthropic publishes no tokenizer. The vocabularies are those of the package ctok, which measured piece by piece what
//! the provider's counting endpoint answers; they give counts, not token ids. A text is normalized, read as cells and
//! each cell laid with the fewest pieces.

mod cache;
mod case;
mod cells;
mod chars;
mod normalize;
mod table;
mod tile;

use std::cell::RefCell;
use std::sync::LazyLock;

use cache::Cache;
use cells::{CONTRACTIONS, Reader};
use tile::{BOW, EOW, Pieces};

/// The vocabularies that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Claude 3 to 4.6.
    Old,
    /// Claude 4.7 and later.
    New,
}

/// What stands around a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// More text: nothing is added or taken.
    Inside,
    /// A message that begins as a word does: the beginning takes a leading space, or is a token. Up to Claude 4.7.
    Opened,
    /// A message, from Claude 4.8 on. Line ends at its end run together with its own, as in [`Frame::Opened`].
    Plain,
}

/// An encoding of Claude's: a vocabulary and what stands around the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claude {
    /// The vocabulary.
    pub family: Family,
    /// What stands around the text.
    pub frame: Frame,
}

impl Claude {
    /// The encodings by name. The tokens of a message's own are in none: they depend on the model.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("claude-old", Self { family: Family::Old, frame: Frame::Inside }),
        ("claude-new", Self { family: Family::New, frame: Frame::Inside }),
        ("claude-3 message", Self { family: Family::Old, frame: Frame::Opened }),
        ("claude-4.7 message", Self { family: Family::New, frame: Frame::Opened }),
        ("claude-4.8 message", Self { family: Family::New, frame: Frame::Plain }),
    ];

    /// The encoding of that name, if it is one of these.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, claude)| *claude)
    }

    /// The name of the encoding.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, claude)| *claude == self).map_or("claude", |(name, _)| name)
    }

    /// Tokens of `text`. Time is linear in its length, whatever it holds; what cells cost is remembered by each thread, in
    /// 1.3 MB a vocabulary.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_core::text::Claude;
    ///
    /// let [old, new] = ["claude-old", "claude-new"].map(|name| Claude::named(name).unwrap());
    /// assert_eq!([old, new].map(|claude| claude.count("hello, world")), [3, 4]);
    /// ```
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        let vocabulary = self.family.vocabulary();
        let normal = normalize::normalize(text, vocabulary.folds_quotes);
        CELLS.with(|cells| match cells[self.family as usize].try_borrow_mut() {
            Ok(mut cells) => self.count_with(cells.get_or_insert_with(Cells::new), vocabulary, text, &normal),
            Err(_) => self.count_with(&mut Cells::new(), vocabulary, text, &normal),
        })
    }

    /// Whether `text` has more than `limit` tokens.
    #[must_use]
    pub fn exceeds(self, text: &str, limit: usize) -> bool {
        self.count(text) > limit
    }

    fn count_with(self, cells: &mut Cells, vocabulary: &'static Vocabulary, raw: &str, normal: &str) -> usize {
        let opened = self.frame == Frame::Opened;
        let mut body = normal;
        let mut around = 0;
        if self.frame != Frame::Inside {
            body = body.trim_end_matches('\n');
            let ends = normal.len() - body.len();
            if ends > 0 {
                // The message's own two line ends follow, and their token is the message's.
                around += vocabulary.blanks(b'\n', ends + 2) as usize - 1;
            }
            if opened && raw.starts_with(' ') && !body.starts_with("  ") {
                body = body.strip_prefix(' ').unwrap_or(body);
            }
        }
        let mut reader =
            Reader { text: body, vocabulary, cache: &mut cells.cache, scratch: &mut cells.scratch, opened };
        if opened && !reader.begins() {
            around += 1;
        }
        around + reader.tokens()
    }
}

impl Family {
    fn vocabulary(self) -> &'static Vocabulary {
        match self {
            Self::Old => &OLD,
            Self::New => &NEW,
        }
    }

    /// Every piece as bytes, in order; the markers are F8 (a word begins), F9 (it ends), FA (shift) and FB (capitals).
    #[must_use]
    pub fn pieces(self) -> Vec<Vec<u8>> {
        self.vocabulary().pieces.all()
    }
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

/// Lengths of blank runs that are looked up; longer ones are tiled.
const RUN: usize = 257;

static OLD: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(tile::OLD, true, true));
static NEW: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(tile::NEW, false, false));

impl Vocabulary {
    fn new(pieces: Pieces, folds_quotes: bool, caps: bool) -> Self {
        let contractions = CONTRACTIONS.map(|suffix| {
            let marked = [b"'", suffix.as_bytes(), &[EOW]].concat();
            pieces.tile(&marked)
        });
        let single = std::array::from_fn(|byte| {
            let byte = u8::try_from(byte).unwrap_or(0);
            let cells: [&[u8]; 4] = [&[byte], &[BOW, byte], &[byte, EOW], &[BOW, byte, EOW]];
            cells.map(|cell| u8::try_from(pieces.tile(cell)).unwrap_or(u8::MAX))
        });
        let blanks = [b' ', b'\t', b'\n'].map(|byte| runs(&pieces, byte));
        Self { pieces, folds_quotes, caps, contractions, single, blanks }
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
            None => self.pieces.tile(&vec![byte; length]),
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

/// What a thread keeps for a family.
struct Cells {
    cache: Cache,
    scratch: Vec<u8>,
}

impl Cells {
    fn new() -> Self {
        Self { cache: Cache::new(), scratch: Vec::new() }
    }
}

thread_local! {
    static CELLS: [RefCell<Option<Cells>>; 2] = const { [RefCell::new(None), RefCell::new(None)] };
}

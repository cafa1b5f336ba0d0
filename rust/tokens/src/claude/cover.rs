//! The fewest pieces that cover a segment.

use super::classes::decode;
use super::table;
use crate::cancel;

/// The markers, as bytes that never occur in UTF-8: begin and end of a word, title case, all capitals.
pub const BOW: u8 = 0xF8;
pub const EOW: u8 = 0xF9;
pub const SHIFT: u8 = 0xFA;
pub const CAPS: u8 = 0xFB;

/// Size of the ring buffer of costs: more than the longest piece has bytes (`build.rs` asserts it).
const RING: usize = 256;

/// A family's pieces: a double-array trie over bytes, and a table of characters.
#[derive(Clone, Copy)]
pub struct Pieces {
    units: &'static [u32],
    root: u32,
    /// The [`CharInfo`] of the basic multilingual plane; `index` and `blocks` are a two-stage table of the other planes.
    near: &'static [u8; 0x1_0000],
    index: &'static [u16; 0x10_0000 / 64],
    blocks: &'static [u8],
}

pub static OLD: Pieces = Pieces {
    units: &table::OLD_TRIE,
    root: table::OLD_ROOT,
    near: &table::OLD_NEAR,
    index: &table::OLD_FAR_INDEX,
    blocks: &table::OLD_FAR_BLOCKS,
};

pub static NEW: Pieces = Pieces {
    units: &table::NEW_TRIE,
    root: table::NEW_ROOT,
    near: &table::NEW_NEAR,
    index: &table::NEW_FAR_INDEX,
    blocks: &table::NEW_FAR_BLOCKS,
};

/// Properties of a non-ASCII character. Bits 0 to 2 are its tokens by itself. Bit 3 says that its neighbours do not matter;
/// then bits 4 to 6 are its tokens again if it is not part of a word. Without bit 3, one of bits 4 to 6 is its kind.
#[derive(Clone, Copy)]
pub struct CharInfo(u8);

impl CharInfo {
    /// Tokens of the character by itself.
    #[inline]
    pub fn tokens(self) -> u32 {
        u32::from(self.0 & 7)
    }

    /// Whether the character is a letter, of a word or counted by itself, independent of its neighbours.
    #[inline]
    pub fn is_plain(self) -> bool {
        self.0 & 1 << 3 != 0
    }

    /// Whether the character is part of a word, and the only normalization is that it may compose with the one before it.
    #[inline]
    pub fn is_joining(self) -> bool {
        self.0 & 3 << 3 == 1 << 4
    }

    /// Whether the character is a symbol that normalization never changes.
    #[inline]
    pub fn is_symbol(self) -> bool {
        self.0 & 5 << 3 == 1 << 5
    }

    /// Whether the character is a mark and a symbol that does not change after a plain letter of the scripts from Devanagari
    /// to Lao.
    #[inline]
    pub fn is_settled(self) -> bool {
        self.0 & 9 << 3 == 1 << 6
    }

    /// Tokens of a plain letter that is counted by itself; 0 for a letter of a word.
    #[inline]
    pub fn tokens_outside_words(self) -> u32 {
        u32::from(self.0 >> 4)
    }
}

impl Pieces {
    /// Tokens of one character by itself: one if it is a piece, else those of its bytes.
    #[inline]
    pub fn alone(&self, code: usize) -> u32 {
        self.character(code).tokens()
    }

    /// The properties of a code point.
    #[inline]
    pub fn character(&self, code: usize) -> CharInfo {
        match self.near.get(code) {
            Some(known) => CharInfo(*known),
            None => CharInfo(self.blocks[usize::from(self.index[code / 64 - 0x400]) * 64 + code % 64]),
        }
    }

    /// The unit of a node's child by `byte`.
    #[inline]
    fn child(&self, base: u32, byte: u8) -> Option<u32> {
        let unit = *self.units.get((base ^ u32::from(byte)) as usize)?;
        (unit & 0xFF == u32::from(byte)).then_some(unit)
    }

    /// Whether `marked` is one piece.
    pub fn has(&self, marked: &[u8]) -> bool {
        let mut base = self.root;
        let mut ends = false;
        for byte in marked {
            let Some(unit) = self.child(base, *byte) else { return false };
            (base, ends) = (unit >> 9, unit & 1 << 8 != 0);
        }
        ends
    }

    /// Every piece, sorted: a test compares them with the published vocabulary.
    pub fn all(&self) -> Vec<Vec<u8>> {
        let (mut found, mut work) = (Vec::new(), vec![(self.root, Vec::new())]);
        while let Some((base, path)) = work.pop() {
            for byte in 0..=u8::MAX {
                let Some(unit) = self.child(base, byte) else { continue };
                let longer = [path.as_slice(), &[byte]].concat();
                if unit & 1 << 8 != 0 {
                    found.push(longer.clone());
                }
                work.push((unit >> 9, longer));
            }
        }
        found.sort();
        found
    }

    /// The fewest tokens for `marked`: pieces, or the tokens of characters that no piece covers.
    ///
    /// Time is linear in the length, times the longest piece in the worst case; memory is constant.
    pub fn min_cover(&self, marked: &[u8]) -> u32 {
        if self.has(marked) {
            return 1;
        }
        // To clear 256 costs takes longer than to cover a word.
        if marked.len() < 32 { self.fewest::<32>(marked) } else { self.fewest::<RING>(marked) }
    }

    /// Dynamic programming over positions; costs are kept for `N` of them, more than the text or the longest piece has bytes.
    fn fewest<const N: usize>(&self, marked: &[u8]) -> u32 {
        let mut least = [u32::MAX; N];
        least[0] = 0;
        for at in 0..marked.len() {
            if at % 32 == 31 {
                cancel::poll(); // a word is shorter, and a position takes up to a microsecond
            }
            // Each slot is used again N bytes later, and must be empty by then.
            let here = std::mem::replace(&mut least[at % N], u32::MAX);
            if here == u32::MAX {
                continue; // inside a character
            }
            let mut reach = |to: usize, tokens: u32| {
                let least = &mut least[to % N];
                *least = tokens.min(*least);
            };
            if (0x80..BOW).contains(&marked[at]) {
                let (code, width) = decode(marked, at);
                reach(at + width, here + self.alone(code));
            } else {
                reach(at + 1, here + 1);
            }
            let mut base = self.root;
            for (to, byte) in marked.iter().enumerate().skip(at) {
                let Some(unit) = self.child(base, *byte) else { break };
                base = unit >> 9;
                if unit & 1 << 8 != 0 {
                    reach(to + 1, here + 1);
                }
            }
        }
        least[marked.len() % N]
    }
}

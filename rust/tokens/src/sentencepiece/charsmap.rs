//! The rules of a `precompiled_charsmap`: which characters are rewritten before a text is split, and as what.
//!
//! It has the size of a double array, the array, and the texts that its values are places in, each up to a NUL. A damaged
//! one rewrites something else, or nothing.

use serde::{Deserialize, Serialize};

/// The most bytes of a cluster of characters that is looked for as a whole.
const SHORT_CLUSTER: usize = 5;

/// Rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charsmap {
    units: Vec<u32>,
    texts: String,
}

/// How an ASCII character is rewritten where another one follows, or nothing does.
#[derive(Clone, Debug)]
pub struct Plain([bool; 128]);

impl Plain {
    /// The characters that stay as they are; none of those that `special` says.
    pub fn new(rules: Option<&Charsmap>, special: impl Fn(u8) -> bool) -> Self {
        let is_plain = |byte: u8| {
            let follow = (0..128).map(|next| [byte, next]);
            let changes = |rules: &Charsmap| {
                rules.shortest(&[byte]).is_some() || follow.into_iter().any(|two| rules.longest(&two).is_some())
            };
            !special(byte) && !rules.is_some_and(changes)
        };
        Self(std::array::from_fn(|byte| u8::try_from(byte).is_ok_and(is_plain)))
    }

    /// Bytes at the beginning of a text that stay as they are, however it goes on.
    pub fn run(&self, text: &[u8]) -> usize {
        let end = text.iter().position(|&byte| !self.0.get(byte as usize).copied().unwrap_or(false));
        match end {
            None => text.len(),
            // A rule may rewrite the last character together with the one behind it.
            Some(end) if text[end] >= 0x80 => end.saturating_sub(1),
            Some(end) => end,
        }
    }
}

impl Charsmap {
    /// The rules of a file's bytes; None where they are none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (size, left) = bytes.split_first_chunk::<4>()?;
        let (units, texts) = left.split_at_checked(u32::from_le_bytes(*size) as usize)?;
        let units = units.chunks_exact(4).map(|unit| u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]]));
        let texts = std::str::from_utf8(texts).ok().filter(|texts| !texts.is_empty())?;
        Some(Self { units: units.collect(), texts: texts.to_owned() })
    }

    /// The texts of the rules for beginnings of a text, with their lengths, the shortest beginning first.
    fn rules<'r>(&'r self, text: &[u8]) -> impl Iterator<Item = (usize, &'r str)> {
        let mut place = self.units.first().map_or(0, |&unit| offset(unit));
        text.iter()
            .enumerate()
            .map_while(move |(index, &byte)| {
                let unit = self.units.get((place ^ u32::from(byte)) as usize).filter(|_| byte != 0)?;
                if unit & (1 << 31 | 0xFF) != u32::from(byte) {
                    return None;
                }
                place ^= u32::from(byte) ^ offset(*unit);
                Some((index + 1, (unit >> 8 & 1 == 1).then_some(place)))
            })
            .filter_map(|(length, leaf)| Some((length, self.text(*self.units.get(leaf? as usize)?)?)))
    }

    fn text(&self, leaf: u32) -> Option<&str> {
        let text = self.texts.get((leaf & !(1 << 31)) as usize..)?;
        Some(text.split_once('\0').map_or(text, |(text, _)| text))
    }

    /// The rule for the longest beginning of a text: its length, and what stands in its place.
    pub fn longest(&self, text: &[u8]) -> Option<(usize, &str)> {
        self.rules(text).last()
    }

    /// What stands in the place of the shortest beginning of a text that has a rule.
    fn shortest(&self, text: &[u8]) -> Option<&str> {
        self.rules(text).next().map(|(_, text)| text)
    }

    /// Rewrites a cluster of characters, as the package `tokenizers` does: a short one by the rule for its shortest
    /// beginning, which then stands for the whole, else each character alone. `put` takes a length and what stands in the
    /// place of so many bytes, None for themselves.
    pub fn rewrite<'r>(&'r self, cluster: &str, put: &mut impl FnMut(usize, Option<&'r str>)) {
        if cluster.len() <= SHORT_CLUSTER
            && let Some(text) = self.shortest(cluster.as_bytes())
        {
            return put(cluster.len(), Some(text));
        }
        let mut bytes = [0; 4];
        for character in cluster.chars() {
            put(character.len_utf8(), self.shortest(character.encode_utf8(&mut bytes).as_bytes()));
        }
    }
}

/// The distance to the children of a node.
fn offset(unit: u32) -> u32 {
    (unit >> 10) << ((unit & 1 << 9) >> 6)
}

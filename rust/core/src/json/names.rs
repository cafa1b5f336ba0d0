//! The keys that shape readers look up, as numbers: a key is compared once, when it is parsed.

use crate::node::Key;

/// Any other key.
pub const NONE: u8 = 62;

/// Slots of the hash table: seven for each key, so that most other keys probe an empty slot first.
const SLOTS: usize = 512;

/// Names by the hash of their first eight bytes and their length, in the next free slot.
static TABLE: [u8; SLOTS] = table();

/// The first eight bytes of each name, and its length.
static WORDS: [(u64, u8); Key::ALL.len()] = words();

/// A name with escapes: it may be any.
pub const ESCAPED: u8 = NONE - 1;

/// The bit of a set of names that says that one may be there twice: the last one counts then.
pub const REPEATED: u64 = 1 << 63;

/// The number of a name of less than eight bytes that begins at `start`, and where it ends, if it is one of ours.
#[inline(always)]
#[allow(clippy::inline_always)] // as the parser around it
pub fn short(bytes: &[u8], start: usize) -> Option<(u8, usize)> {
    let eight = u64::from_le_bytes(*bytes.get(start..)?.first_chunk()?);
    let quotes = zeros(eight ^ u64::from_le_bytes([b'"'; 8]));
    if quotes == 0 {
        return None;
    }
    let bits = quotes.trailing_zeros() & !7;
    let length = (bits / 8) as usize;
    // No name of ours has an escape, or what must not stand in a string.
    let number = find(eight & ((1 << bits) - 1), length, |_| true);
    (number != NONE).then_some((number, start + length))
}

/// The number of a name: its place in [`Key::ALL`], or [`NONE`].
#[inline(never)]
pub fn of(name: &[u8]) -> u8 {
    let first = name.first_chunk().map_or_else(|| word(name), |eight| u64::from_le_bytes(*eight));
    find(first, name.len(), |key| key.text().as_bytes() == name)
}

/// The top bit of each byte that is 0; only the lowest one is exact.
#[inline(always)]
#[allow(clippy::inline_always)] // as the parser around it
fn zeros(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    word.wrapping_sub(ONES) & !word & ONES << 7
}

#[inline(always)]
#[allow(clippy::inline_always)] // as the parser around it
fn find(first: u64, length: usize, is_it: impl Fn(Key) -> bool) -> u8 {
    let mut slot = slot(first, length);
    loop {
        let number = TABLE[slot % SLOTS];
        let Some(&(word, long)) = WORDS.get(usize::from(number)) else { return NONE };
        if word == first && usize::from(long) == length && is_it(Key::ALL[usize::from(number)]) {
            return number;
        }
        slot += 1;
    }
}

/// A set of names with one more of ours.
#[inline(always)]
#[allow(clippy::inline_always)] // as the parser around it
pub fn with(names: u64, number: u8) -> u64 {
    let repeated = names >> (number % 64) << 63; // its own bit, where the one for all repetitions is
    names | repeated | 1 << (number % 64)
}

/// A set of names with one more that may be another's; all of them with one that may be any.
pub fn with_any(names: u64, number: u8) -> u64 {
    match number {
        NONE => names,
        ESCAPED => u64::MAX,
        _ => with(names, number),
    }
}

/// Whether the name may be in a set.
#[inline]
pub fn may_have(names: u64, key: Key) -> bool {
    names >> key as u8 & 1 != 0
}

const fn slot(word: u64, length: usize) -> usize {
    ((word ^ length as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55) as usize
}

const fn word(name: &[u8]) -> u64 {
    let (mut word, mut at) = (0, 0);
    while at < name.len() && at < 8 {
        word |= (name[at] as u64) << (8 * at);
        at += 1;
    }
    word
}

#[allow(clippy::cast_possible_truncation)] // no name is longer than 255 bytes
const fn words() -> [(u64, u8); Key::ALL.len()] {
    let (mut words, mut number) = ([(0, 0); Key::ALL.len()], 0);
    while number < words.len() {
        let name = Key::ALL[number].text().as_bytes();
        words[number] = (word(name), name.len() as u8);
        number += 1;
    }
    words
}

#[allow(clippy::cast_possible_truncation)] // there are fewer keys than bits: else this does not compile
const fn table() -> [u8; SLOTS] {
    assert!(Key::ALL.len() <= ESCAPED as usize);
    let (mut table, mut number) = ([NONE; SLOTS], 0);
    while number < Key::ALL.len() {
        let name = Key::ALL[number].text().as_bytes();
        let mut at = slot(word(name), name.len());
        while table[at % SLOTS] != NONE {
            at += 1;
        }
        table[at % SLOTS] = number as u8;
        number += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_known_by_its_number_and_nothing_else_is() {
        for (number, key) in Key::ALL.iter().enumerate() {
            let text = key.text();
            for around in [text.to_owned(), format!("{text}\": \"\""), format!("{text}_________")] {
                assert_eq!(usize::from(of(&around.as_bytes()[..text.len()])), number, "{text}");
            }
            for other in [format!("{text}_"), text[1..].to_owned(), text.to_uppercase(), format!("{text}.")] {
                let known = Key::ALL.iter().any(|key| key.text() == other);
                assert_eq!(of(other.as_bytes()) != NONE, known, "{other}");
            }
        }
    }
}

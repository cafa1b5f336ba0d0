//! The names that a shape reader asks for, as numbers: a name is compared once, when it is parsed.

use crate::node::Key;

/// A name that nobody asks for.
pub const NONE: u8 = 62;

/// Slots of the table: seven for each name, so that most others meet an empty one at once.
const SLOTS: usize = 512;

/// Names by the hash of their first eight bytes and their length, in the next free slot.
static TABLE: [u8; SLOTS] = table();

/// The first eight bytes of each name, and its length.
static WORDS: [(u64, u8); Key::ALL.len()] = words();

/// A name with escapes: it may be any.
pub const ESCAPED: u8 = NONE - 1;

/// The bit of a set of names that says that one may be there twice: the last one counts then.
pub const REPEATED: u64 = 1 << 63;

/// The number of the name from `start` to `end`: its place in [`Key::ALL`], or [`NONE`].
#[inline(always)]
#[allow(clippy::inline_always)] // as the parser around it
pub fn of(bytes: &[u8], start: usize, end: usize) -> u8 {
    let length = end - start;
    match bytes.get(start..).and_then(|rest| rest.first_chunk()) {
        Some(eight) if length < 8 => find(u64::from_le_bytes(*eight) & ((1 << (8 * length)) - 1), length, |_| true),
        _ => long(&bytes[start..end]),
    }
}

/// The number of a name of eight bytes or more, or at the end of a text.
#[inline(never)]
fn long(name: &[u8]) -> u8 {
    let first = name.first_chunk().map_or_else(|| word(name), |eight| u64::from_le_bytes(*eight));
    find(first, name.len(), |key| key.text().as_bytes() == name)
}

#[inline(always)]
#[allow(clippy::inline_always)] // as the parser around it
fn find(first: u64, length: usize, is_it: impl Fn(Key) -> bool) -> u8 {
    let mut slot = slot(first, length);
    loop {
        let number = TABLE[slot % SLOTS];
        let Some(&(word, long)) = WORDS.get(usize::from(number)) else { return NONE };
        // A short name has no NUL, with which a shorter one is filled up.
        if word == first && (length < 8 || usize::from(long) == length) && is_it(Key::ALL[usize::from(number)]) {
            return number;
        }
        slot += 1;
    }
}

/// A set of names with one more; all of them with one that may be any.
#[inline]
pub fn with(names: u64, number: u8) -> u64 {
    let bit = if number == ESCAPED { u64::MAX } else { 1 << (number % 64) };
    names | bit | (u64::from(names & bit & !(1 << NONE) != 0) * REPEATED)
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
                assert_eq!(usize::from(of(around.as_bytes(), 0, text.len())), number, "{text}");
            }
            for other in [format!("{text}_"), text[1..].to_owned(), text.to_uppercase(), format!("{text}.")] {
                let known = Key::ALL.iter().any(|key| key.text() == other);
                assert_eq!(of(other.as_bytes(), 0, other.len()) != NONE, known, "{other}");
            }
        }
    }
}

//! The names that a shape reader asks for, as numbers: a name is compared once, when it is parsed.

use crate::node::Key;

/// A name that nobody asks for.
pub const NONE: u8 = u8::MAX;

/// Slots of the table: seven for each name, so that most others meet an empty one at once.
const SLOTS: usize = 512;

/// Names by the hash of their first eight bytes and their length, in the next free slot.
static TABLE: [u8; SLOTS] = table();

/// The first eight bytes of each name, and its length.
static WORDS: [(u64, u8); Key::ALL.len()] = words();

/// The number of a name: its place in [`Key::ALL`], or [`NONE`].
pub fn of(name: &[u8]) -> u8 {
    let first = word(name);
    find(first, name.len(), |key| name.len() <= 8 || key.text().as_bytes() == name)
}

/// The number of a name of up to eight bytes, given as a word, the first byte lowest and zeros behind.
#[inline]
pub fn short(word: u64, length: usize) -> u8 {
    find(word, length, |_| true)
}

#[inline]
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

/// The bit of a name in the set of a map's names; none for a name that nobody asks for.
#[inline]
pub fn bit(number: u8) -> u64 {
    if number == NONE { 0 } else { 1 << (number % 64) }
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

#[allow(clippy::cast_possible_truncation)] // there are fewer keys than a byte can number: else this does not compile
const fn table() -> [u8; SLOTS] {
    assert!(Key::ALL.len() < NONE as usize);
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
            assert_eq!(usize::from(of(text.as_bytes())), number, "{text}");
            if text.len() <= 8 {
                assert_eq!(usize::from(short(word(text.as_bytes()), text.len())), number, "{text}");
            }
            for other in [format!("{text}_"), text[1..].to_owned(), text.to_uppercase(), format!("{text}\0")] {
                let known = Key::ALL.iter().any(|key| key.text() == other);
                assert_eq!(of(other.as_bytes()) != NONE, known, "{other}");
            }
        }
    }
}

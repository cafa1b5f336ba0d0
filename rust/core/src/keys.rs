//! Finds keys of a map by the address of their interned string, without hashing or comparing text.

use std::cell::Cell;

use crate::node::Key;

/// Values so frequent that their address is compared first.
const WORDS: &str = "user assistant system tool developer model function message tool_use tool_result \
    function_call_output input_text output_text";

/// Strings that an interpreter shares: the keys that shape readers look up, and frequent values.
///
/// Literals in a program are these objects. A string out of a file is another object, and is compared by its text.
pub struct Interned<S> {
    strings: Vec<(S, &'static str)>,
    numbers: Addresses,
}

impl<S> Interned<S> {
    /// Interns each string; `address` gives where it lies. The strings have to live as long as their addresses are used.
    pub fn new(intern: impl Fn(&'static str) -> S, address: impl Fn(&S) -> usize) -> Self {
        let texts = Key::ALL.iter().map(|key| key.text()).chain(WORDS.split_whitespace());
        let strings: Vec<_> = texts.map(|text| (intern(text), text)).collect();
        let numbers = Addresses::new(strings.iter().map(|(string, _)| address(string)));
        Self { strings, numbers }
    }

    /// The number of the string at `address`: of a key the key's own; [`Addresses::NONE`] for any other string.
    #[inline]
    #[must_use]
    pub fn number(&self, address: usize) -> u8 {
        self.numbers.number(address)
    }

    /// The text of the string at `address`.
    #[inline]
    #[must_use]
    pub fn text(&self, address: usize) -> Option<&'static str> {
        self.strings.get(usize::from(self.number(address))).map(|(_, text)| *text)
    }

    /// The interned string of a key.
    #[inline]
    #[must_use]
    pub fn key(&self, key: Key) -> &S {
        &self.strings[key as usize].0
    }
}

/// The entries of a small map under some keys, found while all of its entries are gone through.
pub struct Fields<V, const N: usize> {
    found: [Option<V>; N],
    keys: [Key; N],
    /// Whether all entries were gone through, and the key of each had a number.
    all: bool,
}

impl<V, const N: usize> Fields<V, N> {
    /// Nothing yet; `all` says whether every entry will be seen.
    #[inline]
    #[must_use]
    pub fn new(keys: [Key; N], all: bool) -> Self {
        Self { found: [const { None }; N], keys, all }
    }

    /// Takes one entry, by the number of its key.
    #[inline]
    pub fn see(&mut self, number: u8, value: impl FnOnce() -> V) {
        self.all &= number != Addresses::NONE;
        if let Some(place) = self.keys.iter().position(|key| *key as u8 == number) {
            self.found[place] = Some(value());
        }
    }

    /// Returns the entries found. Missing ones are looked up by their text, unless every entry was seen and its key had a
    /// number.
    ///
    /// # Errors
    ///
    /// The first error of `look_up`.
    #[inline]
    pub fn or_else<E>(self, look_up: impl Fn(Key) -> Result<Option<V>, E>) -> Result<[Option<V>; N], E> {
        let mut found = self.found;
        if !self.all {
            for (value, key) in found.iter_mut().zip(self.keys).filter(|(value, _)| value.is_none()) {
                *value = look_up(key)?;
            }
        }
        Ok(found)
    }
}

/// Slots of the table: about three for each string, so that most addresses are in their own slot.
const SLOTS: usize = 256;

/// Numbers of up to a hundred addresses.
pub struct Addresses([(usize, u8); SLOTS]);

impl Addresses {
    /// The number of an address that is not in the table.
    pub const NONE: u8 = u8::MAX;

    /// Numbers the addresses in order; an address that comes twice keeps its first number.
    pub fn new(addresses: impl IntoIterator<Item = usize>) -> Self {
        let mut slots = [(0, Self::NONE); SLOTS];
        for (number, address) in (0..Self::NONE).zip(addresses) {
            let mut slot = slot_of(address);
            while slots[slot].0 != 0 && slots[slot].0 != address {
                slot = (slot + 1) % SLOTS;
            }
            if slots[slot].0 == 0 {
                slots[slot] = (address, number);
            }
        }
        Self(slots)
    }

    /// The number of `address`, or [`Addresses::NONE`].
    #[inline]
    #[must_use]
    pub fn number(&self, address: usize) -> u8 {
        let mut slot = slot_of(address);
        loop {
            match self.0[slot] {
                (at, number) if at == address => return number,
                (0, _) => return Self::NONE,
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    }
}

fn slot_of(address: usize) -> usize {
    (address >> 4 ^ address >> 12) % SLOTS
}

/// Numbers of the keys of one small map, in the order of its entries, read once.
///
/// A byte for each entry; the highest byte is [`ALL`] or [`SOME`], and 0 before the map was read.
#[derive(Clone, Debug, Default)]
pub struct Places(Cell<u64>);

/// Entries whose keys are kept: messages and blocks have from two to six.
pub const PLACES: usize = 7;

/// Every key of the map has a number here.
const ALL: u64 = 0xFD;

/// Some keys have none.
const SOME: u64 = 0xFE;

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this position.
    At(isize),
    /// Nowhere.
    Absent,
    /// It has to be looked up by its text.
    Unknown,
}

impl Places {
    /// The place of the key with this number; `read` packs the keys of the map when they are asked for first.
    #[inline]
    pub fn find(&self, number: u8, read: impl FnOnce() -> u64) -> Place {
        let mut packed = self.0.get();
        if packed == 0 {
            packed = read();
            self.0.set(packed);
        }
        match place(packed, number) {
            Some(at) => Place::At(at),
            None if packed >> (8 * PLACES) == ALL => Place::Absent,
            None => Place::Unknown,
        }
    }

    /// The numbers of the first keys of a map that has `length` of them.
    pub fn pack(numbers: impl Iterator<Item = u8>, length: usize) -> u64 {
        let (mut packed, mut known) = (u64::MAX >> 8, 0);
        for (at, number) in numbers.take(PLACES).enumerate() {
            known += usize::from(number != Addresses::NONE);
            packed ^= u64::from(!number) << (8 * at);
        }
        packed | (if known == length { ALL } else { SOME }) << (8 * PLACES)
    }
}

/// The first byte of `packed` that is this number.
fn place(packed: u64, number: u8) -> Option<isize> {
    const ONES: u64 = u64::MAX / 0xFF;
    let other = packed ^ (ONES * u64::from(number));
    let zero = other.wrapping_sub(ONES) & !other & (ONES << 7);
    (zero != 0).then(|| (zero.trailing_zeros() / 8).cast_signed() as isize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_first_number_and_others_have_none() {
        let table = Addresses::new([16, 32, 16 + 4096 * 16, 16]);
        assert_eq!([16, 32, 16 + 4096 * 16, 48].map(|at| table.number(at)), [0, 1, 2, Addresses::NONE]);
    }

    #[test]
    fn a_key_is_absent_only_where_every_key_is_known() {
        let read = |numbers: &[u8], length| {
            let (places, packed) = (Places::default(), Places::pack(numbers.iter().copied(), length));
            move |number| places.find(number, || packed)
        };
        assert_eq!([4, 5, 6].map(read(&[5, 4], 2)), [Place::At(1), Place::At(0), Place::Absent]);
        assert_eq!([5, 6].map(read(&[5, Addresses::NONE], 2)), [Place::At(0), Place::Unknown]);
        assert_eq!([0, 7].map(read(&[0, 1, 2, 3, 4, 5, 6, 7], 8)), [Place::At(0), Place::Unknown]);
    }
}
